//! The friction force on every cell of a grid in a sample, from the recorded bristle states. It is computed
//! in double precision, by the formula of recorded wrenches, for every engine.

use super::cell::decay;
use super::friction::{Consts, motion};
use super::laws::with_law;
use crate::contact::{Contact, SampleInputs};
use crate::patch::Patch;
use crate::plan::SLIP_SPEED;
use crate::planar::{Pose, Twist, Wrench};

/// Friction in a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shear {
    /// Friction force on the body, in the axes of the patch \[N\].
    pub force: [f64; 2],
    /// How near the bristle is to its limit: its length over that at the present speed [-], 1 in steady
    /// sliding. Above `s_ba` it counts as near.
    pub nearness: f64,
    /// Whether it slips faster than [`SLIP_SPEED`].
    pub slips: bool,
    /// How far the end of the bristle on the body is displaced from its root, in the axes of the patch \[m\].
    pub deflection: [f64; 2],
}

/// What a cell of a grid carries in a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OfCell {
    /// Normal force \[N\].
    pub normal_force: f64,
    /// Friction; zero on a cell that never carries pressure.
    pub shear: Shear,
}

impl OfCell {
    /// Of a contact that has failed: NaN.
    pub const FAILED: Self = Self {
        normal_force: f64::NAN,
        shear: Shear { force: [f64::NAN; 2], nearness: f64::NAN, slips: false, deflection: [f64::NAN; 2] },
    };
}

/// Friction of one of several patches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OfPart {
    /// Friction on the body at the origin of the patch [N, N, N m], in the axes of the compound patch.
    pub wrench: Wrench,
    /// Its normal force \[N\].
    pub normal_force: f64,
    /// The share of it on bristles that slip [-].
    pub slip: f64,
    /// The share of it on bristles near their limit [-].
    pub near_limit: f64,
}

impl OfPart {
    /// Of a contact that has failed: NaN.
    pub const FAILED: Self = Self {
        wrench: Wrench::new(f64::NAN, f64::NAN, f64::NAN),
        normal_force: f64::NAN,
        slip: f64::NAN,
        near_limit: f64::NAN,
    };
}

/// The motion of a contact in a sample.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Time \[s\].
    pub time: f64,
    /// Pose and twist as they are recorded.
    pub pose: Pose,
    /// See [`Moment::pose`].
    pub twist: Twist,
    /// Normal force of one pad \[N\].
    pub f_n: f64,
    /// The other inputs that friction depends on.
    pub inputs: SampleInputs,
}

/// Friction in the cells `at` of a `patch`, whose bristles have the states `zeta` [-]: `docs/model.md` (15)
/// with the rate of (8), of each cell. The sum of all cells is the recorded wrench.
pub fn shear<'a>(
    contact: &'a Contact,
    patch: &'a Patch,
    moment: Moment,
    cells: impl Iterator<Item = (usize, [f64; 2])> + 'a,
) -> impl Iterator<Item = (usize, Shear)> + 'a {
    let k = Consts::<f64>::new(&contact.friction);
    let sigma1 = contact.friction.effective_for_law().sigma1;
    let sigma0 = contact.friction.sigma0;
    let Moment { pose, twist, f_n, inputs, .. } = moment;
    let SampleInputs { mu_c, mu_s, surface, patches: of_parts } = inputs;
    // In a hand that moves, recorded twists are relative to it.
    let surface = if contact.is_carried() { Twist::default() } else { surface };
    let u = contact.slip_twist(pose, 0.0, twist, surface);
    let mu_d = mu_s - mu_c;
    let layer = contact.layer().map(|layer| (layer.reference(), contact.cells_ever_active().len()));
    let surfaces: Vec<Twist> = of_parts.iter().map(|part| contact.surface_of_part(pose, part.surface)).collect();
    cells.map(move |(i, [zx, zy])| {
        let (mut u, mut normal_force) = (u, f_n * patch.weights()[i]);
        let mut factor = patch.friction_factor(i);
        if let Some((reference, cells)) = layer {
            (normal_force, factor) = (reference * patch.layer_share(i, cells), patch.layer_factor(i, cells));
        }
        if !of_parts.is_empty() {
            let k = patch.part_with(i);
            u = u - surfaces[k];
            normal_force = of_parts[k].normal_force * patch.weight_in_part(i);
        }
        if layer.is_some() && normal_force == 0.0 {
            return (i, Shear::default());
        }
        let Twist { vx, vy, .. } = patch.bristle_twist(u.at(patch.place(i)));
        let m = motion(&k, vx, vy);
        let g = factor * mu_d.mul_add(m.bell, mu_c);
        let decay = with_law!(k.law, L => decay::<f64, L>(&k, g, &m, zx, zy));
        let along = |zeta: f64, v: f64| -normal_force * (zeta + sigma1 * (v - decay * zeta) + k.sigma2 * v);
        let force = patch.patch_wrench(Wrench::new(along(zx, vx), along(zy, vy), 0.0));
        let length = zx.hypot(zy);
        let slips = SLIP_SPEED < decay * length;
        let deflection = patch.deflection([zx / sigma0, zy / sigma0]);
        (i, Shear { force: [force.fx, force.fy], nearness: length / g, slips, deflection })
    })
}

/// Friction of each of the [`Patch::parts`] of a compound patch: the sums of [`shear`] over their cells.
pub fn of_parts(
    contact: &Contact,
    patch: &Patch,
    moment: Moment,
    cells: impl Iterator<Item = (usize, [f64; 2])>,
) -> Vec<OfPart> {
    let mut sums = vec![OfPart::default(); patch.parts().len()];
    let (f_n, own) = (moment.f_n, moment.inputs.patches.clone());
    let mut k = 0;
    for (i, Shear { force: [fx, fy], nearness, slips, .. }) in shear(contact, patch, moment, cells) {
        while i >= patch.parts()[k].cells().end {
            k += 1;
        }
        let (part, sum, [x, y]) = (&patch.parts()[k], &mut sums[k], patch.place(i));
        let (x, y, w) = (x - part.at().x, y - part.at().y, patch.weights()[i]);
        sum.wrench = sum.wrench + Wrench::new(fx, fy, x * fy - y * fx);
        sum.slip += if slips { w } else { 0.0 };
        sum.near_limit += if nearness > contact.friction.s_ba { w } else { 0.0 };
    }
    for (k, sum) in sums.iter_mut().enumerate() {
        let share: f64 = patch.weights()[patch.parts()[k].cells()].iter().sum();
        sum.normal_force = own.get(k).map_or(share * f_n, |own| own.normal_force);
        // A patch without pressure has no bristle that could slip.
        let all = share.max(f64::MIN_POSITIVE);
        (sum.slip, sum.near_limit) = ((sum.slip / all).min(1.0), (sum.near_limit / all).min(1.0));
    }
    sums
}
