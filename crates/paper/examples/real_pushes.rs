//! How well Coulomb friction predicts measured pushes:
//! `cargo run --release -p bristle-paper --example real_pushes -- FOLDER`.
//!
//! Prints the median and the 90th percentile of the angle between the measured and the predicted wrench
//! `(fx, fy, tau/0.05 m)` and the median error of its size, per set and per layout of the supports (a layout
//! was pushed on two surfaces): with the loads of a plate at rest, and with the coefficient of friction and
//! the height of the push fitted on other pushes. `bristle reproduce pushes --pushes FOLDER` draws the same.
//! See [`bristle_paper::reproduce::pushes`].

use std::collections::BTreeMap;
use std::path::Path;

use bristle_data::statistics::{mean, quantile};
use bristle_paper::reproduce::pushes::{Errors, Judged, Judgement, by_layout, friction_of, judge};

/// Prints medians and 90th percentiles [deg], errors of size [%] and how many pushes the fit brings nearer.
pub fn print(sets: &BTreeMap<String, Judged>) {
    let head = format!("{:>7} {:>7} {:>7}", "median", "90 %", "size %");
    println!("{:40} {:>6} | statics {head} | fitted {head} | nearer", "angle [deg], error of size [%]", "pushes");
    for (name, Judged { statics, fitted }) in sets {
        let text = |Errors { angle, size }: &Errors| {
            format!("{:7.2} {:7.2} {:7.1}", quantile(angle, 0.5), quantile(angle, 0.9), 100.0 * quantile(size, 0.5))
        };
        let nearer = statics.angle.iter().zip(&fitted.angle).filter(|(s, f)| f < s).count();
        println!(
            "{name:40} {:6} |         {} |        {} | {nearer:6}",
            statics.angle.len(),
            text(statics),
            text(fitted)
        );
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: real_pushes FOLDER")?;
    let Judgement { sets, fits } = judge(Path::new(&folder))?;
    print(&sets);
    print(&by_layout(&sets));
    let heights: Vec<f64> = fits.iter().map(|f| 1e3 * f.height).collect();
    let [low, high] = [0.05, 0.95].map(|q| quantile(&heights, q));
    println!("height of the push: {:.1} mm, {low:.0} to {high:.0} mm in 90 % of the fits", mean(&heights));
    for (surface, friction) in friction_of(&fits) {
        let [low, high] = [0.05, 0.95].map(|q| quantile(&friction, q));
        println!("coefficient of friction, {surface}: {:.3}, {low:.3} to {high:.3}", mean(&friction));
    }
    Ok(())
}
