//! Which of several laws explains a recording: by the part that was held out, and by an information criterion
//! that counts independent samples.

use serde::Serialize;

use crate::fit::Fit;
use crate::interval::quantile;
use crate::noise::{Autoregression, rms};

/// A law beside the best one.
#[derive(Clone, Debug, Serialize)]
pub struct Ranked {
    /// The law.
    pub law: String,
    /// rms of the part that was predicted, over that of the best law [-].
    pub held_out_ratio: Option<f64>,
    /// Akaike's criterion less that of the best law: `n ln(mean square) + 2 k`, `n` the independent samples
    /// of the best law.
    pub criterion: f64,
    /// Whether the recordings tell it from the best law.
    pub is_told: bool,
}

/// The laws in the order of what they predict.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The best; none if a simpler or another one cannot be told from it.
    pub best: Option<String>,
    /// All.
    pub laws: Vec<Ranked>,
    /// In a sentence.
    pub sentence: String,
}

/// Errors over what the channel's residual is in the best fit, of one part of all channels.
fn errors(fit: &Fit, best: &Fit, is_held_out: bool) -> Vec<Vec<f64>> {
    let of = fit.channels.iter().zip(&best.channels);
    of.map(|(channel, best)| {
        let n = channel.model.len();
        let range = if is_held_out { channel.fitted..n } else { 0..channel.fitted };
        channel.errors(range).into_iter().map(|e| e / best.residual.max(f64::MIN_POSITIVE)).collect()
    })
    .collect()
}

/// Compares fits of the same recordings.
pub fn compare(fits: &[Fit]) -> Option<Comparison> {
    let size = |fit: &Fit, best: &Fit, held_out: bool| rms(errors(fit, best, held_out).into_iter().flatten());
    let has_rest = fits.first()?.channels.iter().any(|c| c.held_out.is_some());
    let first = fits.first()?;
    let mut order: Vec<&Fit> = fits.iter().collect();
    order.sort_by(|a, b| size(a, first, has_rest).total_cmp(&size(b, first, has_rest)));
    let best = order[0];
    let n = best.effective.max(1.0);
    let criterion = |fit: &Fit| 2.0 * n * size(fit, best, false).ln() + 2.0 * fit.free as f64;
    let laws: Vec<Ranked> = order
        .iter()
        .map(|fit| {
            let ratio = has_rest.then(|| size(fit, best, true) / size(best, best, true));
            let difference = criterion(fit) - criterion(best);
            let is_told = if has_rest { is_worse(fit, best) } else { difference > 6.0 };
            Ranked { law: fit.law.clone(), held_out_ratio: ratio, criterion: difference, is_told }
        })
        .collect();
    let alike: Vec<&str> = laws[1..].iter().filter(|law| !law.is_told).map(|law| law.law.as_str()).collect();
    let by = if has_rest { "predicts the rest of the recording best" } else { "explains the recording best" };
    let sentence = match alike.as_slice() {
        [] => format!("{} {by}", best.law),
        alike => format!("{} {by}, but the recording cannot tell it from {}", best.law, alike.join(", ")),
    };
    Some(Comparison { best: alike.is_empty().then(|| best.law.clone()), laws, sentence })
}

/// Whether the squares of what was held out are larger than those of the best law by more than chance: the
/// test of Diebold & Mariano (1995), with the independent samples of their difference.
fn is_worse(fit: &Fit, best: &Fit) -> bool {
    let [own, other] = [errors(fit, best, true), errors(best, best, true)];
    let (mut sum, mut variance, mut count, mut independent) = (0.0, 0.0, 0.0, 0.0);
    for (own, other) in own.iter().zip(&other) {
        let difference: Vec<f64> = own.iter().zip(other).map(|(a, b)| a * a - b * b).collect();
        let n = difference.len() as f64;
        let mean = difference.iter().sum::<f64>() / n.max(1.0);
        let about: Vec<f64> = difference.iter().map(|d| d - mean).collect();
        let process = Autoregression::of(&about, 0.0);
        let effective = process.effective(about.len());
        sum += mean * n;
        variance += n * n * process.variance / effective;
        (count, independent) = (count + n, independent + effective);
    }
    count > 0.0 && sum > quantile(independent - 1.0) * variance.sqrt() && sum > 0.0
}
