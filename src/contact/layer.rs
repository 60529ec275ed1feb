//! What a contact has beside where its bristles are those of an elastic layer, `docs/model.md` (20k).

use super::{Bristles, Contact, Model};
use crate::batch::Sample;
use crate::engine::share;
use crate::error::{ParameterError, check};
use crate::patch::{Patch, Sequence};
use crate::schedule::{MapKey, SAME_TIME, Signal};

/// An elastic layer whose bristles have one stiffness per area, `docs/model.md` (20k). Their constants
/// `sigma0`, `sigma1` and `sigma2` are per unit of one reference force, that of all cells together, and not
/// of the present normal force; [`Layer::sigma0`] gives the stiffness.
#[derive(Clone, Debug)]
pub struct Layer {
    reference: Signal,
}

impl Layer {
    /// The layer of `patch`, which follows a sequence of one with pressures in units of `pascal` Pa. The
    /// reference force is the largest normal force of its frames.
    ///
    /// # Errors
    /// A patch that follows no such sequence, or a force out of range.
    pub fn of(patch: &Patch, pascal: f64) -> Result<Self, ParameterError> {
        let sequence = patch.sequence().filter(|sequence| sequence.is_on_layer()).ok_or_else(no_layer)?;
        let most = sequence.sums().iter().copied().fold(0.0, f64::max);
        let reference = most * pascal * patch.grid().dx * patch.grid().dy;
        crate::range::LIMIT_FORCE.check("inputs.normal_force", reference)?;
        Ok(Self { reference: Signal::constant(reference) })
    }

    /// The reference force \[N\].
    pub fn reference(&self) -> f64 {
        self.reference.value(0.0)
    }

    /// [`Layer::reference`] as an input.
    pub(super) const fn signal(&self) -> &Signal {
        &self.reference
    }

    /// The bristle stiffness [1/m] of a layer with this stiffness along its surface per area [N/m^3], (20k):
    /// of a layer of thickness `h` about its shear modulus over `h`.
    pub fn sigma0(&self, patch: &Patch, shear_stiffness: f64) -> f64 {
        let cells = patch.sequence().map_or(0, |sequence| sequence.active().len());
        shear_stiffness * cells as f64 * patch.grid().dx * patch.grid().dy / self.reference()
    }
}

fn no_layer() -> ParameterError {
    let accepted = "a patch that follows frames of a layer, as an indenter's";
    ParameterError::new("patch.layer", "no frames of a layer", accepted)
}

impl Contact {
    /// The elastic layer, if it has one.
    pub const fn layer(&self) -> Option<&Layer> {
        if let Model::Layer(layer) = &self.model { Some(layer) } else { None }
    }

    /// States of the `active` cells of an elastic layer, taken back to what the first map lets them carry.
    pub(super) fn limited(&self, states: &[[f64; 2]], active: &[usize]) -> Vec<[f64; 2]> {
        let [_, mu_s] = self.coefficients_at(0.0);
        let limited = |(&[x, y], &i): (&[f64; 2], &usize)| {
            let limit = mu_s * self.patch.layer_factor(i, active.len());
            let back = (limit / x.hypot(y).max(f64::MIN_POSITIVE)).min(1.0);
            [back * x, back * y]
        };
        states.iter().zip(active).map(limited).collect()
    }

    /// The stiffness of one cell of an elastic layer along its surface [N/m]; none of another contact.
    pub fn cell_stiffness(&self) -> Option<f64> {
        let cells = self.cells_ever_active().len();
        self.layer().map(|layer| self.friction.sigma0 * layer.reference() / cells as f64)
    }

    /// Checks what the contact of an elastic layer has, and that it is not asked for what it has not.
    pub(super) fn validate_layer(&self) -> Result<(), ParameterError> {
        let Some(layer) = self.layer() else { return Ok(()) };
        let sequence = self.patch.sequence().filter(|sequence| sequence.is_on_layer()).ok_or_else(no_layer)?;
        if self.patch.friction_map().is_some() {
            let accepted = "none: the pressure says how much friction each cell of an elastic layer has";
            return Err(ParameterError::new("friction.map", "given", accepted));
        }
        let accepted = "0: viscous friction would not follow the pressure";
        check("friction.sigma2", self.friction.sigma2, accepted, self.friction.sigma2 == 0.0)?;
        if self.initial.bristles == Bristles::Steady {
            let accepted = "`unloaded`, or states: a layer has not been sliding under its first frame for long";
            return Err(ParameterError::new("initial.bristles", "steady", accepted));
        }
        for t in sequence.times() {
            let Some(MapKey::Frame(map)) = self.map_at(*t) else { continue };
            let (found, expected) =
                (self.inputs.normal_force.value(t + SAME_TIME), sequence.loading(map).force * layer.reference());
            let accepted = format!("{expected} N at t = {t} s, the force of the frame");
            check("inputs.normal_force", found, accepted, (found - expected).abs() <= 1e-6 * layer.reference())?;
        }
        Ok(())
    }

    /// A sample of a layer under the map of `key`, of one that counts cells and the reference force: with the
    /// present normal force, and shares of the area that is in contact. Others stay as they are.
    pub(crate) fn on_layer(&self, key: Option<MapKey>, sample: Sample) -> Sample {
        match (self.layer(), self.patch.sequence()) {
            (Some(layer), Some(sequence)) => on_layer(sequence, layer.reference(), key, sample),
            _ => sample,
        }
    }

    /// What an engine keeps to do [`Contact::on_layer`] without the contact; none without a layer.
    #[cfg(feature = "gpu")]
    pub(crate) fn shown_on_layer(&self) -> Option<ShownOnLayer> {
        let (layer, sequence) = (self.layer()?, self.patch.sequence()?);
        Some(ShownOnLayer {
            sequence: std::sync::Arc::clone(sequence),
            reference: layer.reference(),
            update: self.inputs.remap_every,
        })
    }
}

/// Shows samples of an elastic layer.
#[cfg(feature = "gpu")]
#[derive(Clone, Debug)]
pub(crate) struct ShownOnLayer {
    sequence: std::sync::Arc<Sequence>,
    reference: f64,
    /// Period at which the map follows the frames [s].
    update: Option<f64>,
}

#[cfg(feature = "gpu")]
impl ShownOnLayer {
    /// A sample on the map of `key`.
    pub fn show(&self, key: Option<MapKey>, sample: Sample) -> Sample {
        on_layer(&self.sequence, self.reference, key, sample)
    }

    /// A sample at time `t` [s], which has the map before one that begins with it.
    pub fn show_at(&self, t: f64, sample: Sample) -> Sample {
        let before = (t - 2.0 * SAME_TIME).max(0.0);
        let t = super::updated(self.update, before).unwrap_or(before);
        self.show(Some(MapKey::Frame(self.sequence.map_at(t))), sample)
    }
}

fn on_layer(sequence: &Sequence, reference: f64, key: Option<MapKey>, sample: Sample) -> Sample {
    let map = if let Some(MapKey::Frame(map)) = key { map } else { sequence.map_at(0.0) };
    let loading = sequence.loading(map);
    let of_contact = |cells: f64| if cells == 0.0 { 0.0 } else { share(cells / loading.cells) };
    Sample {
        normal_force: if sample.normal_force.is_nan() { f64::NAN } else { loading.force * reference },
        slip: of_contact(sample.slip),
        near_limit: of_contact(sample.near_limit),
        ..sample
    }
}
