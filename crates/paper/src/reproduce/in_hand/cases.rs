//! The runs of the paper.

use super::super::setup::{Grip, Setup};
use bristle::planar::Pose;

/// Models of a case, in the order of the runs.
pub(super) const GRID: usize = 0;
pub(super) const PUBLISHED: usize = 1;
pub(super) const MODELS: [&str; 4] =
    ["distributed", "limit surface, published", "limit surface, consistent", "ellipsoid"];

/// A run of the paper: name, case and force profile, map, and final poses of the reference program,
/// distributed and reduced [m, m, rad].
pub(super) type Case = (&'static str, Grip, &'static str, [Pose; 2]);

/// A pose, short enough for a row of [`CASES`].
const fn at(x: f64, y: f64, theta: f64) -> Pose {
    Pose::new(x, y, theta)
}

pub(super) const CASES: [Case; 10] = [
    ("case 1, circle, f1", (1, 1), "circle", [at(0.014496, -0.021732, -0.898146), at(0.014322, -0.021877, -0.906324)]),
    ("case 1, circle, f2", (1, 2), "circle", [at(0.014776, -0.021507, -0.886203), at(0.014598, -0.021653, -0.894386)]),
    ("case 2, circle, f1", (2, 1), "circle", [at(0.000721, -0.019312, -0.152444), at(0.000794, -0.018267, -0.148346)]),
    ("case 2, circle, f2", (2, 2), "circle", [at(0.000798, -0.019483, -0.125995), at(0.000782, -0.019710, -0.126084)]),
    ("case 2, square, f1", (2, 1), "square", [at(0.000829, -0.018829, -0.140151), at(0.000925, -0.017481, -0.135586)]),
    ("case 2, square, f2", (2, 2), "square", [at(0.000901, -0.019534, -0.118357), at(0.000885, -0.019772, -0.118658)]),
    (
        "case 2, line gradient, f1",
        (2, 1),
        "line-gradient-x",
        [at(-0.003244, -0.018711, -0.694069), at(-0.003231, -0.020202, -0.680122)],
    ),
    (
        "case 2, line gradient, f2",
        (2, 2),
        "line-gradient-x",
        [at(-0.005606, -0.021689, -0.540727), at(-0.005650, -0.021547, -0.543185)],
    ),
    ("case 2, k = 2, f1", (2, 1), "k2", [at(0.000417, -0.020947, -0.189281), at(0.000472, -0.020304, -0.184387)]),
    ("case 2, k = 2 fN, f1", (2, 1), "k2fN", [at(0.000421, -0.020983, -0.187997), at(0.000471, -0.020389, -0.183423)]),
];

pub(super) fn setup((_, grip, map, _): &Case) -> Setup {
    match *map {
        "k2" => Setup::in_hand(*grip, "hertz").set("patch.exponent=2.0"),
        "k2fN" => Setup::in_hand(*grip, "hertz").set("patch.exponent_per_newton=2.0"),
        map => Setup::in_hand(*grip, map),
    }
}
