//! Measured pushes against the limit surface. The data are not part of the project: without their folder
//! (`BRISTLE_REAL_PUSHES`, or `../shared/data/real_pushes`) the test says so and passes.

use std::path::PathBuf;

use bristle::reproduce::pushes;
use bristle::statistics::quantile;

/// Largest median angle [deg] of a set, by layout of its supports in the order of their names.
const MEDIAN: [f64; 4] = [10.7, 9.5, 19.7, 12.6];

#[test]
fn coulomb_friction_predicts_measured_pushes() {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/real_pushes");
    let folder = PathBuf::from(std::env::var_os("BRISTLE_REAL_PUSHES").unwrap_or_else(|| default.into()));
    if !folder.join("supports.csv").is_file() {
        println!("skipped: no measured pushes at {}", folder.display());
        return;
    }
    let sets = pushes::angles(&folder).unwrap();
    let layouts = pushes::by_layout(&sets);
    assert_eq!(layouts.len(), MEDIAN.len());
    for (name, a) in sets.iter().chain(&layouts) {
        let [s, s90, f, f90] =
            [(&a.statics, 0.5), (&a.statics, 0.9), (&a.fitted, 0.5), (&a.fitted, 0.9)].map(|(v, q)| quantile(v, q));
        println!("{name}: median and 90 % {s:.2} {s90:.2} deg by statics, {f:.2} {f90:.2} deg fitted");
    }
    let median = |v: &[f64]| quantile(v, 0.5);
    let limit = |layout: &str| MEDIAN[layouts.keys().position(|l| l == layout).unwrap()];
    // Every layout was pushed on two surfaces. The fit, on half of the pushes of both, is judged on both.
    assert_eq!(sets.len(), 2 * MEDIAN.len());
    let alone = sets.iter().map(|(name, a)| (name, &a.statics, limit(pushes::layout(name))));
    let fitted = layouts.iter().map(|(name, a)| (name, &a.fitted, limit(name)));
    for (name, angles, limit) in alone.chain(fitted) {
        let found = median(angles);
        assert!(found <= limit, "{name}: median {found:.2} deg, at most {limit}");
    }
    let mean = |pick: fn(&pushes::Angles) -> &[f64]| layouts.values().map(|a| median(pick(a))).sum::<f64>() / 4.0;
    let (statics, fitted) = (mean(|a| &a.statics), mean(|a| &a.fitted));
    assert!(fitted < statics, "mean of the medians: {fitted:.2} deg fitted, {statics:.2} deg without");
}
