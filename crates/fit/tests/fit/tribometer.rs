//! The recording of a tribometer: what is known of it is in the README beside it. The file is not in the
//! repository; tests of it pass where it is not there.

use std::path::{Path, PathBuf};

use bristle_fit::FitFile;
use bristle_fit::compare::compare;
use bristle_fit::fit::{Estimate, Fit, fit};

fn path(of_repository: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(of_repository)
}

fn fitted(changes: &[&str], law: &str) -> Option<Fit> {
    let recording = path("../shared/data/recordings/tribometer.tsv");
    if !recording.exists() {
        return None;
    }
    let changes: Vec<String> = changes.iter().map(|c| (*c).to_owned()).collect();
    let file = FitFile::load(&path("examples/tribometer.toml"), &changes).unwrap();
    let recordings = file.read(&[recording]).unwrap_or_else(|e| panic!("{e}"));
    let fit = fit(&file, &recordings, &[format!("friction.law={law}")], &|_| true).unwrap_or_else(|e| panic!("{e}"));
    println!("{:.1} s\n{}", fit.seconds, bristle_fit::report::text(&fit));
    fit.before.iter().chain(&fit.notes).for_each(|note| println!("{note}"));
    Some(fit)
}

fn of<'f>(fit: &'f Fit, name: &str) -> &'f Estimate {
    fit.estimates.iter().find(|e| e.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// Within a share of a value that others have found.
fn near(found: f64, known: f64, share: f64) -> bool {
    (found / known - 1.0).abs() <= share
}

#[test]
fn both_laws_that_stick_have_the_known_numbers_and_predict_the_rest() {
    let laws = ["elasto-plastic", "viscoelasto-plastic", "lugre", "dahl"];
    let Some(fits) = laws.iter().map(|law| fitted(&[], law)).collect::<Option<Vec<Fit>>>() else { return };
    for fit in &fits[..2] {
        assert!(fit.converged, "{}", fit.law);
        let (mu, sigma0) = (of(fit, "friction.mu_c"), of(fit, "friction.sigma0"));
        assert!(near(mu.value, 0.47, 0.03) && mu.identifiable, "{mu:?}");
        assert!(near(sigma0.value, 8200.0, 0.03) && sigma0.identifiable, "{sigma0:?}");
        let c = &fit.channels[0];
        let force = c.normal_force.unwrap();
        let offset = of(fit, "wrench.fx.offset").value / force;
        assert!((offset + 0.02).abs() <= 0.005, "{offset}");
        let rest = c.held_out.unwrap();
        assert!(rest <= 1.2 * c.residual && rest <= 0.024 * force, "{c:?}");
        for other in &fits[2..] {
            assert!(other.channels[0].held_out.unwrap() > 2.0 * rest, "{}", other.law);
        }
        assert!(!fit.misfit.is_empty());
    }
    let comparison = compare(&fits).unwrap();
    println!("{}", bristle_fit::report::text_of(&comparison));
    assert!(comparison.laws[..2].iter().all(|law| law.law.contains("plastic")));
    assert!(comparison.laws[2..].iter().all(|law| law.is_told), "{comparison:?}");
}

#[test]
fn with_everything_free_it_says_what_cannot_be_told() {
    let everything = [
        "fit.unknowns={ 'friction.mu_c' = {}, 'friction.mu_s_over_mu_c' = {}, 'friction.v_s' = {}, 'friction.sigma0' \
         = {}, 'friction.sigma1' = {}, 'friction.sigma2' = {}, 'friction.s_ba' = {}, 'wrench.fx.gain' = {}, \
         'wrench.fx.delay' = {} }",
    ];
    let Some(fit) = fitted(&everything, "elasto-plastic") else { return };
    for name in ["v_s", "mu_s_over_mu_c", "sigma1", "sigma2", "mu_c"] {
        let estimate = of(&fit, &format!("friction.{name}"));
        assert!(!estimate.identifiable, "{estimate:?}");
    }
    let sliding = of(&fit, "sliding_friction");
    assert!(near(sliding.value, 0.47, 0.03) && sliding.identifiable, "{sliding:?}");
    let named = |name: &str| fit.directions.iter().any(|d| d.unknowns.iter().any(|u| u == name));
    assert!(named("wrench.fx.gain") && named("wrench.fx.delay"));
}
