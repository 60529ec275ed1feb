use super::*;
use crate::contact::PatchInputs;
use crate::contact::{Initial, Inputs, Model};
use crate::fixtures::{disc, held};
use crate::friction::Friction;
use crate::patch::{Grid, Patch, Placed, Shape};
use crate::planar::{Pose, Twist};

/// A body on feet at these places \[m\] with these parts of the load, pushed at a height \[m\].
fn on_feet(feet: &[([f64; 2], f64)], push_height: f64) -> Contact {
    let foot = Patch::shape(Grid::new(3, 3, 0.006, 0.006).unwrap(), Shape::Disc).unwrap();
    let placed = |([x, y], force): &([f64; 2], f64)| Placed {
        patch: foot.clone(),
        at: Pose::new(*x, *y, 0.3),
        force: *force,
        friction: 1.0,
    };
    let patch = Patch::compound(&feet.iter().map(placed).collect::<Vec<_>>()).unwrap();
    let patches = vec![PatchInputs::default(); feet.len()];
    Contact {
        patch: patch.into(),
        model: Model::Distributed,
        friction: Friction::default(),
        body: Body::prescribed(Twist::new(0.01, 0.0, 0.0)),
        inputs: Inputs { push_height, patches, ..Inputs::default() },
        initial: Initial::default(),
    }
}

const TRIPOD: [([f64; 2], f64); 3] = [([0.05, 0.0], 2.0), ([-0.03, 0.04], 1.0), ([-0.03, -0.04], 1.5)];
const TABLE: [([f64; 2], f64); 4] =
    [([0.05, 0.03], 1.0), ([-0.05, 0.03], 1.0), ([-0.05, -0.03], 1.0), ([0.05, -0.03], 1.0)];

/// Moments about the surface balance for three feet and for more, and friction of feet of their own agrees
/// with that of all.
#[test]
fn loads_balance_the_moment_of_the_push() {
    let more =
        [([0.05, 0.03], 1.0), ([-0.05, 0.02], 1.2), ([-0.04, -0.03], 0.8), ([0.05, -0.03], 1.0), ([0.0, 0.01], 0.7)];
    for feet in [&TRIPOD[..], &TABLE, &more] {
        for height in [0.01, 0.04, -0.02] {
            let contact = on_feet(feet, height);
            contact.validate().unwrap();
            let of = |k: usize| {
                let (sin, cos) = (0.7 + k as f64).sin_cos();
                [-0.3 * cos, -0.3 * sin]
            };
            let shares = contact.supports().balance_shares(of);
            assert!(shares.iter().take(feet.len()).all(|share| *share > 0.0), "{shares:?}");
            let all = |number: &dyn Fn(usize) -> f64| (0..feet.len()).map(|k| shares[k] * number(k)).sum::<f64>();
            let sum: f64 = feet.iter().map(|(_, force)| force).sum();
            assert!((all(&|_| 1.0) - 1.0).abs() < 1e-12);
            for axis in 0..2 {
                let rest: f64 = feet.iter().map(|(at, force)| force / sum * at[axis]).sum();
                let moved = all(&|k| feet[k].0[axis]) - rest;
                assert!((moved + height * all(&|k| of(k)[axis])).abs() < 1e-14, "{moved}");
            }
            let friction = [0, 1].map(|axis| 3.0 * all(&|k| of(k)[axis]));
            let loads = contact.loads(Wrench::new(friction[0], friction[1], 0.1), 3.0);
            for (load, share) in loads.iter().zip(shares) {
                assert!((load - 3.0 * share).abs() < 1e-12, "{loads:?} {shares:?}");
            }
        }
    }
}

/// By hand: a square table pushed along x loads the two feet ahead by `height mu / (2 length)` each.
#[test]
fn a_push_loads_the_feet_ahead() {
    let contact = on_feet(&TABLE, 0.02);
    let shares = contact.supports().balance_shares(|_| [-0.4, 0.0]);
    let moved = 0.02 * 0.4 / (2.0 * 0.1);
    for (k, sign) in [(0, 1.0), (1, -1.0), (2, -1.0), (3, 1.0)] {
        assert!((shares[k] - (0.25 + sign * moved)).abs() < 1e-12, "{shares:?}");
    }
    assert_eq!(contact.loads(Wrench::default(), 0.0), [0.0; 4]);
}

/// Feet that would have to pull carry nothing; the loads change without a jump on the way there.
#[test]
fn a_foot_that_would_pull_carries_nothing() {
    let mut before: Option<[f64; MAX_PATCHES]> = None;
    for i in 0..2000 {
        let shares = on_feet(&TABLE, 1e-4 * f64::from(i)).supports().balance_shares(|k| [-0.5, 0.02 * k as f64]);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12 && shares.iter().all(|share| *share >= 0.0));
        let most =
            before.map_or(0.0, |before| before.iter().zip(&shares).fold(0.0, |m, (a, b)| f64::max(m, (a - b).abs())));
        assert!(most < 0.02, "{i}: {before:?} {shares:?}");
        before = Some(shares);
    }
    assert!(before.unwrap()[..4].iter().filter(|share| **share == 0.0).count() >= 2, "{before:?}");
}

#[test]
fn what_cannot_balance_is_refused() {
    let refused = |contact: &Contact, field: &str, accepted: &str| {
        let error = contact.validate().unwrap_err();
        assert!(error.field == field && error.accepted.contains(accepted), "{error}");
    };
    let name = PUSH_HEIGHT.name;
    refused(&on_feet(&TRIPOD, f64::NAN), name, "m");
    refused(&on_feet(&TRIPOD[..2], 0.01), name, "not in one line");
    let line = [([0.0, 0.0], 1.0), ([0.02, 0.01], 1.0), ([0.04, 0.02], 1.0)];
    refused(&on_feet(&line, 0.01), name, "not in one line");
    let mut alone = on_feet(&TRIPOD, 0.01);
    alone.inputs.patches.clear();
    refused(&alone, name, "several patches");
    let mut free = on_feet(&TRIPOD, 0.01);
    free.body = held(Model::Distributed, &disc(3), 1.0).body;
    refused(&free, name, "prescribed");
    let mut own = on_feet(&TRIPOD, 0.01);
    own.inputs.patches.iter_mut().for_each(|patch| patch.normal_force = Some(1.0.into()));
    refused(&own, name, "normal force of their own");
    let unloaded = [([0.05, 0.0], 2.0), ([-0.03, 0.04], 0.0), ([-0.03, -0.04], 1.5)];
    refused(&on_feet(&unloaded, 0.01), "patches.1.share", "> 0");
    on_feet(&TRIPOD, 0.0).validate().unwrap();
}
