//! One pass over the cells of a grid: commits one stage, evaluates the next, sums (`docs/model.md`, section
//! 5.5).
//!
//! A pass is short loops over groups of cells, so that the processor works on several groups at once while
//! each waits for its own results; one long loop takes twice as long. The bristles in the transition, a
//! minority with most of the arithmetic, are packed together for it ([`TransitionCells`]), and bristles that
//! stay elastic are left out ([`ElasticCells`]).
//!
//! So it is no twin of `shaders/models/distributed.wgsl`, where a lane goes through all equations for a cell
//! (`sweep_cell`). `sweep`, `force_change` and `wrench` return the same in both.

use std::ops::Range;

use crate::number::real::Real;
use crate::number::simd::copies;
use crate::plan::SLIP_SPEED;
use crate::planar::{Twist, Wrench};
use crate::solver::bristles::{Rate, Shares};
use crate::solver::cell::{decay, sensitivity, trial};
use crate::solver::elastic_cells;
use crate::solver::friction::{Consts, Stage, motion};
use crate::solver::groups::Groups;
use crate::solver::laws::{Law, with_law};
use crate::solver::linalg::{Mat3, Vec3};
use crate::solver::models::cells::{Cells, Scratch, Work, Workspace};
use crate::solver::models::parts::PartCells;
use crate::solver::rigid_stick::RigidStick;
use crate::solver::runs::Run;
use crate::solver::transition_cells::TransitionCells;

/// One pass at patch twist `u`. `commit` moves the bases through the stage just solved; `next` evaluates the
/// stage to solve from the moved bases: the opposite of the friction wrench per unit normal force and its
/// derivative over the twist, `docs/model.md` (41).
pub fn sweep<R: Real>(
    cells: &mut Cells<R>,
    k: &Consts<R>,
    u: Vec3<f64>,
    commit: Option<&Stage<f64>>,
    next: Option<&Stage<f64>>,
) -> (Vec3<f64>, Mat3<f64>) {
    cells.workspace.fit(cells.w.len());
    // Where that pays, cells that stay elastic are separated and summed first.
    let is_one = cells.parts.now.is_empty();
    let separates = is_one && k.law.is_elastic() && elastic_cells::is_due::<R>(&mut cells.pause);
    if cells.runs.is_empty() {
        return sums([0.0; 12]);
    }
    let count = if is_one { cells.runs.len() } else { cells.parts.runs.len() };
    let mut sum = sweep_run(cells, 0, separates, k, u, commit, next);
    for run in 1..count {
        let own = sweep_run(cells, run, separates, k, u, commit, next);
        sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
    }
    sums(sum)
}

copies! {
    /// A pass over one run of cells. It is one call for each, so that nothing in it depends on how many runs
    /// there are; most contacts have one.
    fn sweep_run<R>(
        cells: &mut Cells<R>,
        run: usize,
        separates: bool,
        k: &Consts<R>,
        u: Vec3<f64>,
        commit: Option<&Stage<f64>>,
        next: Option<&Stage<f64>>
    ) -> [f64; 12] {
        let mut v = [R::splat(u.x), R::splat(u.y), R::splat(u.z)];
        let Part { start, end, factor, is_one, shares } = part_of(cells, run, [u.x, u.y, u.z], &mut v);
        let (mut commit, mut next) = (commit.map(Stage::splat), next.map(Stage::splat));
        // A loop and no closure, which would be compiled without the vector instructions of this function.
        for stage in [&mut commit, &mut next].into_iter().flatten() {
            *stage = stage.under(factor);
        }
        let stages = [commit.as_ref(), next.as_ref()];
        let separates = separates && is_one;
        let mut sum = with_law!(k.law, L => sweep_cells::<R, L>(cells, start..end, separates, k, v, stages));
        let mut s = [0.0; 12];
        if next.is_none() {
            return s;
        }
        if let Some(shares) = shares {
            for sum in &mut sum {
                *sum = shares * *sum;
            }
        }
        for (s, sum) in s.iter_mut().zip(sum) {
            *s = sum.reduce_sum();
        }
        s
    }
}

/// A run of cells: its first group and the one behind its last, their factor of friction, whether that is
/// the same in all lanes, and the shares of the normal force of several patches with inputs of their own.
struct Part<R> {
    start: usize,
    end: usize,
    factor: R,
    is_one: bool,
    shares: Option<R>,
}

/// Run number `run` of `cells`. Where patches have inputs of their own, the twists `v` of its cells become
/// those relative to their surfaces, of the twist `u` relative to the surface of all.
#[inline(always)]
fn part_of<R: Real>(cells: &Cells<R>, run: usize, u: [f64; 3], v: &mut [R; 3]) -> Part<R> {
    let PartCells { runs, now } = &cells.parts;
    if now.is_empty() {
        let start = if run == 0 { 0 } else { cells.runs[run - 1].end };
        let Run { end, factor, is_one } = cells.runs[run];
        return Part { start, end, factor, is_one, shares: None };
    }
    let own = &runs[run];
    *v = own.twists(now, u);
    Part { start: own.start, end: own.end, factor: own.factor, is_one: false, shares: Some(own.shares(now)) }
}

/// Twelve sums as `resist = -sum w E^T f` and `gain = sum w E^T C E`, `E = [[1, 0, -y], [0, 1, x]]`.
#[inline(always)]
pub fn sums<R: Real>(s: [R; 12]) -> (Vec3<R>, Mat3<R>) {
    let row = |i: usize| Vec3::new(s[i], s[i + 1], s[i + 2]);
    (row(0), Mat3::new(row(3), row(6), row(9)))
}

/// A pass over cells; if asked to, it separates those that stay elastic and sums them first.
#[inline(always)]
fn sweep_cells<R: Real, L: Law>(
    cells: &mut Cells<R>,
    range: Range<usize>,
    separates: bool,
    k: &Consts<R>,
    u: [R; 3],
    stages: [Option<&Stage<R>>; 2],
) -> [R; 12] {
    let Cells { x, y, w, zx, zy, pause, workspace: Workspace { scratch, elastic, .. }, .. } = cells;
    let (x, y, w) = (&x[range.clone()], &y[range.clone()], &w[range.clone()]);
    let mut groups = Groups { x, y, w, zx: &mut zx[range.clone()], zy: &mut zy[range] };
    let mut sum = [R::splat(0.0); 12];
    let separates = L::ELASTIC && separates;
    let others = if separates {
        elastic.sweep(&mut groups, k, u, stages, &mut sum, pause)
    } else {
        Groups { zx: &mut *groups.zx, zy: &mut *groups.zy, ..groups }
    };
    sweep_groups::<R, L>(others, scratch, k, u, stages, &mut sum);
    if separates {
        elastic.unpack(groups.zx, groups.zy);
    }
    sum
}

/// A pass over some groups of cells at patch twist `u`: commits stage `commit`, evaluates stage `next`, and
/// adds the twelve terms of [`sums`] to `sum`. Both stages share the speed and the Stribeck bell.
#[inline(always)]
pub fn sweep_groups<R: Real, L: Law>(
    groups: Groups<'_, R>,
    scratch: &mut Scratch<R>,
    k: &Consts<R>,
    u: [R; 3],
    [commit, next]: [Option<&Stage<R>>; 2],
    sum: &mut [R; 12],
) {
    let n = groups.w.len();
    let (x, y, w) = (groups.x, &groups.y[..n], groups.w);
    let (zx, zy) = (&mut groups.zx[..n], &mut groups.zy[..n]);
    let Scratch { work, transition } = scratch;
    let work = &mut work[..n];
    motions([&x[..n], y], work, k, u);
    if let Some(st) = commit {
        commit_groups::<R, L>([zx, zy], work, transition, k, st);
    }
    if let Some(st) = next {
        trials::<R, L>([zx, zy], work, transition, k, st);
        evaluate::<R, L>([&x[..n], y, w], [zx, zy], work, transition, k, st, sum);
    }
}

/// The motion of every cell at patch twist `u`.
#[inline(always)]
fn motions<R: Real>([x, y]: [&[R]; 2], work: &mut [Work<R>], k: &Consts<R>, [ux, uy, uw]: [R; 3]) {
    let n = work.len();
    let (x, y) = (&x[..n], &y[..n]);
    for i in 0..n {
        work[i].motion = motion(k, y[i].fma(-uw, ux), uw.fma(x[i], uy));
    }
}

/// Moves the bases through stage `st`.
#[inline(always)]
fn commit_groups<R: Real, L: Law>(
    [zx, zy]: [&mut [R]; 2],
    work: &mut [Work<R>],
    transition: &mut TransitionCells<R>,
    k: &Consts<R>,
    st: &Stage<R>,
) {
    let n = work.len();
    let (zx, zy) = (&mut zx[..n], &mut zy[..n]);
    if L::CUTS && R::any(R::splat(0.0).lt(st.cuts)) {
        cut::<R, L>([zx, zy], work, k, st);
    }
    if !L::ELASTIC {
        for i in 0..n {
            let d = L::slip(k, &trial::<R, L>(st, &work[i].motion, zx[i], zy[i]).t).d;
            (zx[i], zy[i]) = committed([zx[i], zy[i]], &work[i], d, st);
        }
        return;
    }
    let mut packing = transition.packing();
    for i in 0..n {
        let t = trial::<R, L>(st, &work[i].motion, zx[i], zy[i]).t;
        work[i].d = L::slip(k, &t).d;
        packing.gather(i, &t, k);
    }
    let len = packing.len();
    transition.solve::<true>(k, len);
    for i in 0..n {
        (zx[i], zy[i]) = committed([zx[i], zy[i]], &work[i], transition.d(i, work[i].d), st);
    }
}

/// Cuts the bases to the limit of stage `st`, `docs/model.md` (36a).
#[inline(always)]
fn cut<R: Real, L: Law>([zx, zy]: [&mut [R]; 2], work: &[Work<R>], k: &Consts<R>, st: &Stage<R>) {
    for i in 0..work.len() {
        let d = L::slip(k, &trial::<R, L>(&st.without_length(), &work[i].motion, zx[i], zy[i]).t).d;
        let back = st.cuts * (d - R::splat(1.0));
        (zx[i], zy[i]) = (back.fma(zx[i], zx[i]), back.fma(zy[i], zy[i]));
    }
}

/// The base of a bristle after stage `st`, `docs/model.md` (26), from that before and from `d`.
#[inline(always)]
fn committed<R: Real>([zx, zy]: [R; 2], work: &Work<R>, d: R, st: &Stage<R>) -> (R, R) {
    // The move `d y - zeta` as `(d - 1) zeta + d a sigma0 v`, so that an elastic bristle moves by
    // `a sigma0 v` exactly. The difference would lose digits, and a contact that sticks would creep.
    let (back, along, m) = (d - R::splat(1.0), d * st.a_sigma0, &work.motion);
    let (mx, my) = (back.fma(zx, along * m.vx), back.fma(zy, along * m.vy));
    (st.extrapolation.fma(mx, zx), st.extrapolation.fma(my, zy))
}

/// Finds the trial of every bristle in stage `st`, and the slip of those in the transition.
#[inline(always)]
fn trials<R: Real, L: Law>(
    [zx, zy]: [&[R]; 2],
    work: &mut [Work<R>],
    transition: &mut TransitionCells<R>,
    k: &Consts<R>,
    st: &Stage<R>,
) {
    let n = work.len();
    let (zx, zy) = (&zx[..n], &zy[..n]);
    let mut packing = transition.packing();
    for i in 0..n {
        let c = trial::<R, L>(st, &work[i].motion, zx[i], zy[i]);
        (work[i].trial, work[i].slip) = (c, L::slip(k, &c.t));
        if L::ELASTIC {
            packing.gather(i, &c.t, k);
        }
    }
    if L::ELASTIC {
        let len = packing.len();
        transition.solve::<false>(k, len);
    }
}

/// Forces and gains of stage `st`, `docs/model.md` (41) and (42), added to `sums`. With
/// `zeta* = d (zeta_b + a sigma0 v)` the force is a multiple of the base plus one of the velocity; the gain
/// of a cell is a multiple of the identity plus a product `n m^T`, which are summed apart.
#[inline(always)]
fn evaluate<R: Real, L: Law>(
    [x, y, w]: [&[R]; 3],
    [zx, zy]: [&[R]; 2],
    work: &[Work<R>],
    transition: &TransitionCells<R>,
    k: &Consts<R>,
    st: &Stage<R>,
    sums: &mut [R; 12],
) {
    let n = work.len();
    let (x, y, w, zx, zy) = (&x[..n], &y[..n], &w[..n], &zx[..n], &zy[..n]);
    let (zero, one) = (R::splat(0.0), R::splat(1.0));
    let more = one + st.damping;
    let (mut force, mut round, mut outer) = ([zero; 3], [zero; 4], [zero; 9]);
    for i in 0..n {
        let (x, y, w, m) = (x[i], y[i], w[i], &work[i].motion);
        let (c, z) = (&work[i].trial, work[i].slip);
        let z = if L::ELASTIC { transition.slip(i, &z) } else { z };
        let (nx, ny, (carried, [mx, my])) = (c.nx, c.ny, sensitivity::<R, L>(st, m, c, &z));
        // The factor of the base of an elastic bristle is exactly 1.
        let (of_base, of_velocity) = (st.damping.fma(z.d - one, z.d), more.fma(carried, k.sigma2));
        let fx = of_base.fma(zx[i], of_velocity * m.vx);
        let fy = of_base.fma(zy[i], of_velocity * m.vy);
        let (wx, wy) = (w * x, w * y);
        force[0] = w.fma(fx, force[0]);
        force[1] = w.fma(fy, force[1]);
        force[2] = wx.fma(fy, (-wy).fma(fx, force[2]));
        round[0] = w.fma(of_velocity, round[0]);
        round[1] = wx.fma(of_velocity, round[1]);
        round[2] = wy.fma(of_velocity, round[2]);
        round[3] = wx.fma(x, wy * y).fma(of_velocity, round[3]);
        let (wnx, wny, m_turn) = (w * nx, w * ny, x.fma(my, -(y * mx)));
        for (row, n) in [wnx, wny, x.fma(wny, -(y * wnx))].into_iter().enumerate() {
            for (column, m) in [mx, my, m_turn].into_iter().enumerate() {
                let sum = &mut outer[3 * row + column];
                *sum = n.fma(m, *sum);
            }
        }
    }
    let ([fx, fy, tau], [all, along_x, along_y, square]) = (force, round);
    let terms = [fx, fy, tau, all, zero, -along_y, zero, all, along_x, -along_y, along_x, square];
    for (sum, term) in sums.iter_mut().zip(terms) {
        *sum += term;
    }
    for (sum, outer) in sums[3..].iter_mut().zip(outer) {
        *sum = more.fma(outer, *sum);
    }
}

copies! {
    /// The grid as one rigid body, if all bristles are elastic where the limit is `mu`; else none.
    pub fn rigid_stick<R>(cells: &Cells<R>, k: &Consts<R>, mu: f64) -> Option<RigidStick> {
        let Cells { x, y, w, zx, zy, .. } = cells;
        let zero = R::splat(0.0);
        let (mut most, mut radius, mut s) = (zero, zero, [zero; 7]);
        for i in 0..w.len() {
            let (x, y, w, zx, zy) = (x[i], y[i], w[i], zx[i], zy[i]);
            most = most.max(zx * zx + zy * zy);
            radius = radius.max(x * x + y * y);
            let terms = [zx, zy, x * zy - y * zx, R::splat(1.0), x, y, x * x + y * y];
            for (s, term) in s.iter_mut().zip(terms) {
                *s += w * term;
            }
        }
        let mut greatest = [0.0f64; 2];
        for l in 0..R::LANES {
            greatest = [greatest[0].max(most.lane(l)), greatest[1].max(radius.lane(l))];
        }
        let mut sums = [0.0; 7];
        for (sum, s) in sums.iter_mut().zip(s) {
            *sum = s.reduce_sum();
        }
        let ([fx, fy, tau, one, cx, cy, square], [most, radius]) = (sums, greatest.map(f64::sqrt));
        let moments = Mat3::new(Vec3::new(one, 0.0, -cy), Vec3::new(0.0, one, cx), Vec3::new(-cy, cx, square));
        // Below the least limit all bristles are below their own.
        let (s_ba, sigma2) = (cells.least_friction * k.s_ba.lane(0), k.sigma2.lane(0));
        (most < s_ba * mu).then(|| RigidStick::new(Vec3::new(fx, fy, tau), moments, [most, radius], [s_ba, sigma2]))
    }
}

copies! {
    /// `sum w E^T (zeta - saved)` [-, -, m]: how the force has changed since the states were saved.
    pub fn force_change<R>(cells: &Cells<R>) -> Vec3<f64> {
        let Cells { x, y, w, zx, zy, saved, parts, .. } = cells;
        let mut s = [R::splat(0.0); 3];
        let mut runs = parts.runs.iter();
        let (mut end, mut shares) = (w.len(), R::splat(1.0));
        if !parts.now.is_empty() {
            end = 0;
        }
        for i in 0..w.len() {
            if i == end
                && let Some(run) = runs.next()
            {
                (end, shares) = (run.end, run.shares(&parts.now));
            }
            let w = shares * w[i];
            let (fx, fy) = (w * (zx[i] - saved.0[i]), w * (zy[i] - saved.1[i]));
            s[0] += fx;
            s[1] += fy;
            s[2] += x[i] * fy - y[i] * fx;
        }
        Vec3::new(s[0].reduce_sum(), s[1].reduce_sum(), s[2].reduce_sum())
    }
}

copies! {
    /// The friction wrench [N, N, N m] at the patch origin in the present state, `docs/model.md` (15) with
    /// the rate of (8) and normal force `f_n` [N], and the shares of it on cells that slip, (14a), and on
    /// cells near their limit, (14b).
    pub fn wrench<R>(cells: &Cells<R>, k: &Consts<R>, u: Twist, rate: &Rate<f64>, f_n: f64) -> (Wrench, Shares) {
        let rate = Rate { sigma1: R::splat(rate.sigma1), mu_c: R::splat(rate.mu_c), mu_d: R::splat(rate.mu_d) };
        let mut v = [R::splat(u.vx), R::splat(u.vy), R::splat(u.w)];
        let mut sum = [R::splat(0.0); 5];
        let (mut run, mut end, mut factor, mut own_shares) = (0, 0, R::splat(1.0), R::splat(1.0));
        for i in 0..cells.w.len() {
            if i == end {
                let part = part_of(cells, run, u.to_array(), &mut v);
                (run, end, factor) = (run + 1, part.end, part.factor);
                if let Some(shares) = part.shares {
                    own_shares = shares;
                }
            }
            let (x, y, w) = (cells.x[i], cells.y[i], own_shares * cells.w[i]);
            let [ux, uy, uw] = v;
            let (zx, zy) = (cells.zx[i], cells.zy[i]);
            let m = motion(k, ux - uw * y, uy + uw * x);
            let g = factor * (rate.mu_c + rate.mu_d * m.bell);
            let decay = with_law!(k.law, L => decay::<R, L>(k, g, &m, zx, zy));
            let fx = -w * (zx + rate.sigma1 * (m.vx - decay * zx) + k.sigma2 * m.vx);
            let fy = -w * (zy + rate.sigma1 * (m.vy - decay * zy) + k.sigma2 * m.vy);
            sum[0] += fx;
            sum[1] += fy;
            sum[2] += x * fy - y * fx;
            let size = (zx * zx + zy * zy).sqrt();
            let slips = R::splat(SLIP_SPEED).lt(decay * size);
            sum[3] += R::select(slips, w, R::splat(0.0));
            sum[4] += R::select((k.s_ba * g).lt(size), w, R::splat(0.0));
        }
        let mut s = [0.0; 5];
        for (s, sum) in s.iter_mut().zip(sum) {
            *s = sum.reduce_sum();
        }
        (Wrench::new(f_n * s[0], f_n * s[1], f_n * s[2]), Shares { slip: s[3], near_limit: s[4] })
    }
}

#[cfg(test)]
mod tests;
