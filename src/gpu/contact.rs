//! One contact on the device: the choice of its pipeline, its parameters, its state.

use super::device::Adapter;
use super::layout::{self, State, kind};
use super::patch_state::PatchState;
use super::shader::{Reduced, Variant};
use super::shape::{KernelShape, Layout, MOST_TURNS};
use crate::contact::{Contact, Form, Model, ModelKind, Origin, ShownOnLayer, TIME_SLACK};
use crate::engine::{Stepping, StopWhen};
use crate::error::EngineError;
use crate::patch::{Exponent, FrictionAxes, Part};
use crate::planar::Twist;
use crate::point::{PAIRS_PER_ELEMENT, PointModel};
use crate::schedule::Timeline;
use crate::solver::constants::FRESH_STEP;

/// What the shader has of each of several patches, beside their inputs.
pub(super) struct PartSlots {
    /// The number of the cell behind its last.
    pub(super) end: u32,
    /// Its share of the normal force in the compound patch [-].
    pub(super) share: f32,
    /// Its centre of pressure from that of the first, in heights of the push; 0 where load does not move.
    pub(super) place: [f32; 2],
}

/// A contact of a batch, with what can be computed of it before it is stepped.
pub(super) struct BatchContact {
    /// Its index among all contacts.
    pub(super) index: usize,
    /// The span that it is stepped through.
    pub(super) timeline: Timeline,
    /// Indices into the map of the cells that carry pressure at some time; none for a reduced bristle.
    pub(super) active: Vec<usize>,
    pub(super) kind: ModelKind,
    /// Whether its surface moves.
    pub(super) moving: bool,
    /// Of each of several patches with inputs of their own.
    pub(super) parts: Vec<PartSlots>,
    /// Elements of a point contact.
    elements: usize,
    /// Of an elastic layer.
    pub(super) layer: Option<ShownOnLayer>,
}

impl BatchContact {
    pub(super) fn new(index: usize, contact: &Contact, timeline: Timeline, active: Vec<usize>) -> Self {
        let elements = contact.model.point().map_or(0, |model| model.elements().len());
        let mut parts = Vec::new();
        if contact.drives_parts() {
            let end = |part: &Part| active.partition_point(|cell| *cell < part.cells().end) as u32;
            let places = if contact.moves_loads() { contact.supports().in_heights() } else { Vec::new() };
            let mut places = places.into_iter();
            parts.extend(contact.patch.parts().iter().map(|part| PartSlots {
                end: end(part),
                share: part.share() as f32,
                place: places.next().unwrap_or_default().map(|c| c as f32),
            }));
        }
        let (kind, moving) = (contact.model.kind(), contact.inputs.surface.is_some());
        let layer = contact.shown_on_layer();
        Self { index, timeline, active, kind, moving, parts, elements, layer }
    }

    /// Number of pairs of numbers in the state of the bristles. A reduced bristle has three numbers, their
    /// low parts, and the residual of its map.
    pub(super) fn bristle_pairs(&self) -> usize {
        match self.kind {
            ModelKind::Grid | ModelKind::Layer => self.active.len(),
            ModelKind::Reduced => 4,
            ModelKind::Point(_) => 1 + PAIRS_PER_ELEMENT * self.elements,
        }
    }

    /// The pipeline that steps it; a grid has the layout given, or the adapter's own.
    ///
    /// # Errors
    /// More cells than a workgroup holds.
    pub(super) fn variant(
        &self,
        contact: &Contact,
        stepping: Stepping,
        adapter: &Adapter,
        layout: Option<Layout>,
    ) -> Result<Variant, EngineError> {
        let (shape, reduced) = match &contact.model {
            Model::Distributed | Model::Layer(_) => {
                let cells = self.active.len();
                let asked = layout.and_then(|layout| layout.shape(cells, adapter));
                (asked.unwrap_or_else(|| KernelShape::of(cells, adapter)), None)
            }
            Model::Ellipsoid(form) => (KernelShape::reduced(adapter), Some((true, *form))),
            Model::LimitSurface(_, form) => (KernelShape::reduced(adapter), Some((false, *form))),
            Model::Point(_) => (KernelShape::reduced(adapter), None),
        };
        if shape.turns > MOST_TURNS {
            return Err(EngineError::Limit {
                contact: self.index,
                what: "cells with pressure",
                requested: self.active.len() as u64,
                max: u64::from(shape.width() * shape.lanes * MOST_TURNS),
                remedy: "take fewer `patch.cells`",
            });
        }
        let friction = &contact.friction;
        Ok(Variant {
            shape,
            law: friction.law,
            gaussian: friction.gamma == 2.0,
            adaptive: stepping.tolerance.is_some(),
            moving: contact.inputs.surface.is_some(),
            mapped: contact.patch.friction_map().is_some() || contact.layer().is_some(),
            has_axes: contact.patch.friction_axes().is_some(),
            drives_parts: contact.drives_parts(),
            moves_loads: contact.moves_loads(),
            reduced: reduced.map(|(ellipsoid, form)| Reduced { ellipsoid, consistent: form == Form::Consistent }),
            point: contact.model.point().map(|model| (model.law, self.elements as u32)),
        })
    }
}

/// A limit that no contact reaches; its square is finite, too.
const NEVER: f32 = 1e18;
/// The time for which a contact that does not slide has been sliding.
pub(super) const NO_SLIDING: f32 = -1.0;

/// The parameters of a contact, whose bristles start at `zeta_first`.
pub(super) fn device_contact(
    contact: &Contact,
    cells: usize,
    stepping: Stepping,
    stop: &StopWhen,
    patch_state: &PatchState,
    zeta_first: u32,
) -> layout::Contact {
    let Contact { patch, friction, body, .. } = contact;
    let f = friction.effective_for_law();
    let constants = body.constants();
    let grid = patch.grid();
    let origin = Origin::new(contact, contact.initial.pose);
    let start =
        if kind::of(body) == kind::PRESCRIBED { [origin.start.x, origin.start.y] } else { origin.point(origin.start) };
    let axes = patch.friction_axes();
    let [axes_xx, axes_xy, axes_yy] = axes.map_or([1.0, 0.0, 1.0], FrictionAxes::matrix).map(|a| a as f32);
    let limit = |limit: Option<f64>| limit.map_or(NEVER, |limit| limit as f32);
    let default = PointModel::default();
    let point = contact.model.point().unwrap_or(&default);
    let (hertz_radius, hertz_k, hertz_k_per_newton) = match patch.rule() {
        None => (0.0, 0.0, 0.0),
        Some(rule) => match rule.exponent {
            Exponent::Fixed(k) => (rule.radius, k, 0.0),
            Exponent::PerNewton(k) => (rule.radius, 0.0, k),
        },
    };
    layout::Contact {
        sigma0: f.sigma0 as f32,
        sigma1: f.sigma1 as f32,
        sigma2: f.sigma2 as f32,
        gamma: f.gamma as f32,
        v_s: f.v_s as f32,
        s_ba: f.s_ba as f32,
        k_g: f.steepest_stribeck_slope() as f32,
        most_friction: contact.patch.most_friction() as f32,
        kind: kind::of(body),
        mass: constants.mass as f32,
        inertia: constants.inertia as f32,
        pads: constants.pads as f32,
        offset_x: constants.offset[0] as f32,
        offset_y: constants.offset[1] as f32,
        dx: grid.dx as f32,
        dy: grid.dy as f32,
        hertz_radius: hertz_radius as f32,
        hertz_k: hertz_k as f32,
        hertz_k_per_newton: hertz_k_per_newton as f32,
        hertz_most: 0.5 * grid.nx.min(grid.ny) as f32,
        h_max: stepping.step as f32,
        tolerance: stepping.tolerance.unwrap_or(0.0) as f32,
        spring: body.free().map_or(0.0, |body| body.spring) as f32,
        band: point.band_of_law() as f32,
        slider_mass: point.slider_mass as f32,
        attraction: point.attraction as f32,
        n_ls: patch_state.table.as_ref().map_or(0, |t| t.n_ls() as u32),
        stop_displacement: limit(stop.displacement),
        stop_rotation: limit(stop.rotation),
        stop_slip_for: limit(stop.slip_for.map(|time| (1.0 - TIME_SLACK) * time)),
        start_x: start[0] as f32,
        start_y: start[1] as f32,
        start_theta: origin.start.theta as f32,
        arm_x: origin.arm[0] as f32,
        arm_y: origin.arm[1] as f32,
        cell_count: cells as u32,
        zeta_first,
        axes_xx,
        axes_xy,
        axes_yy,
        across: axes.map_or(1.0, FrictionAxes::across) as f32,
    }
}

/// The initial state of a contact; the low parts hold what single precision cuts off.
pub(super) fn device_state(contact: &Contact) -> State {
    let (q, u) = (contact.initial.pose, first_velocity(contact));
    let narrow = |v: [f64; 3]| v.map(|c| c as f32);
    let low = |v: [f64; 3]| v.map(|c| (c - f64::from(c as f32)) as f32);
    State {
        u: narrow(u.to_array()),
        u_low: low(u.to_array()),
        q: narrow(q.to_array()),
        q_low: low(q.to_array()),
        h_next: FRESH_STEP as f32,
        slides_for: NO_SLIDING,
        patch_twist: narrow(contact.slip_twist(q, 0.0, u, contact.surface_at(0.0)).to_array()),
        ..State::default()
    }
}

/// The velocity that a state starts with; only point contacts keep one that is given.
fn first_velocity(contact: &Contact) -> Twist {
    if contact.model.point().is_some() { contact.first_velocity() } else { contact.first_body_twist() }
}

/// The numbers of a point contact (those of [`Contact::first_pairs`]) in single precision, with its own
/// shares; the low parts get what is cut off.
pub(super) fn device_pairs(model: &PointModel, pairs: &[[f64; 2]]) -> Vec<[f32; 2]> {
    let mut out: Vec<[f32; 2]> = pairs.iter().map(|pair| pair.map(|v| v as f32)).collect();
    for (i, e) in model.elements().iter().enumerate() {
        let at = 1 + PAIRS_PER_ELEMENT * i;
        out[at] = [e.share as f32, e.stiffness as f32];
        out[at + 2] = [0, 1].map(|k| (pairs[at + 2][k] + (pairs[at + 1][k] - f64::from(out[at + 1][k]))) as f32);
    }
    out
}
