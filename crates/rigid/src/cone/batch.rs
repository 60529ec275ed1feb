//! Cones for many forces at once on the CPU, in vector registers and on all cores.

use rayon::prelude::*;

use super::nearest::{margin, project};
use super::section::{Facets, Section};
use bristle::error::ParameterError;
pub use bristle::number::real::Real;
pub use bristle::number::simd::{copies, widest};
use bristle::pool;

/// Number of forces that a thread answers before it asks for more.
const BLOCK: usize = 4096;

/// The precisions of queries: `f32` and `f64`.
pub trait ConeNumber: Copy + PartialOrd + Default + Send + Sync + sealed::Kernels {
    /// Whether it is finite and not negative, as a coefficient of friction has to be.
    #[doc(hidden)]
    fn is_coefficient(self) -> bool;
    /// For messages, and for a device.
    #[doc(hidden)]
    fn to_f64(self) -> f64;
}

mod sealed {
    use super::Facets;

    /// The arithmetic over the forces of a block, with one coefficient for each.
    pub trait Kernels: Sized {
        fn margins(facets: &Facets, mu: &[Self], forces: &[[Self; 3]], out: &mut [Self]);
        fn projections(facets: &Facets, mu: &[Self], forces: &[[Self; 3]], out: &mut [[Self; 3]]);
    }
}

/// The margin of every force \[N\], (203), by [`super::Cone::margin`]. Forces are in the axes of their
/// contacts, `(f_t, f_b, f_n)` \[N\]; `mu` has one coefficient of friction >= 0 for all, or one for each.
///
/// ```
/// use bristle_rigid::cone::{Section, margins};
///
/// let forces = [[0.3, 0.4, 2.0], [3.0, 4.0, 2.0_f32]];
/// assert_eq!(margins(&Section::Circle, &[0.5], &forces)?, [0.5, -4.0]);
/// # Ok::<(), bristle::error::ParameterError>(())
/// ```
///
/// # Errors
/// A coefficient that is negative or not finite, another number of them, or a polygon with too few or too
/// many sides.
pub fn margins<T: ConeNumber>(section: &Section, mu: &[T], forces: &[[T; 3]]) -> Result<Vec<T>, ParameterError> {
    run(section, mu, forces, T::margins)
}

/// Whether every force is inside its cone, by [`super::Cone::contains`].
///
/// # Errors
/// As [`margins`].
pub fn contains<T: ConeNumber>(section: &Section, mu: &[T], forces: &[[T; 3]]) -> Result<Vec<bool>, ParameterError> {
    let margins = margins(section, mu, forces)?;
    let zero = T::default();
    Ok(margins.iter().zip(forces).map(|(margin, f)| *margin >= zero && f[2] >= zero).collect())
}

/// The nearest force of its cone to every force \[N\], (204), by [`super::Cone::project`].
///
/// # Errors
/// As [`margins`].
pub fn projections<T: ConeNumber>(
    section: &Section,
    mu: &[T],
    forces: &[[T; 3]],
) -> Result<Vec<[T; 3]>, ParameterError> {
    run(section, mu, forces, T::projections)
}

/// Checks what a batch is asked with.
pub(crate) fn validate<T: ConeNumber>(section: &Section, mu: &[T], forces: usize) -> Result<(), ParameterError> {
    section.validate()?;
    if mu.len() != 1 && mu.len() != forces {
        return Err(ParameterError::new("mu", format!("{} numbers", mu.len()), format!("1 or {forces}, one a force")));
    }
    match mu.iter().position(|mu| !mu.is_coefficient()) {
        Some(k) => Err(ParameterError::new(format!("mu.{k}"), mu[k].to_f64(), "a finite number >= 0")),
        None => Ok(()),
    }
}

/// Answers for the forces of a block, with a coefficient for each.
type Kernel<T, O> = fn(&Facets, &[T], &[[T; 3]], &mut [O]);

/// A kernel over blocks of forces, in parallel.
fn run<T: ConeNumber, O: Copy + Default + Send>(
    section: &Section,
    mu: &[T],
    forces: &[[T; 3]],
    kernel: Kernel<T, O>,
) -> Result<Vec<O>, ParameterError> {
    validate(section, mu, forces.len())?;
    let facets = section.facets();
    let mut out = vec![O::default(); forces.len()];
    let all = out.par_chunks_mut(BLOCK).zip(forces.par_chunks(BLOCK)).enumerate();
    let one = |(k, (out, forces)): (usize, (&mut [O], &[[T; 3]]))| {
        if mu.len() == 1 {
            kernel(&facets, &vec![mu[0]; forces.len()], forces, out);
        } else {
            kernel(&facets, &mu[k * BLOCK..][..forces.len()], forces, out);
        }
    };
    pool::run(|| all.for_each(one));
    Ok(out)
}

/// The forces from `at` on, as many as there are lanes, by component; lanes beyond the last repeat it.
#[inline(always)]
fn gathered<R: Real>(forces: &[[R::Scalar; 3]], at: usize) -> [R; 3] {
    let mut out = [R::splat(0.0); 3];
    let last = forces.len() - 1;
    for lane in 0..R::LANES {
        let f = forces[(at + lane).min(last)];
        for k in 0..3 {
            out[k].lanes_mut()[lane] = f[k];
        }
    }
    out
}

#[inline(always)]
fn gathered_mu<R: Real>(mu: &[R::Scalar], at: usize) -> R {
    let mut out = R::splat(0.0);
    for lane in 0..R::LANES {
        out.lanes_mut()[lane] = mu[(at + lane).min(mu.len() - 1)];
    }
    out
}

copies! {
    fn margins_of<R>(facets: &Facets, mu: &[R::Scalar], forces: &[[R::Scalar; 3]], out: &mut [R::Scalar]) -> () {
        for at in (0..forces.len()).step_by(R::LANES) {
            let found: R = margin(facets, gathered_mu(mu, at), gathered(forces, at));
            let n = R::LANES.min(forces.len() - at);
            out[at..at + n].copy_from_slice(&found.lanes()[..n]);
        }
    }
}

copies! {
    fn projections_of<R>(
        facets: &Facets, mu: &[R::Scalar], forces: &[[R::Scalar; 3]], out: &mut [[R::Scalar; 3]],
    ) -> () {
        for at in (0..forces.len()).step_by(R::LANES) {
            let found: [R; 3] = project(facets, gathered_mu(mu, at), gathered(forces, at));
            for (lane, out) in out[at..].iter_mut().take(R::LANES).enumerate() {
                *out = [0, 1, 2].map(|k| found[k].lanes()[lane]);
            }
        }
    }
}

macro_rules! number {
    ($t:ident) => {
        impl ConeNumber for $t {
            fn is_coefficient(self) -> bool {
                self >= 0.0 && self.is_finite()
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
        }
        impl sealed::Kernels for $t {
            fn margins(facets: &Facets, mu: &[$t], forces: &[[$t; 3]], out: &mut [$t]) {
                widest!(margins_of::<$t>(facets, mu, forces, out));
            }
            fn projections(facets: &Facets, mu: &[$t], forces: &[[$t; 3]], out: &mut [[$t; 3]]) {
                widest!(projections_of::<$t>(facets, mu, forces, out));
            }
        }
    };
}
number!(f32);
number!(f64);
