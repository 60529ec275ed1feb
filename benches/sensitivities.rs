//! Derivatives over eight parameters beside the rollout alone: a disc of 317 cells that slides on a table. On
//! one thread, `RAYON_NUM_THREADS=1`.
//!
//! A stage with derivatives is one sweep for the commit and the forces more. The cost of a parameter in
//! sweeps is (with eight - with none) / 8 / stages over `plain` / passes; `stages` and `passes` are printed.

use std::sync::Arc;

use bristle::body::{Frame, FreeBody};
use bristle::contact::{Bristles, Contact, Initial, Inputs, Model};
use bristle::friction::{Friction, Law};
use bristle::patch::{Grid, Patch, Shape};
use bristle::{Cpu, Engine, Plan, Sensitivity, Signal, Twist};
use criterion::{Criterion, criterion_group, criterion_main};

fn sliding(law: Law) -> Contact {
    let patch = Patch::shape(Grid::new(21, 21, 0.02, 0.02).unwrap(), Shape::Circle).unwrap();
    let frame = Frame::Body { offset: [0.0; 2] };
    let body = FreeBody { twist: Twist::new(0.3, 0.1, 8.0), ..FreeBody::new(frame, 0.2, 1e-4) };
    Contact {
        patch: Arc::new(patch),
        model: Model::Distributed,
        friction: Friction { law, ..Friction::default() },
        body: body.into(),
        inputs: Inputs { normal_force: Signal::constant(2.0), ..Inputs::default() },
        initial: Initial { bristles: Bristles::Steady, ..Initial::default() },
    }
}

fn derivatives(c: &mut Criterion) {
    let names = ["sigma0", "sigma1", "sigma2", "mu_c", "mu_s", "v_s"].map(|name| format!("friction.{name}"));
    let names = names.iter().map(String::as_str).chain(["body.mass", "patch.scale"]);
    let with: Vec<Sensitivity> = names.map(Sensitivity::over).collect();
    let plan = Plan::new(0.02, 1e-4, 0.02).unwrap();
    for law in [Law::LuGre, Law::ElastoPlastic] {
        let contacts = [sliding(law)];
        let plain = Cpu::new().run(&contacts, &plan).unwrap().status[0];
        let solved = Cpu::new().sensitivities(&contacts, &plan, &[]).unwrap().0.status[0];
        println!("{}: {} passes, solved {}, stages {}", law.name(), plain.passes, solved.passes, 2 * solved.steps);
        let mut group = c.benchmark_group(format!("sensitivities/{}", law.name()));
        group.bench_function("plain", |b| b.iter(|| Cpu::new().run(&contacts, &plan).unwrap()));
        for (name, with) in [("with none", &[][..]), ("with eight", &with)] {
            group.bench_function(name, |b| b.iter(|| Cpu::new().sensitivities(&contacts, &plan, with).unwrap()));
        }
        group.finish();
    }
}

criterion_group!(benches, derivatives);
criterion_main!(benches);
