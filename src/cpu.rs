//! The CPU engine: contacts on all cores, in vector registers whose lanes hold the cells of one contact, or
//! one contact each if these have few bristles.

mod batch;
mod divide;
mod make;
mod pack;
mod row;
#[cfg(not(target_family = "wasm"))]
mod sensitivity;

use crate::batch::Batch;
use crate::contact::Contact;
use crate::engine::{Engine, EngineInfo, Plan, Progress, Stepping, Trajectories, validate};
use crate::error::{EngineError, ParameterError};
use crate::number::baseline::{F32, F64};
use crate::number::real::Real;
pub use crate::number::simd::Simd;
#[cfg(all(target_arch = "x86_64", not(test)))]
use crate::number::x86::{Avx2F32, Avx2F64, Avx512F32, Avx512F64};
use crate::pool;
#[cfg(not(target_family = "wasm"))]
use crate::sensitivity::{Sensitivities, Sensitivity};
use batch::CpuBatch;
use divide::has_few_bristles;
use make::{Maker, make};

/// Largest number of lanes of a vector.
const MOST_LANES: usize = 16;

/// The CPU engine. Of a large grid the cells are in the engine's precision and the equations of the body in
/// double precision; contacts with few bristles are stepped one in each lane and are in the engine's
/// precision as a whole. Pose, twist and reduced bristles are compensated sums.
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    numbers: Numbers,
    simd: Simd,
}

#[derive(Clone, Copy, Debug)]
enum Numbers {
    Double,
    Single,
    /// Double precision, one cell after the other.
    Reference,
}

/// The widest vectors that the engine is compiled for and this processor has. The unit tests of this crate
/// compile the narrowest alone, which takes less time; the tests beside it (`tests`) have all widths.
fn widest() -> Simd {
    if cfg!(test) { Simd::Baseline } else { Simd::widest() }
}

impl Default for Cpu {
    fn default() -> Self {
        Self::new()
    }
}

impl Cpu {
    /// Double precision, on all threads of the current rayon pool, with the widest vectors of this processor.
    pub fn new() -> Self {
        Self { numbers: Numbers::Double, simd: widest() }
    }

    /// Single precision: two to three times as fast, as exact as the GPU.
    pub fn single() -> Self {
        Self { numbers: Numbers::Single, simd: widest() }
    }

    /// The same equations in double precision, one cell after the other: the reference.
    pub fn reference() -> Self {
        Self { numbers: Numbers::Reference, simd: Simd::Baseline }
    }

    /// With vectors no wider than `simd`: to compare widths, and to repeat a run of a machine with narrower
    /// vectors.
    #[must_use]
    pub fn up_to(self, simd: Simd) -> Self {
        Self { simd: self.simd.min(simd), ..self }
    }

    /// The vectors that it uses.
    pub const fn simd(self) -> Simd {
        self.simd
    }

    // The step is compiled once more for it, which a page would load for nothing.
    /// Simulates `contacts` over `plan` in double precision with every stage of a step solved to rounding,
    /// and the derivatives of pose, twist and wrench at the samples over the parameters `with`, as
    /// [`crate::sensitivity`] says. The trajectories differ from those of [`Engine::run`], which ends a stage
    /// at a Newton step below 1e-4 m/s, by less than the error of a step. Bristles are not returned.
    ///
    /// ```
    /// use bristle::{Contact, Cpu, Plan, Sensitivity};
    /// # fn derivative(contact: Contact) -> Result<f64, bristle::EngineError> {
    /// // How much farther would it slide for each unit of the Coulomb coefficient?
    /// let with = [Sensitivity::over("friction.mu_c"), Sensitivity::over("body.mass")];
    /// let plan = Plan::new(0.5, 2e-4, 0.1)?;
    /// let (_, by) = Cpu::new().sensitivities(&[contact], &plan, &with)?;
    /// Ok(by.pose[by.at(0, 5, 0)][0])
    /// # }
    /// ```
    ///
    /// # Errors
    /// A plan or a contact out of range, an engine in single precision, or a parameter that a contact has not
    /// or over which it has no derivative.
    #[cfg(not(target_family = "wasm"))]
    pub fn sensitivities(
        &self,
        contacts: &[Contact],
        plan: &Plan,
        with: &[Sensitivity],
    ) -> Result<(Trajectories, Sensitivities), EngineError> {
        validate(contacts, plan)?;
        if contacts.iter().any(|contact| contact.inputs.surface.is_some()) {
            let accepted = "none: there are no derivatives of contacts whose surface moves";
            return Err(ParameterError::new("inputs.surface", "given", accepted).into());
        }
        let run = match (self.numbers, self.simd) {
            (Numbers::Single, _) => {
                return Err(ParameterError::new("engine", "f32", "double precision, as of `Cpu::new`").into());
            }
            (Numbers::Reference, _) => sensitivity::sensitivities::<f64>,
            #[cfg(all(target_arch = "x86_64", not(test)))]
            (Numbers::Double, Simd::Avx512) => sensitivity::sensitivities::<Avx512F64>,
            #[cfg(all(target_arch = "x86_64", not(test)))]
            (Numbers::Double, Simd::Avx2) => sensitivity::sensitivities::<Avx2F64>,
            (Numbers::Double, _) => sensitivity::sensitivities::<F64>,
        };
        run(contacts, plan, with)
    }

    /// The function that makes solvers in the numbers of this engine, and their number of lanes.
    fn maker(self) -> (Maker, usize) {
        match (self.numbers, self.simd) {
            (Numbers::Reference, _) => (make::<f64>, 1),
            #[cfg(all(target_arch = "x86_64", not(test)))]
            (Numbers::Double, Simd::Avx512) => (make::<Avx512F64>, Avx512F64::LANES),
            #[cfg(all(target_arch = "x86_64", not(test)))]
            (Numbers::Double, Simd::Avx2) => (make::<Avx2F64>, Avx2F64::LANES),
            (Numbers::Double, _) => (make::<F64>, F64::LANES),
            #[cfg(all(target_arch = "x86_64", not(test)))]
            (Numbers::Single, Simd::Avx512) => (make::<Avx512F32>, Avx512F32::LANES),
            #[cfg(all(target_arch = "x86_64", not(test)))]
            (Numbers::Single, Simd::Avx2) => (make::<Avx2F32>, Avx2F32::LANES),
            (Numbers::Single, _) => (make::<F32>, F32::LANES),
        }
    }
}

impl Engine for Cpu {
    fn info(&self) -> EngineInfo {
        let precision = if matches!(self.numbers, Numbers::Single) { "f32" } else { "f64" };
        EngineInfo { engine: "cpu", precision, adapter: processor(), driver: String::new(), shape: String::new() }
    }

    fn batch(&self, contacts: Vec<Contact>, stepping: Stepping) -> Result<Batch, EngineError> {
        let (make, lanes) = self.maker();
        Batch::validate(&contacts, stepping)?;
        let stepper = Box::new(CpuBatch::new(&contacts, stepping, make, lanes));
        Ok(Batch::new(contacts, stepping, self.info(), stepper))
    }

    fn rollout(&self, contacts: &[Contact], plan: &Plan, progress: &Progress<'_>) -> Result<Trajectories, EngineError> {
        validate(contacts, plan)?;
        let (make, lanes) = self.maker();
        batch::rollout(contacts, plan, make, lanes, progress)
    }
}

/// Most threads: more than any machine has cores, and few enough to start.
pub const MOST_THREADS: usize = 1024;

/// Refuses a number of threads in the environment, `RAYON_NUM_THREADS`, that no machine could start. Programs
/// call it before they compute.
///
/// # Errors
/// More than [`MOST_THREADS`].
pub fn check_threads() -> Result<(), ParameterError> {
    threads_of(&|name| std::env::var(name).ok())
}

fn threads_of(variable: &dyn Fn(&str) -> Option<String>) -> Result<(), ParameterError> {
    // As the pool of threads reads them: the second, which is older, where the first says nothing.
    let numbers = ["RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"].into_iter().filter_map(|name| {
        let digits = variable(name)?;
        let is_number = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
        is_number.then_some((name, digits))
    });
    // What is too long for a number is no number to the pool, and is refused as well.
    let mut wrong = numbers.filter(|(_, digits)| digits.parse::<u128>().map_or(true, |n| n > MOST_THREADS as u128));
    wrong.next().map_or(Ok(()), |(name, digits)| {
        Err(ParameterError::new(name, digits, format!("1 to {MOST_THREADS} threads, or 0 for one a core")))
    })
}

/// Largest number of contacts like this one that are stepped at the same time.
pub fn at_a_time(contact: &Contact) -> usize {
    pool::threads() * if has_few_bristles(contact) { MOST_LANES } else { 1 }
}

/// The processor's name, as the machine tells it, and the threads that compute.
pub fn processor() -> String {
    format!("{}, {} threads", processor_name(), pool::threads())
}

/// The processor's name, as the machine tells it.
pub fn processor_name() -> String {
    let name = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_threads_that_cannot_be_started_are_refused() {
        let of = |value: &str| threads_of(&|name| (name == "RAYON_NUM_THREADS").then(|| value.to_owned()));
        for fine in ["", "0", "1", "1024", "many", "-1"] {
            assert_eq!(of(fine), Ok(()), "{fine}");
        }
        for wrong in ["1025", "20000", "99999999999999999999999999999999999999999999"] {
            let message = of(wrong).unwrap_err().to_string();
            assert_eq!(
                message,
                format!("RAYON_NUM_THREADS = {wrong}: expected 1 to 1024 threads, or 0 for one a core")
            );
        }
    }
}
