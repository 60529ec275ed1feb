//! Many contact problems at once: sweeps that solve one contact after the other exactly, and Newton steps on
//! the modes that the sweeps find. Twin: `crates/rigid/shaders/blocks.wgsl`.
//!
//! A sweep alone converges linearly, and slowly where many contacts share a body (`docs/benchmarks.md`); but
//! after few sweeps it knows which contacts separate, stick, slide along a friction direction or between two
//! of them. With these modes the problem is linear. A Newton step solves it, and is taken if it lowers the
//! residual. Redundant contacts make that system singular: a small multiple of the distance from the present
//! impulses is added, which vanishes as the iteration converges.
//!
//! Only here: `solve_all`, `solve`, `alone`, `found`, `or_better`, `start`, `directions`.

use nalgebra::{RealField, convert};
use rayon::prelude::*;

use super::{ContactProblem, Impulses, Termination};
use bristle::pool;

/// Mode of a contact: no impulse.
pub(crate) const SEPARATE: u32 = 0;
/// No velocity. Beyond it `SLIDE + 2 j` slides against friction direction `j`, `SLIDE + 2 j + 1` between that
/// and the next.
pub(crate) const STICK: u32 = 1;
/// The first of the modes that slide.
pub(crate) const SLIDE: u32 = 2;
/// Sweeps of a round, before its Newton step.
pub(crate) const SWEEPS: usize = 3;
/// Most rounds of a problem.
pub(crate) const MOST_ROUNDS: usize = 40;
/// Residual [-] in double precision that is accepted if Lemke's method finds no smaller one.
const ENOUGH: f64 = 1e-6;

/// A number that the solver computes with.
pub trait Number: RealField + Copy {
    /// Whether there is a more precise one.
    const IS_SINGLE: bool;
    /// Residual [-] at which a problem counts as solved.
    const TOLERANCE: f64;
    /// Multiple of the distance that a Newton step adds [-].
    const PROXIMAL: f64;
}

impl Number for f32 {
    const IS_SINGLE: bool = true;
    const TOLERANCE: f64 = 5e-7;
    const PROXIMAL: f64 = 3e-4;
}

impl Number for f64 {
    const IS_SINGLE: bool = false;
    const TOLERANCE: f64 = 1e-11;
    const PROXIMAL: f64 = 1e-7;
}

/// Solves problems in parallel, each from its start; the result depends on the problem alone. Of contacts
/// drawn at random one problem in some 200 has modes that go round in circles: it is left to Lemke's method
/// after the most rounds.
///
/// # Panics
/// A problem that [`ContactProblem::validate`] refuses may panic.
pub fn solve_all<T: Number>(problems: &[ContactProblem]) -> Vec<Impulses> {
    pool::run(|| problems.par_iter().map(solve::<T>).collect())
}

/// Solves one problem from its start.
///
/// # Panics
/// As [`solve_all`].
pub fn solve<T: Number>(problem: &ContactProblem) -> Impulses {
    or_better::<T>(problem, alone::<T>(problem))
}

/// What blocks find from the start of a problem, be it a solution or not.
pub(crate) fn alone<T: Number>(problem: &ContactProblem) -> Impulses {
    let scaled = problem.scaled();
    let mut blocks = Blocks::<T>::start(problem, &scaled);
    let rounds = blocks.run();
    let p: Vec<[f64; 3]> = blocks.p.iter().map(|p| p.map(|c| c.to_subset().unwrap_or(f64::NAN))).collect();
    found::<T>(problem, scaled.unscaled(&p), rounds as u32)
}

/// The impulses `p` that a solver has found in so many rounds: a solution, or the best within the limit.
pub(crate) fn found<T: Number>(problem: &ContactProblem, p: Vec<[f64; 3]>, rounds: u32) -> Impulses {
    let residual = problem.residual(&p);
    let solved = residual <= 2.0 * T::TOLERANCE;
    let termination = if solved { Termination::Solved } else { Termination::Limit };
    Impulses { p, residual, iterations: rounds, termination, lemke: false }
}

/// What was found, if it is a solution to its precision; else what is found from it in double precision, and
/// at last by Lemke's method.
pub(crate) fn or_better<T: Number>(problem: &ContactProblem, found: Impulses) -> Impulses {
    if found.termination == Termination::Solved {
        return found;
    }
    if T::IS_SINGLE {
        let start = if found.residual.is_finite() { found.p } else { problem.start.clone() };
        return solve::<f64>(&ContactProblem { start, ..problem.clone() });
    }
    let lemke = problem.by_lemke();
    if found.residual < ENOUGH && !(lemke.residual < found.residual) {
        return Impulses { termination: Termination::Solved, ..found };
    }
    lemke
}

/// The friction directions as unit vectors.
pub(crate) fn directions<T: Number>(count: usize) -> Vec<[T; 2]> {
    (0..count).map(|j| ContactProblem::direction(count, j).map(convert)).collect()
}

/// A problem that is being solved, scaled: `n` contacts with velocities `w p + b`.
struct Blocks<T> {
    n: usize,
    w: Vec<T>,
    b: Vec<T>,
    mu: Vec<T>,
    /// Friction directions.
    d: Vec<[T; 2]>,
    p: Vec<[T; 3]>,
    mode: Vec<u32>,
    /// The impulses that a Newton step may go back to.
    kept: Vec<[T; 3]>,
    /// The system of a Newton step: its rows, each with its right side, and where the unknowns of a contact
    /// begin.
    system: Vec<T>,
    first: Vec<usize>,
}

impl<T: Number> Blocks<T> {
    fn start(problem: &ContactProblem, scaled: &super::Scaled) -> Self {
        let n = problem.contacts();
        let all = |v: &[f64]| v.iter().map(|x| convert(*x)).collect::<Vec<T>>();
        Self {
            n,
            w: all(&scaled.w),
            b: all(&scaled.b),
            mu: all(&problem.mu),
            d: directions(problem.directions),
            p: scaled.p.iter().map(|p| p.map(convert)).collect(),
            mode: vec![SEPARATE; n],
            kept: vec![[T::zero(); 3]; n],
            system: vec![T::zero(); 3 * n * (3 * n + 1)],
            first: vec![0; n],
        }
    }

    /// Velocity of contact `i`.
    fn velocity(&self, i: usize) -> [T; 3] {
        let mut u = [self.b[3 * i], self.b[3 * i + 1], self.b[3 * i + 2]];
        for j in 0..self.n {
            let p = self.p[j];
            for (r, u) in u.iter_mut().enumerate() {
                let at = (3 * i + r) * 3 * self.n + 3 * j;
                *u += self.w[at] * p[0] + self.w[at + 1] * p[1] + self.w[at + 2] * p[2];
            }
        }
        u
    }

    /// How far a friction impulse is outside of the polygon for `reach`, `mu p_n`: the largest distance from
    /// an edge.
    fn outside(&self, t: [T; 2], reach: T) -> T {
        let count = self.d.len();
        let mut most = -reach;
        for j in 0..count {
            let (a, b) = (self.d[j], self.d[(j + 1) % count]);
            let (x, y) = (a[0] + b[0], a[1] + b[1]);
            // The normal of the edge is the middle of its ends; its distance from the centre the cosine of
            // half a turn.
            let size = (x * x + y * y).sqrt();
            most = most.max((t[0] * x + t[1] * y) / size - reach * size * convert(0.5));
        }
        most
    }

    /// The impulse with which a contact alone, with these rows of `W`, has no velocity: `W p = -r` by
    /// Cramer's rule.
    fn stick(a: [T; 3], b: [T; 3], c: [T; 3], r: [T; 3]) -> [T; 3] {
        let m0 = b[1] * c[2] - b[2] * c[1];
        let m1 = b[2] * c[0] - b[0] * c[2];
        let m2 = b[0] * c[1] - b[1] * c[0];
        let det = a[0] * m0 + a[1] * m1 + a[2] * m2;
        [
            -(m0 * r[0] + (a[2] * c[1] - a[1] * c[2]) * r[1] + (a[1] * b[2] - a[2] * b[1]) * r[2]) / det,
            -(m1 * r[0] + (a[0] * c[2] - a[2] * c[0]) * r[1] + (a[2] * b[0] - a[0] * b[2]) * r[2]) / det,
            -(m2 * r[0] + (a[1] * c[0] - a[0] * c[1]) * r[1] + (a[0] * b[1] - a[1] * b[0]) * r[2]) / det,
        ]
    }

    /// Impulse and mode of contact `i` that solve it alone, for the velocity `r` that it has without its own
    /// impulse: the mode whose conditions are violated least.
    fn one_contact(&self, i: usize, r: [T; 3]) -> ([T; 3], u32) {
        let zero = T::zero();
        if r[0] >= zero {
            return ([zero; 3], SEPARATE);
        }
        let row = |k: usize| {
            let at = (3 * i + k) * 3 * self.n + 3 * i;
            [self.w[at], self.w[at + 1], self.w[at + 2]]
        };
        let (a, b, c) = (row(0), row(1), row(2));
        let mu = self.mu[i];
        let stick = Self::stick(a, b, c, r);
        let mut best = stick;
        let mut mode = STICK;
        let mut violation = (-stick[0]).max(self.outside([stick[1], stick[2]], mu * stick[0]));
        let count = self.d.len();
        for j in 0..count {
            if violation <= zero {
                break;
            }
            let (d, e, f) = (self.d[j], self.d[(j + 1) % count], self.d[(j + count - 1) % count]);
            // Along one direction: p = p_n (1, mu d), with the normal velocity zero.
            let nn = a[0] + mu * (a[1] * d[0] + a[2] * d[1]);
            let pn = -r[0] / nn;
            let ut = r[1] + (b[0] + mu * (b[1] * d[0] + b[2] * d[1])) * pn;
            let uo = r[2] + (c[0] + mu * (c[1] * d[0] + c[2] * d[1])) * pn;
            let next = ut * (d[0] - e[0]) + uo * (d[1] - e[1]);
            let before = ut * (d[0] - f[0]) + uo * (d[1] - f[1]);
            let off = (-pn).max(next.max(before));
            if off < violation && nn > zero {
                violation = off;
                best = [pn, mu * pn * d[0], mu * pn * d[1]];
                mode = SLIDE + 2 * j as u32;
            }
            // Between it and the next: p = p_n (1, mu d) + tau (0, g), where nothing moves along the edge g.
            let (x, y) = (e[0] - d[0], e[1] - d[1]);
            let size = (x * x + y * y).sqrt();
            let g = [x / size, y / size];
            let nt = a[1] * g[0] + a[2] * g[1];
            let tn =
                g[0] * (b[0] + mu * (b[1] * d[0] + b[2] * d[1])) + g[1] * (c[0] + mu * (c[1] * d[0] + c[2] * d[1]));
            let tt = g[0] * (b[1] * g[0] + b[2] * g[1]) + g[1] * (c[1] * g[0] + c[2] * g[1]);
            let rt = g[0] * r[1] + g[1] * r[2];
            let area = nn * tt - nt * tn;
            let pn = (nt * rt - tt * r[0]) / area;
            let tau = (tn * r[0] - nn * rt) / area;
            let p = [pn, mu * pn * d[0] + tau * g[0], mu * pn * d[1] + tau * g[1]];
            let ut = r[1] + b[0] * p[0] + b[1] * p[1] + b[2] * p[2];
            let uo = r[2] + c[0] * p[0] + c[1] * p[1] + c[2] * p[2];
            let against = ut * (d[0] + e[0]) + uo * (d[1] + e[1]);
            let off = (-pn).max(against).max((-tau).max(tau - mu * pn * size));
            if off < violation && area > zero {
                violation = off;
                best = p;
                mode = SLIDE + 2 * j as u32 + 1;
            }
        }
        if best[0] < zero { ([zero; 3], SEPARATE) } else { (best, mode) }
    }

    /// Solves one contact after the other.
    fn sweep(&mut self) {
        for i in 0..self.n {
            let old = self.p[i];
            self.p[i] = [T::zero(); 3];
            let r = self.velocity(i);
            let (p, mode) = self.one_contact(i, r);
            let finite = p[0].is_finite() && p[1].is_finite() && p[2].is_finite();
            self.p[i] = if finite { p } else { old };
            if finite {
                self.mode[i] = mode;
            }
        }
    }

    /// The residual of the linear complementarity problem: each friction impulse as a sum of the two
    /// directions beside it, and the least speed `s` that makes all slacks >= 0.
    fn residual(&self) -> T {
        let zero = T::zero();
        let count = self.d.len();
        let mut most = zero;
        for i in 0..self.n {
            let u = self.velocity(i);
            let p = self.p[i];
            let mut s = zero;
            for j in 0..count {
                s = s.max(-(self.d[j][0] * u[1] + self.d[j][1] * u[2]));
            }
            let mut sum = zero;
            for j in 0..count {
                let (d, e) = (self.d[j], self.d[(j + 1) % count]);
                let sine = d[0] * e[1] - d[1] * e[0];
                let x = (p[1] * e[1] - p[2] * e[0]) / sine;
                let y = (d[0] * p[2] - d[1] * p[1]) / sine;
                if x >= zero && y >= zero {
                    sum = x + y;
                    let over_d = x.min(s + d[0] * u[1] + d[1] * u[2]);
                    let over_e = y.min(s + e[0] * u[1] + e[1] * u[2]);
                    most = most.max(over_d).max(over_e);
                }
            }
            let slack = self.mu[i] * p[0] - sum;
            most = most.max(s.min(slack).abs()).max(p[0].min(u[0]).abs());
        }
        most
    }

    /// Column `c` of the impulses that contact `i` may have in its mode.
    fn column(&self, i: usize, c: usize) -> [T; 3] {
        let (zero, one) = (T::zero(), T::one());
        let mode = self.mode[i];
        if mode == STICK {
            return [if c == 0 { one } else { zero }, if c == 1 { one } else { zero }, if c == 2 { one } else { zero }];
        }
        let j = (mode - SLIDE) as usize / 2;
        let d = self.d[j];
        if c == 0 {
            return [one, self.mu[i] * d[0], self.mu[i] * d[1]];
        }
        let e = self.d[(j + 1) % self.d.len()];
        let (x, y) = (e[0] - d[0], e[1] - d[1]);
        let size = (x * x + y * y).sqrt();
        [zero, x / size, y / size]
    }

    /// Number of unknowns of contact `i`.
    fn unknowns(&self, i: usize) -> usize {
        match self.mode[i] {
            SEPARATE => 0,
            STICK => 3,
            mode => 1 + (mode - SLIDE) as usize % 2,
        }
    }

    /// The direction in which velocity number `c` of contact `i` must vanish: the column, but of those that
    /// slide the first is the normal.
    fn test(&self, i: usize, c: usize) -> [T; 3] {
        if c == 0 { [T::one(), T::zero(), T::zero()] } else { self.column(i, c) }
    }

    /// Sets up the system of a Newton step; returns its size.
    fn assemble(&mut self) -> usize {
        let mut size = 0;
        for i in 0..self.n {
            self.first[i] = size;
            size += self.unknowns(i);
        }
        let stride = size + 1;
        for i in 0..self.n {
            for c in 0..self.unknowns(i) {
                let row = self.first[i] + c;
                let t = self.test(i, c);
                let mut right = T::zero();
                for (k, t) in t.iter().enumerate() {
                    right -= *t * self.b[3 * i + k];
                }
                for j in 0..self.n {
                    for e in 0..self.unknowns(j) {
                        let f = self.column(j, e);
                        let mut sum = T::zero();
                        for (k, t) in t.iter().enumerate() {
                            let at = (3 * i + k) * 3 * self.n + 3 * j;
                            sum += *t * (self.w[at] * f[0] + self.w[at + 1] * f[1] + self.w[at + 2] * f[2]);
                        }
                        self.system[row * stride + self.first[j] + e] = sum;
                    }
                }
                // The present value of the unknown.
                let (p, d) = (self.p[i], self.column(i, 0));
                let mut now = p[c];
                if self.mode[i] != STICK && c == 1 {
                    let g = self.column(i, 1);
                    now = (p[1] - p[0] * d[1]) * g[1] + (p[2] - p[0] * d[2]) * g[2];
                }
                let add: T = convert(T::PROXIMAL);
                self.system[row * stride + row] += add;
                self.system[row * stride + size] = right + add * now;
            }
        }
        size
    }

    /// Eliminates unknown `k` with a pivot from its column. Whether there is one.
    fn eliminate(&mut self, k: usize, size: usize) -> bool {
        let stride = size + 1;
        let mut pivot = k;
        for row in k + 1..size {
            if self.system[row * stride + k].abs() > self.system[pivot * stride + k].abs() {
                pivot = row;
            }
        }
        if self.system[pivot * stride + k] == T::zero() {
            return false;
        }
        for c in k..=size {
            self.system.swap(k * stride + c, pivot * stride + c);
        }
        for row in k + 1..size {
            let factor = self.system[row * stride + k] / self.system[k * stride + k];
            for c in k + 1..=size {
                let above = self.system[k * stride + c];
                self.system[row * stride + c] -= factor * above;
            }
        }
        true
    }

    /// Solves the system with no unknowns below its diagonal; the solution takes the place of the right side.
    fn substitute(&mut self, size: usize) {
        let stride = size + 1;
        for back in 0..size {
            let k = size - 1 - back;
            let mut sum = self.system[k * stride + size];
            for c in k + 1..size {
                sum -= self.system[k * stride + c] * self.system[c * stride + size];
            }
            self.system[k * stride + size] = sum / self.system[k * stride + k];
        }
    }

    /// A Newton step on the present modes, if it lowers the residual `before`. Impulses are moved into their
    /// cones.
    fn newton(&mut self, before: T) -> T {
        let size = self.assemble();
        if !(0..size).all(|k| self.eliminate(k, size)) {
            return before;
        }
        self.substitute(size);
        let stride = size + 1;
        for i in 0..self.n {
            self.kept[i] = self.p[i];
            let mut p = [T::zero(); 3];
            for c in 0..self.unknowns(i) {
                let f = self.column(i, c);
                let y = self.system[(self.first[i] + c) * stride + size];
                for k in 0..3 {
                    p[k] += f[k] * y;
                }
            }
            self.p[i] = self.inside(i, p);
        }
        let after = self.residual();
        // The comparison is false for what is no number.
        if after < before {
            return after;
        }
        for i in 0..self.n {
            self.p[i] = self.kept[i];
        }
        before
    }

    /// The impulse, made shorter until it is in the cone of contact `i`.
    fn inside(&self, i: usize, p: [T; 3]) -> [T; 3] {
        let zero = T::zero();
        let pn = p[0].max(zero);
        let reach = self.mu[i] * pn;
        let over = self.outside([p[1], p[2]], reach);
        if !(over > zero) {
            return [pn, p[1], p[2]];
        }
        // Of all edges the one it is furthest outside of lies on its way to the centre.
        let (d, e) = (self.d[0], self.d[1]);
        let edge =
            reach * convert::<f64, T>(0.5) * ((d[0] + e[0]) * (d[0] + e[0]) + (d[1] + e[1]) * (d[1] + e[1])).sqrt();
        let share = edge / (edge + over);
        [pn, p[1] * share, p[2] * share]
    }

    /// Rounds of sweeps and a Newton step, until the residual is small; returns their number.
    fn run(&mut self) -> usize {
        let tolerance: T = convert(T::TOLERANCE);
        for round in 0..MOST_ROUNDS {
            for _ in 0..SWEEPS {
                self.sweep();
            }
            let residual = self.residual();
            if residual <= tolerance || self.newton(residual) <= tolerance {
                return round + 1;
            }
        }
        MOST_ROUNDS
    }
}
