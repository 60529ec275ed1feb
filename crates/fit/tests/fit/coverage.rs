//! Intervals have the truth as often as they say: a short form of the example `coverage`.

use std::collections::BTreeMap;

/// Of all intervals of 90 %, as many have the truth as is likely: within 3.5 standard deviations; and of the
/// five of each unknown more than one, which happens by chance to one unknown of two thousand.
fn check(correlated: f64) {
    let (mut inside, mut all) = (0u32, 0u32);
    for (law, (name, _)) in crate::common::LAWS.iter().enumerate() {
        let mut each: BTreeMap<String, u32> = BTreeMap::new();
        for seed in 1000..1005 {
            for (path, is_in) in crate::common::covered(law, seed, correlated) {
                let is_in = is_in.unwrap_or_else(|| panic!("{path} was held: {name}, seed {seed}"));
                (inside, all) = (inside + u32::from(is_in), all + 1);
                *each.entry(path).or_default() += u32::from(is_in);
            }
        }
        assert!(each.values().all(|inside| *inside > 1), "{name}: of five {each:?}");
    }
    let share = f64::from(inside) / f64::from(all);
    println!("{inside} of {all}: {share:.3}");
    assert!((0.9 - share).abs() < 3.5 * (0.09 / f64::from(all)).sqrt() + 0.02, "{share} of {all}");
}

#[test]
fn under_white_noise() {
    check(0.0);
}

#[test]
fn under_noise_that_is_correlated_over_a_third_of_a_second() {
    check(0.3);
}
