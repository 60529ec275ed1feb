//! The bristles of a contact that has been sliding for long.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Bristles, Contact, Model, radius_of, reshapes};
use crate::body::Body;
use crate::limit_surface::Table;
use crate::patch::Patch;
use crate::planar::Twist;
use crate::point::{PointElement, PointModel};

/// A cell slower than this share of the fastest counts as at rest: the direction of its velocity is rounding.
const AT_REST: f64 = 1e-12;

impl Contact {
    /// The bristle states at the start, as [`Bristles::States`] has them, of the `active` cells of a grid;
    /// none if all are zero.
    pub fn first_bristles(&self, active: &[usize]) -> Option<Cow<'_, [[f64; 2]]>> {
        match &self.initial.bristles {
            Bristles::Unloaded => None,
            Bristles::States(states) if self.layer().is_some() => Some(Cow::Owned(self.limited(states, active))),
            Bristles::States(states) => Some(Cow::Borrowed(states)),
            Bristles::Steady => Some(Cow::Owned(match &self.model {
                Model::Distributed | Model::Layer(_) => self.steady_grid(active),
                Model::Ellipsoid(_) => self.steady_reduced(None),
                Model::LimitSurface(table, _) => self.steady_reduced(Some(table)),
                Model::Point(model) => self.steady_point(model),
            })),
        }
    }

    /// The patch at the start of a run, where a map that follows the normal force is made for the initial
    /// force.
    pub(crate) fn first_patch(&self) -> Arc<Patch> {
        match self.patch.rule() {
            Some(_) => Arc::new(self.patch.under(self.inputs.normal_force.value(0.0))),
            None => Arc::clone(&self.patch),
        }
    }

    /// The twist of the patch at its origin relative to the surface, in the axes of the patch, at the start.
    pub fn first_twist(&self) -> Twist {
        let u = match &self.body {
            Body::Free(_) => self.first_body_twist(),
            Body::Prescribed { twist, at } => {
                let [cx, cy] = self.twist_point(*at);
                Twist::from(twist.each_ref().map(|signal| signal.value(0.0))).at([-cx, -cy])
            }
        };
        self.slip_twist(self.initial.pose, 0.0, u, self.surface_at(0.0))
    }

    /// The velocity at the start, as a point contact has it: of the body, or the twist that is given.
    pub(crate) fn first_velocity(&self) -> Twist {
        self.body.free().map_or_else(|| self.first_twist(), |body| body.twist)
    }

    /// Deflections of the elements of a point contact in steady sliding.
    fn steady_point(&self, model: &PointModel) -> Vec<[f64; 2]> {
        let ([ex, ey], psi) = self.first_slide(model);
        let zeta = |e: &PointElement| e.share / e.stiffness * psi;
        model.elements().iter().map(|e| [zeta(e) * ex, zeta(e) * ey]).collect()
    }

    /// Direction of the velocity of a point contact at the start and friction over the normal force in steady
    /// sliding there; zero at rest.
    fn first_slide(&self, model: &PointModel) -> ([f64; 2], f64) {
        let Twist { vx, vy, .. } = self.first_velocity();
        let speed = vx.hypot(vy);
        if speed == 0.0 {
            return ([0.0; 2], 0.0);
        }
        let psi = self.first_stribeck(speed) + self.friction.sigma2 * speed;
        ([vx / speed, vy / speed], model.steady(psi, self.coefficients_at(0.0)[0]))
    }

    /// The numbers that a point contact keeps, at the start: friction [N], and of each element its shares,
    /// its deflection, the low part of that and its memory.
    pub(crate) fn first_pairs(&self) -> Vec<[f64; 2]> {
        let Some(model) = self.model.point() else { return Vec::new() };
        let grip = self.body.constants().pads * self.inputs.normal_force.value(0.0).max(0.0);
        let deflections = self.first_bristles(&[]).unwrap_or_default();
        let mut pairs = vec![[0.0; 2]];
        for (i, e) in model.elements().iter().enumerate() {
            let zeta = deflections.get(i).copied().unwrap_or_default();
            pairs.extend([[e.share, e.stiffness], zeta, [0.0; 2], [0.0; 2]]);
            pairs[0] = [0, 1].map(|k| pairs[0][k] - grip * e.stiffness * zeta[k]);
        }
        if model.elements().is_empty() && self.initial.bristles == Bristles::Steady {
            let (direction, psi) = self.first_slide(model);
            pairs[0] = direction.map(|e| -grip * psi * e);
        }
        pairs
    }

    /// `g` at `speed` [m/s], `docs/model.md` (5), with the coefficients of friction at the start.
    fn first_stribeck(&self, speed: f64) -> f64 {
        let [mu_c, mu_s] = [(&self.inputs.mu_c, self.friction.mu_c), (&self.inputs.mu_s, self.friction.mu_s)]
            .map(|(signal, constant)| signal.as_ref().map_or(constant, |signal| signal.value(0.0)));
        let mu_s = self.friction.law.static_coefficient(mu_c, mu_s);
        mu_c + (mu_s - mu_c) * (-(speed / self.friction.v_s).powf(self.friction.gamma)).exp()
    }

    /// `zeta = f g(|v|) v/|v|` in every cell, `docs/model.md` (12). A cell that is at rest up to rounding has
    /// an unloaded bristle.
    fn steady_grid(&self, active: &[usize]) -> Vec<[f64; 2]> {
        let twist = self.first_twist();
        let surfaces = self.first_surfaces();
        let reach = active.iter().map(|i| self.patch.place(*i)).fold(0.0, |most: f64, [x, y]| most.max(x.hypot(y)));
        let speed = |twist: &Twist| twist.vx.hypot(twist.vy) + twist.w.abs() * reach;
        let rest = AT_REST * (speed(&twist) + surfaces.iter().map(speed).fold(0.0, f64::max));
        let steady = |i: &usize| {
            let own = surfaces.get(self.patch.part_with(*i)).map_or(twist, |surface| twist - *surface);
            let v = self.patch.bristle_twist(own.at(self.patch.place(*i)));
            let speed = v.vx.hypot(v.vy);
            let factor = self.patch.friction_factor(*i);
            let share = if speed > rest { factor * self.first_stribeck(speed) / speed } else { 0.0 };
            [share * v.vx, share * v.vy]
        };
        active.iter().map(steady).collect()
    }

    /// `zeta = g(s) D/s`, `docs/model.md` (72), of the ellipsoid if there is no table:
    /// `D = v_S = (vx, vy, r w)`, and `-h(r, v) s` on a limit surface.
    fn steady_reduced(&self, table: Option<&Arc<Table>>) -> Vec<[f64; 2]> {
        let first = self.first_patch();
        let patch = &*first.isotropic();
        let own = table.filter(|table| reshapes(&first) && table.patch() != patch).map(|table| {
            let table = Table::new(patch, table.rule(), table.n_ls());
            Arc::new(table.expect("the resolution was checked before"))
        });
        let table = own.as_ref().or(table).map(Arc::as_ref);
        let radius = radius_of(patch, table);
        let v = self.patch.bristle_twist(self.first_twist()).at(patch.cop());
        let v_s = [v.vx, v.vy, radius * v.w];
        let speed = v_s.iter().map(|c| c * c).sum::<f64>().sqrt();
        if !(speed > 0.0) {
            return vec![[0.0; 2]; 2];
        }
        let g = self.first_stribeck(speed);
        let [x, y, turn] = match table {
            None => v_s.map(|c| g * c / speed),
            Some(table) => table.look_up(v_s).h.map(|h| -g * h),
        };
        vec![[x, y], [turn, 0.0]]
    }
}
