//! `bristle info`: the processor and the adapters of this machine.

use serde_json::json;

use super::{Failure, print, print_text};
use bristle::cpu::Cpu;
use bristle::engine::Engine;
use bristle::error::INSTALL_SOFTWARE_DRIVER;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  bristle info
  bristle info --json")]
pub(super) struct Info {
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Info {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let adapters = bristle_bench::gpu::adapters().map_err(super::engine::failed)?;
        let adapters = serde_json::to_value(adapters).map_err(Failure::of_machine)?;
        let cpu = json!({
            "name": Cpu::new().info().adapter,
            "threads": rayon::current_num_threads(),
            "features": features(),
        });
        if self.json {
            let all = json!({ "bristle": env!("CARGO_PKG_VERSION"), "cpu": cpu, "adapters": adapters });
            return print(&format!("{all:#}"));
        }
        let features = features().join(" ");
        let mut text = format!("bristle {}\n\nCPU, f32 and f64\n", env!("CARGO_PKG_VERSION"));
        text += &format!("  {}\n  {features}\n", Cpu::new().info().adapter);
        text += "\nGPU adapters, f32\n";
        let list = adapters.as_array().map(Vec::as_slice).unwrap_or_default();
        if list.is_empty() {
            text += &match cfg!(feature = "gpu") {
                true => format!("  none; for a software driver: {INSTALL_SOFTWARE_DRIVER}\n"),
                false => "  none: this program was built without GPU support\n".to_owned(),
            };
        }
        for adapter in list.iter().filter_map(serde_json::Value::as_object) {
            text += &lines(adapter, 1);
            text += "
";
        }
        print_text(text.trim_end())
    }
}

/// `key: value` lines of a JSON object, tables indented below their name.
fn lines(fields: &serde_json::Map<String, serde_json::Value>, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let line = |(key, value): (&String, &serde_json::Value)| match value {
        serde_json::Value::Object(inner) => format!("{indent}{key}\n{}", lines(inner, depth + 1)),
        serde_json::Value::String(s) => format!("{indent}{key}: {s}\n"),
        other => format!("{indent}{key}: {other}\n"),
    };
    fields.iter().map(line).collect()
}

/// Vector instructions that the CPU offers.
fn features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    let known = [
        ("sse4.2", is_x86_feature_detected!("sse4.2")),
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
    ];
    #[cfg(target_arch = "aarch64")]
    let known = [("neon", std::arch::is_aarch64_feature_detected!("neon"))];
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let known: [(&str, bool); 0] = [];
    known.into_iter().filter_map(|(name, there)| there.then_some(name)).collect()
}
