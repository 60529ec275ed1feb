//! The contact problem of one time step: the impulses of contacts with polyhedral friction cones.

use nalgebra::{DMatrix, DVector};

use super::{Lcp, Termination};
use bristle::error::{ParameterError, check};

/// Most contacts of a problem.
pub const MOST_CONTACTS: usize = 32;
/// Fewest and most friction directions.
pub const MOST_DIRECTIONS: [usize; 2] = [4, 32];
/// Most pivots of Lemke's method for each variable of a problem; some twice as many as variables are usual.
const PIVOTS: usize = 50;

/// Contacts that are coupled through the bodies they touch, `docs/model.md` (LCP 9): impulses `p = (p_n, p_t,
/// p_o)` [N s] of all contacts give the contact velocities `u = W p + b` [m/s], along the normal and two
/// tangents each. They satisfy `0 <= p_n`, `0 <= u_n` and `p_n u_n = 0`; friction lies in `mu p_n` times the
/// polygon whose corners are the friction directions, and there dissipates as much as it can.
#[derive(Clone, Debug, PartialEq)]
pub struct ContactProblem {
    /// `W`, `3n x 3n`, symmetric, row after row [1/kg].
    pub w: Vec<f64>,
    /// `b`, `3n` [m/s]: the velocities without contact impulses; the normal ones and the gap over the step.
    pub b: Vec<f64>,
    /// Coefficient of friction of each contact, >= 0.
    pub mu: Vec<f64>,
    /// Number of friction directions, evenly spaced from the first tangent on.
    pub directions: usize,
    /// Where an iteration begins: the impulses of the step before, or zeros.
    pub start: Vec<[f64; 3]>,
}

/// Impulses of a problem and how well they solve it.
#[derive(Clone, Debug, PartialEq)]
pub struct Impulses {
    /// Impulse along normal and tangents of each contact [N s].
    pub p: Vec<[f64; 3]>,
    /// Residual in the problem's own units [-], see [`ContactProblem::residual`].
    pub residual: f64,
    /// Rounds of sweeps, or pivots of Lemke's method.
    pub iterations: u32,
    /// How the search ended.
    pub termination: Termination,
    /// Whether this is Lemke's solution.
    pub lemke: bool,
}

/// A problem in its own units, in which the largest entry of every diagonal block and the largest velocity
/// are one: contact `i` has velocities in `speed s_i` and impulses in `speed / s_i`, with `s_i^2` its largest
/// diagonal entry.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaled {
    /// `W` [-].
    pub w: Vec<f64>,
    /// `b` [-].
    pub b: Vec<f64>,
    /// The start [-].
    pub p: Vec<[f64; 3]>,
    /// Unit of impulse of each contact [N s].
    pub impulse: Vec<f64>,
}

impl ContactProblem {
    /// Number of contacts.
    pub fn contacts(&self) -> usize {
        self.mu.len()
    }

    /// Checks sizes and ranges.
    ///
    /// # Errors
    /// Sizes that do not fit together, too many contacts, or a number out of range.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let n = self.contacts();
        if n > MOST_CONTACTS {
            return Err(ParameterError::new("contacts", n, format!("at most {MOST_CONTACTS} at a time")));
        }
        let [least, most] = MOST_DIRECTIONS;
        if !(least..=most).contains(&self.directions) {
            return Err(ParameterError::new("directions", self.directions, format!("{least} to {most}")));
        }
        if self.w.len() != 9 * n * n || self.b.len() != 3 * n || self.start.len() != n {
            let value = format!("{}, {} and {} values", self.w.len(), self.b.len(), self.start.len());
            return Err(ParameterError::new("w, b, start", value, format!("{}, {} and {n}", 9 * n * n, 3 * n)));
        }
        for (k, mu) in self.mu.iter().enumerate() {
            check(&format!("mu[{k}]"), *mu, "a finite number >= 0", *mu >= 0.0)?;
        }
        for k in 0..3 * n {
            check(&format!("w[{k}][{k}]"), self.w[k * (3 * n + 1)], "a number > 0", self.w[k * (3 * n + 1)] > 0.0)?;
        }
        let all = self.w.iter().chain(&self.b).chain(self.start.as_flattened());
        all.copied().try_for_each(|v| check("w, b, start", v, "finite numbers", true))
    }

    /// Friction direction `j`.
    pub fn direction(directions: usize, j: usize) -> [f64; 2] {
        let (sin, cos) = (std::f64::consts::TAU * (j % directions) as f64 / directions as f64).sin_cos();
        [cos, sin]
    }

    /// The linear complementarity problem in the notes' order: all `p_n`, then `p_f` of every contact and
    /// direction, then all `s`; `docs/model.md` (LCP 7).
    pub fn lcp(&self) -> Lcp {
        let (n, nd) = (self.contacts(), self.directions);
        let size = n * (2 + nd);
        // Columns of G = [G_n G_f] in the basis of normals and tangents.
        let mut g = DMatrix::zeros(3 * n, n + n * nd);
        for i in 0..n {
            g[(3 * i, i)] = 1.0;
            for j in 0..nd {
                let [t, o] = Self::direction(nd, j);
                g[(3 * i + 1, n + i * nd + j)] = t;
                g[(3 * i + 2, n + i * nd + j)] = o;
            }
        }
        let mut a = DMatrix::zeros(size, size);
        let w = DMatrix::from_row_slice(3 * n, 3 * n, &self.w);
        a.view_mut((0, 0), (n + n * nd, n + n * nd)).copy_from(&(g.transpose() * w * &g));
        for i in 0..n {
            let s = n + n * nd + i;
            a[(s, i)] = self.mu[i];
            for j in 0..nd {
                a[(n + i * nd + j, s)] = 1.0;
                a[(s, n + i * nd + j)] = -1.0;
            }
        }
        let mut q = DVector::zeros(size);
        q.rows_mut(0, n + n * nd).copy_from(&(g.transpose() * DVector::from_row_slice(&self.b)));
        Lcp { a, q }
    }

    /// The impulses of a solution of [`ContactProblem::lcp`].
    pub fn impulses(&self, z: &DVector<f64>) -> Vec<[f64; 3]> {
        let (n, nd) = (self.contacts(), self.directions);
        let impulse = |i: usize| {
            let of = |j: usize| Self::direction(nd, j).map(|d| d * z[n + i * nd + j]);
            let [t, o] = (0..nd).map(of).fold([0.0; 2], |[t, o], [x, y]| [t + x, o + y]);
            [z[i], t, o]
        };
        (0..n).map(impulse).collect()
    }

    /// The solution of [`ContactProblem::lcp`] with these impulses: each friction impulse from the two
    /// directions beside it, and the least `s` that makes all `w` of its contact >= 0.
    pub fn variables(&self, p: &[[f64; 3]]) -> DVector<f64> {
        let (n, nd) = (self.contacts(), self.directions);
        let mut z = DVector::zeros(n * (2 + nd));
        let u = self.velocities(p);
        let turn = std::f64::consts::TAU / nd as f64;
        for (i, [pn, pt, po]) in p.iter().enumerate() {
            z[i] = *pn;
            let size = pt.hypot(*po);
            if size > 0.0 {
                let angle = po.atan2(*pt).rem_euclid(std::f64::consts::TAU) / turn;
                let j = angle.floor() as usize;
                let part = (angle - angle.floor()) * turn;
                z[n + i * nd + (j + 1) % nd] = size * part.sin() / turn.sin();
                z[n + i * nd + j % nd] = size * (turn - part).sin() / turn.sin();
            }
            let along = |j: usize| {
                let [t, o] = Self::direction(nd, j);
                t * u[3 * i + 1] + o * u[3 * i + 2]
            };
            z[n + n * nd + i] = (0..nd).map(|j| -along(j)).fold(0.0, f64::max);
        }
        z
    }

    /// `u = W p + b` [m/s].
    pub fn velocities(&self, p: &[[f64; 3]]) -> Vec<f64> {
        let rows = self.w.chunks_exact(p.as_flattened().len().max(1));
        rows.zip(&self.b)
            .map(|(row, b)| row.iter().zip(p.as_flattened()).map(|(w, p)| w * p).sum::<f64>() + b)
            .collect()
    }

    /// The problem in its own units. In these a residual of 1e-6 is one of 1e-6 of the largest velocity.
    pub fn scaled(&self) -> Scaled {
        let m = 3 * self.contacts();
        let block = |i: usize| (3 * i..3 * i + 3).map(|k| self.w[k * (m + 1)]).fold(0.0, f64::max).sqrt();
        let s: Vec<f64> = (0..self.contacts()).map(block).collect();
        let speed = self.b.iter().enumerate().map(|(k, b)| b.abs() / s[k / 3]).fold(0.0, f64::max);
        let speed = if speed > 0.0 { speed } else { 1.0 };
        let w = self.w.iter().enumerate().map(|(k, w)| w / (s[k / m / 3] * s[k % m / 3])).collect();
        let b = self.b.iter().enumerate().map(|(k, b)| b / (speed * s[k / 3])).collect();
        let impulse: Vec<f64> = s.iter().map(|s| speed / s).collect();
        let p = self.start.iter().zip(&impulse).map(|(p, unit)| p.map(|c| c / unit)).collect();
        Scaled { w, b, p, impulse }
    }

    /// How far impulses are from a solution, in the problem's own units ([`ContactProblem::scaled`]): the
    /// residual of [`ContactProblem::lcp`] at [`ContactProblem::variables`].
    pub fn residual(&self, p: &[[f64; 3]]) -> f64 {
        let scaled = self.scaled();
        let p: Vec<[f64; 3]> = p.iter().zip(&scaled.impulse).map(|(p, unit)| p.map(|c| c / unit)).collect();
        let own =
            Self { w: scaled.w, b: scaled.b, mu: self.mu.clone(), directions: self.directions, start: Vec::new() };
        own.natural_residual(&p)
    }

    /// The residual without the units, from the contact velocities: `A` is not written out.
    fn natural_residual(&self, p: &[[f64; 3]]) -> f64 {
        let (n, nd) = (self.contacts(), self.directions);
        let (z, u) = (self.variables(p), self.velocities(p));
        let mut worst = 0.0;
        // What is no number stays.
        let mut take = |z: f64, w: f64| {
            let r = if z.is_nan() || w.is_nan() { f64::NAN } else { z.min(w).abs() };
            worst = if r.is_nan() || r > worst { r } else { worst };
        };
        for (i, [pn, ..]) in p.iter().enumerate() {
            take(*pn, u[3 * i]);
            let (s, mut sum) = (z[n + n * nd + i], 0.0);
            for j in 0..nd {
                let ([t, o], alpha) = (Self::direction(nd, j), z[n + i * nd + j]);
                take(alpha, t * u[3 * i + 1] + o * u[3 * i + 2] + s);
                sum += alpha;
            }
            take(s, self.mu[i] * pn - sum);
        }
        worst
    }

    /// The solution by Lemke's method, in the problem's own units.
    pub fn by_lemke(&self) -> Impulses {
        let scaled = self.scaled();
        let own = Self { w: scaled.w.clone(), b: scaled.b.clone(), ..self.clone() };
        let lcp = own.lcp();
        let found = lcp.solve(PIVOTS * lcp.q.len().max(1));
        Impulses {
            p: scaled.unscaled(&own.impulses(&found.z)),
            residual: lcp.residual(&found.z),
            iterations: found.pivots as u32,
            termination: found.termination,
            lemke: true,
        }
    }
}

impl Scaled {
    /// Impulses [N s] from those in the problem's own units.
    pub fn unscaled(&self, p: &[[f64; 3]]) -> Vec<[f64; 3]> {
        p.iter().zip(&self.impulse).map(|(p, unit)| p.map(|c| c * unit)).collect()
    }
}
