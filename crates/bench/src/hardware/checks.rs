//! Whether a GPU computes what the CPU computes.

use serde::{Deserialize, Serialize};
use web_time::Instant;

use super::{Open, brief, guarded};
use crate::gpu::Gpu;
use crate::twins::{
    bits, creep_of, creeping, long_way, lost_of, most_creep, one_step, one_step_agrees, paths_agree, random_contact,
    sticking,
};
use crate::work::{converged_error, in_hand, random_maps, reduced};
use bristle::contact::Contact;
use bristle::cpu::Cpu;
use bristle::engine::{DEFAULT_STEP, Engine, Plan, Trajectories};
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

/// Checks that are made even if no time is left: one of each kind, on kernels of few cells.
const LEAST: usize = 3;

/// What a check compares.
#[derive(Clone, Copy)]
enum What {
    /// One step of random contacts of a law.
    Step(Law),
    /// One step of random contacts of all kinds.
    Steps,
    /// Creep of so many cells along a side, in steps of so long [s].
    Creep(usize, f64),
    /// The bits of two runs, and of two devices.
    Bits,
    /// The bits of contacts alone and in a batch.
    Alone,
    LongWay,
    Converged(Law),
    Tables,
    Reduced(Law),
    Paths,
    BitsOfPaths,
}

/// Name, unit, limit and comparison of each check.
const ALL: [(&str, &str, f64, What); 17] = [
    ("one step from random states, elasto-plastic, against the CPU in f64", "1", 1.0, What::Step(Law::ElastoPlastic)),
    ("creep of a sticking grid, 5 x 5 cells, steps of 1 ms", "m/s", most_creep(1e-3, false), What::Creep(5, 1e-3)),
    ("numbers whose bits differ from run to run and from device to device", "numbers", 0.0, What::Bits),
    ("numbers whose bits differ between a contact alone and in a batch", "numbers", 0.0, What::Alone),
    ("one step from random states, lugre, against the CPU in f64", "1", 1.0, What::Step(Law::LuGre)),
    ("one step from random states, dahl, against the CPU in f64", "1", 1.0, What::Step(Law::Dahl)),
    (
        "one step from random states, viscoelasto-plastic, against the CPU in f64",
        "1",
        1.0,
        What::Step(Law::ViscoelastoPlastic),
    ),
    ("way after 1e5 tiny steps, share that rounding loses", "1", 1e-6, What::LongWay),
    ("converged path of 2 s, elasto-plastic, 21 x 21 cells", "m", 3e-6, What::Converged(Law::ElastoPlastic)),
    ("converged path of 2 s, lugre, 21 x 21 cells", "m", 3e-6, What::Converged(Law::LuGre)),
    ("creep of a sticking grid, 21 x 21 cells, steps of 0.2 ms", "m/s", most_creep(2e-4, false), What::Creep(21, 2e-4)),
    ("tables of limit surfaces, 21 x 21 cells, against the CPU in f64", "1", 1e-5, What::Tables),
    (
        "paths of 0.5 s, reduced bristle, elasto-plastic, against the CPU in f64",
        "1",
        1.0,
        What::Reduced(Law::ElastoPlastic),
    ),
    ("paths of 0.5 s, reduced bristle, lugre, against the CPU in f64", "1", 1.0, What::Reduced(Law::LuGre)),
    ("one step from 96 random states of all grids, laws and bodies, against the CPU in f64", "1", 1.0, What::Steps),
    ("paths of 0.2 s from 30 random states, against the CPU in f64", "1", 1.0, What::Paths),
    ("numbers whose bits differ from run to run, paths of 0.2 s, 21 x 21 cells", "numbers", 0.0, What::BitsOfPaths),
];

/// What a check finds: the largest difference.
async fn compare<O: Open>(what: What, gpu: &Gpu, open: &O) -> Result<f64, String> {
    match what {
        What::Step(law) => one_step_is_the_same(gpu, &of_law(law)).await,
        What::Steps => one_step_is_the_same(gpu, &(0..96).map(|k| random_contact(5, k)).collect::<Vec<_>>()).await,
        What::Creep(n, step) => crept(gpu, n, step).await,
        What::Bits => {
            let contacts = of_law(Law::ElastoPlastic);
            let again = different_bits(gpu, gpu, &contacts, &one_step()).await?;
            Ok(again + different_bits(gpu, &open.open().await.map_err(told)?, &contacts, &one_step()).await?)
        }
        What::Alone => alone(gpu).await,
        What::LongWay => {
            let (contact, plan) = long_way()?;
            lost_of(&run(gpu, &[contact], &plan).await?)
        }
        What::Converged(law) => converged(gpu, law).await,
        What::Tables => tables(gpu).await,
        What::Reduced(law) => {
            let contacts = reduced(in_hand(21, law, 32).map_err(told)?).map_err(told)?;
            paths_are_the_same(gpu, &contacts, &Plan::new(0.5, DEFAULT_STEP, 0.05).map_err(told)?).await
        }
        What::Paths => {
            let contacts: Vec<Contact> = (100..130).map(|k| random_contact(5, k)).collect();
            paths_are_the_same(gpu, &contacts, &Plan::new(0.2, 1e-4, 0.02).map_err(told)?).await
        }
        What::BitsOfPaths => {
            let plan = Plan::new(0.2, DEFAULT_STEP, 0.02).map_err(told)?;
            different_bits(gpu, gpu, &in_hand(21, Law::ElastoPlastic, 64).map_err(told)?, &plan).await
        }
    }
}

/// Compares the adapter that `open` opens with the CPU, until `end`; the first three checks are always made.
/// A device that fails is a fault of the check, and the next check has a new one. `note` is called with what
/// is compared.
pub async fn checks<O: Open>(open: &O, end: Instant, note: &dyn Fn(&str)) -> Checks {
    let mut all = Checks { left_out: 0, checks: Vec::new() };
    let mut opened: Option<Gpu> = None;
    for (k, (name, unit, limit, what)) in ALL.into_iter().enumerate() {
        let start = Instant::now();
        if k >= LEAST && start >= end {
            all.left_out = ALL.len() - k;
            break;
        }
        note(&format!("{} of {}, {name}", k + 1, ALL.len()));
        let found = guarded(async {
            let gpu = match opened.take() {
                Some(gpu) => gpu,
                None => open.open().await.map_err(told)?,
            };
            let found = compare(what, &gpu, open).await?;
            opened = Some(gpu);
            Ok(found)
        });
        let found = found.await;
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

async fn one_step_is_the_same(gpu: &Gpu, contacts: &[Contact]) -> Result<f64, String> {
    let [wanted, found] = run_both(gpu, contacts, &one_step()).await?;
    one_step_agrees(contacts, &found, &wanted)
}

async fn paths_are_the_same(gpu: &Gpu, contacts: &[Contact], plan: &Plan) -> Result<f64, String> {
    let [wanted, found] = run_both(gpu, contacts, plan).await?;
    paths_agree(contacts, &found, &wanted)
}

/// What the CPU makes of contacts in f64, and what the GPU makes of them.
async fn run_both(gpu: &Gpu, contacts: &[Contact], plan: &Plan) -> Result<[Trajectories; 2], String> {
    Ok([Cpu::new().run(contacts, plan).map_err(told)?, run(gpu, contacts, plan).await?])
}

async fn run(gpu: &Gpu, contacts: &[Contact], plan: &Plan) -> Result<Trajectories, String> {
    gpu.rollout_async(contacts, plan, &|_| true).await.map_err(told)
}

async fn crept(gpu: &Gpu, n: usize, step: f64) -> Result<f64, String> {
    let contacts = sticking(n);
    let (all, plan) = creeping(&contacts, step)?;
    Ok(creep_of(&contacts, &run(gpu, &all, &plan).await?)?.0)
}

/// Numbers whose bits two engines do not agree on.
async fn different_bits(a: &Gpu, b: &Gpu, contacts: &[Contact], plan: &Plan) -> Result<f64, String> {
    let (a, b) = (run(a, contacts, plan).await?, run(b, contacts, plan).await?);
    let differ = |k: usize| bits(&a, k).iter().zip(&bits(&b, k)).filter(|(a, b)| a != b).count();
    Ok((0..contacts.len()).map(differ).sum::<usize>() as f64)
}

/// Numbers of every seventh contact whose bits depend on its neighbours.
async fn alone(gpu: &Gpu) -> Result<f64, String> {
    let contacts = of_law(Law::ElastoPlastic);
    let plan = Plan::new(0.02, 1e-4, 5e-3).map_err(told)?;
    let together = run(gpu, &contacts, &plan).await?;
    let mut count = 0;
    for k in (0..contacts.len()).step_by(7) {
        let alone = run(gpu, &contacts[k..=k], &plan).await?;
        count += bits(&together, k).iter().zip(&bits(&alone, 0)).filter(|(a, b)| a != b).count();
    }
    Ok(count as f64)
}

/// Largest distance [m] from a path that an independent program converged.
async fn converged(gpu: &Gpu, law: Law) -> Result<f64, String> {
    let contacts = in_hand(21, law, 1).map_err(told)?;
    let out = run(gpu, &contacts, &Plan::new(2.0, DEFAULT_STEP, 0.5).map_err(told)?).await?;
    converged_error(law, &out.time, &out.pose).map(|[metres, _]| metres).ok_or_else(|| "no converged path".to_owned())
}

/// Largest difference of the normalised wrenches of tables.
async fn tables(gpu: &Gpu) -> Result<f64, String> {
    let patches = random_maps(21, 16).map_err(told)?;
    let wanted = Table::batch(&patches, Rule::Cells, DEFAULT_N_LS).map_err(told)?;
    let found = gpu.tables_async(&patches, Rule::Cells, DEFAULT_N_LS).await.map_err(told)?;
    let pairs = found.iter().zip(&wanted).flat_map(|(f, w)| f.nodes().iter().zip(w.nodes()));
    let differences = pairs.flat_map(|(f, w)| [f[0] - w[0], f[1] - w[1], f[2] - w[2]].map(f64::abs));
    // A difference that is not a number stays.
    Ok(differences.fold(0.0, |most, d| if d <= most { most } else { d }))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "gpu")]
    use bristle::error::EngineError;

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
        let share = |wanted: &Trajectories| one_step_agrees(&contacts, &right, wanted);
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
        struct Wrong;
        impl Open for Wrong {
            async fn open(&self) -> Result<Gpu, EngineError> {
                Gpu::with_edit(crate::gpu::Choice::Any, |text| {
                    let from = "sum[2] += x * fy - y * fx;";
                    assert!(text.contains(from), "the shader has no {from:?}: renew the mutant");
                    text.replace(from, "sum[2] += x * fy + y * fx;")
                })
            }
        }
        let found = pollster::block_on(checks(&Wrong, Instant::now(), &|_| {}));
        assert_eq!((found.checks.len(), found.left_out), (LEAST, ALL.len() - LEAST));
        let first = &found.checks[0];
        assert!(!first.passed && first.fault.as_ref().unwrap().contains("wanted"), "{first:?}");
        // What is wrong is wrong in every run.
        assert!(found.checks[2].passed, "{:?}", found.checks[2]);
    }
}
