//! `cargo xtask kernels`: compiles the kernels for real GPUs on a machine without one, and prints registers,
//! instructions and cycles. Mesa's RADV has a null device for every family of AMD GPUs and returns statistics
//! of a pipeline.

mod assembly;
mod driver;
mod spirv;
mod table;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use bristle::friction::Law;
use bristle::gpu::{Adapter, KernelShape, Layout, Program, Reduced, Storage, Variant};
use bristle::point::PointLaw;

use assembly::{Code, Issue};
use driver::{Driver, Executable};
use table::{Row, Table};

/// Cells with pressure of the circle of 21 x 21 cells.
const CELLS: usize = 317;

/// A family of GPUs: its name, the subgroups that its driver offers, lanes of a SIMD unit.
struct Family {
    name: &'static str,
    subgroup: [u32; 2],
    simd: u32,
}

/// RDNA 2, RDNA 3 and GCN 5.
const FAMILIES: [Family; 3] = [
    Family { name: "navi21", subgroup: [32, 64], simd: 32 },
    Family { name: "gfx1100", subgroup: [32, 64], simd: 32 },
    Family { name: "vega20", subgroup: [64, 64], simd: 16 },
];

/// Elements of the point contacts in the table whose law has elements.
const ELEMENTS: u32 = 4;

/// A kernel of rollouts.
struct Kernel {
    name: String,
    variant: Variant,
    /// Cells of the contact; those of a workgroup for reduced bristles.
    cells: u32,
}

/// Prints the table, or with `--renew` writes it into docs/kernels.md, or with `--check` compares it with the
/// one there; with `--family NAME` prints the lines of one family, which is for itself.
pub fn run(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["--family", name] => family(name).map(|rows| rows.iter().for_each(|row| println!("{row}"))),
        [] => measured().map(|table| println!("{table}")),
        ["--renew"] => measured().and_then(|table| table.write(&document())),
        ["--check"] => measured().and_then(|found| found.check(&Table::read(&document())?)),
        _ => Err("usage: cargo xtask kernels [--renew|--check]".to_owned()),
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
fn measured() -> Result<Table, String> {
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
    let rollouts = kernels(family)?;
    let rollouts = rollouts.iter().map(|kernel| row(family, &driver, kernel));
    let mut others = Program::all();
    others.extend(bristle_rigid::gpu::programs());
    rollouts.chain(others.iter().map(|program| row_of_other(family, &driver, program))).collect()
}

/// The kernels of a family that step contacts: each law with a grid, in steps of one length and in chosen
/// ones, and with a reduced bristle; for Elasto-Plastic also other layouts, sizes and forms; each law of a
/// point contact.
fn kernels(family: &Family) -> Result<Vec<Kernel>, String> {
    let adapter = adapter(family);
    let mut all = Vec::new();
    for &law in Law::ALL {
        let mut add = |what: &str, shape: KernelShape, cells: usize, adaptive: bool, reduced: Option<Reduced>| {
            let cells = if reduced.is_some() { 1 } else { cells as u32 };
            let variant = Variant { shape, law, gaussian: true, adaptive, reduced, point: None };
            let steps = if adaptive { ", adaptive" } else { "" };
            all.push(Kernel { name: format!("{}, {what}{steps}", law.name()), variant, cells });
        };
        let grid = KernelShape::of(CELLS, &adapter);
        add("grid of 317", grid, CELLS, false, None);
        add("grid of 317", grid, CELLS, true, None);
        let reduced = KernelShape::reduced(&adapter);
        let consistent = |ellipsoid| Some(Reduced { ellipsoid, consistent: true });
        add("limit surface", reduced, 1, true, consistent(false));
        if law != Law::ElastoPlastic {
            continue;
        }
        add("ellipsoid", reduced, 1, true, consistent(true));
        add("limit surface, published", reduced, 1, true, Some(Reduced { ellipsoid: false, consistent: false }));
        for storage in [Storage::Registers, Storage::Workgroup] {
            let layout = Layout { lanes: grid.workgroup, width: 1, storage };
            let shape = layout.shape(CELLS, &adapter).ok_or_else(|| format!("{layout}: not valid"))?;
            add(&format!("grid of 317, {layout}"), shape, CELLS, false, None);
        }
        for cells in [25, 1024, 4096] {
            add(&format!("grid of {cells}"), KernelShape::of(cells, &adapter), cells, false, None);
        }
    }
    for &law in PointLaw::ALL {
        let shape = KernelShape::reduced(&adapter);
        let (elements, what) = if law.has_elements() { (ELEMENTS, ", 4 elements") } else { (0, "") };
        let point = Some((law, elements));
        let variant = Variant { shape, law: Law::default(), gaussian: true, adaptive: false, reduced: None, point };
        all.push(Kernel { name: format!("point, {}{what}", law.name()), variant, cells: 1 });
    }
    Ok(all)
}

/// The adapter that the engine would see.
fn adapter(family: &Family) -> Adapter {
    Adapter {
        name: family.name.to_owned(),
        vendor: 0x1002,
        backend: "vulkan".to_owned(),
        device_type: "DiscreteGpu".to_owned(),
        software: false,
        driver: "radv".to_owned(),
        subgroup: family.subgroup,
        subgroup_sums: true,
        max_storage_buffer: 1 << 31,
        max_workgroup: 1024,
        max_workgroup_memory: 64 << 10,
    }
}

/// The row of a kernel that steps contacts.
fn row(family: &Family, driver: &Driver, kernel: &Kernel) -> Result<Row, String> {
    let fail = |e: String| format!("{}, {}: {e}", family.name, kernel.name);
    let shape = kernel.variant.shape;
    let text = kernel.variant.source().map_err(|e| fail(e.to_string()))?;
    let spirv = spirv::of(&text, "rollout", &kernel.variant.constants()).map_err(fail)?;
    let made = driver.compile(&spirv).map_err(fail)?;
    let issue = Issue { lanes: family.simd, wave: made.subgroup };
    // A loop over the cells of a contact turns as often as it must; its memory may be for more.
    let turns = kernel.cells.div_ceil(shape.lanes * shape.width).max(1);
    let looped = shape.storage != Storage::Registers;
    let pass = Code::new(&made.assembly).pass(issue, looped.then_some(turns)).map_err(fail)?;
    let waves = shape.workgroup.div_ceil(made.subgroup);
    let lanes = f64::from(waves * made.subgroup);
    let cells = f64::from(kernel.cells * shape.contacts());
    Ok(Row {
        lanes: 100.0 * cells / (lanes * f64::from(turns * shape.width)),
        per_cell: Some(pass.instructions * lanes / cells),
        cycles: Some(pass.cycles * f64::from(waves) / cells),
        ..told(family, driver, &kernel.name, &made).map_err(fail)?
    })
}

/// The row of another kernel, which has no passes.
fn row_of_other(family: &Family, driver: &Driver, program: &Program) -> Result<Row, String> {
    let fail = |e: String| format!("{}, {}: {e}", family.name, program.name);
    let spirv = spirv::of(&program.text, program.entry, &program.constants).map_err(fail)?;
    let made = driver.compile(&spirv).map_err(fail)?;
    let lanes = spirv.workgroup.next_multiple_of(made.subgroup);
    let row = told(family, driver, &program.name, &made).map_err(fail)?;
    Ok(Row { lanes: 100.0 * f64::from(spirv.workgroup) / f64::from(lanes), ..row })
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
