//! The page of a fit, and the cost along its unknowns.

use crate::common::{file, fitted, noise, strokes, with_force};
use bristle::random::Draw;
use bristle_fit::along::{Along, along};
use bristle_fit::compare::compare;
use bristle_fit::fit::{Fit, fit};
use bristle_fit::page;
use bristle_fit::recording::Recording;

const UNKNOWNS: &str = "\"friction.mu_c\" = {}\n\"friction.sigma0\" = {}\n\"friction.v_s\" = {}\n";

/// Strokes of 20 s, of which half is fitted.
fn recording() -> Recording {
    let draw = Draw::new(3, 0);
    let (rows, step) = (1000, 0.02);
    let noise: Vec<f64> = noise(&draw, rows, step, 0.0).iter().map(|n| 0.05 * n).collect();
    let truth = [("friction.mu_c", 0.45), ("friction.sigma0", 4000.0)];
    with_force(&file("elasto-plastic", UNKNOWNS, ""), strokes(&draw, rows, step), &truth, 0.1, &noise)
}

fn fit_of(unknowns: &str) -> Fit {
    fitted(&file("elasto-plastic", unknowns, ""), &recording())
}

/// Sum of squares of the fitted part.
fn squares(fit: &Fit) -> f64 {
    let c = &fit.channels[0];
    c.errors(0..c.fitted).iter().map(|e| e * e).sum()
}

/// The profile has the rise 1 at both ends of the interval, and elsewhere the rise that a fit with that value
/// held has.
#[test]
fn the_cost_along_an_unknown_is_that_of_fits_that_hold_it() {
    let best = fit_of(UNKNOWNS);
    let all = along(&best, &|_| true).unwrap();
    let of = |name: &str| all.iter().find(|a| a.name == name).unwrap_or_else(|| panic!("{name}"));
    let Along { points, .. } = of("friction.sigma0");
    let estimate = best.estimates.iter().find(|e| e.name == "friction.sigma0").unwrap();
    assert_eq!(points.len(), 9);
    for end in [estimate.low, estimate.high] {
        let after = points.iter().position(|p| p[0] > end).unwrap();
        let [[x0, y0], [x1, y1]] = [points[after - 1], points[after]];
        // A parabola between the two is below its chord by less than 0.05.
        let rise = y0 + (y1 - y0) * (end - x0) / (x1 - x0);
        assert!((0.93..1.13).contains(&rise), "{end}: {points:?}");
    }
    let held = |value: f64| {
        let unknowns =
            UNKNOWNS.replace("\"friction.sigma0\" = {}", &format!("\"friction.sigma0\" = {{ value = {value} }}"));
        squares(&fit_of(&unknowns)) - squares(&best)
    };
    let [first, last] = [points[0], points[8]];
    let (found, wanted) = (first[1] / last[1], held(first[0]) / held(last[0]));
    assert!(first[1] > 1.5 && last[1] > 1.5 && (found / wanted - 1.0).abs() < 0.03, "{found} {wanted}");
    // Nothing goes on after a stop.
    assert!(along(&best, &|_| false).unwrap().is_empty());
}

#[test]
fn the_page_says_what_the_fit_says_and_needs_nothing_from_elsewhere() {
    let mut file = file("elasto-plastic", UNKNOWNS, "");
    file.spec.share = 0.5;
    let recordings = [recording()];
    let of = |law: &str| {
        let law = [format!("friction.law={law}")];
        fit(&file, &recordings, &law, &|_| true).unwrap_or_else(|e| panic!("{e}"))
    };
    let fits = [of("elasto-plastic"), of("dahl")];
    let comparison = compare(&fits).unwrap();
    let html = page::html(&fits, Some(&comparison), &along(&fits[0], &|_| true).unwrap(), None);
    for e in &fits[0].estimates {
        assert!(html.contains(&format!("<td>{}</td>", e.name)), "{}", e.name);
    }
    let text = html.replace("&amp;", "&");
    // Friction at rest equals that of sliding here, so that the Stribeck velocity moves nothing.
    assert!(fits[0].directions.iter().any(|d| d.unknowns == ["friction.v_s"]), "{:?}", fits[0].directions);
    let told = [&comparison.sentence, &fits[0].directions[0].sentence, "model, predicted part", "Correlations"];
    told.into_iter().for_each(|part| assert!(text.contains(part as &str), "{part}"));
    for id in ["unknowns", "time0", "loops0", "profiles", "correlations", "noise", "laws", "notes"] {
        assert!(html.contains(&format!("<section id=\"{id}\">")), "{id}");
    }
    let names = html.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for bad in ["http://", "https://", "src=", "@import", "url(h", "NaN"] {
        assert!(!names.contains(bad), "{bad}");
    }
    assert!(html.len() < 1_000_000, "{}", html.len());
}
