//! The gradient of a slip margin, by the envelope theorem.
//!
//! The margin is `k = min P(v)/(F.v)` with `P(v) = mu f_N sum w_i s_i(v)`, where `s_i` is the mean speed of
//! cell `i` (`docs/model.md` (98), (100)). At the minimum the derivative by `v` is zero, so that `k` changes
//! only as the quotient does at the same twist:
//!
//! ```text
//! dk/dF = -k v/(F.v)    dk/dp_i = mu f_N s_i(v)/(F.v) - k    dk/dmu = k/mu    dk/df_N = k/f_N
//! ```
//!
//! with `w_i = p_i/sum p`, at pressures that sum to one.

use rayon::prelude::*;

use super::{Cells, ReferencePoint, negative};
use crate::error::ParameterError;
use crate::limit_surface::margin::Margin;
use crate::limit_surface::surface::Surface;
use crate::planar::{Twist, Wrench};
use crate::pool;

/// Number of loads whose twists are refined together.
const BLOCK_OF_LOADS: usize = 64;

/// A slip margin and its derivatives.
///
/// Where the twist at slip is not unique (a patch whose cells are all on one line, by `points`, under a force
/// along its normal; a patch of one cell by `points`), `k` has a kink, and these are the derivatives for one
/// of the twists. They still bound `k` from above: for all loads `1/k(F') >= 1/k - dk/dF.(F' - F)/k^2`, and
/// at a fixed point for all maps `k(w') <= k + sum w'_i dk/dp_i`.
///
/// All are NaN for no load, whose factor is infinite.
#[derive(Clone, Debug, PartialEq)]
pub struct MarginGradient {
    /// The margin, with the twist at the [`ReferencePoint`].
    pub margin: Margin,
    /// Derivative of the factor by the load `(fx, fy, tau)` [1/N, 1/N, 1/(N m)]: `F . dk/dF = -k`.
    pub load: [f64; 3],
    /// Derivative by the pressure of every cell [-], in the order of the map and also for cells without
    /// pressure, with all other pressures and the normal force held. Its unit of pressure is the sum of all
    /// pressures: for pressures in another unit divide by their sum. The shares are normalised, so
    /// `sum w_i dk/dp_i = 0`. If the normal force is the sum of the pressures times a cell's area `A`, the
    /// derivative by a pressure \[Pa\] is `(dk/dp_i + k) A/f_N`.
    pub pressure: Vec<f64>,
    /// Derivative by the coefficient of friction [-].
    pub mu: f64,
    /// Derivative by the normal force [1/N], with the map held; also at a force of zero.
    pub f_n: f64,
}

impl Surface {
    /// The margins of many loads [N, N, N m] as by [`Surface::margins`], and their derivatives, in parallel.
    /// Loads and twists are at the point `at`. A map that follows the normal force counts as fixed.
    ///
    /// ```
    /// use bristle::limit_surface::{ReferencePoint, Rule, Surface};
    /// use bristle::patch::{Grid, Patch, Shape};
    /// use bristle::planar::Wrench;
    ///
    /// let patch = Patch::shape(Grid::new(21, 21, 0.02, 0.02)?, Shape::Circle)?;
    /// let surface = Surface::new(&patch, Rule::Cells);
    /// // A force through the centre: k = mu f_N/|f|.
    /// let load = Wrench::new(2.0, 0.0, 0.0);
    /// let found = &surface.margin_gradients(&[load], ReferencePoint::Cop, 0.5, 8.0)?[0];
    /// assert!((found.margin.factor - 2.0).abs() < 1e-11);
    /// assert!((found.load[0] + 1.0).abs() < 1e-11 && (found.mu - 4.0).abs() < 1e-11);
    /// # Ok::<(), bristle::error::PatchError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Surface::margins`]; a point that is not finite.
    pub fn margin_gradients(
        &self,
        loads: &[Wrench],
        at: ReferencePoint,
        mu: f64,
        f_n: f64,
    ) -> Result<Vec<MarginGradient>, ParameterError> {
        let point = at.seen_from(self.patch().cop())?;
        let loads: Vec<Wrench> = loads.iter().map(|load| load.about(negative(point))).collect();
        let mut margins = self.margins(&loads, mu, f_n)?;
        let cells = Cells::new(self)?;
        let one = |(load, margin): (&Wrench, &Margin)| {
            let mut found = cells.gradient(*load, *margin, at, f_n);
            // Power is the same at every point, so the derivative by a load moves as a twist.
            found.load = Twist::from(found.load).at(point).to_array();
            found.margin.twist = margin.twist.at(point);
            found
        };
        let blocks = loads.par_chunks(BLOCK_OF_LOADS).zip(margins.par_chunks_mut(BLOCK_OF_LOADS));
        let of_block = |(loads, margins): (&[Wrench], &mut [Margin])| {
            self.refine(loads, margins);
            loads.iter().zip(&*margins).map(one).collect::<Vec<_>>()
        };
        Ok(pool::run(|| blocks.flat_map_iter(of_block).collect()))
    }
}

impl Cells<'_> {
    /// The derivatives of a margin; load and twist are at the centre of pressure.
    fn gradient(&self, load: Wrench, margin: Margin, at: ReferencePoint, f_n: f64) -> MarginGradient {
        let patch = self.surface.patch();
        let twist = margin.twist;
        if twist == Twist::default() {
            let pressure = vec![f64::NAN; patch.grid().len()];
            return MarginGradient { margin, load: [f64::NAN; 3], pressure, mu: f64::NAN, f_n: f64::NAN };
        }
        let power = load.power(twist);
        // Speeds over the power of the load.
        let mut pressure: Vec<f64> = self.wrenches(twist).map(|wrench| -wrench.power(twist) / power).collect();
        let unit: f64 = patch.weights().iter().zip(&pressure).map(|(w, s)| w * s).sum();
        let most = margin.mu * f_n;
        let k = most * unit;
        pressure.iter_mut().for_each(|s| *s = most * *s - k);
        if at == ReferencePoint::Cop {
            // The load moves along, so that its moment about a fixed point changes by `(rho_i - c) x f`.
            let [cx, cy] = patch.cop();
            let per_moment = -k * twist.w / power;
            for (s, [x, y]) in pressure.iter_mut().zip(patch.grid().centres()) {
                *s += per_moment * ((x - cx) * load.fy - (y - cy) * load.fx);
            }
        }
        let load = twist.to_array().map(|v| -k * v / power);
        MarginGradient { margin, load, pressure, mu: f_n * unit, f_n: margin.mu * unit }
    }
}
