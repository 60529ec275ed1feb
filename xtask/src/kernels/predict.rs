//! What a GPU should do, from the machine code in docs/kernels.md: contact-steps per second, what limits
//! them, and the number of contacts from which a GPU is ahead of a CPU. None of it was measured on a GPU.

use std::fmt;
use std::path::Path;

use bristle::gpu::KernelShape;
use serde_json::Value;

use super::list::CELLS;
use super::nvidia::table::Row as Nvidia;
use super::table::{Line, Row as Amd, Table, cells};
use super::{FAMILIES, NVIDIA, adapter, document};

/// Numbers of a GPU.
#[derive(Clone, Copy, Debug)]
struct Gpu {
    name: &'static str,
    /// Whose machine code is taken: the first column of NVIDIA's table, the second of AMD's.
    code: &'static str,
    vendor: Vendor,
    /// Multiprocessors of NVIDIA, compute units of AMD.
    units: f64,
    /// Boost clock \[Hz\].
    clock: f64,
    /// Memory \[bytes/s\].
    memory: f64,
    /// The largest cache that all units share \[bytes\].
    cache: f64,
    /// Way to the host, one direction \[bytes/s\].
    link: f64,
    /// Registers of a SIMD unit for each lane of a wave, where that is fewer than what `code` has.
    registers: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Vendor {
    Nvidia,
    Amd,
}

/// Vendors' data sheets: units, boost clock, memory, last cache; PCIe 5.0 and 4.0 with 16 lanes.
const GPUS: [Gpu; 5] = [
    // NVIDIA H100 Tensor Core GPU Architecture: SXM5, 132 multiprocessors, 1.98 GHz, HBM3, 50 MB L2.
    Gpu {
        name: "H100 SXM",
        code: "sm_90",
        vendor: Vendor::Nvidia,
        units: 132.0,
        clock: 1.98e9,
        memory: 3350e9,
        cache: 50e6,
        link: 50e9,
        registers: None,
    },
    // NVIDIA Ada GPU Architecture: 128 multiprocessors, 2.52 GHz, 72 MB L2. It is sm_89, which has the limits
    // of sm_120 on warps, workgroups and their memory, and its rates of single precision and special
    // functions.
    Gpu {
        name: "RTX 4090",
        code: "sm_120",
        vendor: Vendor::Nvidia,
        units: 128.0,
        clock: 2.52e9,
        memory: 1008e9,
        cache: 72e6,
        link: 25e9,
        registers: None,
    },
    // AMD's page of the product: 96 compute units, up to 2.5 GHz, 96 MB Infinity Cache.
    Gpu {
        name: "RX 7900 XTX",
        code: "gfx1100",
        vendor: Vendor::Amd,
        units: 96.0,
        clock: 2.5e9,
        memory: 960e9,
        cache: 96e6,
        link: 25e9,
        registers: None,
    },
    // AMD's page of the product: 80 compute units, up to 2.25 GHz, 128 MB Infinity Cache.
    Gpu {
        name: "RX 6900 XT",
        code: "navi21",
        vendor: Vendor::Amd,
        units: 80.0,
        clock: 2.25e9,
        memory: 512e9,
        cache: 128e6,
        link: 25e9,
        registers: None,
    },
    // AMD's page of the Ryzen 7 7840U: 12 compute units, 2.7 GHz, LPDDR5X-7500 on 128 bits; 2 MB L2. It is
    // gfx1103: the instructions of gfx1100 with two thirds of its registers. Host and GPU share the memory.
    Gpu {
        name: "Radeon 780M",
        code: "gfx1100",
        vendor: Vendor::Amd,
        units: 12.0,
        clock: 2.7e9,
        memory: 120e9,
        cache: 2e6,
        link: 60e9,
        registers: Some(512),
    },
];

/// Units in which gfx1103 gives registers to a wave of 64 lanes.
const REGISTERS_AT_ONCE: u64 = 8;

impl Gpu {
    /// Parts of all units that issue instructions of their own: sub-partitions or SIMD units.
    fn parts(&self) -> f64 {
        self.units
            * match self.vendor {
                Vendor::Nvidia => 4.0,
                Vendor::Amd => 2.0,
            }
    }

    /// Lanes of a wave, as RADV takes them, and of a warp.
    fn wave(&self) -> f64 {
        match self.vendor {
            Vendor::Nvidia => 32.0,
            Vendor::Amd => 64.0,
        }
    }

    /// Lanes that a part computes in a cycle.
    const LANES: f64 = 32.0;

    /// Assumed cycles from an instruction to the next of the same wave, if each needs the result of the one
    /// before.
    fn latency(&self) -> f64 {
        match self.vendor {
            Vendor::Nvidia => 4.0,
            Vendor::Amd => 5.0,
        }
    }
}

/// Assumed time of a dispatch beside its steps \[s\].
const DISPATCH: f64 = 10e-6;

/// Bytes of a sample, with one recorded at each step.
const SAMPLE: f64 = 56.0;
/// Bytes of a cell of the map, which each pass reads.
const MAP: f64 = 12.0;
/// Bytes that a pass of a reduced contact reads: its parameters and four nodes of its table.
const REDUCED: f64 = 116.0 + 4.0 * 12.0;

/// Wrenches of a table with `N_ls = 20` of a map without symmetries.
const WRENCHES: f64 = 4.0 * 20.0 * 20.0 + 1.0;
/// Cells of a slice (`SLICE` in src/gpu/shader.rs), which one lane sums, and bytes of its sum.
const SLICE: f64 = 256.0;
const SUM: f64 = 12.0;

/// A turn of the loop over the cells of a slice, in RADV's machine code (Mesa 22.3.6) for navi21, with all
/// branches taken. That for gfx1100 has the same vector instructions; NVIDIA's was not read.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// Instructions of any kind.
    instructions: f64,
    /// Of those, vector instructions, and how many of these take four times as long.
    vector: [f64; 2],
}

/// A kernel, and the rates of the CPU.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// A grid of [`CELLS`] cells, by model and law in the file, with what 16 cores do.
    Grid(&'static str, f64),
    /// A reduced contact, the same.
    Reduced(&'static str, f64),
    /// A table of a limit surface, with a turn of the loop over cells, and the time of one core for a table
    /// \[s\].
    Surface(Turn, f64),
}

/// Kernels by their names in the tables. The rates of 16 cores are eight times those of the two Zen 5 cores
/// in docs/benchmarks.md, "contact-steps / s" in f32; tables are those of 256 random maps in f32 there.
const KERNELS: [(&str, Work); 7] = [
    ("elasto-plastic, grid of 317", Work::Grid("elasto-plastic", 8.0 * 1.4e6)),
    ("lugre, grid of 317", Work::Grid("lugre", 8.0 * 1.9e6)),
    ("elasto-plastic, limit surface, adaptive", Work::Reduced("elasto-plastic", 8.0 * 2.8e7)),
    ("lugre, limit surface, adaptive", Work::Reduced("lugre", 8.0 * 5.5e7)),
    ("limit surfaces by points", Work::Surface(Turn { instructions: 33.0, vector: [14.0, 1.0] }, 82e-6)),
    // The longer of its two loops, that of centres of rotation over the grid.
    ("limit surfaces by bilinear", Work::Surface(Turn { instructions: 52.0, vector: [34.0, 4.0] }, 40e-6)),
    ("limit surfaces by cells", Work::Surface(Turn { instructions: 281.0, vector: [254.0, 19.0] }, 115e-6)),
];

/// What the CPU does in f32, and passes of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cpu {
    /// Steps per second of two cores and of sixteen.
    rates: [f64; 2],
    passes: f64,
}

impl Work {
    /// The rates of the CPU, those of two cores for contacts from a file of `bristle bench --all`.
    fn cpu(self, file: &Value) -> Result<Cpu, String> {
        let (model, law, of_16) = match self {
            Self::Grid(law, of_16) => ("grid", law, of_16),
            Self::Reduced(law, of_16) => ("reduced", law, of_16),
            Self::Surface(_, seconds) => return Ok(Cpu { rates: [2.0 / seconds, 16.0 / seconds], passes: 1.0 }),
        };
        let is_it = |row: &&Value| row["model"] == model && row["law"] == law && row["cells_per_side"] == 21;
        let row = file["throughput"].as_array().and_then(|rows| rows.iter().find(is_it));
        let number = |name: &str| row.and_then(|row| row["cpu_f32"][name].as_f64());
        let numbers = number("contact_steps_per_second").zip(number("passes_per_step"));
        let (rate, passes) = numbers.ok_or_else(|| format!("{FILE}: no {model}, {law}"))?;
        Ok(Cpu { rates: [rate, of_16], passes })
    }
}

/// Where the rates of two cores are from.
const FILE: &str = "benches/hardware/llvmpipe_xeon.json";

/// What a kernel has in the tables.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Code {
    /// Cycles of a part for a pass, over cells.
    cycles: Option<f64>,
    /// Instructions of a pass times lanes, over cells, where the table has it.
    per_cell: Option<f64>,
    /// Waves that a part holds.
    waves: f64,
}

impl Code {
    fn of(gpu: &Gpu, kernel: &str, amd: &Table<Amd>, nvidia: &Table<Nvidia>) -> Result<Self, String> {
        let missing = || format!("{}, {kernel}: not in the table", gpu.code);
        let key = (gpu.code, kernel);
        match gpu.vendor {
            Vendor::Nvidia => {
                let row = nvidia.0.iter().find(|row| row.key() == key).ok_or_else(missing)?;
                let waves = f64::from(row.by_registers.min(row.by_workgroups)) / 4.0;
                Ok(Self { cycles: row.cycles, per_cell: None, waves })
            }
            Vendor::Amd => {
                let row = amd.0.iter().find(|row| row.key() == key).ok_or_else(missing)?;
                // The driver counts half waves.
                let waves = row.waves / 2;
                let fit = gpu.registers.map(|all| all / row.registers.next_multiple_of(REGISTERS_AT_ONCE));
                let waves = fit.map_or(waves, |fit| fit.min(waves)) as f64;
                Ok(Self { cycles: row.cycles, per_cell: row.per_cell, waves })
            }
        }
    }
}

/// What a step, or a table, asks of a GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Demand {
    /// Cycles of a part.
    cycles: f64,
    /// Instructions of a wave, one after the other.
    instructions: f64,
    /// Contacts that a wave steps at once.
    contacts: f64,
    /// Bytes read again and again, which a cache may hold.
    again: f64,
    /// Bytes of a contact that it would have to hold.
    held: f64,
    /// Seconds in which a contact's other bytes go to the memory or the host.
    stream: f64,
}

impl Demand {
    fn of(gpu: &Gpu, work: Work, code: &Code, passes: f64) -> Result<Self, String> {
        let family = match gpu.vendor {
            Vendor::Nvidia => &NVIDIA,
            Vendor::Amd => &FAMILIES[0],
        };
        let (shape, cells, held) = match work {
            Work::Grid(..) => (KernelShape::of(CELLS, &adapter(family)), CELLS as f64, MAP * CELLS as f64),
            Work::Reduced(..) => (KernelShape::reduced(&adapter(family)), 1.0, REDUCED),
            Work::Surface(Turn { instructions, vector: [vector, slow] }, _) => {
                let cycles = match gpu.vendor {
                    Vendor::Nvidia => instructions,
                    Vendor::Amd => vector + 3.0 * slow,
                };
                let slices = (CELLS as f64 / SLICE).ceil();
                let terms = WRENCHES * CELLS as f64;
                return Ok(Self {
                    cycles: cycles * terms / Gpu::LANES,
                    instructions: instructions * SLICE,
                    contacts: gpu.wave() * SLICE / terms,
                    again: 0.0,
                    held: 0.0,
                    stream: WRENCHES * slices * SUM / gpu.link,
                });
            }
        };
        let cycles = code.cycles.ok_or("a kernel that steps contacts has cycles")?;
        let contacts = f64::from(shape.contacts()) * gpu.wave() / f64::from(shape.workgroup);
        let of_a_pass = code.per_cell.map_or(cycles * contacts, |n| n * contacts / gpu.wave()) * cells;
        Ok(Self {
            cycles: cycles * cells * passes,
            instructions: of_a_pass * passes,
            contacts,
            again: held * passes,
            held,
            stream: SAMPLE / gpu.memory,
        })
    }
}

/// What a GPU should do with a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bound {
    /// Steps per second by the issue of instructions, by the waves that hide each other's latency, and by
    /// memory or the way to the host.
    limits: [f64; 3],
    /// Waves that a part holds.
    waves: f64,
    /// Contacts that are under way at once.
    at_once: f64,
    /// A step of a contact alone \[s\].
    alone: f64,
    /// What caches are read for at the bound \[bytes/s\].
    cached: f64,
}

impl Bound {
    fn of(gpu: &Gpu, demand: &Demand, waves: f64) -> Self {
        let at_once = gpu.parts() * waves * demand.contacts;
        let alone = demand.instructions * gpu.latency() / gpu.clock;
        let misses = if at_once * demand.held > gpu.cache { demand.again / gpu.memory } else { 0.0 };
        let limits = [gpu.parts() * gpu.clock / demand.cycles, at_once / alone, 1.0 / (demand.stream + misses)];
        let bound = Self { limits, waves, at_once, alone, cached: 0.0 };
        Self { cached: bound.rate() * demand.again, ..bound }
    }

    /// Steps per second of a batch that fills the GPU.
    fn rate(&self) -> f64 {
        self.limits.into_iter().fold(f64::INFINITY, f64::min)
    }

    /// The smallest batch whose step, which takes as long as that of a contact alone or as the bound asks,
    /// and `overhead` seconds more, takes less time than on a CPU that makes `rate` steps per second. None if
    /// the CPU is faster with any batch.
    fn ahead_from(&self, rate: f64, overhead: f64) -> Option<f64> {
        let gained = 1.0 / rate - 1.0 / self.rate();
        (gained > 0.0).then(|| ((self.alone + overhead) * rate).max(overhead / gained).floor() + 1.0)
    }
}

/// A row of the prediction, in words.
#[derive(Clone, Debug, PartialEq)]
pub struct Row([String; 12]);

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| {} |", self.0.join(" | "))
    }
}

impl Line for Row {
    const HEAD: &str = "\
| GPU, code of | kernel | issue | latency | memory | waves a SIMD | contacts at once | one alone, us | caches, GB/s \
| over 16 cores | ahead of 2 cores from | ahead of 16 cores from |
|---|---|---|---|---|---|---|---|---|---|---|---|";
    const RENEW: &str = "cargo xtask kernels --predict --renew";

    fn parse(line: &str) -> Option<Self> {
        let words = cells::<12>(line)?;
        let is_row = !words[0].starts_with("--") && words[0] != "GPU, code of";
        is_row.then(|| Self(words.map(str::to_owned)))
    }

    fn key(&self) -> (&str, &str) {
        (&self.0[0], &self.0[1])
    }

    fn faults(&self, known: &Self) -> Vec<String> {
        if self == known { Vec::new() } else { vec![format!("{self}\nin the table: {known}")] }
    }
}

impl Row {
    fn new(gpu: &Gpu, kernel: &str, bound: &Bound, cpu: &Cpu) -> Self {
        let rate = |n: f64| format!("{n:.1e}");
        let ahead = |cores: usize| {
            let [rollout, call] = [0.0, DISPATCH].map(|overhead| {
                bound.ahead_from(cpu.rates[cores], overhead).map_or_else(|| "never".to_owned(), |n| format!("{n:.0}"))
            });
            if rollout == call { rollout } else { format!("{rollout}, {call}") }
        };
        let [issue, latency, memory] = bound.limits.map(rate);
        Self([
            format!("{}, {}", gpu.name, gpu.code),
            kernel.to_owned(),
            issue,
            latency,
            memory,
            format!("{:.0}", bound.waves),
            format!("{:.0}", bound.at_once),
            format!("{:.0}", bound.alone * 1e6),
            if bound.cached > 0.0 { format!("{:.0}", bound.cached / 1e9) } else { "-".to_owned() },
            format!("{:.1}", bound.rate() / cpu.rates[1]),
            ahead(0),
            ahead(1),
        ])
    }
}

/// The prediction from the tables in a document.
fn predicted(document: &Path) -> Result<Table<Row>, String> {
    let (amd, nvidia) = (Table::read(document)?, Table::read(document)?);
    let fail = |e: &dyn fmt::Display| format!("{FILE}: {e}");
    let text = std::fs::read_to_string(crate::root().join(FILE)).map_err(|e| fail(&e))?;
    let file: Value = serde_json::from_str(&text).map_err(|e| fail(&e))?;
    let mut rows = Vec::new();
    for gpu in &GPUS {
        for (kernel, work) in KERNELS {
            let cpu = work.cpu(&file)?;
            let code = Code::of(gpu, kernel, &amd, &nvidia)?;
            let demand = Demand::of(gpu, work, &code, cpu.passes)?;
            rows.push(Row::new(gpu, kernel, &Bound::of(gpu, &demand, code.waves), &cpu));
        }
    }
    Ok(Table(rows))
}

/// Prints the prediction, or with `--renew` writes it into docs/kernels.md.
///
/// # Errors
/// A table of that document without a kernel, or a file that cannot be read or written.
pub fn run(arguments: &[&str]) -> Result<(), String> {
    let table = predicted(&document())?;
    match arguments {
        [] => println!("{table}"),
        ["--renew"] => table.write(&document())?,
        _ => return Err("usage: cargo xtask kernels --predict [--renew]".to_owned()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A GPU of two parts of NVIDIA's with one cycle a nanosecond.
    const SMALL: Gpu = Gpu { units: 0.5, clock: 1e9, memory: 1e9, cache: 1000.0, link: 1e9, ..GPUS[0] };

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs()
    }

    #[test]
    fn the_prediction_is_that_of_the_tables_beside_it() {
        let known = Table::read(&document()).unwrap();
        let found = predicted(&document()).unwrap();
        found.check(&known).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(found, known);
    }

    #[test]
    fn the_least_of_three_limits_is_the_bound() {
        // 1000 cycles a step: 2e6 steps/s. 100 instructions of 4 cycles: 400 ns, in which 2 parts x 3 waves x
        // 4 contacts make a step.
        let demand =
            Demand { cycles: 1000.0, instructions: 100.0, contacts: 4.0, again: 20.0, held: 10.0, stream: 1e-8 };
        let bound = Bound::of(&SMALL, &demand, 3.0);
        assert!(near(bound.at_once, 24.0) && near(bound.alone, 4e-7), "{bound:?}");
        let wanted = [2e6, 6e7, 1e8];
        assert!(bound.limits.iter().zip(wanted).all(|(a, b)| near(*a, b)), "{bound:?}");
        assert!(near(bound.rate(), 2e6) && near(bound.cached, 4e7), "{bound:?}");
        // With 50 bytes a contact 24 of them do not fit into 1000 bytes: 20 bytes a step from memory, 20 ns.
        let large = Bound::of(&SMALL, &Demand { held: 50.0, ..demand }, 3.0);
        assert!(near(large.limits[2], 1.0 / 3e-8), "{large:?}");
        // One wave a part hides nothing: 8 contacts in 400 ns.
        assert!(near(Bound::of(&SMALL, &Demand { cycles: 10.0, ..demand }, 1.0).rate(), 2e7));
    }

    #[test]
    fn a_batch_pays_that_hides_the_latency_and_the_dispatch() {
        let bound = Bound { limits: [1e6, 2e6, 3e6], waves: 4.0, at_once: 100.0, alone: 1e-5, cached: 0.0 };
        // 2e5 steps/s: 2 contacts in the 10 us of one alone, as many as the CPU; a third is ahead.
        assert_eq!(bound.ahead_from(2e5, 0.0), Some(3.0));
        // With 10 us more 4; the batch gains 4 us a contact.
        assert_eq!(bound.ahead_from(2e5, 1e-5), Some(5.0));
        // Near the bound the gain of 0.25 us a contact decides: 40 of them pay 10 us.
        assert_eq!(bound.ahead_from(8e5, 1.001e-5), Some(41.0));
        assert_eq!(bound.ahead_from(1e6, 0.0), None);
    }

    #[test]
    fn demands_are_those_counted_by_hand() {
        let code = Code { cycles: Some(10.0), per_cell: None, waves: 4.0 };
        let grid = Demand::of(&GPUS[0], Work::Grid("lugre", 0.0), &code, 2.0).unwrap();
        // A warp has one contact, whose instructions are issued one a cycle.
        assert_eq!((grid.cycles, grid.instructions, grid.contacts), (6340.0, 6340.0, 1.0));
        assert_eq!((grid.held, grid.again), (3804.0, 7608.0));
        // A wave of AMD has two contacts: 500 x 634 / 64 instructions a pass.
        let code = Code { per_cell: Some(500.0), ..code };
        let grid = Demand::of(&GPUS[2], Work::Grid("lugre", 0.0), &code, 2.0).unwrap();
        assert_eq!((grid.cycles, grid.instructions, grid.contacts), (6340.0, 9906.25, 2.0));
        let reduced = Demand::of(&GPUS[2], Work::Reduced("lugre", 0.0), &code, 2.0).unwrap();
        assert_eq!((reduced.cycles, reduced.instructions, reduced.contacts), (20.0, 1000.0, 64.0));
        // 1601 wrenches of 317 cells, 32 at a time, in slices of 256 and 61.
        let surface = Work::Surface(Turn { instructions: 33.0, vector: [14.0, 1.0] }, 1.0);
        let [nvidia, surface] = [0, 2].map(|gpu| Demand::of(&GPUS[gpu], surface, &code, 1.0).unwrap());
        assert!(near(nvidia.cycles, 33.0 * 15_859.906_25), "{nvidia:?}");
        assert!(near(surface.cycles, 17.0 * 15_859.906_25) && near(surface.instructions, 8448.0), "{surface:?}");
        assert!(near(surface.stream, 38_424.0 / 25e9), "{surface:?}");
    }

    #[test]
    fn fewer_registers_hold_fewer_waves() {
        let amd = "| radv 1 | gfx1100 | lugre, grid of 317 | 99 | 2 | 3 | 132 | 0 | 0 | 10 | 250 | 5.7 |";
        let nvidia = "| sm_90 | lugre, grid of 317 | 119 | 0 | 0 | 3840 | 61440 | 2560 | 16 | 12 | 8.3 |";
        let (amd, nvidia) = (Table::parse(amd).unwrap(), Table::parse(nvidia).unwrap());
        let waves = |gpu: usize| Code::of(&GPUS[gpu], "lugre, grid of 317", &amd, &nvidia).unwrap().waves;
        // 132 of 512 registers, in units of 8.
        assert_eq!([0, 2, 4].map(waves), [3.0, 5.0, 3.0]);
        assert!(Code::of(&GPUS[3], "lugre, grid of 317", &amd, &nvidia).unwrap_err().contains("navi21"));
    }
}
