//! Rollouts with derivatives over parameters by name: of the engine
//! ([`bristle::Cpu::sensitivities`]), of the scenario ([`crate::slopes`]), and the values of inputs in some
//! intervals.

use std::time::Instant;

use bristle::engine::{Plan, StopWhen};
use bristle::error::ParameterError;
use bristle::{Bristles, Contact, Cpu, EngineError, Input, Sensitivity, Signal, Trajectories, pool, sensitivity};
use rayon::prelude::*;

use crate::batch::Contacts;
use crate::core::write;
use crate::draw::{Origin, Source};
use crate::drive::Told;
use crate::errors::Failure;
use crate::signals::interruptible;
use crate::slopes::{self, Terms};

/// Rows of quantities, with their numbers and widths, `[contacts, samples, numbers]`.
pub type Rows<'a> = [(usize, usize, &'a mut [f64])];

/// The name of a parameter; of an input also in which intervals, from one to before another.
pub type Named = (String, Option<[usize; 2]>);

/// `nstep` intervals of `dt` [s] with a sample `every` so many, and derivatives over `names`.
pub struct Asked<'a> {
    pub names: &'a [Named],
    pub dt: f64,
    pub nstep: usize,
    pub every: usize,
}

/// What a name means.
enum Meaning {
    /// What an input has more in the intervals from one to before another.
    Input(Input, [usize; 2]),
    /// A number that contacts are drawn with, and its values.
    Drawn(Vec<f64>),
    /// A parameter of the engine alone, whatever the scenario makes it from.
    Own,
}

/// The samples of a contact, and their derivatives.
struct One {
    samples: Trajectories,
    /// Of pose, twist and wrench, `[samples, 3, parameters]`.
    slopes: [Vec<f64>; 3],
}

/// The samples of all contacts and their derivatives.
pub struct Found(Vec<One>);

fn refuse<T>(value: impl std::fmt::Display, accepted: &str) -> Result<T, Failure> {
    Err(ParameterError::new("sensitivities", value, accepted).into())
}

/// Steps contacts that are at their start, without changing any of them.
///
/// # Errors
/// Contacts that have no such derivatives, or a name that is none.
pub fn run(contacts: &mut Contacts, told: &Told<'_>, asked: &Asked<'_>) -> Result<Found, Failure> {
    let began = Instant::now();
    let info = contacts.info();
    if (info.engine, info.precision) != ("cpu", "f64") {
        let value = format!("of a batch on the engine {} in {}", info.engine, info.precision);
        return refuse(value, "device = \"cpu\", and precision = \"f64\" in the scenario");
    }
    if contacts.watch.is_some() {
        return refuse("of contacts that may leave", "a scenario without `stop_when`");
    }
    if told.frames.is_some() {
        return refuse("under pressure maps in `control`", "a control without `pressure`");
    }
    check_start(contacts)?;
    let meanings = asked.names.iter().map(|name| meaning(contacts, name, asked.nstep));
    let meanings: Vec<Meaning> = meanings.collect::<Result<_, _>>()?;
    let starts = asked.starts();
    let samples: Vec<f64> = starts.iter().copied().step_by(asked.every).collect();
    let plan = Plan {
        samples,
        stop_when: StopWhen::NEVER,
        keep_bristles: false,
        sample_bristles: false,
        ..contacts.source.scenario.plan()
    };
    check_intervals(&meanings, told, asked)?;
    let (source, origins) = (&contacts.source, contacts.origins());
    let first = contacts.batch.as_ref().map_or(&[][..], |batch| batch.contacts());
    let one = |k: usize| {
        let contact = driven(&first[k], told, k, &starts)?;
        let terms = meanings.iter().zip(asked.names).map(|(meaning, (name, _))| {
            let at = (k, &origins[k]);
            terms(meaning, name, source, at, told, &starts)
        });
        let terms: Vec<Option<Terms>> = terms.collect::<Result<_, _>>()?;
        One::new(contact, &plan, &terms).map_err(|error| match Failure::from(error) {
            Failure::Parameter(error, _) => Failure::Parameter(error, Some(k)),
            other => other,
        })
    };
    let work = |goes_on: &(dyn Fn() -> bool + Sync)| {
        // What is left out once the call is interrupted is not looked at.
        let one = |k: usize| if goes_on() { one(k).map(Some) } else { Ok(None) };
        pool::run(|| (0..first.len()).into_par_iter().map(one).collect::<Result<Option<Vec<One>>, _>>())
    };
    let found = interruptible(work)??.unwrap_or_default();
    contacts.busy += began.elapsed();
    Ok(Found(found))
}

/// Refuses contacts that are not as they start.
fn check_start(contacts: &mut Contacts) -> Result<(), Failure> {
    let batch = contacts.batch()?;
    for k in 0..batch.len() {
        let initial = batch.contacts()[k].initial.clone();
        let twist = batch.contacts()[k].body.free().map(|body| body.twist);
        let now = batch.samples()?[k];
        let is_still = initial.bristles != Bristles::Unloaded || {
            let bristles = batch.bristles(k)?;
            bristles.as_flattened().iter().all(|zeta| *zeta == 0.0)
        };
        let is_at_start = batch.time(k) == 0.0 && now.pose == initial.pose && twist.is_none_or(|u| now.twist == u);
        if !is_at_start || !is_still {
            let accepted = "contacts at their start: `reset` puts them there, also to another pose and twist";
            let value = format!("at {} s", batch.time(k));
            return Err(Failure::Parameter(ParameterError::new("sensitivities", value, accepted), Some(k)));
        }
    }
    Ok(())
}

/// What a name means: an input, a number of the scenario, or one of the engine.
fn meaning(contacts: &mut Contacts, (name, intervals): &Named, nstep: usize) -> Result<Meaning, Failure> {
    if let Some(input) = name.strip_prefix("inputs.").and_then(|input| contacts.input(input).ok()) {
        return Ok(Meaning::Input(input, intervals.unwrap_or([0, nstep])));
    }
    let values = contacts.parameter(name)?.to_vec();
    if let Some(k) = values.iter().position(|v| !v.is_nan()) {
        let mut origin = contacts.origins()[k].clone();
        origin.give(name, values[k]);
        if contacts.source.gives(k, &origin) {
            return Ok(Meaning::Drawn(values));
        }
    }
    if sensitivity::ALL.contains(&name.as_str()) {
        return Ok(Meaning::Own);
    }
    refuse(name, "a number that contacts are drawn with, not one that follows from others")
}

impl Asked<'_> {
    /// When the intervals start, and when the last one ends [s]: as calls of `step` add them up.
    fn starts(&self) -> Vec<f64> {
        let mut now = 0.0;
        let next = (0..self.nstep).map(|_| {
            now += self.dt;
            now
        });
        let mut starts = vec![0.0];
        starts.extend(next);
        starts
    }
}

/// Refuses intervals of inputs whose ends are neither samples nor break points of the control.
fn check_intervals(meanings: &[Meaning], told: &Told<'_>, asked: &Asked<'_>) -> Result<(), Failure> {
    if told.controls.iter().any(|control| control.columns > 1) {
        return Ok(());
    }
    for (meaning, (name, _)) in meanings.iter().zip(asked.names) {
        if let Meaning::Input(_, ends) = meaning
            && ends.iter().any(|end| end % asked.every != 0)
        {
            return refuse(name, "intervals whose ends are samples (`every`), or a control for each interval");
        }
    }
    Ok(())
}

/// A contact under its controls.
fn driven(first: &Contact, told: &Told<'_>, k: usize, starts: &[f64]) -> Result<Contact, Failure> {
    let mut contact = first.clone();
    for control in &told.controls {
        let signal = control.signal(k, starts)?;
        input(&mut contact, control.input, |own| *own = signal)?;
    }
    Ok(contact)
}

fn input(contact: &mut Contact, of: Input, change: impl FnOnce(&mut Signal)) -> Result<(), Failure> {
    let accepted = "an input of the contact's kind of body";
    let signal = of.signal(contact).ok_or_else(|| ParameterError::new(of.field(), "a control", accepted))?;
    change(signal);
    Ok(())
}

/// The derivative of contact `k` over a parameter; none if the contact has no such number.
fn terms(
    meaning: &Meaning,
    name: &str,
    source: &Source,
    (k, origin): (usize, &Origin),
    told: &Told<'_>,
    starts: &[f64],
) -> Result<Option<Terms>, Failure> {
    match meaning {
        Meaning::Own => Ok(Some(vec![(Sensitivity::over(name), 1.0)])),
        Meaning::Input(input, [from, to]) => {
            let mut points = vec![(starts[*from], 1.0)];
            if *from > 0 {
                points.insert(0, (0.0, 0.0));
            }
            if *to + 1 < starts.len() {
                points.push((starts[*to], 0.0));
            }
            Ok(Some(vec![(Sensitivity::along(input.field(), Signal::steps(&points)?), 1.0)]))
        }
        Meaning::Drawn(values) if values[k].is_nan() => Ok(None),
        Meaning::Drawn(values) => {
            let is_given = |input: Input| told.controls.iter().any(|control| control.input == input);
            slopes::over(source, (k, origin), (name, values[k]), is_given).map(Some)
        }
    }
}

impl One {
    fn new(contact: Contact, plan: &Plan, terms: &[Option<Terms>]) -> Result<Self, EngineError> {
        // Several numbers may change the same parameter.
        let mut with: Vec<Sensitivity> = Vec::new();
        let mut place = |parameter: &Sensitivity| {
            with.iter().position(|other| other == parameter).unwrap_or_else(|| {
                with.push(parameter.clone());
                with.len() - 1
            })
        };
        let mut weights = |terms: &Terms| -> Vec<(usize, f64)> {
            terms.iter().map(|(parameter, weight)| (place(parameter), *weight)).collect()
        };
        let weights: Vec<Option<Vec<(usize, f64)>>> =
            terms.iter().map(|terms| terms.as_ref().map(&mut weights)).collect();
        let (samples, by) = Cpu::new().sensitivities(&[contact], plan, &with)?;
        let slopes = [&by.pose, &by.twist, &by.wrench].map(|of| {
            let mut all = Vec::with_capacity(3 * plan.samples.len() * weights.len());
            for sample in 0..plan.samples.len() {
                for axis in [0, 1, 2] {
                    all.extend(weights.iter().map(|weights| {
                        let sum = |weights: &Vec<(usize, f64)>| {
                            weights.iter().map(|(p, weight)| weight * of[by.at(0, sample, *p)][axis]).sum()
                        };
                        weights.as_ref().map_or(f64::NAN, sum)
                    }));
                }
            }
            all
        });
        Ok(Self { samples, slopes })
    }
}

impl Found {
    /// Writes the samples to rows of quantities.
    pub fn write(&self, rows: &mut Rows<'_>) {
        for (q, width, out) in rows {
            let (q, width) = (*q, *width);
            let samples = self.0.iter().flat_map(|one| (0..one.samples.frames()).map(move |i| (one, i)));
            for ((one, i), out) in samples.zip(out.chunks_exact_mut(width)) {
                write(q, &one.samples.sample(0, i), one.samples.time[i], out);
            }
        }
    }

    /// Writes the derivatives of quantity 0 (pose), 1 (twist) or 2 (wrench),
    /// `[contacts, samples, 3, parameters]`.
    pub fn write_slopes(&self, quantity: usize, out: &mut [f64]) {
        let mut rest = out;
        for one in &self.0 {
            let (own, more) = rest.split_at_mut(one.slopes[quantity].len());
            own.copy_from_slice(&one.slopes[quantity]);
            rest = more;
        }
    }

    /// Stages of each contact that have not been solved to rounding.
    pub fn unconverged(&self) -> impl Iterator<Item = f64> {
        self.0.iter().map(|one| one.samples.status[0].unconverged as f64)
    }
}
