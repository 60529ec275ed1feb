//! One contact: everything an engine needs to simulate it.

mod layer;
mod loads;
pub mod memory;
mod motion;
mod parts;
mod sample_inputs;
mod steady;
mod surface;
pub(crate) mod transfer;

use std::borrow::Cow;
use std::sync::Arc;

pub use layer::Layer;
#[cfg(feature = "gpu")]
pub(crate) use layer::ShownOnLayer;
pub use memory::{memory, one_more};
pub use motion::{Departure, Origin, TIME_SLACK};
pub(crate) use parts::FIELDS_OF_PATCHES;
pub use parts::{PartInputs, PatchInputs};
pub use sample_inputs::SampleInputs;
pub(crate) use transfer::{RemapTransfer, move_centre};

use crate::body::{Body, Frame, FreeBody, TwistPoint};
use crate::error::{ParameterError, check};
use crate::friction::{Friction, Law};
use crate::limit_surface::{Surface, Table};
use crate::moving_surface::MovingSurface;
use crate::parameter;
use crate::patch::{Exponent, Hertz, Patch};
use crate::planar::{Pose, Twist};
use crate::point::{PAIRS_PER_ELEMENT, PointLaw, PointModel};
use crate::range::{self, Range};
use crate::schedule::{
    Feed, GRADED_UNTIL, Interval, MOST_POINTS, MapKey, Remap, SAME_TIME, Signal, Span, Timeline, slot,
};

/// A contact of a batch. Every field may differ between the contacts of a batch.
#[derive(Clone, Debug)]
pub struct Contact {
    /// The patch; contacts with the same map share its memory.
    pub patch: Arc<Patch>,
    /// How friction over the patch is computed.
    pub model: Model,
    /// Friction parameters.
    pub friction: Friction,
    /// What moves the patch, over time.
    pub body: Body,
    /// What else changes over time.
    pub inputs: Inputs,
    /// Where it starts.
    pub initial: Initial,
}

/// How friction over the patch is computed.
#[derive(Clone, Debug, Default)]
pub enum Model {
    /// One bristle in every cell that carries pressure.
    #[default]
    Distributed,
    /// One bristle in every cell of an elastic layer: as stiff wherever the pressure is, which says how much
    /// it carries, `docs/model.md` (20k). The patch follows a [`Sequence`](crate::patch::Sequence) of a
    /// layer.
    Layer(Layer),
    /// One bristle with three components at the centre of pressure, on an ellipsoid, `docs/model.md` (66) and
    /// (68).
    Ellipsoid(Form),
    /// The same on a limit surface, `docs/model.md` (66) and (102). The table may be that of a patch of the
    /// same shape and another size.
    LimitSurface(Arc<Table>, Form),
    /// A point that does not turn, without a patch: in fixed steps of the plan, see [`crate::point`].
    /// The patch of the contact is without effect.
    Point(PointModel),
}

impl From<PointModel> for Model {
    fn from(model: PointModel) -> Self {
        Self::Point(model)
    }
}

/// What a model has as its state, for states that are taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub(crate) enum ModelKind {
    /// Bristles in the cells of a grid.
    Grid,
    /// One reduced bristle.
    Reduced,
    /// What a law of a point contact keeps.
    Point(PointLaw),
    /// Bristles in the cells of an elastic layer.
    Layer,
}

impl Model {
    /// Whether every cell has its bristle.
    pub const fn is_grid(&self) -> bool {
        matches!(self, Self::Distributed | Self::Layer(_))
    }

    /// What its state is.
    pub(crate) const fn kind(&self) -> ModelKind {
        match self {
            Self::Distributed => ModelKind::Grid,
            Self::Layer(_) => ModelKind::Layer,
            Self::Ellipsoid(_) | Self::LimitSurface(..) => ModelKind::Reduced,
            Self::Point(model) => ModelKind::Point(model.law),
        }
    }

    /// The model of a point contact.
    pub const fn point(&self) -> Option<&PointModel> {
        if let Self::Point(model) = self { Some(model) } else { None }
    }
}

/// The Elasto-Plastic form of the reduced model; without effect under laws without an elastic range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "FormName"))]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Elastic below break-away, with the stiffness of the distributed model, `docs/model.md` (71). The
    /// default.
    #[default]
    Consistent,
    /// As published, `docs/model.md` (70): creeps under looping loads on a limit surface.
    Published,
}

impl Form {
    /// Whether a bristle of this form is elastic below break-away under `law`.
    pub(crate) fn is_elastic(self, law: Law) -> bool {
        law.is_elastic() && self == Self::Consistent
    }
}

/// Inputs over time that every contact has.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Inputs {
    /// Normal force of ONE pad \[N\]; negative values are no contact, 0. Without effect where patches have
    /// normal forces of their own.
    pub normal_force: Signal,
    /// Coulomb coefficient over time [-]; `friction.mu_c` if none.
    pub mu_c: Option<Signal>,
    /// Static coefficient over time [-]; `friction.mu_s` if none.
    pub mu_s: Option<Signal>,
    /// The motion of what the body slides on, or of the hand that holds it; at rest if none. Not of a point
    /// contact.
    pub surface: Option<MovingSurface>,
    /// What each of several patches ([`Patch::compound`]) has of its own, in their order; none if they have
    /// nothing.
    pub patches: Vec<PatchInputs>,
    /// Height \[m\] above the surface at which a body with a prescribed twist is pushed: the push moves load
    /// to those of `patches` that are ahead, `docs/model.md` (20m). 0 if there are none, or if they have
    /// normal forces of their own. It belongs to the contact and not to its state: a copy or a snapshot
    /// leaves it as it is.
    #[serde(skip)]
    pub push_height: f64,
    /// Period \[s\] at which a map that changes is made anew; if none, one that depends on the normal force
    /// at every break point of the normal force, one that follows frames at the time of each.
    pub remap_every: Option<f64>,
}

impl Default for Inputs {
    fn default() -> Self {
        Self {
            normal_force: Signal::constant(1.0),
            mu_c: None,
            mu_s: None,
            surface: None,
            patches: Vec::new(),
            push_height: 0.0,
            remap_every: None,
        }
    }
}

/// State at the start.
#[derive(Clone, Debug, Default)]
pub struct Initial {
    /// Pose of the centre of mass [m, m, rad], in a gripper in the patch frame; of the patch where its twist
    /// is given.
    pub pose: Pose,
    /// The bristles.
    pub bristles: Bristles,
}

/// Bristles at the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Bristles {
    /// At rest: a body that starts in motion is set in motion at that moment. The damping `sigma1` takes up
    /// all of its velocity at first, for microseconds.
    #[default]
    Unloaded,
    /// As after long sliding with the initial twist (or the prescribed one at the start): a body that starts
    /// in motion has been sliding.
    Steady,
    /// States `zeta = sigma0 z` [-] in the axes of the patch, one for each of [`Contact::active_cells`]; of a
    /// reduced model `[zeta_x, zeta_y], [zeta_3, 0]`; of a point contact one for each of its elements. A
    /// bristle points where the patch slides, and pulls it back by `zeta` times its share of the normal
    /// force.
    States(Vec<[f64; 2]>),
}

/// The first step of a body that starts in motion is no shorter [s].
const SHORTEST_START: f64 = 1e-7;

impl Contact {
    /// Checks all parameters, for a run of `duration` \[s\]: the number of break points of the inputs,
    /// coefficients of friction that change over time, and the number of initial bristles, too. An engine
    /// does so for every contact.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate_over(&self, duration: f64) -> Result<(), ParameterError> {
        self.check_inputs()?;
        self.break_points_over(duration)?;
        // Before `validate`, because its errors name the signals that the coefficients come from.
        self.coefficients_over(duration)?;
        self.validate()?;
        let Bristles::States(bristles) = &self.initial.bristles else { return Ok(()) };
        let expected = match &self.model {
            Model::Distributed | Model::Layer(_) => self.active_cells(&self.timeline(&[0.0, duration])).len(),
            Model::Ellipsoid(_) | Model::LimitSurface(..) => 2,
            Model::Point(model) => model.elements().len(),
        };
        if bristles.len() != expected {
            let (found, accepted) = (format!("{} states", bristles.len()), format!("{expected}, as the model has"));
            return Err(ParameterError::new("initial.bristles", found, accepted));
        }
        bristles.as_flattened().iter().try_for_each(|zeta| range::BRISTLE.check("initial.bristles", *zeta))
    }

    /// Checks all parameters but those that depend on the length of a run, see [`Contact::validate_over`].
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.check_inputs()?;
        self.friction.validate()?;
        self.body.validate()?;
        let Pose { x, y, theta } = self.initial.pose;
        parameter::POSE_X.range.check("initial.pose.x", x)?;
        parameter::POSE_Y.range.check("initial.pose.y", y)?;
        parameter::POSE_THETA.range.check("initial.pose.theta", theta)?;
        self.validate_point()?;
        self.validate_parts()?;
        self.validate_push_height()?;
        self.validate_layer()?;
        if !self.model.is_grid() && self.patch.friction_map().is_some() {
            let accepted = "none: friction by region takes one bristle in every cell, the model `distributed`";
            return Err(ParameterError::new("friction.map", "given", accepted));
        }
        if let Model::LimitSurface(table, _) = &self.model
            && table.is_at_origin()
        {
            let accepted = "the table of a patch about its centre of pressure, as of `Table::new`";
            return Err(ParameterError::new("model.table", "a table about the centre of a grid", accepted));
        }
        Ok(())
    }

    /// Checks what a point contact has alone, and that it is not asked for what it has not.
    fn validate_point(&self) -> Result<(), ParameterError> {
        let Some(model) = self.model.point() else {
            let spring = self.body.free().map_or(0.0, |body| body.spring);
            return check("body.spring", spring, "0: point contacts alone have a spring", spring == 0.0);
        };
        model.validate()?;
        if self.patch.friction_axes().is_some() {
            let accepted = "none: a point contact has the same friction in all directions";
            return Err(ParameterError::new("friction.mu", "given", accepted));
        }
        if self.patch.takes_frames() || self.patch.changes() {
            return Err(ParameterError::new(
                "patch",
                "a map that changes",
                "a fixed map: a point contact has no use for it",
            ));
        }
        if self.inputs.surface.is_some() {
            return Err(ParameterError::new("inputs.surface", "given", "none: a point contact has a surface at rest"));
        }
        let Some(body) = self.body.free() else { return Ok(()) };
        if matches!(body.frame, Frame::Body { .. }) {
            let accepted = "`gripper` or `world`, as a point contact does not turn";
            return Err(ParameterError::new("body.kind", "body", accepted));
        }
        check("initial.twist.w", body.twist.w, "0, as a point contact does not turn", body.twist.w == 0.0)
    }

    /// Checks the numbers of all inputs.
    fn check_inputs(&self) -> Result<(), ParameterError> {
        if let Some(every) = self.inputs.remap_every {
            parameter::UPDATE.check(every)?;
        }
        self.inputs.surface.as_ref().map_or(Ok(()), |surface| surface.validate("inputs.surface"))?;
        self.signals().try_for_each(|(name, signal)| signal.validate(name, input_range(name)))
    }

    /// All signals by the names of their fields in files.
    pub(crate) fn signals(&self) -> impl Iterator<Item = (&'static str, &Signal)> {
        let Inputs { normal_force, mu_c, mu_s, surface, .. } = &self.inputs;
        let surface = surface.iter().flat_map(MovingSurface::signals);
        let parts = self.inputs.patches.iter().zip(FIELDS_OF_PATCHES).flat_map(|(own, fields)| own.signals(fields));
        let coefficients = [("inputs.mu_c", mu_c), ("inputs.mu_s", mu_s)].into_iter();
        let coefficients = coefficients.filter_map(|(name, signal)| Some((name, signal.as_ref()?)));
        std::iter::once(("inputs.normal_force", normal_force))
            .chain(self.body.signals())
            .chain(surface)
            .chain(parts)
            .chain(coefficients)
    }

    /// Memory of the signals [byte].
    pub(crate) fn signal_memory(&self) -> usize {
        self.signals().map(|(_, signal)| signal.memory()).sum()
    }

    /// Checks that a timeline can keep the break points of all inputs over `duration` [s].
    fn break_points_over(&self, duration: f64) -> Result<(), ParameterError> {
        let (sum, field) = self.break_points(duration);
        if sum <= MOST_POINTS {
            return Ok(());
        }
        let signal = self.signals().find(|(name, _)| *name == field);
        let value = match (signal.map(|(_, signal)| signal.hold()), self.inputs.remap_every) {
            (Some(None), _) => "a signal of points".to_owned(),
            (Some(Some(hold)), _) => format!("held every {hold} s"),
            (None, every) => format!("every {} s", every.unwrap_or_default()),
        };
        let accepted = format!(
            "at most {MOST_POINTS:e} break points of all inputs of a contact over its {duration} s, not {sum:.3e}"
        );
        Err(ParameterError::new(field, value, accepted))
    }

    /// An upper bound on the number of break points of all inputs before `duration` \[s\], and the field that
    /// has most of them. Inputs that are held with one period share their break points, which count once.
    pub fn break_points(&self, duration: f64) -> (f64, &'static str) {
        let maps = match (self.inputs.remap_every, self.patch.sequence()) {
            (Some(every), _) if self.patch.changes() => (duration / every).ceil(),
            (None, Some(sequence)) => sequence.times().partition_point(|t| *t < duration) as f64,
            _ => 0.0,
        };
        let mut most = (maps, "patch.update");
        let mut sum = most.0;
        for (i, (name, signal)) in self.signals().enumerate() {
            let count = signal.count_breaks(duration);
            if count > 0.0 && !self.signals().take(i).any(|(_, other)| signal.shares_breaks_with(other)) {
                sum += count;
                most = if count > most.0 { (count, name) } else { most };
            }
        }
        (sum, most.1)
    }

    /// Checks that coefficients of friction that change over time stay in their range: at the ends and in the
    /// middle of every interval between break points.
    fn coefficients_over(&self, duration: f64) -> Result<(), ParameterError> {
        use crate::schedule::slot::{MU_C, MU_S};
        let varying = match (&self.inputs.mu_c, &self.inputs.mu_s) {
            (None, None) => return Ok(()),
            (_, Some(_)) => "inputs.mu_s",
            (Some(_), None) => "inputs.mu_c",
        };
        let samples: Vec<f64> = (0..=200u32).map(|k| duration * f64::from(k) / 200.0).collect();
        // The timeline is that of these inputs alone, because the others may have many more break points.
        let mut timeline = Timeline::default();
        timeline.cut(self.coefficients(), Span::run(duration), &samples, None);
        let (mut start, mut interval) = (0.0, Interval::default());
        for i in 0..timeline.len() {
            timeline.interval(self.coefficients(), i, &mut interval);
            self.fill_coefficients(&mut interval);
            for share in [0.0, 0.5, 1.0] {
                let (tau, v) = (share * interval.length, interval.inputs(share * interval.length));
                let at = |x: f64| format!("{x} at t = {:.6} s", start + tau);
                if !range::MU.contains(v[MU_C]) {
                    return Err(out_of_mu("inputs.mu_c", at(v[MU_C])));
                }
                if !(v[MU_S] <= range::MU.most) {
                    return Err(out_of_mu(varying, format!("mu_s = {}", at(v[MU_S]))));
                }
                // Signals that are meant to be equal may differ by rounding.
                if v[MU_S] < v[MU_C] * (1.0 - 1e-12) {
                    let accepted = format!("mu_s >= mu_c at all times, here mu_c = {}", v[MU_C]);
                    return Err(ParameterError::new(varying, format!("mu_s = {}", at(v[MU_S])), accepted));
                }
            }
            start += interval.length;
        }
        Ok(())
    }

    /// The contact's inputs cut at their break points and at the times of `samples` \[s\], which start
    /// with 0 and increase.
    pub fn timeline(&self, samples: &[f64]) -> Timeline {
        let mut timeline = Timeline::default();
        self.cut(&mut timeline, Span::run(samples.last().copied().unwrap_or(0.0)), samples);
        timeline
    }

    /// The contact's inputs over a span cut at their break points and at the times of `samples` [s], which
    /// increase.
    pub(crate) fn cut(&self, timeline: &mut Timeline, span: Span, samples: &[f64]) {
        let remap = match (self.inputs.remap_every, self.patch.sequence()) {
            _ if !self.patch.changes() => None,
            (Some(period), _) => Some(Remap::Every(period)),
            (None, Some(sequence)) => Some(Remap::At(sequence.times())),
            (None, None) => Some(Remap::With(&self.inputs.normal_force)),
        };
        timeline.cut(self.feeds(), span, samples, remap);
        // Later there is nothing to grade, and a batch comes here in every step.
        if span.start < GRADED_UNTIL
            && let Some(time) = self.loading()
        {
            timeline.grade(time.max(SHORTEST_START));
        }
    }

    /// The signals with the inputs that they add to and their factors, without those of factor 0.
    fn feeds(&self) -> impl Iterator<Item = Feed<'_>> + Clone {
        let feed = |signal, scale, slot| Feed { signal, scale, slot };
        let load = match &self.body {
            Body::Prescribed { twist: [vx, vy, w], at } => {
                let [cx, cy] = self.twist_point(*at);
                // Those without a factor are left out below.
                let none = feed(w, 0.0, slot::LOAD);
                // v_origin = v_cop - w z^ x c
                [
                    feed(vx, 1.0, slot::LOAD),
                    feed(w, cy, slot::LOAD),
                    feed(vy, 1.0, slot::LOAD + 1),
                    feed(w, -cx, slot::LOAD + 1),
                    feed(w, 1.0, slot::LOAD + 2),
                    none,
                    none,
                ]
            }
            Body::Free(FreeBody {
                wrench: [fx, fy, tau], gravity: [gx, gy], mass, spring, anchor: [ax, ay], ..
            }) => [
                feed(fx, 1.0, slot::LOAD),
                feed(fy, 1.0, slot::LOAD + 1),
                feed(tau, 1.0, slot::LOAD + 2),
                feed(gx, *mass, slot::LOAD),
                feed(gy, *mass, slot::LOAD + 1),
                // The spring pulls by its stiffness times the anchor less the position, which the step
                // subtracts.
                feed(ax, *spring, slot::LOAD),
                feed(ay, *spring, slot::LOAD + 1),
            ],
        };
        let own_forces = self.has_forces_of_parts();
        // The bristles of a layer are per reference force.
        let force = self.layer().map_or(&self.inputs.normal_force, Layer::signal);
        let normal_force = feed(force, if own_forces { 0.0 } else { 1.0 }, slot::F_N);
        let surface = self.inputs.surface.iter().flat_map(|surface| surface.feeds(slot::SURFACE));
        std::iter::once(normal_force)
            .chain(load)
            .chain(surface)
            .chain(self.feeds_of_parts())
            .chain(self.coefficients())
            .filter(|feed| feed.scale != 0.0)
    }

    /// Brings the signals into the caches.
    pub(crate) fn prefetch_signals(&self) {
        self.feeds().for_each(|feed| feed.signal.prefetch());
    }

    /// Where the reference point of a prescribed twist is on the grid [m].
    pub(crate) fn twist_point(&self, at: TwistPoint) -> [f64; 2] {
        match at {
            TwistPoint::Cop => self.patch.cop(),
            TwistPoint::Origin => [0.0; 2],
        }
    }

    /// The coefficients of friction that change over time.
    fn coefficients(&self) -> impl Iterator<Item = Feed<'_>> + Clone {
        let Inputs { mu_c, mu_s, .. } = &self.inputs;
        let both = mu_c.iter().map(|s| (s, slot::MU_C)).chain(mu_s.iter().map(|s| (s, slot::MU_S)));
        both.map(|(signal, slot)| Feed { signal, scale: 1.0, slot })
    }

    /// `mu_c` and `mu_s` [-] at time `t` \[s\].
    pub fn coefficients_at(&self, t: f64) -> [f64; 2] {
        let Self { inputs, friction, .. } = self;
        let at = |signal: &Option<Signal>, constant| signal.as_ref().map_or(constant, |signal| signal.value(t));
        [at(&inputs.mu_c, friction.mu_c), at(&inputs.mu_s, friction.mu_s)]
    }

    /// Refuses coefficients of friction that are out of range at the start, in the middle or at the end of a
    /// span [s], in which those that are `set` have one value.
    pub(crate) fn check_coefficients_over(
        &self,
        start: f64,
        end: f64,
        set: [Option<f64>; 2],
    ) -> Result<(), ParameterError> {
        if self.inputs.mu_c.is_none() && self.inputs.mu_s.is_none() && set == [None; 2] {
            return Ok(());
        }
        for share in [0.0, 0.5, 1.0 - 1e-6] {
            let t = start + share * (end - start);
            let present = self.coefficients_at(t);
            let [mu_c, mu_s] = [0, 1].map(|i| set[i].unwrap_or(present[i]));
            let at = |x: f64| format!("{x} at t = {t:.6} s");
            if !range::MU.contains(mu_c) {
                return Err(out_of_mu("inputs.mu_c", at(mu_c)));
            }
            if !(mu_s <= range::MU.most) {
                return Err(out_of_mu("inputs.mu_s", at(mu_s)));
            }
            if mu_s < mu_c * (1.0 - 1e-12) {
                let accepted = format!("mu_s >= mu_c at all times, here mu_c = {mu_c}");
                return Err(ParameterError::new("inputs.mu_s", at(mu_s), accepted));
            }
        }
        Ok(())
    }

    /// Most sinusoids of an interval, and the polynomials of a moving surface and of patches, which a GPU has
    /// among them.
    #[cfg(feature = "gpu")]
    pub(crate) fn most_terms(&self) -> usize {
        let polynomials = if self.inputs.surface.is_some() { 3 } else { 0 } + slot::OF_PART * self.inputs.patches.len();
        polynomials + self.feeds().map(|feed| feed.signal.most_terms()).sum::<usize>()
    }

    /// Time [s] in which the bristles of a body that starts in motion come to carry the friction force, if
    /// they are unloaded: `mu_c/(sigma0 |v|)` at the speed of the patch. A first step much longer than that
    /// would not resolve how much of its speed the body loses meanwhile.
    fn loading(&self) -> Option<f64> {
        let (twist, arm) = (self.first_twist(), self.largest_arm2(self.patch.arm2()).sqrt());
        let size = |Twist { vx, vy, w }: Twist| vx.hypot(vy).max(w.abs() * arm);
        let surfaces = self.first_surfaces();
        let speed = surfaces.iter().map(|surface| size(twist - *surface)).reduce(f64::max).unwrap_or(size(twist));
        let starts = self.model.point().is_none()
            && self.body.free().is_some()
            && self.initial.bristles == Bristles::Unloaded
            && speed > 0.0;
        starts.then(|| self.friction.mu_c / (self.friction.sigma0 * speed))
    }

    /// Interval `i` of a [`Contact::timeline`], with constant friction coefficients filled in, and
    /// coefficients that the law does not read set to values without effect.
    pub fn interval(&self, timeline: &Timeline, i: usize) -> Interval {
        let mut interval = Interval::default();
        self.interval_into(timeline, i, &mut interval);
        interval
    }

    /// [`Contact::interval`], written to `interval`, whose memory is used again.
    pub(crate) fn interval_into(&self, timeline: &Timeline, i: usize, interval: &mut Interval) {
        timeline.interval(self.feeds(), i, interval);
        interval.parts.resize(self.inputs.patches.len(), Default::default());
        self.fill_coefficients(interval);
        if interval.remap.is_some() && self.patch.sequence().is_some() {
            // In the middle, where rounding of the ends cannot lead to another frame.
            interval.remap = self.map_at(timeline.start(i) + 0.5 * interval.length);
        }
    }

    /// What the map of a contact that follows frames or the normal force is made for at time `t` \[s\]; none
    /// of others.
    pub fn map_at(&self, t: f64) -> Option<MapKey> {
        let updated = updated(self.inputs.remap_every, t);
        match (self.patch.sequence(), self.patch.rule(), updated) {
            (Some(sequence), _, updated) => Some(MapKey::Frame(sequence.map_at(updated.unwrap_or(t)))),
            // The force just after the update, if it jumps there.
            (None, Some(_), Some(updated)) => Some(MapKey::Force(self.inputs.normal_force.value(updated + SAME_TIME))),
            _ => None,
        }
    }

    fn fill_coefficients(&self, interval: &mut Interval) {
        if self.inputs.mu_c.is_none() {
            interval.c[slot::MU_C][0] = self.friction.mu_c;
        }
        if self.inputs.mu_s.is_none() {
            interval.c[slot::MU_S][0] = self.friction.mu_s;
        }
        if !self.friction.law.has_stribeck_curve() {
            interval.copy_input(slot::MU_C, slot::MU_S);
        }
    }

    /// What a map is made anew for at the start of interval `i`; none if there is no such interval or the map
    /// stays.
    pub(crate) fn remap(&self, timeline: &Timeline, i: usize) -> Option<MapKey> {
        if timeline.remaps(i) { self.interval(timeline, i).remap } else { None }
    }

    /// Number of pairs of numbers in the state of the bristles, [`State::bristles`].
    ///
    /// [`State::bristles`]: crate::solver::state::State::bristles
    pub(crate) fn bristle_pairs(&self) -> usize {
        match &self.model {
            Model::Distributed | Model::Layer(_) => self.cells_ever_active().len(),
            Model::LimitSurface(..) | Model::Ellipsoid(_) => 4,
            Model::Point(model) => 1 + PAIRS_PER_ELEMENT * model.elements().len(),
        }
    }

    /// Indices into the map of the cells of a grid that carry pressure under some normal force or in some
    /// frame; none for a reduced bristle.
    pub fn cells_ever_active(&self) -> Vec<usize> {
        if !self.model.is_grid() {
            return Vec::new();
        }
        if let Some(sequence) = self.patch.sequence() {
            return sequence.active().to_vec();
        }
        // A force far above that at which any map has grown to the whole of its grid.
        let patch = if self.patch.rule().is_some() { &self.patch.under(1e30) } else { &*self.patch };
        loaded_cells(patch)
    }

    /// Indices into the map of the cells that carry pressure at some time, or in some of the frames that it
    /// follows; only they have a state.
    pub fn active_cells(&self, timeline: &Timeline) -> Vec<usize> {
        if let Some(sequence) = self.patch.sequence() {
            return sequence.active().to_vec();
        }
        if self.patch.rule().is_none() {
            return loaded_cells(&self.patch);
        }
        let force = |key| if let MapKey::Force(f_n) = key { f_n } else { 0.0 };
        let forces = (0..timeline.len()).filter_map(|i| self.remap(timeline, i)).map(force);
        loaded_cells(&self.patch.under(forces.fold(0.0, f64::max)))
    }
}

/// When a map that is made anew every so many seconds was made last at time `t` [s].
fn updated(every: Option<f64>, t: f64) -> Option<f64> {
    every.map(|every| ((t + SAME_TIME) / every).floor() * every)
}

/// Indices of the cells with pressure; of all cells of a map that may be replaced.
fn loaded_cells(patch: &Patch) -> Vec<usize> {
    (0..patch.weights().len()).filter(|&i| patch.takes_frames() || patch.weights()[i] > 0.0).collect()
}

/// The torsional radius [m] of a reduced bristle on `patch`: by the rule of the table, or by cell centres on
/// an ellipsoid. It is taken from the table where that has it, of patches that differ from its own in size
/// alone and of maps that follow the normal force, and else computed.
pub(crate) fn radius_of(patch: &Patch, table: Option<&Table>) -> f64 {
    let Some(table) = table else { return patch.radius() };
    if let Some(scale) = patch.scale_over(table.patch()) {
        return scale * table.radius();
    }
    table.radius_under(patch).unwrap_or_else(|| Surface::new(patch, table.rule()).radius())
}

/// The values that an input may have, by the name of its field.
pub(crate) fn input_range(field: &str) -> Range {
    // Those of one of several patches are those of the contact.
    let own = field.strip_prefix("patches.").and_then(|own| own.split_once('.'));
    let field = own.map_or(Cow::Borrowed(field), |(_, name)| format!("inputs.{name}").into());
    parameter::of(&field).map_or(range::POSITION, |parameter| parameter.range)
}

/// A coefficient of friction that leaves its range.
fn out_of_mu(field: &str, value: String) -> ParameterError {
    ParameterError::new(field, value, format!("{} at all times", range::MU))
}

/// Whether the map of a patch changes its shape, and not only its size: with the normal force, or by frames.
pub(crate) fn reshapes(patch: &Patch) -> bool {
    patch.takes_frames()
        || patch.sequence().is_some()
        || matches!(patch.rule(), Some(Hertz { exponent: Exponent::PerNewton(_), .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::{Grid, Shape};
    use crate::schedule::Sine;

    fn contact() -> Contact {
        let patch = Patch::shape(Grid::new(5, 5, 0.02, 0.02).unwrap(), Shape::Circle).unwrap();
        Contact {
            patch: Arc::new(patch),
            model: Model::Distributed,
            friction: Friction::default(),
            body: Body::prescribed(Twist::default()),
            inputs: Inputs::default(),
            initial: Initial::default(),
        }
    }

    #[test]
    fn every_input_is_checked() {
        contact().validate_over(1.0).unwrap();
        let [nan, zero] = [f64::NAN, 0.0].map(|value| move || Signal::constant(value));
        let body = || FreeBody::new(Frame::World, 1.0, 1.0);
        let moving = Twist::new(0.0, f64::INFINITY, 0.0);
        let wave = |amplitude, omega| Signal::sines(1.0, vec![Sine { amplitude, omega, phase: 0.0 }]);
        let cells = contact().patch.cells().len();
        let with = |change: &dyn Fn(&mut Contact)| {
            let mut contact = contact();
            change(&mut contact);
            contact
        };
        let hertz = |c: &mut Contact| {
            let rule = Hertz { radius: 1.5, exponent: Exponent::Fixed(2.0) };
            c.patch = Arc::new(Patch::hertz(*c.patch.grid(), rule, 1.0).unwrap());
            // Signals whose check takes a timeline.
            c.inputs.mu_c = Some(Signal::constant(0.5));
        };
        let bad: [(&str, Contact); 16] = [
            (
                "friction.map",
                with(&|c| {
                    let mapped = Patch::clone(&c.patch).with_friction_map(&[0.5; 25]).unwrap();
                    (c.patch, c.model) = (mapped.into(), Model::Ellipsoid(Form::Consistent));
                }),
            ),
            ("patch.update", with(&|c| (hertz(c), c.inputs.remap_every = Some(0.0)).1)),
            ("patch.update", with(&|c| (hertz(c), c.inputs.remap_every = Some(-1.0)).1)),
            ("inputs.normal_force", with(&|c| c.inputs.normal_force = nan())),
            ("inputs.normal_force", with(&|c| c.inputs.normal_force = wave(f64::NAN, 1.0))),
            ("inputs.normal_force", with(&|c| c.inputs.normal_force = wave(0.1, f64::INFINITY))),
            ("inputs.wrench.tau", with(&|c| c.body = FreeBody { wrench: [zero(), zero(), nan()], ..body() }.into())),
            ("inputs.gravity.1", with(&|c| c.body = FreeBody { gravity: [zero(), nan()], ..body() }.into())),
            ("inputs.twist.vx", with(&|c| c.body = Body::prescribed(Twist::new(f64::NAN, 0.0, 0.0)))),
            ("initial.twist.vy", with(&|c| c.body = FreeBody { twist: moving, ..body() }.into())),
            ("inputs.mu_c", with(&|c| c.inputs.mu_c = Some(Signal::constant(-1.0)))),
            ("inputs.mu_c", with(&|c| c.inputs.mu_c = Some(Signal::constant(5.0)))),
            ("inputs.mu_s", with(&|c| c.inputs.mu_s = Some(Signal::constant(0.2)))),
            ("inputs.mu_s", with(&|c| c.inputs.mu_s = Some(Signal::linear(&[(0.0, 1.5), (2.0, 0.0)]).unwrap()))),
            ("initial.bristles", with(&|c| c.initial.bristles = Bristles::States(vec![[0.0; 2]; cells + 1]))),
            ("initial.bristles", with(&|c| c.initial.bristles = Bristles::States(vec![[0.0, f64::NAN]; cells]))),
        ];
        for (field, contact) in bad {
            assert_eq!(contact.validate_over(1.0).unwrap_err().field, field);
        }
        with(&|c| c.initial.bristles = Bristles::States(vec![[0.1; 2]; cells])).validate_over(1.0).unwrap();
    }
}
