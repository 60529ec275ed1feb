//! Compares measured pushes with predictions: without a fit, and with parameters fitted on other pushes.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::context::Error;
use super::plate::{Push, read};
use bristle::random::Draw;
use bristle_data::statistics::quantile;

/// Random halvings of the pushes.
const HALVINGS: u64 = 50;
/// Heights of the push that a fit chooses from: 0 to this [mm].
const HIGHEST: u32 = 50;

/// Errors of the predictions of a set's pushes.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    /// Angle between measured and predicted wrench \[deg\], torques divided by 0.05 m.
    pub angle: Vec<f64>,
    /// Difference of their sizes over the measured one [-].
    pub size: Vec<f64>,
}

/// Predictions of a set's pushes.
#[derive(Clone, Debug, Default)]
pub struct Judged {
    /// With the coefficient of friction that comes with the data and the loads of a plate at rest.
    pub statics: Errors,
    /// By fits to other pushes: means over all fits that have not seen the push.
    pub fitted: Errors,
}

/// What is fitted.
#[derive(Clone, Debug, Default)]
pub struct Fit {
    /// Coefficient of friction of each surface [-].
    pub friction: BTreeMap<String, f64>,
    /// Height above the surface at which the plate was pushed \[m\].
    pub height: f64,
}

/// Predictions of all pushes.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// By set, named `surface_layout`.
    pub sets: BTreeMap<String, Judged>,
    /// One fit to each half of each halving.
    pub fits: Vec<Fit>,
}

/// Reads `folder` and predicts every push, without a fit and by fits to a random half of the pushes of every
/// set that leaves it out.
///
/// `folder` holds `supports.csv` (set, x, y, normal force, mu) and one CSV a set with the displacement of the
/// centre of mass and the mean wrench of the pusher, both in the body frame at the centre of mass. Each of
/// the three supports is a small square. A fit chooses the coefficient of friction of each surface, by the
/// median size of the wrenches, and one height of the push, by the least mean angle. The height makes the
/// distribution of the load: a push above the surface loads the supports that lie ahead.
///
/// # Errors
/// A file that cannot be read, or a set without three supports that span a triangle or with fewer than two
/// pushes.
pub fn judge(folder: &Path) -> Result<Judgement, Error> {
    let pushes = read(folder)?;
    let mut fitted = vec![[0.0; 2]; pushes.len()];
    let mut out = Judgement::default();
    for k in 0..HALVINGS {
        let half = half(&pushes, k);
        for side in [false, true] {
            let seen: Vec<&Push> = pushes.iter().zip(&half).filter(|(_, h)| **h == side).map(|(p, _)| p).collect();
            let fit = fit(&seen);
            for (i, push) in pushes.iter().enumerate().filter(|(i, _)| half[*i] != side) {
                let errors = push.errors(fit.friction[push.surface()], fit.height);
                fitted[i].iter_mut().zip(errors).for_each(|(mean, e)| *mean += e / HALVINGS as f64);
            }
            out.fits.push(fit);
        }
    }
    for (push, fitted) in pushes.iter().zip(fitted) {
        let set = out.sets.entry(push.set.clone()).or_default();
        for (errors, [angle, size]) in [(&mut set.statics, push.errors(push.mu, 0.0)), (&mut set.fitted, fitted)] {
            errors.angle.push(angle);
            errors.size.push(size);
        }
    }
    Ok(out)
}

/// Which pushes are in one of the two halves of halving `k`: half of every set, drawn at random.
fn half(pushes: &[Push], k: u64) -> Vec<bool> {
    let draw = Draw::new(0, k);
    let lots: Vec<f64> = (0..pushes.len()).map(|i| draw.uniform(&format!("push {i}"))).collect();
    let in_half = |(push, lot): (&Push, &f64)| {
        let of_set = || pushes.iter().zip(&lots).filter(|(other, _)| other.set == push.set);
        2 * of_set().filter(|(_, other)| *other < lot).count() < of_set().count()
    };
    pushes.iter().zip(&lots).map(in_half).collect()
}

fn fit(seen: &[&Push]) -> Fit {
    let mut sizes: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for push in seen {
        let size = push.measured.norm() / push.predicted(1.0, 0.0).norm();
        sizes.entry(push.surface().to_owned()).or_default().push(size);
    }
    let friction: BTreeMap<String, f64> = sizes.into_iter().map(|(name, s)| (name, quantile(&s, 0.5))).collect();
    let angle = |height: f64| seen.iter().map(|p| p.errors(friction[p.surface()], height)[0]).sum::<f64>();
    let heights = (0..=HIGHEST).map(|mm| 1e-3 * f64::from(mm)).map(|height| (height, angle(height)));
    let height = heights.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0.0, |(height, _)| height);
    Fit { friction, height }
}

/// The name of a set without the surface it was pushed on.
pub fn layout(set: &str) -> &str {
    set.split_once('_').map_or(set, |(_, layout)| layout)
}

/// Sets of one layout together.
pub fn by_layout(sets: &BTreeMap<String, Judged>) -> BTreeMap<String, Judged> {
    let mut out: BTreeMap<String, Judged> = BTreeMap::new();
    for (set, judged) in sets {
        let all = out.entry(layout(set).to_owned()).or_default();
        for (to, from) in [(&mut all.statics, &judged.statics), (&mut all.fitted, &judged.fitted)] {
            to.angle.extend(&from.angle);
            to.size.extend(&from.size);
        }
    }
    out
}
