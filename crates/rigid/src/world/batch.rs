//! Worlds that keep their state between calls: a controller sets loads and friction, advances, reads, saves
//! and branches.

use rayon::prelude::*;

use super::World;
use super::step::{Answer, Prepared};
use crate::lcp::blocks;
#[cfg(feature = "gpu")]
use crate::lcp::{ContactProblem, Impulses, MOST_CONTACTS};
use bristle::error::{EngineError, ParameterError, check};
use bristle::pool;
use bristle::range::{FORCE, RIGID_MU, TORQUE};

/// Most contacts of an island that [`Method::Single`] solves in single precision: with 32 that takes five
/// times as long as in double precision.
const MOST_IN_SINGLE: usize = 16;

/// How the contacts of a step are solved on the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By Lemke's method: the reference.
    Lemke,
    /// In double precision, to a residual of 1e-8 or less, each group of bodies that touch by itself.
    Double,
    /// By blocks in single precision, to 1e-6, where bodies move and at most 16 contacts touch; the others,
    /// and worlds with patches of bristles, as [`Method::Double`].
    Single,
}

impl Method {
    fn solve(self, world: &mut World, prepared: &mut Prepared, h: f64) -> Vec<Answer> {
        let has_patches = world.has_patches();
        world.answers(prepared, h, |world, prepared, k| match self {
            Self::Lemke => prepared.answer(world, k, prepared.problem(world, h, k).by_lemke()),
            Self::Single if !has_patches && !prepared.is_for_double(world, k, MOST_IN_SINGLE) => {
                prepared.checked(world, h, k, blocks::alone::<f32>(&prepared.problem(world, h, k)))
            }
            Self::Double | Self::Single => prepared.solve_island(world, h, k),
        })
    }
}

/// What steps worlds.
pub(crate) trait StepWorlds: Send {
    /// Steps of `h` [s], `steps` of them, of these worlds.
    fn advance(&mut self, worlds: &mut [&mut World], h: f64, steps: u64) -> Result<(), EngineError>;
}

impl StepWorlds for Method {
    fn advance(&mut self, worlds: &mut [&mut World], h: f64, steps: u64) -> Result<(), EngineError> {
        let step = |world: &mut &mut World| {
            for _ in 0..steps {
                let Some(mut prepared) = world.prepare(h) else { break };
                let answers = self.solve(world, &mut prepared, h);
                world.apply(h, &prepared, &answers);
            }
        };
        pool::run(|| worlds.par_iter_mut().for_each(step));
        Ok(())
    }
}

/// Steps worlds whose contact problems `solve` solves all at once, in single precision; those of islands that
/// are for double precision are solved here.
#[cfg(feature = "gpu")]
pub(crate) fn advance_each(
    worlds: &mut [&mut World],
    h: f64,
    steps: u64,
    mut solve: impl FnMut(&[&ContactProblem]) -> Result<Vec<Impulses>, EngineError>,
) -> Result<(), EngineError> {
    /// An island that is solved here, or its problem for `solve`.
    enum Part {
        Here(Answer),
        Problem(ContactProblem),
    }
    for _ in 0..steps {
        let prepare = |world: &mut &mut World| {
            let mut prepared = world.prepare(h)?;
            if world.has_patches() {
                let solve = |world: &World, prepared: &Prepared, k| prepared.solve_island(world, h, k);
                let here = |answer| Part::Here(Answer { on_cpu: true, ..answer });
                let parts = world.answers(&mut prepared, h, solve).into_iter().map(here).collect();
                return Some((prepared, parts));
            }
            let part = |k| {
                if prepared.is_for_double(world, k, MOST_CONTACTS) {
                    let on_cpu = prepared.is_large(k, MOST_CONTACTS);
                    return Part::Here(Answer { on_cpu, ..prepared.solve_island(world, h, k) });
                }
                Part::Problem(prepared.problem(world, h, k))
            };
            let parts: Vec<Part> = (0..prepared.islands()).map(part).collect();
            Some((prepared, parts))
        };
        let prepared: Vec<_> = pool::run(|| worlds.par_iter_mut().map(prepare).collect());
        let parts = prepared.iter().flatten().flat_map(|(_, parts)| parts);
        let problems: Vec<&ContactProblem> = parts
            .filter_map(|part| match part {
                Part::Problem(problem) => Some(problem),
                Part::Here(_) => None,
            })
            .collect();
        let mut found = solve(&problems)?.into_iter();
        let mut steps = Vec::new();
        for (world, prepared) in worlds.iter_mut().zip(prepared) {
            let Some((prepared, parts)) = prepared else { continue };
            let mut next = |part| match part {
                Part::Here(answer) => Err(answer),
                Part::Problem(_) => Ok(found.next().expect("an answer to every problem")),
            };
            let parts: Vec<Result<Impulses, Answer>> = parts.into_iter().map(&mut next).collect();
            steps.push((world, prepared, parts));
        }
        let apply = |(world, prepared, parts): (&mut &mut World, Prepared, Vec<Result<Impulses, Answer>>)| {
            let answer = |(k, part): (usize, Result<Impulses, Answer>)| match part {
                Ok(impulses) => prepared.checked(world, h, k, impulses),
                Err(answer) => answer,
            };
            let answers: Vec<Answer> = parts.into_iter().enumerate().map(answer).collect();
            world.apply(h, &prepared, &answers);
        };
        pool::run(|| steps.into_par_iter().for_each(apply));
    }
    Ok(())
}

/// Many worlds, each at a time of its own, with the verbs of a [`Batch`](bristle::Batch). The result of a
/// world depends on nothing but its own history of calls.
pub struct Worlds {
    worlds: Vec<World>,
    first: Vec<World>,
    step: f64,
    stepper: Box<dyn StepWorlds>,
}

/// The state of all worlds: poses, twists, loads, friction, times.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved(Vec<World>);

impl std::fmt::Debug for Worlds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worlds").field("len", &self.len()).field("step", &self.step).finish_non_exhaustive()
    }
}

impl Worlds {
    /// Worlds on the CPU, in steps of at most `step` \[s\], 1e-7 to 0.1.
    ///
    /// # Errors
    /// A world or a step out of range.
    pub fn new(worlds: Vec<World>, step: f64, method: Method) -> Result<Self, EngineError> {
        Self::with(worlds, step, Box::new(method))
    }

    /// Worlds that `stepper` steps.
    pub(crate) fn with(worlds: Vec<World>, step: f64, stepper: Box<dyn StepWorlds>) -> Result<Self, EngineError> {
        check("step", step, "1e-7 to 0.1 [s]", (1e-7..=0.1).contains(&step))?;
        for (contact, world) in worlds.iter().enumerate() {
            world.validate().map_err(|error| EngineError::Parameter { contact, error })?;
        }
        Ok(Self { first: worlds.clone(), worlds, step, stepper })
    }

    /// Number of worlds.
    pub fn len(&self) -> usize {
        self.worlds.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.worlds.is_empty()
    }

    /// A world as it is now: time, poses, twists, contacts.
    ///
    /// # Panics
    /// No such world.
    pub fn world(&self, world: usize) -> &World {
        &self.worlds[world]
    }

    /// All worlds.
    pub fn worlds(&self) -> &[World] {
        &self.worlds
    }

    fn checked(&mut self, world: usize) -> Result<&mut World, EngineError> {
        let n = self.len();
        let accepted = || format!("an index below {n}, the number of worlds");
        self.worlds.get_mut(world).ok_or_else(|| ParameterError::new("world", world, accepted()).into())
    }

    /// From now on these are force \[N\] and torque [N m] on a body, at its centre of mass in the world,
    /// beside gravity.
    ///
    /// # Errors
    /// No such world or body, or numbers beyond 1e12 in size; nothing is set then.
    pub fn set_load(
        &mut self,
        world: usize,
        body: usize,
        force: [f64; 3],
        torque: [f64; 3],
    ) -> Result<(), EngineError> {
        let of = self.checked(world)?;
        let n = of.bodies.len();
        force.iter().try_for_each(|value| FORCE.check("force", *value))?;
        torque.iter().try_for_each(|value| TORQUE.check("torque", *value))?;
        if body >= n {
            return Err(ParameterError::new("body", body, format!("an index below {n}, the number of bodies")).into());
        }
        of.set_load(body, force, torque);
        Ok(())
    }

    /// From now on this is the coefficient of friction of a pair.
    ///
    /// # Errors
    /// No such world or pair, a value that is not 0 to 1e6, or not 0 of a pair with a patch; nothing is set
    /// then.
    pub fn set_mu(&mut self, world: usize, pair: usize, mu: f64) -> Result<(), EngineError> {
        let of = self.checked(world)?;
        let n = of.pairs.len();
        RIGID_MU.check("mu", mu)?;
        if mu != 0.0 && of.patches().iter().any(|patch| patch.pair() == pair) {
            return Err(ParameterError::number("mu", mu, super::patches::NO_MU).into());
        }
        let Some(pair) = of.pairs.get_mut(pair) else {
            return Err(ParameterError::new("pair", pair, format!("an index below {n}, the number of pairs")).into());
        };
        pair.mu = mu;
        Ok(())
    }

    /// Lets `dt` \[s\] pass for all worlds, 1e-9 to 1e6, in equal steps that are as long as they may be. A
    /// world that fails stays as it is.
    ///
    /// # Errors
    /// A time out of range, or a device that fails.
    pub fn advance(&mut self, dt: f64) -> Result<(), EngineError> {
        self.advance_where(dt, |_| true)
    }

    /// [`Worlds::advance`] of some; a world that is named twice advances once.
    ///
    /// # Errors
    /// As [`Worlds::advance`], or no such world; then none has advanced.
    pub fn advance_some(&mut self, worlds: &[usize], dt: f64) -> Result<(), EngineError> {
        worlds.iter().try_for_each(|k| self.checked(*k).map(drop))?;
        self.advance_where(dt, |k| worlds.contains(&k))
    }

    fn advance_where(&mut self, dt: f64, chosen: impl Fn(usize) -> bool) -> Result<(), EngineError> {
        check("dt", dt, "1e-9 to 1e6 [s]", (1e-9..=1e6).contains(&dt))?;
        // A remainder that may be rounding gets no step of its own.
        let steps = (dt / self.step - 1e-6).ceil().max(1.0);
        let mut some: Vec<&mut World> =
            self.worlds.iter_mut().enumerate().filter(|(k, _)| chosen(*k)).map(|(_, w)| w).collect();
        self.stepper.advance(&mut some, dt / steps, steps as u64)
    }

    /// The state of all worlds.
    pub fn save(&self) -> Saved {
        Saved(self.worlds.clone())
    }

    /// Goes back to a saved state.
    ///
    /// # Errors
    /// A state of another number of worlds, or of worlds with other bodies or pairs.
    pub fn restore(&mut self, saved: &Saved) -> Result<(), EngineError> {
        let sizes = |worlds: &[World]| worlds.iter().map(|w| [w.bodies.len(), w.pairs.len()]).collect::<Vec<_>>();
        if sizes(&saved.0) != sizes(&self.worlds) {
            return Err(ParameterError::new("saved", "a state of others", "one of these worlds").into());
        }
        self.worlds.clone_from(&saved.0);
        Ok(())
    }

    /// Puts worlds back to what they were in the beginning.
    ///
    /// # Errors
    /// No such world; then none is.
    pub fn reset(&mut self, worlds: &[usize]) -> Result<(), EngineError> {
        worlds.iter().try_for_each(|k| self.checked(*k).map(drop))?;
        worlds.iter().for_each(|k| self.worlds[*k].clone_from(&self.first[*k]));
        Ok(())
    }

    /// Makes each of the worlds `to` a copy of world `from`, its loads and friction too.
    ///
    /// # Errors
    /// No such world; then none is.
    pub fn copy(&mut self, from: usize, to: &[usize]) -> Result<(), EngineError> {
        to.iter().chain([&from]).try_for_each(|k| self.checked(*k).map(drop))?;
        let source = self.worlds[from].clone();
        to.iter().for_each(|k| self.worlds[*k].clone_from(&source));
        Ok(())
    }
}
