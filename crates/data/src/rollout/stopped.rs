//! Worlds that were stopped: which, where, why, and what helps.

use std::fmt;

use serde::{Deserialize, Serialize};

use bristle_rigid::world::Failure;

/// Words of `status`; 2 was of worlds with more contacts than could be solved, of which there are none now.
const NOT_FINITE: u32 = 1;
const UNSOLVED: u32 = 4;

/// Most stopped worlds that a summary names.
pub(super) const MOST_STOPPED: usize = 8;
/// Most bodies that a text names.
const MOST_BODIES: usize = 6;

/// The word of `status` of a world.
pub(super) fn word(failure: Option<Failure>) -> u32 {
    match failure {
        None => 0,
        Some(Failure::NotFinite) => NOT_FINITE,
        Some(Failure::Unsolved { .. }) => UNSOLVED,
    }
}

/// Numbers of worlds that were stopped, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorldCounts {
    /// A pose or a twist was not finite.
    pub not_finite: u64,
    /// No solution of the contact problem was found.
    pub unsolved: u64,
}

impl WorldCounts {
    pub(super) fn of(words: &[u32]) -> Self {
        let count = |word: u32| words.iter().filter(|other| **other == word).count() as u64;
        Self { not_finite: count(NOT_FINITE), unsolved: count(UNSOLVED) }
    }
}

/// A world that was stopped, as a summary names it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoppedWorld {
    /// Which world, from 0.
    pub world: u64,
    /// The step, from 0.
    pub step: u64,
    /// Simulated time \[s\].
    pub time: f64,
    /// The names of the bodies: those whose numbers were not finite, or, where no solution was found, all
    /// that touched each other.
    pub bodies: Vec<String>,
    /// The reason.
    pub why: String,
    /// What to do.
    pub remedy: String,
}

impl StoppedWorld {
    /// One with that word of `status`, in steps of at most `longest` \[s\], whose contacts were solved in
    /// single precision or not.
    pub(super) fn new(
        (world, word): (u64, u32),
        (step, time): (u64, f64),
        residual: f64,
        bodies: Vec<String>,
        (longest, is_single): (f64, bool),
    ) -> Self {
        let smaller = format!("a smaller step than {longest} s (`--step {}`)", longest / 4.0);
        let (why, remedy) = if word == NOT_FINITE {
            let why = "the pose or the twist of these bodies was not finite".to_owned();
            (why, format!("look at their masses, inertias, speeds and forces, or take {smaller}"))
        } else {
            let why = format!(
                "no solution of the contact problem of these bodies was found; the best has a residual of \
                 {residual:.1e}"
            );
            let double = if is_single { ", or try `--precision f64`" } else { "" };
            let remedy = format!(
                "take {smaller}, squeeze no body between prescribed ones, give bodies the inertia of their shape, \
                 and bristles that begin to slide a smaller `sigma1`{double}; `bristle docs worlds` has the limits"
            );
            (why, remedy)
        };
        Self { world, step, time, bodies, why, remedy }
    }
}

impl fmt::Display for StoppedWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { world, step, time, bodies, why, .. } = self;
        let named = bodies[..bodies.len().min(MOST_BODIES)].join(", ");
        let others = match bodies.len().saturating_sub(MOST_BODIES) {
            0 => String::new(),
            n => format!(" and {n} others"),
        };
        write!(f, "world {world} at step {step} ({} s), bodies {named}{others}: {why}", rounded(*time))
    }
}

/// A time with the digits that say something: sums of steps have rounding in the others.
fn rounded(time: f64) -> f64 {
    format!("{time:.6e}").parse().unwrap_or(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_says_where_why_and_what_to_do() {
        let stop = |word, bodies: usize| {
            let bodies = (0..bodies).map(|k| format!("b{k}")).collect();
            StoppedWorld::new((3, word), (80, 0.1 + 0.2), 2.5e-4, bodies, (1e-3, true))
        };
        let unsolved = stop(word(Some(Failure::Unsolved { residual: 1.0 })), 2);
        let told = "world 3 at step 80 (0.3 s), bodies b0, b1: no solution of the contact problem of these bodies was \
                    found; the best has a residual of 2.5e-4";
        assert_eq!(unsolved.to_string(), told);
        assert!(unsolved.remedy.starts_with("take a smaller step than 0.001 s (`--step 0.00025`), "));
        assert!(unsolved.remedy.contains("or try `--precision f64`; "));
        let lost = stop(word(Some(Failure::NotFinite)), 9);
        assert!(
            lost.to_string().contains("bodies b0, b1, b2, b3, b4, b5 and 3 others: the pose or the twist"),
            "{lost}"
        );
        assert!(lost.bodies.len() == 9 && lost.remedy.starts_with("look at their masses"), "{lost:?}");
        assert_eq!(word(None), 0);
        assert_eq!(WorldCounts::of(&[0, 1, 4, 4, 0]), WorldCounts { not_finite: 1, unsolved: 2 });
    }
}
