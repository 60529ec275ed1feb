//! The cost of a step and of a table, ours and the baseline's, at every size.

use std::hint::black_box;
use std::time::Instant;

use super::super::context::{Context, Error};
use super::super::euler::Reduced;
use super::super::setup::Setup;
use bristle::contact::Contact;
use bristle::cpu::Cpu;
use bristle::engine::{Engine, Plan};
use bristle::limit_surface::{Rule, Surface, Table as LimitTable};
use bristle::planar::Twist;
use bristle_bench::baseline::Baseline;

pub(super) const SIZES: [usize; 8] = [5, 9, 13, 17, 21, 25, 29, 33];

const TWIST: Twist = Twist::new(0.1, -0.05, 1.59);
const DT: f64 = 1e-4;

/// The least time [s] that `run` takes of `tries`, over `count`.
pub(super) fn least(tries: usize, count: usize, mut run: impl FnMut()) -> f64 {
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64()
    };
    (0..tries).map(time).fold(f64::INFINITY, f64::min) / count as f64
}

/// The setting of the public test of Table II.
pub(super) fn contact(n: usize) -> Result<Contact, Error> {
    let [vx, vy, w] = TWIST.to_array();
    Setup::profile("square")
        .law(false)
        .cells(n)
        .set("friction.sigma0=1e5")
        .set("friction.sigma1=20.0")
        .set(&format!("inputs.twist={{ vx = {vx}, vy = {vy}, w = {w} }}"))
        .contact()
}

/// A contact on which the same is asked of the reduced model.
fn reduced_contact(n: usize) -> Result<Contact, Error> {
    let mut contact = contact(n)?;
    let table = LimitTable::new(&contact.patch, Rule::Bilinear, 20)?;
    contact.model = bristle::contact::Model::LimitSurface(table.into(), bristle::contact::Form::Published);
    Ok(contact)
}

/// Seconds an iteration or a table, per size.
pub(super) struct Speeds {
    pub baseline: Vec<f64>,
    pub engine: Vec<f64>,
    pub baseline_reduced: Vec<f64>,
    pub engine_reduced: Vec<f64>,
    pub baseline_table: Vec<f64>,
    pub engine_table: Vec<f64>,
}

/// A step of an engine [s], of one contact on one core.
pub(super) fn step(engine: &dyn Engine, contact: &Contact, steps: usize, tries: usize) -> Result<f64, Error> {
    let duration = steps as f64 * DT;
    let plan = Plan::new(duration, DT, duration)?;
    let mut failed = None;
    let seconds = least(tries, steps, || {
        if let Err(e) = engine.run(std::slice::from_ref(contact), &plan) {
            failed = Some(e);
        }
    });
    failed.map_or(Ok(seconds), |e| Err(e.into()))
}

pub(super) fn speeds(context: &Context<'_>) -> Result<Speeds, Error> {
    // Short runs, often: some of them are not interrupted.
    let tries = context.full_or(25, 12);
    let mut s = Speeds {
        baseline: vec![],
        engine: vec![],
        baseline_reduced: vec![],
        engine_reduced: vec![],
        baseline_table: vec![],
        engine_table: vec![],
    };
    for n in SIZES {
        let grid = contact(n)?;
        // About as long for every size, some milliseconds.
        let steps = (80_000 / (n * n)).max(50);
        s.baseline.push(step(&Baseline, &grid, steps, tries)?);
        s.engine.push(step(&Cpu::new(), &grid, steps, tries)?);
        let reduced = reduced_contact(n)?;
        let table = LimitTable::new(&grid.patch, Rule::Bilinear, 20)?;
        let steps = 20_000;
        s.baseline_reduced.push(least(tries, steps, || {
            let mut reduced = Reduced::new(&grid, &table);
            (0..steps).for_each(|_| {
                black_box(reduced.step(black_box(TWIST), DT));
            });
        }));
        s.engine_reduced.push(step(&Cpu::new(), &reduced, steps, tries)?);
        // A share of the nodes, so that it is not interrupted: all nodes cost the same.
        let share = least(tries, 1, || direct(&grid, nodes(20) / SHARE));
        s.baseline_table.push(share * SHARE as f64);
        s.engine_table.push(least(tries, 1, || {
            black_box(LimitTable::of(&Surface::new(&grid.patch, Rule::Bilinear), 20).is_ok());
        }));
    }
    Ok(s)
}

/// Part of the nodes of a table that is timed.
const SHARE: usize = 10;

/// Nodes of a table.
pub(super) const fn nodes(n_ls: usize) -> usize {
    (4 * n_ls + 1) * (n_ls + 1)
}

/// Nodes of a table as the paper makes it: for every one four sums over the cells, one a corner of the cell
/// of the CoR.
pub(super) fn direct(contact: &Contact, nodes: usize) {
    let cells: Vec<[f64; 3]> = contact.patch.cells().iter().map(|c| [c.x, c.y, c.w]).collect();
    for node in 0..nodes {
        for corner in 0..4 {
            let (cx, cy) = (1e-5 * node as f64, 1e-3 * f64::from(corner));
            let mut sum = [0.0; 3];
            for [x, y, w] in &cells {
                let (vx, vy) = (-(y - cy), x - cx);
                let speed = (vx * vx + vy * vy).sqrt();
                if speed > 1e-12 {
                    let (fx, fy) = (-w * vx / speed, -w * vy / speed);
                    sum[0] += fx;
                    sum[1] += fy;
                    sum[2] += x * fy - y * fx;
                }
            }
            black_box(sum);
        }
    }
}
