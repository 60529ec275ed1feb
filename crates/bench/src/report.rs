//! The results of a benchmark, as JSON and as text.

#[cfg(feature = "terminal")]
mod text;

use serde::Serialize;

use super::measure::Found;
use super::subject::Subject;
use super::{process, work};
use bristle::cpu::processor;
use bristle::friction::Law;
use bristle::number::simd::Simd;
use bristle::planar::Pose;

/// A measurement of this machine.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The processor and its threads.
    pub machine: String,
    /// Vectors of the CPU engine: `avx512`, `avx2`, or `portable` for what every processor has.
    pub simd: &'static str,
    /// The GPU's adapter; none if no GPU was measured.
    pub adapter: Option<String>,
    /// Whether that adapter is a software driver: it runs on the CPU and says nothing about a GPU.
    pub software: Option<bool>,
    /// The adapter's driver and its version.
    pub driver: Option<String>,
    /// Why there is no GPU, if one was looked for.
    pub no_gpu: Option<String>,
    /// The commit of the checkout this program was built in.
    pub commit: String,
    /// One row a work, law, engine, precision, size and batch.
    pub rows: Vec<Row>,
}

/// One measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// `step`, `reduced`, `loop`, `surface` or `basis`. For the last two a contact is a map, and a step and a
    /// pass are one table.
    pub work: &'static str,
    /// `elasto-plastic` or `lugre`; `coulomb` for tables.
    pub law: &'static str,
    /// `baseline`, `cpu` or `gpu`.
    pub engine: &'static str,
    /// `f64` or `f32`.
    pub precision: &'static str,
    /// Whether a GPU is a software driver.
    pub software: bool,
    /// Cells along a side of the grid.
    pub n: usize,
    /// Bristles of a contact: cells with pressure, or 1 for `reduced`; cells of a map for tables.
    pub cells: usize,
    /// Contacts stepped together.
    pub contacts: usize,
    /// CPU threads that compute; 1 for a hardware GPU.
    pub threads: usize,
    /// Longest step \[s\].
    pub step: Option<f64>,
    /// Simulated time of each contact \[s\].
    pub simulated_s: Option<f64>,
    /// Time it took \[s\].
    pub wall_s: f64,
    /// Processor time it took, to 10 ms \[s\].
    pub cpu_s: Option<f64>,
    /// Steps of all contacts per second.
    pub contact_steps_per_s: f64,
    /// Passes over the cells per step.
    pub passes_per_step: f64,
    /// `wall_s x threads / (passes x cells)` \[ns\].
    pub ns_per_cell_pass: f64,
    /// The same in processor time, which others on the machine disturb less; none on a hardware GPU, or of
    /// less than 0.1 s.
    pub cpu_ns_per_cell_pass: Option<f64>,
    /// Simulated time of all contacts over wall time [-].
    pub simulated_s_per_s: Option<f64>,
    /// Speed relative to the paper's, steps (tables) per second against steps (tables) per second, at the
    /// sizes that it tells (Tables II and V, one contact on an i7-1185G7). Its step is explicit and shorter.
    pub times_paper: Option<f64>,
    /// Equal steps: time of the baseline per cell and pass over ours [-].
    pub times_baseline_per_pass: Option<f64>,
    /// Equal accuracy: simulated time per second over the baseline's [-].
    pub times_baseline: Option<f64>,
    /// Largest distance from the converged path, where that is known \[m\].
    pub error_m: Option<f64>,
    /// Largest distance from the converged angle \[rad\].
    pub error_rad: Option<f64>,
    /// Largest distance from the path on the CPU in f64; of normalised wrenches for tables [m; -].
    pub difference: Option<f64>,
    /// Largest distance from its angle \[rad\].
    pub difference_rad: Option<f64>,
    /// Contacts that became non-finite.
    pub failed: usize,
    /// Opening the engine and the first rollout of one contact: compiling shaders, starting threads; making a
    /// basis \[s\].
    pub setup_s: f64,
    /// Bytes of memory that the process took for it at most, where the system tells (Linux).
    pub host_bytes: Option<u64>,
    /// Most bytes in use on the device.
    pub device_bytes: Option<u64>,
    /// Most bytes that the allocator had taken from the device for them.
    pub device_reserved_bytes: Option<u64>,
    /// Time the row took, without set-up [s].
    #[serde(skip)]
    pub(super) measured_s: f64,
    /// What rows are compared by: sample times and poses, or the nodes of a table.
    #[serde(skip)]
    samples: (Vec<f64>, Vec<[f64; 3]>),
    /// What the engine is, for the report's head.
    #[serde(skip)]
    adapter: (String, String),
}

/// Steps per second of Table II, by cells along a side; Elasto-Plastic, all cells of a square.
const PAPER_STEPS: [(usize, f64); 9] = [
    (5, 1.6e5),
    (9, 3.9e4),
    (13, 2.8e4),
    (17, 1.7e4),
    (21, 1.1e4),
    (25, 7.7e3),
    (29, 5.7e3),
    (33, 4.5e3),
    (101, 4.3e2),
];
/// Table V: seconds for a limit surface with `N_ls = 20`, and steps per second of the reduced model.
const PAPER_REDUCED: [(usize, f64, f64); 8] = [
    (5, 2.4e-2, 8.7e5),
    (9, 5.4e-2, 8.5e5),
    (13, 1.0e-1, 7.7e5),
    (17, 1.8e-1, 8.6e5),
    (21, 2.6e-1, 8.7e5),
    (25, 3.7e-1, 8.6e5),
    (29, 4.9e-1, 8.6e5),
    (33, 6.3e-1, 8.6e5),
];

fn paper(work: &str, n: usize) -> Option<f64> {
    let reduced = || PAPER_REDUCED.iter().find(|(m, ..)| *m == n);
    match work {
        "step" => PAPER_STEPS.iter().find(|(m, _)| *m == n).map(|(_, rate)| *rate),
        "reduced" => reduced().map(|(_, _, rate)| *rate),
        "loop" => None,
        _ => reduced().map(|(_, seconds, _)| 1.0 / seconds),
    }
}

impl Row {
    pub(super) fn of_rollout(
        work: &'static str,
        law: Law,
        subject: &Subject,
        n: usize,
        cells: usize,
        step: f64,
        found: Found,
    ) -> Self {
        let name = law.name();
        // The converged path is that of a bristle in each of 21 x 21 cells.
        let known = work == "step" && n == 21;
        let poses = || found.samples.iter().map(|q| Pose::from(*q)).collect::<Vec<_>>();
        let error = if known { work::converged_error(law, &found.time, &poses()) } else { None };
        let simulated = found.simulated_s;
        let row = Self::of(work, name, subject, n, cells, found);
        Self {
            step: Some(step),
            simulated_s: Some(simulated),
            simulated_s_per_s: Some(simulated * row.contacts as f64 / row.wall_s),
            error_m: error.map(|e| e[0]),
            error_rad: error.map(|e| e[1]),
            ..row
        }
    }

    pub(super) fn of_tables(work: &'static str, subject: &Subject, n: usize, cells: usize, found: Found) -> Self {
        Self::of(work, "coulomb", subject, n, cells, found)
    }

    fn of(work: &'static str, law: &'static str, subject: &Subject, n: usize, cells: usize, found: Found) -> Self {
        let info = subject.engine().info();
        let threads = subject.threads();
        let (steps, passes) = (found.steps as f64, found.passes as f64);
        let rate = steps / found.wall_s;
        let hardware = subject.as_gpu().is_some_and(|gpu| !gpu.adapter().software);
        let cpu = found.cpu_s.filter(|seconds| !hardware && *seconds >= 0.1);
        Self {
            work,
            law,
            engine: info.engine,
            precision: info.precision,
            software: subject.as_gpu().is_some_and(|gpu| gpu.adapter().software),
            n,
            cells,
            contacts: found.contacts,
            threads,
            step: None,
            simulated_s: None,
            wall_s: found.wall_s,
            cpu_s: found.cpu_s,
            contact_steps_per_s: rate,
            passes_per_step: passes / steps,
            ns_per_cell_pass: 1e9 * found.wall_s * threads as f64 / (passes * cells as f64),
            cpu_ns_per_cell_pass: cpu.map(|seconds| 1e9 * seconds / (passes * cells as f64)),
            simulated_s_per_s: None,
            times_paper: paper(work, n).map(|theirs| rate / theirs),
            times_baseline_per_pass: None,
            times_baseline: None,
            error_m: None,
            error_rad: None,
            difference: None,
            difference_rad: None,
            failed: found.failed,
            setup_s: subject.opening_s + found.first_s,
            host_bytes: found.host_bytes,
            device_bytes: found.device_bytes.map(|b| b[0]),
            device_reserved_bytes: found.device_bytes.map(|b| b[1]),
            measured_s: found.measured_s,
            samples: (found.time, found.samples),
            adapter: (info.adapter, info.driver),
        }
    }

    fn same_work(&self, other: &Self) -> bool {
        (self.work, self.law, self.n) == (other.work, other.law, other.n)
    }
}

impl Report {
    pub(super) fn new(simd: Simd) -> Self {
        Self {
            machine: processor(),
            simd: simd.name(),
            adapter: None,
            software: None,
            driver: None,
            no_gpu: None,
            commit: process::commit(),
            rows: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, row: Row) {
        if row.engine == "gpu" {
            let (adapter, driver) = row.adapter.clone();
            (self.adapter, self.driver, self.software) = (Some(adapter), Some(driver), Some(row.software));
        }
        self.rows.push(row);
    }

    /// Fills in what follows from two rows: speed against the baseline, and differences from the CPU in f64.
    pub(super) fn compare(&mut self) {
        let all = self.rows.clone();
        for row in &mut self.rows {
            let others: Vec<&Row> = all.iter().filter(|other| other.same_work(row)).collect();
            let baseline = others.iter().find(|other| other.engine == "baseline");
            if let Some(theirs) = baseline.filter(|_| row.engine != "baseline") {
                row.times_baseline_per_pass = Some(theirs.ns_per_cell_pass / row.ns_per_cell_pass);
                row.times_baseline = row.simulated_s_per_s.zip(theirs.simulated_s_per_s).map(|(a, b)| a / b);
            }
            let of_cpu = others.iter().find(|other| (other.engine, other.precision) == ("cpu", "f64"));
            let Some(reference) = of_cpu.filter(|other| (other.engine, other.precision) != (row.engine, row.precision))
            else {
                continue;
            };
            let (time, poses) = &row.samples;
            let (their_time, theirs) = &reference.samples;
            let same = |t: f64| their_time.iter().position(|s| (s - t).abs() < 1e-9);
            let pairs: Vec<_> = time.iter().zip(poses).filter_map(|(t, q)| Some((*q, theirs[same(*t)?]))).collect();
            if matches!(row.work, "surface" | "basis") {
                let differences = pairs.iter().flat_map(|(a, b)| (0..3).map(|c| (a[c] - b[c]).abs()));
                row.difference = Some(differences.fold(0.0, f64::max));
            } else {
                let [metres, radians] = work::furthest(pairs.into_iter());
                (row.difference, row.difference_rad) = (Some(metres), Some(radians));
            }
        }
    }
}
