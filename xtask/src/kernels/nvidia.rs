//! What NVIDIA's compilers make of the kernels, on any machine with Linux: naga writes HLSL, Slang CUDA,
//! NVRTC PTX, `ptxas` machine code, and `nvdisasm` prints it. No part of NVIDIA's Vulkan driver is in this
//! chain.

mod nvrtc;
pub mod table;
mod text;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::assembly::Code;
use super::list::{self, Kernel, Steps};
use super::table::Table;
use super::{NVIDIA, adapter, document};
use crate::venv;
use nvrtc::Nvrtc;
use table::Row;

/// What the registry of Python packages has of the chain, 125 MB.
const PACKAGES: [(&str, &str); 4] = [
    ("slangtorch", "1.3.22"),
    ("nvidia_cuda_nvrtc", "13.5.37"),
    ("nvidia_cuda_nvcc", "13.5.37"),
    ("nvidia_cuda_nvdisasm", "13.5.37"),
];

/// The variable of the environment that names a folder into which these packages were unpacked.
const FOLDER: &str = "BRISTLE_NVIDIA_PACKAGES";

/// Kernels that are compiled at the same time.
const AT_ONCE: usize = 2;

/// Kernels that are also compiled with 32-bit addresses, to see what these cost.
const ALSO_WITH_ADDRESSES: [&str; 2] = ["elasto-plastic, grid of 317", "elasto-plastic, limit surface, adaptive"];

/// A kind of multiprocessors. The limits are those of the CUDA C++ Programming Guide, "Compute Capabilities".
struct Architecture {
    /// Its name in NVIDIA's tools, without `sm_`.
    name: &'static str,
    /// Warps that it holds at most.
    warps: u32,
    /// Workgroups that it holds at most.
    workgroups: u32,
    /// Workgroup memory \[bytes\].
    memory: u32,
    /// Cycles that a part takes for additions, products and both of a warp in single precision.
    float: f64,
}

/// A100, H100 and the RTX 50 series.
const ARCHITECTURES: [Architecture; 3] = [
    Architecture { name: "80", warps: 64, workgroups: 32, memory: 164 << 10, float: 2.0 },
    Architecture { name: "90", warps: 64, workgroups: 32, memory: 228 << 10, float: 1.0 },
    Architecture { name: "120", warps: 48, workgroups: 24, memory: 100 << 10, float: 1.0 },
];

/// Lanes of a warp.
const WARP: u32 = 32;
/// Cycles that a part takes for reciprocals, roots, exponentials and the like of a warp.
const SPECIAL: f64 = 8.0;
/// Registers of one of the four parts of a multiprocessor, which hold its warps in turns.
const REGISTERS_OF_A_PART: u32 = 65_536 / PARTS;
const PARTS: u32 = 4;
/// Registers of a lane are given in so many.
const REGISTERS_AT_ONCE: u32 = 8;
/// Workgroup memory that the system takes of each workgroup, and the units in which it is given \[bytes\].
const MEMORY_OF_THE_SYSTEM: u32 = 1 << 10;
const MEMORY_AT_ONCE: u32 = 128;

impl Architecture {
    /// Warps that fit by registers of a lane.
    fn by_registers(&self, registers: u32) -> u32 {
        let of_a_warp = registers.next_multiple_of(REGISTERS_AT_ONCE).max(REGISTERS_AT_ONCE) * WARP;
        (REGISTERS_OF_A_PART / of_a_warp * PARTS).min(self.warps)
    }

    /// Cycles that a part of a multiprocessor takes for a pass, over cells, if no instruction has to wait: it
    /// issues one instruction a cycle, and has units for special functions and for single precision that may
    /// take longer.
    fn cycles(&self, code: &Code, steps: Steps) -> Result<f64, String> {
        let of = |cycles: &dyn Fn(&str) -> f64| code.pass(cycles, steps.turns_of_loop()).map(|pass| pass.cycles);
        let issue = of(&|_| 1.0)?;
        let special = of(&|name| if name == "MUFU" { SPECIAL } else { 0.0 })?;
        let float = of(&|name| if ["FADD", "FMUL", "FFMA"].contains(&name) { self.float } else { 0.0 })?;
        let warps = f64::from(steps.shape.workgroup.div_ceil(WARP));
        let cells = f64::from(steps.cells * steps.shape.contacts());
        Ok(issue.max(special).max(float) * warps / cells)
    }

    /// Warps that fit by the workgroups of so many lanes and so much memory \[bytes\].
    fn by_workgroups(&self, lanes: u32, memory: u32) -> u32 {
        let of_one = (memory + MEMORY_OF_THE_SYSTEM).next_multiple_of(MEMORY_AT_ONCE);
        let workgroups = (self.memory / of_one).min(self.workgroups);
        (workgroups * lanes.div_ceil(WARP)).min(self.warps)
    }
}

/// Prints the table, or with `--renew` writes it into docs/kernels.md, or with `--check` compares it with the
/// one there. The packages are fetched if they are not there, except with `--check --if-there`, which then
/// compares nothing.
///
/// # Errors
/// A kernel that is worse than in the table, or packages that cannot be fetched or do not work.
pub fn run(arguments: &[&str]) -> Result<(), String> {
    match arguments {
        [] => println!("{}", made()?),
        ["--renew"] => made()?.write(&document())?,
        ["--check", "--if-there"] if !is_there() => {
            eprintln!("xtask: NVIDIA's kernels are NOT compared: `cargo xtask kernels --nvidia` fetches the compilers");
        }
        ["--check"] | ["--check", "--if-there"] => made()?.check(&Table::read(&document())?)?,
        _ => return Err("usage: cargo xtask kernels --nvidia [--renew|--check [--if-there]]".to_owned()),
    }
    Ok(())
}

/// The table of this machine.
fn made() -> Result<Table<Row>, String> {
    fetch()?;
    rows().map(Table)
}

/// The folder with the packages: the one that the environment names, or the one in `target`.
fn folder() -> PathBuf {
    std::env::var_os(FOLDER).map_or_else(|| crate::root().join("target/nvidia/packages"), PathBuf::from)
}

/// Whether all packages are there, in their versions.
fn is_there() -> bool {
    PACKAGES.iter().all(|(name, version)| folder().join(format!("{name}-{version}.dist-info")).is_dir())
}

/// Fetches the packages, if they are not there.
///
/// # Errors
/// A named folder without them, no Python, or a registry that does not answer.
fn fetch() -> Result<(), String> {
    if is_there() {
        return Ok(());
    }
    let folder = folder();
    let pins = PACKAGES.map(|(name, version)| format!("{name}=={version}"));
    if std::env::var_os(FOLDER).is_some() {
        return Err(format!("{FOLDER}={}: expected the unpacked packages {}", folder.display(), pins.join(", ")));
    }
    let python = venv::environment(&crate::root().join("target/nvidia/python"))?;
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target"];
    venv::run(Command::new(python).args(install).arg(&folder).args(&pins))
}

/// The programs of the chain.
struct Chain {
    slangc: PathBuf,
    ptxas: PathBuf,
    nvdisasm: PathBuf,
    nvrtc: Nvrtc,
}

/// What NVIDIA's compilers made of a kernel.
struct Made {
    /// What `ptxas` says.
    told: String,
    /// What `nvdisasm` prints.
    assembly: String,
}

impl Chain {
    fn open() -> Result<Self, String> {
        let folder = folder();
        let tools = folder.join("nvidia/cu13");
        let chain = Self {
            slangc: folder.join("slangtorch/bin/slangc"),
            ptxas: tools.join("bin/ptxas"),
            nvdisasm: tools.join("bin/nvdisasm"),
            nvrtc: Nvrtc::open(&tools.join("lib/libnvrtc.so.13"))?,
        };
        #[cfg(unix)]
        for program in [&chain.slangc, &chain.ptxas, &chain.nvdisasm] {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755))
                .map_err(|e| format!("{}: {e}", program.display()))?;
        }
        Ok(chain)
    }

    /// CUDA of a kernel, and lanes of its workgroup.
    fn cuda(&self, kernel: &Kernel, addresses: bool, work: &Path) -> Result<(String, u32), String> {
        let [hlsl, cuda] = ["kernel.hlsl", "kernel.cu"].map(|name| work.join(name));
        let (written, lanes) = text::hlsl(&text::wgsl(&kernel.text)?, kernel.entry, &kernel.constants)?;
        write(&hlsl, written.as_bytes())?;
        let options = ["-lang", "hlsl", "-stage", "compute", "-target", "cuda", "-entry", kernel.entry, "-o"];
        output(Command::new(&self.slangc).arg(&hlsl).args(options).arg(&cuda))?;
        let made = std::fs::read_to_string(&cuda).map_err(|e| e.to_string())?;
        Ok((text::cuda(&made, lanes, addresses), lanes))
    }

    /// Machine code of CUDA for an architecture.
    fn compile(&self, cuda: &str, of: &Architecture, work: &Path) -> Result<Made, String> {
        let [ptx, cubin] = ["kernel.ptx", "kernel.cubin"].map(|name| work.join(name));
        write(&ptx, &self.nvrtc.ptx(cuda, of.name)?)?;
        let arch = format!("-arch=sm_{}", of.name);
        let told = output(Command::new(&self.ptxas).args([&*arch, "-v"]).arg(&ptx).arg("-o").arg(&cubin))?;
        let assembly = output(Command::new(&self.nvdisasm).arg("-c").arg(&cubin))?;
        Ok(Made { told, assembly })
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()))
}

/// What a program prints.
fn output(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let out = command.output().map_err(|e| format!("{program}: {e}"))?;
    let text = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    if out.status.success() { Ok(text) } else { Err(format!("{program}: {text}")) }
}

/// The rows of all kernels on all architectures.
///
/// # Errors
/// A kernel that a program of the chain refuses.
fn rows() -> Result<Vec<Row>, String> {
    let chain = Chain::open()?;
    let kernels = list::of(&adapter(&NVIDIA))?;
    let also = kernels.iter().filter(|kernel| ALSO_WITH_ADDRESSES.contains(&kernel.name.as_str()));
    let jobs: Vec<(&Kernel, bool)> = kernels.iter().map(|k| (k, false)).chain(also.map(|k| (k, true))).collect();
    let next = AtomicUsize::new(0);
    let work = |place: usize| {
        let folder = crate::root().join(format!("target/nvidia/work/{}-{place}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let mut own = Vec::new();
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some(&(kernel, addresses)) = jobs.get(n) else { break };
            own.push((n, rows_of(&chain, kernel, addresses, &folder).map_err(|e| format!("{}: {e}", kernel.name))?));
        }
        std::fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(own)
    };
    let mut all: Vec<(usize, Vec<Row>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..AT_ONCE).map(|place| scope.spawn(move || work(place))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a thread has failed".to_owned())))
            .collect::<Result<Vec<_>, String>>()
    })?
    .concat();
    all.sort_by_key(|(n, _)| *n);
    let mut rows: Vec<Row> = all.into_iter().flat_map(|(_, rows)| rows).collect();
    let place = |row: &Row| ARCHITECTURES.iter().position(|of| row.architecture.ends_with(of.name));
    rows.sort_by_key(place);
    Ok(rows)
}

fn rows_of(chain: &Chain, kernel: &Kernel, addresses: bool, work: &Path) -> Result<Vec<Row>, String> {
    let (cuda, lanes) = chain.cuda(kernel, addresses, work)?;
    let name = if addresses { format!("{}, 32-bit addresses", kernel.name) } else { kernel.name.clone() };
    let row = |of: &Architecture| {
        let Made { told, assembly } = chain.compile(&cuda, of, work)?;
        let number = |after: &str, before: &str| {
            number(&told, after, before).ok_or_else(|| format!("ptxas does not tell `{after} .. {before}`: {told}"))
        };
        let code = Code::of_nvidia(&assembly);
        let instructions = code.len() as u32;
        let cycles = kernel.steps.map(|steps| of.cycles(&code, steps)).transpose()?;
        let registers = number("Used ", " registers")?;
        let memory = number(", ", " bytes smem").unwrap_or(0);
        Ok(Row {
            architecture: format!("sm_{}", of.name),
            kernel: name.clone(),
            registers,
            stack: number("", " bytes stack frame")?,
            spilled: number("", " bytes spill stores")?,
            instructions,
            code: instructions * INSTRUCTION,
            memory,
            by_registers: of.by_registers(registers),
            by_workgroups: of.by_workgroups(lanes, memory),
            cycles,
        })
    };
    ARCHITECTURES.iter().map(row).collect()
}

/// Bytes of an instruction.
const INSTRUCTION: u32 = 16;

/// The number that stands directly before some words and directly after others.
fn number(text: &str, after: &str, before: &str) -> Option<u32> {
    let head = &text[..text.find(before)?];
    let start = head.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    if head[..start].ends_with(after) { head[start..].parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_fit_by_registers_and_by_workgroups() {
        let [a100, h100, rtx] = ARCHITECTURES;
        // 16 384 registers of a part: 4 warps of 128 registers a lane, 3 of 129 to 168, 2 of 169 to 256.
        assert_eq!([128, 129, 168, 169, 255].map(|n| h100.by_registers(n)), [16, 12, 12, 8, 8]);
        assert_eq!([16, 40].map(|n| h100.by_registers(n)), [64, 48]);
        assert_eq!(rtx.by_registers(16), 48);
        assert_eq!(h100.by_workgroups(32, 0), 32);
        assert_eq!(a100.by_workgroups(32, 7 << 10), 20);
        assert_eq!(rtx.by_workgroups(256, 33_152), 16);
    }

    #[test]
    fn numbers_are_found_between_their_words() {
        let told = "    0 bytes stack frame, 24 bytes spill stores, 28 bytes spill loads\n\
                    ptxas info    : Used 133 registers, used 1 barriers, 2608 bytes smem\n";
        assert_eq!(number(told, "Used ", " registers"), Some(133));
        assert_eq!(number(told, "", " bytes spill stores"), Some(24));
        assert_eq!(number(told, ", ", " bytes smem"), Some(2608));
        assert_eq!(number(told, "", " bytes cmem"), None);
    }
}
