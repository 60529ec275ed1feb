//! What datasets and live batches have beside the samples of the engine: the pressure on every cell, and the
//! margin left to slip.

use std::borrow::Cow;

use bristle::contact::{Contact, SampleInputs};
use bristle::limit_surface::{Rule, Surface};
use bristle::patch::{FrictionAxes, Patch};
use bristle::planar::Wrench;
use bristle::schedule::{MapKey, SAME_TIME};

/// The patch of a contact in its samples, one after the other.
#[derive(Debug)]
pub struct Under<'a> {
    contact: &'a Contact,
    /// The inputs in its samples, if they are given.
    inputs: Option<SampleInputs>,
    /// Times \[s\] of samples in which load has moved among several patches, and their normal forces \[N\].
    loads: Vec<(f64, Vec<f64>)>,
    last: Option<(Key, Patch)>,
}

/// What the map of a sample is made for.
#[derive(Clone, Debug, PartialEq)]
enum Key {
    Map(MapKey),
    /// The normal forces [N] of each of several patches.
    Forces(Vec<f64>),
}

impl<'a> Under<'a> {
    /// Of a contact, before its first sample; with times \[s\], wrenches and normal forces \[N\] of its
    /// samples.
    pub fn new(contact: &'a Contact, samples: impl Iterator<Item = (f64, Wrench, f64)>) -> Self {
        let at_rest = |w: Wrench| if w.to_array().iter().all(|v| v.is_finite()) { w } else { Wrench::default() };
        let moving = samples.filter(|_| contact.moves_loads());
        let loads = moving.map(|(t, wrench, f_n)| (t, contact.loads(at_rest(wrench), f_n))).collect();
        Self { contact, inputs: None, loads, last: None }
    }

    /// Of a contact that has these inputs in all samples.
    pub const fn with(contact: &'a Contact, inputs: SampleInputs) -> Self {
        Self { contact, inputs: Some(inputs), loads: Vec::new(), last: None }
    }

    /// The inputs in the sample at time `t` \[s\].
    pub fn inputs(&self, t: f64) -> Cow<'_, SampleInputs> {
        if let Some(inputs) = &self.inputs {
            return Cow::Borrowed(inputs);
        }
        let mut inputs = self.contact.inputs_before(t);
        if let Some((_, loads)) = self.loads.get(self.loads.partition_point(|(before, _)| *before < t)) {
            inputs.patches.iter_mut().zip(loads).for_each(|(patch, load)| patch.normal_force = *load);
        }
        Cow::Owned(inputs)
    }

    /// What the map is made for in the sample at time `t` [s]; none if it stays. A sample has the map before
    /// one that begins with it, as it has the normal force before.
    fn key(&self, t: f64) -> Option<Key> {
        if self.contact.moves_loads() || self.contact.inputs.patches.iter().any(|own| own.normal_force.is_some()) {
            return Some(Key::Forces(self.inputs(t).patches.iter().map(|part| part.normal_force).collect()));
        }
        self.contact.map_at((t - 2.0 * SAME_TIME).max(0.0)).map(Key::Map)
    }

    /// The patch in the sample at time `t` \[s\].
    pub fn patch(&mut self, t: f64) -> &Patch {
        let Some(key) = self.key(t) else { return &self.contact.patch };
        let last = self.last.take().filter(|(last, _)| *last == key);
        let made = || match &key {
            Key::Map(key) => self.contact.patch.at(*key),
            Key::Forces(forces) => self.contact.patch_under(forces).into_owned(),
        };
        let (_, patch) = match last {
            Some(last) => self.last.insert(last),
            None => self.last.insert((key.clone(), made())),
        };
        patch
    }

    /// The normal force \[N\] on every cell in the sample at time `t` \[s\], bottom row first, of `f_n`
    /// \[N\] on the pad.
    pub fn tactile(&mut self, t: f64, f_n: f64) -> impl Iterator<Item = f64> {
        self.patch(t).weights().iter().map(move |w| w * f_n)
    }
}

/// The margin left to slip in every sample of a contact: `1 - 1/k`, at least -1, with the factor `k` by which
/// the wrench may grow under the sample's `mu_s`; 1 without a load, 0 on the limit surface or without a
/// normal force, NaN after a failure.
pub fn margins(times: &[f64], wrench: &[[f64; 3]], normal_force: &[f64], under: &mut Under<'_>) -> Vec<f64> {
    let mut margins = vec![f64::NAN; times.len()];
    let mut i = 0;
    while i < times.len() {
        // Samples with one map have one search.
        let key = |k: usize| under.key(times[k]);
        let end = i + (i..times.len()).take_while(|k| key(*k) == key(i)).count().max(1);
        let mu_s: Vec<f64> = times[i..end].iter().map(|t| under.inputs(*t).mu_s).collect();
        let patch = under.patch(times[i]);
        let surface = Surface::new(patch, Rule::Cells);
        let is_there = |k: &usize| normal_force[*k] > 0.0 && wrench[*k].iter().all(|v| v.is_finite());
        let loaded: Vec<usize> = (i..end).filter(is_there).collect();
        let loads: Vec<Wrench> = loaded.iter().map(|k| Wrench::from(wrench[*k]).about(surface.patch().cop())).collect();
        (i..end).filter(|k| normal_force[*k] == 0.0).for_each(|k| margins[k] = 0.0);
        if let Ok(found) = surface.margins(&loads, 1.0, 1.0) {
            for (k, found) in loaded.into_iter().zip(found) {
                let factor = found.factor * mu_s[k - i] * normal_force[k];
                margins[k] = left(factor);
            }
        }
        i = end;
    }
    margins
}

/// What is left to slip where a wrench may grow by a factor.
fn left(factor: f64) -> f64 {
    (1.0 - 1.0 / factor).max(-1.0)
}

/// [`margins`] of each of several patches alone, `[sample][patch]`: `wrench` is that of each on the body at
/// the origin of the patch, in the axes of the whole, and `normal_force` is its own; `mu_s` is the
/// coefficient in each sample where a patch has a factor of 1.
pub fn patch_margins(contact: &Contact, mu_s: &[f64], wrench: &[[f64; 3]], normal_force: &[f64]) -> Vec<f64> {
    let patch = &contact.patch;
    let patches = patch.parts().len();
    let mut margins = vec![f64::NAN; normal_force.len()];
    for k in 0..patches {
        let places = (k..normal_force.len()).step_by(patches);
        places.clone().filter(|i| normal_force[*i] == 0.0).for_each(|i| margins[i] = 0.0);
        let Some(surface) = surface_alone(patch, k) else { continue };
        let is_there = |i: &usize| normal_force[*i] > 0.0 && wrench[*i].iter().all(|v| v.is_finite());
        let loaded: Vec<usize> = places.filter(is_there).collect();
        let (sin, cos) = patch.parts()[k].at().theta.sin_cos();
        let load = |i: &usize| {
            let [fx, fy, tau] = wrench[*i];
            Wrench::new(cos * fx + sin * fy, cos * fy - sin * fx, tau).about(surface.patch().cop())
        };
        let loads: Vec<Wrench> = loaded.iter().map(load).collect();
        if let Ok(found) = surface.margins(&loads, 1.0, 1.0) {
            for (i, found) in loaded.into_iter().zip(found) {
                let factor = found.factor * mu_s[i / patches] * normal_force[i];
                margins[i] = left(factor);
            }
        }
    }
    margins
}

/// The limit surface of one of several patches alone, in its own axes; none if it carries nothing.
fn surface_alone(patch: &Patch, k: usize) -> Option<Surface> {
    let part = &patch.parts()[k];
    let (_, own) = patch.part(k);
    let mut own = own?;
    if patch.friction_map().is_some() {
        let factors: Vec<f64> = part.cells().map(|i| patch.friction_factor(i)).collect();
        own = own.with_friction_map(&factors).ok()?;
    }
    if let Some(axes) = patch.friction_axes() {
        own = own.with_friction_axes(FrictionAxes::new(axes.across(), axes.angle() - part.at().theta).ok()?);
    }
    Some(Surface::new(&own, Rule::Cells))
}
