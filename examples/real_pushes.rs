//! How well Coulomb friction predicts measured pushes: `cargo run --release --example real_pushes -- FOLDER`.
//!
//! Prints the median and the 90th percentile of the angle between the measured and the predicted wrench
//! `(fx, fy, tau/0.05 m)`, per set and per layout of the supports (a layout was pushed on two surfaces), without
//! and with a fitted load distribution; `bristle reproduce pushes --pushes FOLDER` draws the same. See
//! [`bristle::reproduce::pushes`].

use std::collections::BTreeMap;
use std::path::Path;

use bristle::reproduce::pushes::{Angles, angles, by_layout};
use bristle::statistics::quantile;

/// Prints medians and 90th percentiles.
pub fn print(angles: &BTreeMap<String, Angles>) {
    println!("{:44} {:>6} {:>7} {:>7} {:>7} {:>7}", "angle [deg]", "pushes", "statics", "90 %", "fitted", "90 %");
    for (name, a) in angles {
        let [s, s90, f, f90] =
            [(&a.statics, 0.5), (&a.statics, 0.9), (&a.fitted, 0.5), (&a.fitted, 0.9)].map(|(v, q)| quantile(v, q));
        println!("{name:44} {:6} {s:7.2} {s90:7.2} {f:7.2} {f90:7.2}", a.statics.len());
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: real_pushes FOLDER")?;
    let sets = angles(Path::new(&folder))?;
    print(&sets);
    print(&by_layout(&sets));
    Ok(())
}
