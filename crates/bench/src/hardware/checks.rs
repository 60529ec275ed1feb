//! Whether a GPU computes what the CPU computes.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::{brief, guarded};
use crate::gpu::Gpu;
use crate::twins::{
    bits, creep, lost_on_a_long_way, most_creep, one_step, one_step_agrees, paths_agree, random_contact, sticking,
};
use crate::work::{converged_error, in_hand, random_maps, reduced};
use bristle::contact::Contact;
use bristle::cpu::Cpu;
use bristle::engine::{DEFAULT_STEP, Engine, Plan};
use bristle::error::EngineError;
use bristle::friction::Law;
use bristle::limit_surface::{DEFAULT_N_LS, Rule, Table};

/// The checks of an adapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checks {
    /// Checks that were not made, as the time was over.
    pub left_out: usize,
    /// Those that were made.
    pub checks: Vec<Check>,
}

/// A comparison with what is right.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// What was compared.
    pub name: String,
    /// The unit of the two numbers below; `1` for a share of a limit that differs from number to number.
    pub unit: String,
    /// The largest difference; none if there is none to tell, as where a limit was exceeded.
    pub largest: Option<f64>,
    /// The largest that may be.
    pub limit: f64,
    /// Whether it is right.
    pub passed: bool,
    /// What is wrong.
    pub fault: Option<String>,
    /// Time that it took \[s\].
    pub seconds: f64,
}

impl Check {
    /// Judges what a comparison has `found`: the largest difference, or what is wrong. A difference that is
    /// not a number is wrong.
    #[must_use]
    pub fn judge(name: &str, unit: &str, limit: f64, found: Result<f64, String>, seconds: f64) -> Self {
        let (largest, fault) = match found {
            Ok(v) if v <= limit => (Some(brief(v)), None),
            Ok(v) if v.is_finite() => (Some(brief(v)), Some(format!("{v:.3e}, limit {limit:e}"))),
            Ok(v) => (None, Some(format!("{v} is not finite"))),
            Err(fault) => (None, Some(fault)),
        };
        let (name, unit, passed) = (name.to_owned(), unit.to_owned(), fault.is_none());
        Self { name, unit, largest, limit, passed, fault, seconds: brief(seconds) }
    }
}

/// A comparison that is made on a GPU, and on another one of the same adapter where it needs two.
type Compare = fn(&Gpu, Open<'_>) -> Result<f64, String>;
/// Opens the adapter.
type Open<'a> = &'a dyn Fn() -> Result<Gpu, EngineError>;

/// Checks that are made even if no time is left: one of each kind, on kernels of few cells.
const LEAST: usize = 3;

/// Name, unit, limit and comparison of each check.
const ALL: [(&str, &str, f64, Compare); 17] = [
    ("one step from random states, elasto-plastic, against the CPU in f64", "1", 1.0, |gpu, _| {
        one_step_is_the_same(gpu, &of_law(Law::ElastoPlastic))
    }),
    ("creep of a sticking grid, 5 x 5 cells, steps of 1 ms", "m/s", most_creep(1e-3, false), |gpu, _| {
        crept(gpu, 5, 1e-3)
    }),
    ("numbers whose bits differ from run to run and from device to device", "numbers", 0.0, |gpu, open| {
        let contacts = of_law(Law::ElastoPlastic);
        let again = different_bits(gpu, gpu, &contacts)?;
        Ok(again + different_bits(gpu, &open().map_err(told)?, &contacts)?)
    }),
    ("numbers whose bits differ between a contact alone and in a batch", "numbers", 0.0, |gpu, _| alone(gpu)),
    ("one step from random states, lugre, against the CPU in f64", "1", 1.0, |gpu, _| {
        one_step_is_the_same(gpu, &of_law(Law::LuGre))
    }),
    ("one step from random states, dahl, against the CPU in f64", "1", 1.0, |gpu, _| {
        one_step_is_the_same(gpu, &of_law(Law::Dahl))
    }),
    ("one step from random states, viscoelasto-plastic, against the CPU in f64", "1", 1.0, |gpu, _| {
        one_step_is_the_same(gpu, &of_law(Law::ViscoelastoPlastic))
    }),
    ("way after 1e5 tiny steps, share that rounding loses", "1", 1e-6, |gpu, _| lost_on_a_long_way(gpu)),
    ("converged path of 2 s, elasto-plastic, 21 x 21 cells", "m", 3e-6, |gpu, _| converged(gpu, Law::ElastoPlastic)),
    ("converged path of 2 s, lugre, 21 x 21 cells", "m", 3e-6, |gpu, _| converged(gpu, Law::LuGre)),
    ("creep of a sticking grid, 21 x 21 cells, steps of 0.2 ms", "m/s", most_creep(2e-4, false), |gpu, _| {
        crept(gpu, 21, 2e-4)
    }),
    ("tables of limit surfaces, 21 x 21 cells, against the CPU in f64", "1", 1e-5, |gpu, _| tables(gpu)),
    ("paths of 0.5 s, reduced bristle, elasto-plastic, against the CPU in f64", "1", 1.0, |gpu, _| {
        reduced_paths(gpu, Law::ElastoPlastic)
    }),
    ("paths of 0.5 s, reduced bristle, lugre, against the CPU in f64", "1", 1.0, |gpu, _| {
        reduced_paths(gpu, Law::LuGre)
    }),
    ("one step from 96 random states of all grids, laws and bodies, against the CPU in f64", "1", 1.0, |gpu, _| {
        one_step_is_the_same(gpu, &(0..96).map(|k| random_contact(5, k)).collect::<Vec<_>>())
    }),
    ("paths of 0.2 s from 30 random states, against the CPU in f64", "1", 1.0, |gpu, _| {
        let contacts: Vec<Contact> = (100..130).map(|k| random_contact(5, k)).collect();
        paths_are_the_same(gpu, &contacts, &Plan::new(0.2, 1e-4, 0.02).map_err(told)?)
    }),
    ("numbers whose bits differ from run to run, paths of 0.2 s, 21 x 21 cells", "numbers", 0.0, |gpu, _| {
        let plan = Plan::new(0.2, DEFAULT_STEP, 0.02).map_err(told)?;
        let contacts = in_hand(21, Law::ElastoPlastic, 64).map_err(told)?;
        different_bits_over(gpu, gpu, &contacts, &plan)
    }),
];

/// Compares the adapter that `open` opens with the CPU, until `end`; the first three checks are always made.
/// A device that fails is a fault of the check, and the next check has a new one. `note` is called with what
/// is compared.
pub fn checks(open: Open<'_>, end: Instant, note: &dyn Fn(&str)) -> Checks {
    let mut all = Checks { left_out: 0, checks: Vec::new() };
    let mut opened: Option<Gpu> = None;
    for (k, (name, unit, limit, compare)) in ALL.into_iter().enumerate() {
        let start = Instant::now();
        if k >= LEAST && start >= end {
            all.left_out = ALL.len() - k;
            break;
        }
        note(&format!("{} of {}, {name}", k + 1, ALL.len()));
        let found = guarded(|| {
            let gpu = match opened.take() {
                Some(gpu) => gpu,
                None => open().map_err(told)?,
            };
            let found = compare(&gpu, open)?;
            opened = Some(gpu);
            Ok(found)
        });
        all.checks.push(Check::judge(name, unit, limit, found, start.elapsed().as_secs_f64()));
    }
    all
}

fn told(e: impl std::fmt::Display) -> String {
    e.to_string()
}

/// Random contacts of a law with few cells, which share one kernel.
fn of_law(law: Law) -> Vec<Contact> {
    let alike = |c: &Contact| c.patch.grid().len() < 64 && c.friction.law == law && c.friction.gamma == 2.0;
    (0..400).map(|k| random_contact(5, k)).filter(alike).collect()
}

fn one_step_is_the_same(gpu: &Gpu, contacts: &[Contact]) -> Result<f64, String> {
    let [wanted, found] = run_both(gpu, contacts, &one_step())?;
    one_step_agrees(contacts, &found, &wanted)
}

fn paths_are_the_same(gpu: &Gpu, contacts: &[Contact], plan: &Plan) -> Result<f64, String> {
    let [wanted, found] = run_both(gpu, contacts, plan)?;
    paths_agree(contacts, &found, &wanted)
}

/// What the CPU makes of contacts in f64, and what the GPU makes of them.
fn run_both(gpu: &Gpu, contacts: &[Contact], plan: &Plan) -> Result<[bristle::Trajectories; 2], String> {
    Ok([Cpu::new().run(contacts, plan).map_err(told)?, gpu.run(contacts, plan).map_err(told)?])
}

fn crept(gpu: &Gpu, n: usize, step: f64) -> Result<f64, String> {
    Ok(creep(gpu, &sticking(n), step)?.0)
}

/// Numbers of one step whose bits two engines do not agree on.
fn different_bits(a: &Gpu, b: &Gpu, contacts: &[Contact]) -> Result<f64, String> {
    different_bits_over(a, b, contacts, &one_step())
}

fn different_bits_over(a: &Gpu, b: &Gpu, contacts: &[Contact], plan: &Plan) -> Result<f64, String> {
    let (a, b) = (a.run(contacts, plan).map_err(told)?, b.run(contacts, plan).map_err(told)?);
    let differ = |k: usize| bits(&a, k).iter().zip(&bits(&b, k)).filter(|(a, b)| a != b).count();
    Ok((0..contacts.len()).map(differ).sum::<usize>() as f64)
}

/// Numbers of every seventh contact whose bits depend on its neighbours.
fn alone(gpu: &Gpu) -> Result<f64, String> {
    let contacts = of_law(Law::ElastoPlastic);
    let plan = Plan::new(0.02, 1e-4, 5e-3).map_err(told)?;
    let together = gpu.run(&contacts, &plan).map_err(told)?;
    let mut count = 0;
    for k in (0..contacts.len()).step_by(7) {
        let alone = gpu.run(&contacts[k..=k], &plan).map_err(told)?;
        count += bits(&together, k).iter().zip(&bits(&alone, 0)).filter(|(a, b)| a != b).count();
    }
    Ok(count as f64)
}

/// Largest distance [m] from a path that an independent program converged.
fn converged(gpu: &Gpu, law: Law) -> Result<f64, String> {
    let contacts = in_hand(21, law, 1).map_err(told)?;
    let out = gpu.run(&contacts, &Plan::new(2.0, DEFAULT_STEP, 0.5).map_err(told)?).map_err(told)?;
    converged_error(law, &out.time, &out.pose).map(|[metres, _]| metres).ok_or_else(|| "no converged path".to_owned())
}

/// Largest difference of the normalised wrenches of tables.
fn tables(gpu: &Gpu) -> Result<f64, String> {
    let patches = random_maps(21, 16).map_err(told)?;
    let wanted = Table::batch(&patches, Rule::Cells, DEFAULT_N_LS).map_err(told)?;
    let found = gpu.tables(&patches, Rule::Cells, DEFAULT_N_LS).map_err(told)?;
    let pairs = found.iter().zip(&wanted).flat_map(|(f, w)| f.nodes().iter().zip(w.nodes()));
    let differences = pairs.flat_map(|(f, w)| [f[0] - w[0], f[1] - w[1], f[2] - w[2]].map(f64::abs));
    // A difference that is not a number stays.
    Ok(differences.fold(0.0, |most, d| if d <= most { most } else { d }))
}

fn reduced_paths(gpu: &Gpu, law: Law) -> Result<f64, String> {
    let contacts = reduced(in_hand(21, law, 32).map_err(told)?).map_err(told)?;
    paths_are_the_same(gpu, &contacts, &Plan::new(0.5, DEFAULT_STEP, 0.05).map_err(told)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_above_its_limit_fails_and_says_so() {
        let judged = |found| Check::judge("way", "m", 1e-6, found, 0.1);
        let right = judged(Ok(1e-6));
        assert!(right.passed && right.fault.is_none() && right.largest == Some(1e-6), "{right:?}");
        let wrong = judged(Ok(1.001e-6));
        assert!(!wrong.passed && wrong.fault.as_ref().unwrap().contains("limit 1e-6"), "{wrong:?}");
        for found in [Ok(f64::NAN), Ok(f64::INFINITY), Err("lost".to_owned())] {
            let wrong = judged(found.clone());
            assert!(!wrong.passed && wrong.fault.is_some() && wrong.largest.is_none(), "{found:?}: {wrong:?}");
            // It is read as it was written.
            let text = serde_json::to_string(&wrong).unwrap();
            assert_eq!(serde_json::from_str::<Check>(&text).unwrap(), wrong);
        }
    }

    /// What the CPU makes of contacts is the wanted value; one of them is made wrong on purpose.
    #[test]
    fn a_wrong_expected_value_is_a_failure() {
        let contacts = of_law(Law::ElastoPlastic);
        assert!(contacts.len() > 10);
        let right = Cpu::new().run(&contacts, &one_step()).unwrap();
        let share = |wanted: &bristle::Trajectories| one_step_agrees(&contacts, &right, wanted);
        assert!(Check::judge("step", "1", 1.0, share(&right), 0.0).passed);
        let mut wrong = right.clone();
        wrong.twist[5].vx += 1e-3;
        let judged = Check::judge("step", "1", 1.0, share(&wrong), 0.0);
        assert!(!judged.passed && judged.fault.unwrap().contains("contact 2"));
        let mut wrong = right.clone();
        wrong.bristles[4][0][0] = f64::NAN;
        assert!(!Check::judge("step", "1", 1.0, share(&wrong), 0.0).passed);
    }

    /// A kernel that is wrong fails where it should, and the other checks are made all the same.
    #[cfg(feature = "gpu")]
    #[test]
    fn a_wrong_kernel_fails_the_first_check() {
        let wrong = || {
            Gpu::with_edit(crate::gpu::Choice::Any, |text| {
                let from = "sum[2] += x * fy - y * fx;";
                assert!(text.contains(from), "the shader has no {from:?}: renew the mutant");
                text.replace(from, "sum[2] += x * fy + y * fx;")
            })
        };
        let found = checks(&wrong, Instant::now(), &|_| {});
        assert_eq!((found.checks.len(), found.left_out), (LEAST, ALL.len() - LEAST));
        let first = &found.checks[0];
        assert!(!first.passed && first.fault.as_ref().unwrap().contains("wanted"), "{first:?}");
        // What is wrong is wrong in every run.
        assert!(found.checks[2].passed, "{:?}", found.checks[2]);
    }
}
