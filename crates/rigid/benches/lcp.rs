//! Contact problems per second: Lemke's method, blocks on the CPU in both precisions and on the GPU, and,
//! with the interpreter `BRISTLE_PYTHON`, `lemkelcp` and a projected Gauss-Seidel of numba on the very same
//! problems (`crates/rigid/benches/lcp.py`).
//!
//! ```sh
//! python3 -m venv /tmp/lcp && /tmp/lcp/bin/pip install lemkelcp numba
//! BRISTLE_PYTHON=/tmp/lcp/bin/python cargo bench -p bristle-rigid --bench lcp
//! ```

use std::process::Command;
use std::time::Instant;

use bristle::random::Draw;
use bristle::{Choice, Gpu};
use bristle_rigid::gpu::RigidGpu;
use bristle_rigid::lcp::{ContactProblem, Impulses, blocks};

const PROBLEMS: u64 = 4096;
/// Of these that Lemke's method and Python solve.
const FEW: usize = 128;
const CORNERS: [[f64; 2]; 4] = [[-0.05, -0.04], [0.05, -0.04], [-0.05, 0.04], [0.05, 0.04]];

/// Two boxes on each other on a plane, eight contacts with eight directions: some slide, some stick, some are
/// pushed.
fn problem(k: u64) -> ContactProblem {
    let draw = Draw::new(3, k);
    let uniform = |name: &str, low: f64, high: f64| low + (high - low) * draw.uniform(name);
    let (mut v, mut inverse) = ([0.0; 12], [0.0; 12]);
    for c in 0..12 {
        let mass = uniform(if c < 6 { "lower" } else { "upper" }, 0.2, 1.0);
        inverse[c] = if c % 6 < 3 { 1.0 / mass } else { 1.0 / (mass * 1.7e-3) };
        let size = if c % 6 < 2 {
            0.5
        } else if c % 6 == 5 {
            3.0
        } else {
            0.01
        };
        v[c] = uniform(&format!("v{c}"), -size, size) * f64::from(u8::from(draw.uniform("moves") > 0.3));
        v[c] -= if c % 6 == 2 { 0.00981 } else { 0.0 };
    }
    let row = |i: usize, axis: usize| {
        let [x, y] = CORNERS[i % 4];
        let mut row = [0.0; 12];
        for body in 0..if i < 4 { 1 } else { 2 } {
            // The upper box of a pair is the second body; the lower one is pushed the other way.
            let (sign, place) = if i < 4 || body == 1 { (1.0, if i < 4 { 0 } else { 6 }) } else { (-1.0, 0) };
            let z = if sign > 0.0 { -0.02 } else { 0.02 };
            let turn = [[y, -x, 0.0], [0.0, z, -y], [-z, 0.0, x]][axis];
            row[place + [2, 0, 1][axis]] = sign;
            (0..3).for_each(|c| row[place + 3 + c] = sign * turn[c]);
        }
        row
    };
    let j: Vec<[f64; 12]> = (0..24).map(|r| row(r / 3, r % 3)).collect();
    let w = |r: usize, c: usize| (0..12).map(|l| j[r][l] * inverse[l] * j[c][l]).sum::<f64>();
    ContactProblem {
        w: (0..24 * 24).map(|i| w(i / 24, i % 24)).collect(),
        b: (0..24).map(|r| (0..12).map(|l| j[r][l] * v[l]).sum()).collect(),
        mu: (0..8).map(|i| uniform(&format!("mu{}", i / 4), 0.2, 0.9)).collect(),
        directions: 8,
        start: vec![[0.0; 3]; 8],
    }
}

/// Times the solver a few times, and prints the fastest.
fn report(name: &str, count: usize, mut solve: impl FnMut() -> Vec<Impulses>) {
    let (mut best, mut found) = (f64::INFINITY, Vec::new());
    for _ in 0..5 {
        let start = Instant::now();
        found = solve();
        best = best.min(start.elapsed().as_secs_f64());
    }
    let residual = found.iter().map(|f| f.residual).fold(0.0, f64::max);
    let by_lemke = found.iter().filter(|f| f.lemke).count();
    println!("{name:<28} {:>12.3e} per s   residual {residual:.1e}   by Lemke {by_lemke}", count as f64 / best);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let problems: Vec<ContactProblem> = (0..PROBLEMS).map(problem).collect();
    problems.iter().try_for_each(ContactProblem::validate)?;
    let few = &problems[..FEW];
    println!("{PROBLEMS} problems of 8 contacts with 8 directions, {} threads", rayon::current_num_threads());
    report("Lemke, f64, one thread", FEW, || few.iter().map(ContactProblem::by_lemke).collect());
    report("blocks, f64, one thread", FEW, || few.iter().map(blocks::solve::<f64>).collect());
    report("blocks, f64", problems.len(), || blocks::solve_all::<f64>(&problems));
    report("blocks, f32", problems.len(), || blocks::solve_all::<f32>(&problems));
    let warm = |solve: &dyn Fn(&ContactProblem) -> Impulses| -> Vec<ContactProblem> {
        problems.iter().map(|p| ContactProblem { start: solve(p).p, ..p.clone() }).collect()
    };
    let begun = warm(&blocks::solve::<f32>);
    report("blocks, f32, from solutions", begun.len(), || blocks::solve_all::<f32>(&begun));
    let gpu = Gpu::new(Choice::Any)?;
    let name = format!("blocks, {}", gpu.adapter().name.split('(').next().unwrap_or_default().trim());
    let gpu = RigidGpu::new(&gpu);
    report(&name, problems.len(), || gpu.solve_contacts(&problems).unwrap_or_default());
    if let Ok(python) = std::env::var("BRISTLE_PYTHON") {
        let file = std::env::temp_dir().join(format!("bristle_lcp_{}.csv", std::process::id()));
        let line = |p: &ContactProblem| {
            let lcp = p.lcp();
            let all: Vec<String> = lcp.a.transpose().iter().chain(lcp.q.iter()).map(|v| format!("{v:e}")).collect();
            all.join(",")
        };
        std::fs::write(&file, few.iter().map(line).collect::<Vec<_>>().join("\n"))?;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/lcp.py");
        Command::new(python).arg(script).arg(&file).status()?;
        std::fs::remove_file(file)?;
    }
    Ok(())
}
