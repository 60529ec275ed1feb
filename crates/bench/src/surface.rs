//! Times tables of limit surfaces.

use std::time::Duration;

use web_time::Instant;

use super::kind::Kind;
use super::measure::Found;
use super::report::Row;
use super::subject::Subject;
use super::{process, work};
use bristle::error::EngineError;
use bristle::limit_surface::{Basis, DEFAULT_N_LS, Rule, Table};
use bristle::patch::Patch;

/// Largest number of batches, of which the fastest is reported.
const REPEATS: usize = 200;

/// The tables of `maps` random maps of `n` x `n` cells (exact cells, `N_ls = 20`), each by itself or from one
/// basis.
pub(super) fn measure(
    subject: &Subject,
    kind: Kind,
    n: usize,
    maps: usize,
    budget: Duration,
) -> Result<Row, EngineError> {
    let patches = work::random_maps(n, maps)?;
    let cells = patches[0].cells().len();
    let single = subject.engine().info().precision == "f32";
    let opened = Instant::now();
    let basis = match kind {
        Kind::Basis if single => Some(Basis::single(patches[0].grid(), Rule::Cells, DEFAULT_N_LS)?),
        Kind::Basis => Some(Basis::new(patches[0].grid(), Rule::Cells, DEFAULT_N_LS)?),
        _ => None,
    };
    let opened_s = opened.elapsed().as_secs_f64();
    let timed = |patches: &[Patch]| -> Result<(Vec<Table>, f64, Option<f64>), EngineError> {
        let (cpu, start) = (process::cpu_seconds(), Instant::now());
        let tables = match (subject.as_gpu(), &basis) {
            (_, Some(basis)) => basis.tables(patches)?,
            (Some(gpu), None) => gpu.tables(patches, Rule::Cells, DEFAULT_N_LS)?,
            (None, None) if single => Table::batch_single(patches, Rule::Cells, DEFAULT_N_LS)?,
            (None, None) => Table::batch(patches, Rule::Cells, DEFAULT_N_LS)?,
        };
        let wall_s = start.elapsed().as_secs_f64();
        Ok((tables, wall_s, process::cpu_seconds().zip(cpu).map(|(after, before)| after - before)))
    };
    let (_, first_s, _) = timed(&patches[..1])?;
    let start = Instant::now();
    let before = process::reset_peak();
    let (tables, mut wall_s, mut cpu_s) = timed(&patches)?;
    for _ in 1..REPEATS {
        if start.elapsed().as_secs_f64() + wall_s > budget.as_secs_f64() {
            break;
        }
        let (_, again, cpu) = timed(&patches)?;
        if again < wall_s {
            (wall_s, cpu_s) = (again, cpu);
        }
    }
    let nodes = tables[0].nodes().to_vec();
    let found = Found {
        contacts: maps,
        wall_s,
        cpu_s,
        steps: maps as u64,
        passes: maps as u64,
        time: (0..nodes.len()).map(|i| i as f64).collect(),
        samples: nodes,
        first_s: opened_s + first_s,
        measured_s: start.elapsed().as_secs_f64(),
        host_bytes: process::peak_above(before),
        ..Found::default()
    };
    Ok(Row::of_tables(kind.work().name(), subject, n, cells, found))
}
