//! The work that is measured, and its converged result if it is known.

use std::f64::consts::{PI, TAU};
use std::sync::Arc;

use bristle::body::{Frame, FreeBody};
use bristle::contact::{Contact, Form, Initial, Inputs, Model};
use bristle::error::EngineError;
use bristle::friction::{Friction, Law};
use bristle::limit_surface::{DEFAULT_N_LS, Rule, Table};
use bristle::patch::{Grid, Patch, Shape};
use bristle::planar::Pose;
use bristle::random::Draw;
use bristle::schedule::{Signal, Sine};

/// Step \[s\] of the baseline: explicit Euler is stable and as exact as the other engines at their default
/// step.
pub const BASELINE_STEP: f64 = 5e-6;
/// Time between samples [s], and for which the inputs are held.
pub(super) const RECORD_EVERY: f64 = 0.01;
/// Time between the calls of a closed loop [s].
pub(super) const CALL_EVERY: f64 = 2e-3;
/// Width and height of the grid [m].
const SIZE: f64 = 0.02;

/// Contacts of the paper's in-hand case 2: the circle of `n` x `n` cells, grip `f_N1 = 1.73 + 0.91 sin(4 pi
/// t)` N held for 10 ms, Table I with p = 1. Contact 0 is the paper's own; the normal forces of the others
/// have other phases, so that at any time some contacts of a batch stick and others slide.
///
/// # Errors
/// A number of cells out of range.
pub fn in_hand(n: usize, law: Law, contacts: usize) -> Result<Vec<Contact>, EngineError> {
    let grid = Grid::new(n, n, SIZE, SIZE)?;
    let patch = Arc::new(Patch::shape(grid, Shape::Circle).expect("a circle has its middle cell at least"));
    let mass = 0.2;
    let inertia = mass / 12.0 * (0.15f64.powi(2) + 0.08f64.powi(2));
    let contact = |k: usize| {
        // Phases at multiples of the golden ratio are spread evenly over the period, however many there are.
        let phase = TAU * (k as f64 * 0.618_033_988_749_894_8).fract();
        let grip = Signal::sines(1.73, vec![Sine { amplitude: 0.91, omega: 4.0 * PI, phase }]);
        Contact {
            patch: Arc::clone(&patch),
            model: Model::Distributed,
            friction: Friction { law, ..Friction::default() },
            body: FreeBody {
                gravity: [Signal::constant(0.0), Signal::constant(-9.81)],
                ..FreeBody::new(Frame::Gripper, mass, inertia)
            }
            .into(),
            inputs: Inputs { normal_force: grip.held(RECORD_EVERY).expect("a valid period"), ..Inputs::default() },
            initial: Initial { pose: Pose::new(0.002, 0.0, 0.0), ..Initial::default() },
        }
    };
    Ok((0..contacts).map(contact).collect())
}

/// The same contacts with one bristle each, on the limit surface of the patch (exact cells, `N_ls = 20`), in
/// the consistent form.
///
/// # Errors
/// None for contacts of [`in_hand`].
pub fn reduced(contacts: Vec<Contact>) -> Result<Vec<Contact>, EngineError> {
    let Some(first) = contacts.first() else { return Ok(contacts) };
    let table = Arc::new(Table::new(&first.patch, Rule::Cells, DEFAULT_N_LS)?);
    let model = || Model::LimitSurface(Arc::clone(&table), Form::Consistent);
    Ok(contacts.into_iter().map(|c| Contact { model: model(), ..c }).collect())
}

/// Maps of `n` x `n` cells, each with a pressure of its own, uniform in 0 to 1.
///
/// # Errors
/// A number of cells out of range.
pub fn random_maps(n: usize, maps: usize) -> Result<Vec<Patch>, EngineError> {
    let grid = Grid::new(n, n, SIZE, SIZE)?;
    let map = |k: usize| {
        let pressure: Vec<f64> = (0..grid.len()).map(|i| Draw::new(k as u64, i as u64).uniform("pressure")).collect();
        Patch::from_pressure(grid, &pressure).expect("pressures are above 0")
    };
    Ok((0..maps).map(map).collect())
}

/// Times \[s\] and poses [m, m, rad] of contact 0 of [`in_hand`] at 21 x 21 cells that an independent
/// program converged to 2e-12 m; none of other laws than LuGre and Elasto-Plastic.
#[must_use]
pub const fn converged(law: Law) -> Option<[(f64, Pose); 4]> {
    Some(match law {
        Law::ElastoPlastic => [
            (0.5, Pose::new(0.001_792_295_586_4, -0.005_417_857_892_2, -0.058_270_522_963)),
            (1.0, Pose::new(0.001_391_672_506, -0.010_673_818_577, -0.105_677_218_13)),
            (1.5, Pose::new(0.000_996_439_739_49, -0.015_537_224_134, -0.136_037_348_37)),
            (2.0, Pose::new(0.000_720_694_387_13, -0.019_311_489_871, -0.152_444_767_06)),
        ],
        Law::LuGre => [
            (0.5, Pose::new(0.001_719_871_042_3, -0.006_494_793_384_2, -0.067_239_337_395)),
            (1.0, Pose::new(0.001_206_156_352_7, -0.012_718_155_9, -0.119_135_307_05)),
            (1.5, Pose::new(0.000_807_706_734_62, -0.017_866_009_517, -0.145_724_178_43)),
            (2.0, Pose::new(0.000_514_129_169_23, -0.022_830_819_387, -0.160_800_419_52)),
        ],
        #[allow(unreachable_patterns, reason = "laws may be added")]
        _ => return None,
    })
}

/// Largest distance of `poses`, sampled at `time` \[s\], from [`converged`]: \[m\], \[rad\]. None if no such
/// time is sampled.
#[must_use]
pub fn converged_error(law: Law, time: &[f64], poses: &[Pose]) -> Option<[f64; 2]> {
    let known = converged(law)?;
    let at = |t: f64| time.iter().position(|s| (s - t).abs() < 1e-9);
    let pairs: Vec<_> = known.iter().filter_map(|(t, q)| Some((poses[at(*t)?].into(), (*q).into()))).collect();
    (!pairs.is_empty()).then(|| furthest(pairs.into_iter()))
}

/// Largest difference of position [m] and angle [rad] over pairs of poses, or of the components of other
/// numbers; NaN if one is.
pub(super) fn furthest(pairs: impl Iterator<Item = ([f64; 3], [f64; 3])>) -> [f64; 2] {
    // `f64::max` would ignore a NaN.
    let larger = |a: f64, b: f64| if b <= a { a } else { b };
    pairs.fold([0.0, 0.0], |[m, rad], (p, q)| {
        [larger(m, (p[0] - q[0]).hypot(p[1] - q[1])), larger(rad, (p[2] - q[2]).abs())]
    })
}
