//! Pressure that follows the normal force, `docs/model.md` (20).

use super::Grid;
use crate::error::ParameterError;
use crate::parameter::{HERTZ_EXPONENT, HERTZ_RADIUS, about};

/// The exponent `k` of `docs/model.md` (20).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Exponent {
    /// The same at every force. 2 is Hertz' ellipsoid.
    Fixed(f64),
    /// `k = c f_N` with `c` [1/N]; the paper has `c = 2`. From 1 N to 10 N the map grows from a cone-like to
    /// a nearly flat one.
    PerNewton(f64),
}

/// A round map that grows and flattens with the normal force, `docs/model.md` (20):
/// `p ~ max(0, 1 - (rho/a)^k)^(1/k)`, `a = radius f_N^(1/3)`, with `rho` and `a` in CELLS and `a` at
/// most half the grid's smaller side. The paper gives `a` no unit; with cells its Figs. 33 to 35 come out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hertz {
    #[doc = about!(HERTZ_RADIUS)]
    pub radius: f64,
    /// The exponent.
    pub exponent: Exponent,
}

/// Smallest contact radius \[cells\]: keeps a cell loaded on grids with an even number of columns.
pub const A_MIN: f64 = 1.0;
/// Smallest exponent: keeps the map finite when `k = c f_N` goes to zero with the force.
pub const K_MIN: f64 = 0.1;

impl Default for Hertz {
    /// As in the paper.
    fn default() -> Self {
        Self { radius: HERTZ_RADIUS.default, exponent: Exponent::Fixed(HERTZ_EXPONENT.default) }
    }
}

impl Hertz {
    /// Checks both parameters.
    ///
    /// # Errors
    /// The parameter that is not 1e-6 to 1e6.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let (Exponent::Fixed(k) | Exponent::PerNewton(k)) = self.exponent;
        HERTZ_RADIUS.check(self.radius)?;
        HERTZ_EXPONENT.check(k)
    }

    /// Contact radius `a` \[cells\] at normal force `f_n` \[N\] on `grid`.
    pub fn a(&self, grid: &Grid, f_n: f64) -> f64 {
        (self.radius * f_n.max(0.0).cbrt()).min(0.5 * grid.nx.min(grid.ny) as f64).max(A_MIN)
    }

    /// Exponent `k` at normal force `f_n` \[N\].
    pub fn k(&self, f_n: f64) -> f64 {
        match self.exponent {
            Exponent::Fixed(k) => k,
            Exponent::PerNewton(c) => c * f_n,
        }
        .max(K_MIN)
    }

    /// Pressures [arbitrary unit] at normal force `f_n` \[N\], one a cell, bottom row first.
    pub fn pressure(&self, grid: &Grid, f_n: f64) -> Vec<f64> {
        let (a, k) = (self.a(grid, f_n), self.k(f_n));
        let at = |x: f64, y: f64| {
            let square = (x * x + y * y) / (a * a);
            if square >= 1.0 {
                0.0
            } else if k == 2.0 {
                (1.0 - square).sqrt()
            } else {
                (1.0 - square.powf(0.5 * k)).powf(1.0 / k)
            }
        };
        // Pressures are computed for a quarter of the cells and copied to their mirror images. On a grid with
        // as many rows as columns the map is symmetric about the diagonals, too, which leaves an eighth.
        let Grid { nx, ny, .. } = *grid;
        let place = |i: usize, n: usize| i as f64 + 0.5 - n as f64 / 2.0;
        let mut pressure = vec![0.0; nx * ny];
        for j in 0..ny.div_ceil(2) {
            for i in 0..nx.div_ceil(2) {
                let p = if nx == ny && i < j { pressure[i * nx + j] } else { at(place(i, nx), place(j, ny)) };
                for row in [j * nx, (ny - 1 - j) * nx] {
                    pressure[row + i] = p;
                    pressure[row + nx - 1 - i] = p;
                }
            }
        }
        pressure
    }
}
