//! `cargo xtask kernels`: compiles the kernels for real GPUs on a machine without one, and prints registers,
//! instructions and cycles. Mesa's RADV has a null device for every family of AMD GPUs and returns statistics
//! of a pipeline. NVIDIA's compilers of CUDA are in the registry of Python packages.

mod assembly;
mod browser;
mod driver;
mod dump;
mod list;
#[cfg(target_os = "linux")]
mod nvidia;
#[cfg(target_os = "linux")]
mod predict;
mod spirv;
mod table;
#[cfg(all(test, target_os = "linux"))]
mod twins;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use bristle::gpu::Adapter;

use assembly::{Code, Issue};
use driver::{Driver, Executable};
use list::Kernel;
use table::{Row, Table};

/// A family of GPUs: its name, its vendor's PCI number, the subgroups that its driver offers, lanes of a SIMD
/// unit.
struct Family {
    name: &'static str,
    vendor: u32,
    subgroup: [u32; 2],
    simd: u32,
}

/// RDNA 2, RDNA 3 and GCN 5.
const FAMILIES: [Family; 3] = [
    Family { name: "navi21", vendor: 0x1002, subgroup: [32, 64], simd: 32 },
    Family { name: "gfx1100", vendor: 0x1002, subgroup: [32, 64], simd: 32 },
    Family { name: "vega20", vendor: 0x1002, subgroup: [64, 64], simd: 16 },
];

/// GPUs of NVIDIA; their layouts depend on nothing else.
const NVIDIA: Family = Family { name: "nvidia", vendor: 0x10de, subgroup: [32, 32], simd: 16 };

/// Any GPU where shaders cannot sum over subgroups, as in a browser.
const WITHOUT_SUBGROUPS: Family = Family { name: "without-subgroups", vendor: 0, subgroup: [0, 0], simd: 32 };

/// Prints the table, or with `--renew` writes it into docs/kernels.md, or with `--check` compares it with the
/// one there; with `--nvidia` first, that of NVIDIA's compilers; with `--predict` what GPUs should do by the
/// two tables there; with `--browser` compiles the kernels in Chromium; with `--dump DIR` writes their texts
/// into a directory; with `--family NAME` prints the lines of one family, which is for itself.
pub fn run(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["--family", name] => family(name).map(|rows| rows.iter().for_each(|row| println!("{row}"))),
        [] => measured().map(|table| println!("{table}")),
        ["--renew"] => measured().and_then(|table| table.write(&document())),
        ["--check"] => measured().and_then(|found| found.check(&Table::read(&document())?)),
        #[cfg(target_os = "linux")]
        ["--nvidia", ref rest @ ..] => nvidia::run(rest),
        #[cfg(target_os = "linux")]
        ["--predict", ref rest @ ..] => predict::run(rest),
        ["--browser"] => browser::check(),
        ["--dump", folder] => dump::write(Path::new(folder)),
        _ => Err(
            "usage: cargo xtask kernels [--nvidia] [--renew|--check], or --predict [--renew], --browser, --dump DIR"
                .to_owned(),
        ),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("xtask: {e}");
            ExitCode::FAILURE
        }
    }
}

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/kernels.md")
}

/// The table of this machine. The driver reads the family from the environment, so that each has a process of
/// its own.
fn measured() -> Result<Table<Row>, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let icd = icd()?;
    let start = |family: &Family| {
        Command::new(&own)
            .args(["kernels", "--family", family.name])
            .env("RADV_FORCE_FAMILY", family.name)
            .env("VK_DRIVER_FILES", &icd)
            .env("VK_ICD_FILENAMES", &icd)
            .env_remove("RADV_PERFTEST")
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| e.to_string())
    };
    let children = FAMILIES.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let mut rows = Vec::new();
    for (child, family) in children.into_iter().zip(&FAMILIES) {
        let output = child.wait_with_output().map_err(|e| e.to_string())?;
        if !output.status.success() {
            return Err(format!("{}: the driver failed", family.name));
        }
        rows.push(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Table::parse(&rows.concat())
}

/// The driver's own file, which is its name for the loader.
fn icd() -> Result<PathBuf, String> {
    let files =
        crate::setup::DRIVER_FOLDERS.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let is_radv = |path: &PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("radeon_icd"));
    files
        .map(|file| file.path())
        .find(is_radv)
        .ok_or_else(|| "no RADV: install mesa-vulkan-drivers (Debian, Ubuntu) or your system's Mesa".to_owned())
}

/// The rows of the family that the environment asks for.
fn family(name: &str) -> Result<Vec<Row>, String> {
    let family = FAMILIES.iter().find(|f| f.name == name).ok_or_else(|| format!("{name}: unknown family"))?;
    let driver = Driver::open()?;
    list::of(&adapter(family))?.iter().map(|kernel| row(family, &driver, kernel)).collect()
}

/// The adapter that the engine would see.
fn adapter(family: &Family) -> Adapter {
    let has_subgroups = family.subgroup[1] > 0;
    Adapter {
        name: family.name.to_owned(),
        vendor: family.vendor,
        backend: "vulkan".to_owned(),
        device_type: "DiscreteGpu".to_owned(),
        software: false,
        driver: String::new(),
        subgroup: family.subgroup,
        subgroup_sums: has_subgroups,
        max_storage_buffer: 1 << 31,
        max_workgroup: 1024,
        max_workgroup_memory: match family.vendor {
            0x1002 => 64 << 10,
            0x10de => 48 << 10,
            _ => dump::DEFAULT_WORKGROUP_MEMORY,
        },
    }
}

/// The row of a kernel.
fn row(family: &Family, driver: &Driver, kernel: &Kernel) -> Result<Row, String> {
    let fail = |e: String| format!("{}, {}: {e}", family.name, kernel.name);
    let spirv = spirv::of(&kernel.text, kernel.entry, &kernel.constants).map_err(fail)?;
    let made = driver.compile(&spirv).map_err(fail)?;
    let told = told(family, driver, &kernel.name, &made).map_err(fail)?;
    let Some(steps) = kernel.steps else {
        let lanes = spirv.workgroup.next_multiple_of(made.subgroup);
        return Ok(Row { lanes: 100.0 * f64::from(spirv.workgroup) / f64::from(lanes), ..told });
    };
    let shape = steps.shape;
    let turns = steps.turns();
    let issue = Issue { lanes: family.simd, wave: made.subgroup };
    let pass = Code::of_amd(&made.assembly).pass(|name| issue.cycles(name), steps.turns_of_loop()).map_err(fail)?;
    let waves = shape.workgroup.div_ceil(made.subgroup);
    let lanes = f64::from(waves * made.subgroup);
    let cells = f64::from(steps.cells * shape.contacts());
    Ok(Row {
        lanes: 100.0 * cells / (lanes * f64::from(turns * shape.width())),
        per_cell: Some(pass.instructions * lanes / cells),
        cycles: Some(pass.cycles * f64::from(waves) / cells),
        ..told
    })
}

/// What the driver tells of a kernel, without what has to be counted.
fn told(family: &Family, driver: &Driver, name: &str, made: &Executable) -> Result<Row, String> {
    Ok(Row {
        driver: driver.name.clone(),
        family: family.name.to_owned(),
        kernel: name.to_owned(),
        lanes: 0.0,
        instructions: made.statistic("Instructions")?,
        code: made.statistic("Code size")?,
        registers: made.statistic("VGPRs")?,
        spilled: made.statistic("Spilled VGPRs")?,
        scratch: made.statistic("Scratch size")?,
        waves: made.statistic("Subgroups per SIMD")?,
        per_cell: None,
        cycles: None,
    })
}
