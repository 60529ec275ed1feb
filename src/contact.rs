//! One contact: everything an engine needs to simulate it.

use std::sync::Arc;

use crate::body::{Body, Kind};
use crate::error::ParameterError;
use crate::friction::{Friction, check};
use crate::limit_surface::Table;
use crate::patch::Patch;
use crate::planar::{Pose, Twist};
use crate::schedule::{Feed, Interval, Remap, Signal, Timeline, slot};

/// A contact of a batch. Every field may differ between the contacts of a batch.
#[derive(Clone, Debug)]
pub struct Contact {
    /// The patch; contacts with the same map share its memory.
    pub patch: Arc<Patch>,
    /// How friction over the patch is computed.
    pub model: Model,
    /// Friction parameters.
    pub friction: Friction,
    /// The moving body.
    pub body: Body,
    /// What acts on it over time.
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
    /// One bristle with three components at the centre of pressure, on an ellipsoid, eqs. (24)-(28).
    Ellipsoid(Form),
    /// The same on a limit surface, eqs. (31)-(34). The table may be that of a patch of the same shape
    /// and another size.
    LimitSurface(Arc<Table>, Form),
}

impl Model {
    /// Whether every cell has its bristle.
    #[must_use]
    pub const fn is_grid(&self) -> bool {
        matches!(self, Self::Distributed)
    }
}

/// The Elasto-Plastic form of the reduced model; without effect on LuGre.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// As published: not elastic below break-away on a limit surface, so contacts creep under looping loads.
    Published,
    /// Elastic below break-away, with the distributed model's own stiffness (model.md, 4). The default.
    #[default]
    Consistent,
}

/// Inputs over time.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// Normal force of ONE pad [N]; negative values are no contact, 0.
    pub normal_force: Signal,
    /// Load wrench at the centre of mass, axes of the world [N, N, N m]. Not used by `prescribed`.
    pub wrench: [Signal; 3],
    /// Acceleration of gravity in the plane, axes of the world [m/s^2]; times the mass it adds to the load.
    pub gravity: [Signal; 2],
    /// The twist of the patch [m/s, m/s, rad/s], for `prescribed` only.
    pub twist: [Signal; 3],
    /// Reference point of `twist`.
    pub twist_at: TwistPoint,
    /// Coulomb coefficient over time [-]; `friction.mu_c` if none.
    pub mu_c: Option<Signal>,
    /// Static coefficient over time [-]; `friction.mu_s` if none.
    pub mu_s: Option<Signal>,
    /// Period [s] at which a map that depends on the normal force is made anew; at every break
    /// point of the normal force if none.
    pub remap_every: Option<f64>,
}

impl Default for Inputs {
    fn default() -> Self {
        let zero = || Signal::constant(0.0);
        Self {
            normal_force: Signal::constant(1.0),
            wrench: [zero(), zero(), zero()],
            gravity: [zero(), zero()],
            twist: [zero(), zero(), zero()],
            twist_at: TwistPoint::Cop,
            mu_c: None,
            mu_s: None,
            remap_every: None,
        }
    }
}

/// Reference point of a prescribed twist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TwistPoint {
    /// The grid's centre.
    Origin,
    /// The centre of pressure, as in the paper.
    #[default]
    Cop,
}

/// State at the start.
#[derive(Clone, Debug, Default)]
pub struct Initial {
    /// Pose of the centre of mass [m, m, rad]; for `gripper` in the patch frame.
    pub pose: Pose,
    /// Twist at the centre of mass [m/s, m/s, rad/s]. Not used by `prescribed`.
    pub twist: Twist,
    /// Bristle states `zeta = sigma0 z` [-], one for each of [`Contact::active_cells`]; of a reduced model
    /// `[zeta_x, zeta_y], [zeta_3, 0]`. Zero if none.
    pub bristles: Option<Vec<[f64; 2]>>,
}

impl Contact {
    /// Checks all parameters.
    ///
    /// # Errors
    /// The first field that is out of range.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.friction.validate()?;
        self.body.validate()?;
        for (name, v) in ["x", "y", "theta"].iter().zip(self.initial.pose.to_array()) {
            check(&format!("initial.pose.{name}"), v, "a finite number", true)?;
        }
        for (name, v) in ["vx", "vy", "w"].iter().zip(self.initial.twist.to_array()) {
            check(&format!("initial.twist.{name}"), v, "a finite number", true)?;
        }
        if let Model::LimitSurface(table, _) = &self.model
            && table.is_at_origin()
        {
            let accepted = "the table of a patch about its centre of pressure, as of `Table::new`";
            return Err(ParameterError::new("model.table", "a table about the centre of a grid", accepted));
        }
        if let Some(every) = self.inputs.remap_every {
            check("patch.update", every, "a finite period >= 1e-6 s", every >= 1e-6)?;
        }
        Ok(())
    }

    /// The contact's inputs cut at their break points and at the times of `samples` [s], which start
    /// with 0 and increase.
    #[must_use]
    pub fn timeline<'a>(&'a self, samples: &[f64]) -> Timeline<'a> {
        let inputs = &self.inputs;
        let end = samples.last().copied().unwrap_or(0.0);
        let feed = |signal, scale, slot| Feed { signal, scale, slot };
        let mut feeds = vec![feed(&inputs.normal_force, 1.0, slot::F_N)];
        if self.body.kind == Kind::Prescribed {
            let c = if inputs.twist_at == TwistPoint::Cop { self.patch.cop() } else { [0.0; 2] };
            let [vx, vy, w] = &inputs.twist;
            // v_origin = v_cop - w z^ x c
            feeds.push(feed(vx, 1.0, slot::LOAD));
            feeds.push(feed(w, c[1], slot::LOAD));
            feeds.push(feed(vy, 1.0, slot::LOAD + 1));
            feeds.push(feed(w, -c[0], slot::LOAD + 1));
            feeds.push(feed(w, 1.0, slot::LOAD + 2));
        } else {
            feeds.extend(inputs.wrench.iter().enumerate().map(|(k, s)| feed(s, 1.0, slot::LOAD + k)));
            feeds.extend(inputs.gravity.iter().enumerate().map(|(k, s)| feed(s, self.body.mass, slot::LOAD + k)));
        }
        feeds.extend(inputs.mu_c.iter().map(|s| feed(s, 1.0, slot::MU_C)));
        feeds.extend(inputs.mu_s.iter().map(|s| feed(s, 1.0, slot::MU_S)));
        let remap = self.patch.rule().map(|_| match inputs.remap_every {
            Some(period) => Remap::Every(period),
            None => Remap::with(&inputs.normal_force, end),
        });
        Timeline::new(feeds, samples, remap.as_ref())
    }

    /// Interval `i` of a [`Contact::timeline`], with constant friction coefficients filled in.
    #[must_use]
    pub fn interval(&self, timeline: &Timeline<'_>, i: usize) -> Interval {
        let mut interval = timeline.interval(i);
        if self.inputs.mu_c.is_none() {
            interval.c[slot::MU_C][0] = self.friction.mu_c;
        }
        if self.inputs.mu_s.is_none() {
            interval.c[slot::MU_S][0] = self.friction.mu_s;
        }
        interval
    }

    /// Indices into the map of the cells that carry pressure at some time; only they have a state.
    #[must_use]
    pub fn active_cells(&self, timeline: &Timeline<'_>) -> Vec<usize> {
        let loaded = |patch: &Patch| (0..patch.weights().len()).filter(|&i| patch.weights()[i] > 0.0).collect();
        if self.patch.rule().is_none() {
            return loaded(&self.patch);
        }
        let forces = (0..timeline.len()).filter_map(|i| timeline.interval(i).remap);
        loaded(&self.patch.under(forces.fold(0.0, f64::max)))
    }
}
