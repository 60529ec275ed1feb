//! The baseline: the distributed model as the paper states it, with two loops over the grid and explicit
//! Euler, one number at a time. Every claim about speed is measured against the baseline in the same run.
//!
//! It is a careful implementation of that method: steps allocate nothing, cells without pressure are skipped,
//! `exp(-(s/v_s)^2)` is computed without `pow`, laws without a sine compute none, and contacts are
//! distributed over all threads. The other engines differ by vector instructions and by a step that stiffness
//! does not limit.

use rayon::prelude::*;

use bristle::body::Constants;
use bristle::contact::Contact;
use bristle::cpu::processor;
use bristle::engine::{Engine, EngineInfo, Plan, Progress, Reason, SLIP_SPEED, Status, Trajectories, share, validate};
use bristle::error::{EngineError, ParameterError};
use bristle::friction::{Friction, Law};
use bristle::patch::Grid;
use bristle::planar::{Pose, Twist, Wrench};
use bristle::schedule::slot;

/// Explicit Euler in double precision, of contacts with
/// [`Model::Distributed`](bristle::contact::Model::Distributed).
///
/// [`Plan::step`] is its step: it needs 5e-6 s or less where [`Cpu`](bristle::cpu::Cpu) takes 2e-4 s, and
/// above about 1e-5 s it blows up (the paper's in-hand objects; a contact that blows up is marked as failed).
/// One step is one pass over the cells.
///
/// ```
/// use bristle_bench::baseline::Baseline;
/// use bristle_bench::in_hand;
/// use bristle::cpu::Cpu;
/// use bristle::engine::{DEFAULT_STEP, Engine, Plan};
/// use bristle::friction::Law;
///
/// let contact = in_hand(11, Law::ElastoPlastic, 1)?;
/// let end = |engine: &dyn Engine, step| -> Result<[f64; 3], Box<dyn std::error::Error>> {
///     let out = engine.run(&contact, &Plan::new(0.05, step, 0.05)?)?;
///     Ok(out.pose[1].to_array())
/// };
/// let (theirs, ours) = (end(&Baseline, 5e-6)?, end(&Cpu::new(), DEFAULT_STEP)?);
/// assert!((0..3).all(|c| (theirs[c] - ours[c]).abs() < 1e-6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Baseline;

impl Engine for Baseline {
    fn info(&self) -> EngineInfo {
        let (driver, shape) = (String::new(), String::new());
        EngineInfo { engine: "baseline", precision: "f64", adapter: processor(), driver, shape }
    }

    fn rollout(&self, contacts: &[Contact], plan: &Plan, progress: &Progress<'_>) -> Result<Trajectories, EngineError> {
        validate(contacts, plan)?;
        if let Some(contact) = contacts.iter().position(|c| !c.model.is_grid()) {
            let error = ParameterError::new("contact.model", "reduced", "distributed");
            return Err(EngineError::Parameter { contact, error });
        }
        // A spring on a slider has no differential equation that explicit Euler could step.
        if let Some(contact) = contacts.iter().position(|c| c.friction.law == Law::ViscoelastoPlastic) {
            let error = ParameterError::new("friction.law", "viscoelasto-plastic", "lugre, elasto-plastic or dahl");
            return Err(EngineError::Parameter { contact, error });
        }
        if let Some(contact) = contacts.iter().position(|c| c.inputs.surface.is_some()) {
            let error = ParameterError::new("inputs.surface", "given", "none: this engine has surfaces at rest");
            return Err(EngineError::Parameter { contact, error });
        }
        if let Some(contact) = contacts.iter().position(|c| c.patch.friction_map().is_some()) {
            let error =
                ParameterError::new("friction.map", "given", "none: this engine has one friction for all cells");
            return Err(EngineError::Parameter { contact, error });
        }
        if let Some(contact) = contacts.iter().position(|c| c.patch.friction_axes().is_some()) {
            let error =
                ParameterError::new("friction.mu", "given", "none: this engine has one friction in all directions");
            return Err(EngineError::Parameter { contact, error });
        }
        if let Some(contact) = contacts.iter().position(|c| !c.patch.parts().is_empty()) {
            let error = ParameterError::new("patches", "given", "none: this engine has one patch a contact");
            return Err(EngineError::Parameter { contact, error });
        }
        let frames = plan.samples.len();
        let mut out = Trajectories::unwritten(contacts.len(), &plan.samples)?;
        let runs: Vec<Run> = contacts.par_iter().map(|c| Run::of(c, plan, progress)).collect();
        if runs.iter().any(|run| run.stopped) {
            return Err(EngineError::Stopped);
        }
        for (k, run) in runs.into_iter().enumerate() {
            for (frame, s) in run.samples.into_iter().enumerate() {
                let at = k * frames + frame;
                out.pose[at] = s.q;
                out.twist[at] = s.u;
                out.wrench[at] = s.wrench;
                out.normal_force[at] = s.f_n;
                [out.slip[at], out.near_limit[at]] = s.shares.map(share);
            }
            out.status[k] = run.status;
            if plan.keep_bristles {
                out.bristles.push(run.bristles);
            }
            if plan.sample_bristles {
                out.sampled_bristles.push(run.sampled_bristles);
            }
        }
        Ok(out)
    }
}

/// The results of one contact.
#[derive(Default)]
struct Run {
    samples: Vec<Sample>,
    status: Status,
    bristles: Vec<[f64; 2]>,
    sampled_bristles: Vec<[f64; 2]>,
    stopped: bool,
}

struct Sample {
    q: Pose,
    u: Twist,
    wrench: Wrench,
    f_n: f64,
    /// Of the normal force, on bristles that slip and on bristles near their limit [-].
    shares: [f64; 2],
}

impl Run {
    /// Steps one contact through the plan.
    fn of(contact: &Contact, plan: &Plan, progress: &Progress<'_>) -> Self {
        let timeline = contact.timeline(&plan.samples);
        let active = contact.active_cells(&timeline);
        let mut bristles = Bristles::new(contact, &active);
        let mut run = Self { samples: Vec::with_capacity(plan.samples.len()), ..Self::default() };
        let Contact { body, .. } = contact;
        let prescribed = body.free().is_none();
        let Constants { mass, inertia, pads, .. } = body.constants();
        let (mut q, mut u) = (contact.initial.pose, body.first_twist());
        'run: for i in 0..timeline.len() {
            let interval = contact.interval(&timeline, i);
            if let Some(key) = interval.remap {
                bristles.share.copy_from_slice(contact.patch.at(key).weights());
            }
            let given = |v: &[f64; slot::COUNT]| Twist::new(v[slot::LOAD], v[slot::LOAD + 1], v[slot::LOAD + 2]);
            let mut record = |at: f64, q: Pose, u: Twist, bristles: &mut Bristles| {
                let v = interval.inputs(at);
                let u = if prescribed { given(&v) } else { u };
                let patch_twist = body.transform(q).twist(u);
                let wrench = bristles.step(patch_twist, &v, 0.0);
                let shares = bristles.shares(patch_twist, &v);
                run.samples.push(Sample { q, u, wrench, f_n: v[slot::F_N], shares });
                if plan.sample_bristles {
                    run.sampled_bristles.extend(bristles.states(&active));
                }
            };
            if i == 0 {
                record(0.0, q, u, &mut bristles);
            }
            let steps = (interval.length / plan.step - 1e-6).ceil().max(1.0) as u64;
            let dt = interval.length / steps as f64;
            for k in 0..steps {
                let v = interval.inputs(k as f64 * dt);
                run.status.steps += 1;
                if prescribed {
                    u = given(&v);
                    bristles.step(u, &v, dt);
                    q = moved(q, u, dt);
                    continue;
                }
                let t = body.transform(q);
                let w = t.wrench(bristles.step(t.twist(u), &v, dt));
                q = moved(q, u, dt);
                u.vx += dt * (v[slot::LOAD] + pads * w.fx) / mass;
                u.vy += dt * (v[slot::LOAD + 1] + pads * w.fy) / mass;
                u.w += dt * (v[slot::LOAD + 2] + pads * w.tau) / inertia;
                if !(u.vx + u.vy + u.w).is_finite() {
                    run.status.failure = Some((run.status.steps, Reason::Twist));
                    break 'run;
                }
            }
            if interval.record {
                record(interval.length, q, u, &mut bristles);
                if !progress(1) {
                    run.stopped = true;
                    break;
                }
            }
        }
        run.status.passes = run.status.steps;
        run.bristles = bristles.states(&active);
        run
    }
}

fn moved(q: Pose, u: Twist, dt: f64) -> Pose {
    Pose::new(q.x + dt * u.vx, q.y + dt * u.vy, q.theta + dt * u.w)
}

/// The bristles of one contact on the whole grid.
struct Bristles {
    grid: Grid,
    friction: Friction,
    /// Whether a cell carries pressure at some time.
    active: Vec<bool>,
    /// Share of the normal force of every cell [-].
    share: Vec<f64>,
    /// Deflection of every bristle [m].
    z: Vec<[f64; 2]>,
}

impl Bristles {
    fn new(contact: &Contact, active: &[usize]) -> Self {
        let (grid, friction) = (*contact.patch.grid(), contact.friction.effective_for_law());
        let mut z = vec![[0.0; 2]; grid.len()];
        for (&i, zeta) in active.iter().zip(contact.first_bristles(active).unwrap_or_default().iter()) {
            z[i] = zeta.map(|c| c / friction.sigma0);
        }
        let mut mask = vec![false; grid.len()];
        active.iter().for_each(|&i| mask[i] = true);
        Self { grid, friction, active: mask, share: contact.patch.weights().to_vec(), z }
    }

    /// The friction wrench [N, N, N m] at the patch twist `u` and the inputs `v`; then the bristles move on
    /// by `dt` [s].
    fn step(&mut self, u: Twist, v: &[f64; slot::COUNT], dt: f64) -> Wrench {
        let Friction { law, sigma0, sigma1, sigma2, gamma, v_s, s_ba, .. } = self.friction;
        let (f_n, mu_c, mu_s) = (v[slot::F_N], v[slot::MU_C], v[slot::MU_S]);
        let Grid { nx, ny, dx, dy } = self.grid;
        let (mut fx, mut fy, mut tau) = (0.0, 0.0, 0.0);
        for iy in 0..ny {
            let y = (iy as f64 + 0.5 - 0.5 * ny as f64) * dy;
            for ix in 0..nx {
                let i = iy * nx + ix;
                if !self.active[i] {
                    continue;
                }
                let share = self.share[i];
                let x = (ix as f64 + 0.5 - 0.5 * nx as f64) * dx;
                let (vx, vy) = (u.vx - u.w * y, u.vy + u.w * x);
                let [zx, zy] = self.z[i];
                let speed = (vx * vx + vy * vy).sqrt();
                let g = stribeck(speed, mu_c, mu_s, gamma, v_s);
                let elastic = law.is_elastic();
                let plastic = if elastic { plasticity([vx, vy], [zx, zy], speed, g / sigma0, s_ba) } else { 1.0 };
                let rate = plastic * sigma0 * speed / g;
                let (dzx, dzy) = (vx - rate * zx, vy - rate * zy);
                let px = -share * (sigma0 * zx + sigma1 * dzx + sigma2 * vx);
                let py = -share * (sigma0 * zy + sigma1 * dzy + sigma2 * vy);
                fx += px;
                fy += py;
                tau += x * py - y * px;
                self.z[i] = [zx + dt * dzx, zy + dt * dzy];
            }
        }
        Wrench::new(f_n * fx, f_n * fy, f_n * tau)
    }

    /// The states `zeta = sigma0 z` [-] of the `active` cells.
    fn states(&self, active: &[usize]) -> Vec<[f64; 2]> {
        active.iter().map(|&i| self.z[i].map(|z| z * self.friction.sigma0)).collect()
    }

    /// Shares of the normal force on bristles that slip and on bristles near their limit [-].
    fn shares(&self, u: Twist, v: &[f64; slot::COUNT]) -> [f64; 2] {
        let Friction { law, sigma0, gamma, v_s, s_ba, .. } = self.friction;
        let mut shares = [0.0; 2];
        for ((at, share), z) in self.grid.centres().zip(&self.share).zip(&self.z) {
            let (v_cell, size) = (u.velocity(at), z[0].hypot(z[1]));
            let speed = v_cell[0].hypot(v_cell[1]);
            let z_max = stribeck(speed, v[slot::MU_C], v[slot::MU_S], gamma, v_s) / sigma0;
            let plastic = if law.is_elastic() { plasticity(v_cell, *z, speed, z_max, s_ba) } else { 1.0 };
            shares[0] += if SLIP_SPEED < plastic * speed * size / z_max { share } else { &0.0 };
            shares[1] += if s_ba * z_max < size { share } else { &0.0 };
        }
        shares
    }
}

/// `g(s)`, eq. (2).
fn stribeck(speed: f64, mu_c: f64, mu_s: f64, gamma: f64, v_s: f64) -> f64 {
    let x = speed / v_s;
    let power = if gamma == 2.0 { x * x } else { x.powf(gamma) };
    mu_c + (mu_s - mu_c) * (-power).exp()
}

/// `beta` of eqs. (15)-(18), for a largest deflection `z_max` [m].
fn plasticity(v: [f64; 2], z: [f64; 2], speed: f64, z_max: f64, s_ba: f64) -> f64 {
    let size = (z[0] * z[0] + z[1] * z[1]).sqrt();
    let z_ba = s_ba * z_max;
    if size <= z_ba || speed == 0.0 {
        return 0.0;
    }
    let aligned = 0.5 + 0.5 * (v[0] * z[0] + v[1] * z[1]) / (speed * size);
    if size >= z_max {
        return aligned;
    }
    let middle = 0.5 * (z_max + z_ba);
    aligned * (0.5 + 0.5 * (std::f64::consts::PI * (size - middle) / (z_max - z_ba)).sin())
}
