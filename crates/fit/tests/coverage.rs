//! Intervals have the truth as often as they say: a short form of the example `coverage`.

mod common;

/// Of `n` intervals of 90 %, how many have the truth, if that many is likely: within 3.5 standard deviations.
fn check(correlated: f64, recordings: u64) {
    let (mut inside, mut all) = (0u32, 0u32);
    for law in 0..common::LAWS.len() {
        for seed in 1000..1000 + recordings {
            for (path, is_in) in common::covered(law, seed, correlated) {
                let is_in = is_in.unwrap_or_else(|| panic!("{path} was held: {:?}, seed {seed}", common::LAWS[law].0));
                (inside, all) = (inside + u32::from(is_in), all + 1);
            }
        }
    }
    let share = f64::from(inside) / f64::from(all);
    println!("{inside} of {all}: {share:.3}");
    assert!((0.9 - share).abs() < 3.5 * (0.09 / f64::from(all)).sqrt() + 0.02, "{share} of {all}");
}

#[test]
fn under_white_noise() {
    check(0.0, 5);
}

#[test]
fn under_noise_that_is_correlated_over_a_third_of_a_second() {
    check(0.3, 5);
}
