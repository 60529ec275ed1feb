//! What is left between the recordings and the fitted model: sensor noise, repeatability, residual, what was
//! held out, and where the model misses in a way that noise would not.

use bristle::error::EngineError;

use crate::model::Problem;
use crate::noise::{Autoregression, median, period, repeatability, rms, sensor_noise};
use crate::repeated::Reach;
use crate::report::digits;
use crate::sensor::sensor;

/// A compared quantity of a recording.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Channel {
    /// The recording.
    pub recording: String,
    /// Its place among the recordings.
    #[serde(skip)]
    pub place: usize,
    /// The quantity.
    pub name: String,
    /// The sensor's noise, by second differences \[SI\].
    pub sensor: f64,
    /// How well periods repeat, if the recording is periodic \[SI\].
    pub repeatability: Option<f64>,
    /// rms of model less measurement in the fitted part \[SI\].
    pub residual: f64,
    /// rms of what was measured in the fitted part, less the sensor's offset and drift \[SI\].
    #[serde(skip)]
    pub seen: f64,
    /// Share of the square of that which the model has [-], without the hundredth that is largest.
    #[serde(skip)]
    pub explained: f64,
    /// The same in the part that was predicted, if there is one \[SI\].
    pub held_out: Option<f64>,
    /// The mean normal force, of a force \[N\].
    pub normal_force: Option<f64>,
    /// Time after which residuals are no longer correlated, to 1/e \[s\].
    pub correlated: f64,
    /// Model and measurement of each sample; NaN where nothing is compared.
    #[serde(skip)]
    pub model: Vec<f64>,
    /// See `model`.
    #[serde(skip)]
    pub measured: Vec<f64>,
    /// Number of samples that were fitted.
    #[serde(skip)]
    pub fitted: usize,
    /// Sample times \[s\].
    #[serde(skip)]
    pub time: Vec<f64>,
}

impl Channel {
    /// A way in which the model misses it.
    fn missed(&self, on: &'static str, share: f64, sentence: String) -> Misfit {
        let Self { name, recording, .. } = self;
        let sentence = format!("{name} of {recording}: {sentence}");
        Misfit { channel: name.clone(), recording: recording.clone(), on, share, sentence }
    }

    /// Model less measurement of the samples of a range.
    pub fn errors(&self, of: std::ops::Range<usize>) -> Vec<f64> {
        let pairs = self.model[of.clone()].iter().zip(&self.measured[of]);
        pairs.map(|(a, b)| a - b).filter(|e| e.is_finite()).collect()
    }
}

/// A way in which the model misses.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Misfit {
    /// The quantity.
    pub channel: String,
    /// The recording.
    pub recording: String,
    /// What the residual depends on.
    pub on: &'static str,
    /// Share of the residual's square that the dependence explains [-].
    pub share: f64,
    /// In a sentence.
    pub sentence: String,
}

/// The compared quantities at a point, over whole recordings.
///
/// # Errors
/// An engine that fails.
pub fn channels(problem: &Problem<'_>, point: &[f64]) -> Result<Vec<Channel>, EngineError> {
    let mut all = Vec::new();
    for (r, repeated) in problem.repeated.iter().enumerate() {
        let Some(predicted) = problem.predict(point, r, Reach::All)? else { continue };
        let recording = &repeated.recording;
        let step = median(recording.time.windows(2).map(|t| t[1] - t[0]).collect());
        let force = recording.inputs.iter().find(|c| c.name == "normal_force");
        let constant = problem.scenario.first().contact.inputs.normal_force.value(0.0);
        for (c, (model, channel)) in predicted.into_iter().zip(&recording.compared).enumerate() {
            let masked = |x: f64, i: usize| if repeated.counts(c, i) { x } else { f64::NAN };
            let model: Vec<f64> = model.into_iter().enumerate().map(|(i, x)| masked(x, i)).collect();
            let measured: Vec<f64> = (0..model.len()).map(|i| masked(repeated.measured(c, i), i)).collect();
            let fitted = repeated.fitted;
            let mut of = Channel {
                recording: recording.name.clone(),
                place: r,
                name: channel.name.clone(),
                sensor: sensor_noise(&measured),
                repeatability: None,
                residual: 0.0,
                seen: 0.0,
                explained: 0.0,
                held_out: None,
                normal_force: channel
                    .name
                    .starts_with("wrench.f")
                    .then(|| force.map_or(constant, |f| f.values.iter().sum::<f64>() / f.values.len().max(1) as f64)),
                correlated: 0.0,
                time: recording.time.clone(),
                model,
                measured,
                fitted,
            };
            let errors = of.errors(0..fitted);
            let missed = trimmed(&errors);
            of.correlated = Autoregression::of(&errors, 0.0).correlation_time() * step;
            of.residual = rms(errors.into_iter());
            let [offset, drift, ..] = sensor(&problem.unknowns, point, r, &channel.name);
            let seen = of.measured[..fitted].iter().zip(&of.time).map(|(x, t)| x - offset - drift * t);
            let seen: Vec<f64> = seen.collect();
            of.explained = 1.0 - (missed / trimmed(&seen).max(f64::MIN_POSITIVE)).powi(2);
            of.seen = rms(seen.into_iter());
            let rest = of.errors(fitted..of.model.len());
            of.held_out = (!rest.is_empty()).then(|| rms(rest.into_iter()));
            // A motion that does not repeat to the last digit does not count: the model has it. Samples in
            // the same distance, which those where the motion turns are not.
            let all_but_turns = (0..of.model.len()).filter(|i| recording.turns.binary_search(i).is_err());
            let (errors, measured): (Vec<f64>, Vec<f64>) =
                all_but_turns.map(|i| (of.model[i] - of.measured[i], of.measured[i])).unzip();
            of.repeatability = period(&measured).map(|period| repeatability(&errors, period));
            all.push(of);
        }
    }
    Ok(all)
}

/// rms of what is finite but for the hundredth that is largest.
fn trimmed(values: &[f64]) -> f64 {
    let mut sizes: Vec<f64> = values.iter().map(|x| x.abs()).filter(|x| x.is_finite()).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.truncate(sizes.len() - sizes.len() / 100);
    rms(sizes.into_iter())
}

/// Number of groups in which residuals are compared.
const GROUPS: usize = 8;

/// Share of the square of `errors` that the means of groups explain, which values of `by` that are alike
/// form.
fn explained(errors: &[f64], by: &[f64]) -> f64 {
    let mut order: Vec<usize> = (0..errors.len()).filter(|i| errors[*i].is_finite() && by[*i].is_finite()).collect();
    order.sort_by(|a, b| by[*a].total_cmp(&by[*b]));
    let n = order.len();
    let mean = order.iter().map(|i| errors[*i]).sum::<f64>() / n.max(1) as f64;
    let whole: f64 = order.iter().map(|i| (errors[*i] - mean).powi(2)).sum();
    let of_group = |g: usize| {
        let group = &order[g * n / GROUPS..(g + 1) * n / GROUPS];
        let own = group.iter().map(|i| errors[*i]).sum::<f64>() / group.len().max(1) as f64;
        group.len() as f64 * (own - mean).powi(2)
    };
    if whole > 0.0 { (0..GROUPS).map(of_group).sum::<f64>() / whole } else { 0.0 }
}

/// Share of the square of `errors` about their mean that a line over `by` explains.
fn explained_by_line(errors: &[f64], by: &[f64]) -> f64 {
    let pairs = || errors.iter().zip(by).filter(|(e, x)| e.is_finite() && x.is_finite());
    let n = pairs().count().max(1) as f64;
    let [e_mean, x_mean] = [pairs().map(|p| p.0).sum::<f64>() / n, pairs().map(|p| p.1).sum::<f64>() / n];
    let (mut ee, mut xx, mut ex) = (0.0, 0.0, 0.0);
    pairs().for_each(|(e, x)| {
        let (e, x) = (e - e_mean, x - x_mean);
        (ee, xx, ex) = (ee + e * e, xx + x * x, ex + e * x);
    });
    if ee > 0.0 && xx > 0.0 { ex * ex / (ee * xx) } else { 0.0 }
}

/// rms of a force over its sensor's noise up to which no friction is seen in it [-].
const UNSEEN: f64 = 1.3;

/// A recording whose wrenches are the noise of their sensors.
fn noise_alone(place: usize, channels: &[Channel]) -> Option<Misfit> {
    let mut wrenches = channels.iter().filter(|c| c.place == place && c.name.starts_with("wrench."));
    let first = wrenches.clone().next()?;
    let is_noise = wrenches.all(|c| c.seen < UNSEEN * c.sensor);
    let sentence = "no friction is seen: this is the noise of its sensor";
    is_noise.then(|| first.missed("noise", 1.0, sentence.to_owned()))
}

/// Friction of which the model has less than half.
fn little_explained(channel: &Channel) -> Option<Misfit> {
    let share = channel.explained;
    let is_little = channel.name.starts_with("wrench.") && share < 0.5 && channel.residual > 3.0 * channel.sensor;
    let sentence = || {
        format!(
            "the model has {:.0} % of the square of what was measured: a sign, a unit, a column or a bound may be \
             wrong, or friction is not what was measured",
            100.0 * share.max(0.0)
        )
    };
    is_little.then(|| channel.missed("everything", share, sentence()))
}

/// Where the model misses: what residuals depend on, beyond what noise of their correlation would show.
pub fn misfit(problem: &Problem<'_>, channels: &[Channel]) -> Vec<Misfit> {
    let mut all = Vec::new();
    all.extend((0..problem.repeated.len()).filter_map(|place| noise_alone(place, channels)));
    for channel in channels {
        all.extend(little_explained(channel));
        let n = channel.fitted;
        let errors: Vec<f64> = (0..n).map(|i| channel.model[i] - channel.measured[i]).collect();
        let finite: Vec<f64> = errors.iter().copied().filter(|e| e.is_finite()).collect();
        let process = Autoregression::of(&finite, 0.0);
        let effective = process.effective(finite.len());
        let recording = problem.repeated.iter().map(|r| &r.recording).find(|r| r.name == channel.recording);
        let path = recording.and_then(|r| r.inputs.iter().find(|c| c.name.starts_with("position.")));
        let velocity: Option<Vec<f64>> = path.map(|p| {
            let of = |i: usize| (p.values[i] - p.values[i - 1]) / (channel.time[i] - channel.time[i - 1]);
            (0..n).map(|i| if i == 0 { 0.0 } else { of(i) }).collect()
        });
        let mut causes: Vec<(&'static str, Vec<f64>)> =
            vec![("the force", channel.model[..n].to_vec()), ("the time", channel.time[..n].to_vec())];
        if let (Some(velocity), Some(path)) = (velocity, path) {
            causes.push(("the direction", velocity.iter().map(|v| v.signum()).collect()));
            causes.push(("the velocity", velocity));
            causes.push(("the position", path.values[..n].to_vec()));
        }
        // Groups of independent samples would explain (GROUPS - 1)/effective by chance.
        let chance = (GROUPS as f64 - 1.0) / effective.max(GROUPS as f64);
        let line_chance = 1.0 / effective.max(GROUPS as f64);
        let step = median(channel.time.windows(2).map(|t| t[1] - t[0]).collect());
        if channel.correlated > 3.0 * step && channel.residual > 2.0 * channel.sensor {
            let sentence = format!(
                "the residual is {:.1} times the sensor's noise and correlated over {} s: the contact differs from the \
                 scenario in its law or otherwise, or what was measured in its times or by noise that is correlated",
                channel.residual / channel.sensor.max(f64::MIN_POSITIVE),
                digits(channel.correlated)
            );
            all.push(channel.missed("itself", 1.0, sentence));
        }
        // What a law misses comes again; bristles that are loaded at the start are missed there alone.
        let (early, late) = errors.split_at(n / 20);
        if rms(early.iter().copied()) > 3.0 * rms(late.iter().copied()) {
            let squares = |errors: &[f64]| errors.iter().filter(|e| e.is_finite()).map(|e| e * e).sum::<f64>();
            let share = squares(early) / squares(&errors);
            let sentence = format!(
                "the first twentieth has {:.0} % of the residual's square: bristles may have been loaded there; \
                 `burn_in`, or the unknowns start.x, start.y, start.theta, allow for that",
                100.0 * share,
            );
            all.push(channel.missed("the start", share, sentence));
        }
        for (on, by) in causes {
            let (groups, line) = (explained(&errors, &by), explained_by_line(&errors, &by));
            // A line has one number, and less of it is chance.
            if groups > (3.0 * chance).max(0.1) || line > (3.0 * line_chance).max(0.1) {
                let share = groups.max(line);
                all.push(channel.missed(on, share, format!("{on} explains {:.0} % of the residual", 100.0 * share)));
            }
        }
    }
    all
}
