//! The state of a batch as a value, and as bytes.

use std::sync::Arc;

use super::Clock;
use crate::contact::{Contact, Inputs, ModelKind, PatchInputs};
use crate::error::ParameterError;
use crate::schedule::Signal;
use crate::solver::state::State;

/// Everything that the contacts of a batch take along from one call to the next: states, bristles, times and
/// inputs. What the contacts are, their patches and parameters, is not in it.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// What has to be the same for the same bits.
    pub(super) engine: String,
    pub(super) clocks: Vec<Clock>,
    pub(super) kinds: Vec<ModelKind>,
    pub(super) inputs: Vec<Drives>,
    pub(super) states: Vec<State>,
}

/// The signals that a contact follows.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Drives {
    inputs: Inputs,
    body: Vec<Signal>,
    /// The shares of the normal force on the cells of a patch that takes frames.
    frame: Option<Arc<[f64]>>,
}

impl Drives {
    /// Notes the signals of a contact.
    pub(super) fn take_from(&mut self, contact: &Contact) {
        self.inputs.clone_from(&contact.inputs);
        self.body.clear();
        self.body.extend(contact.body.signals().map(|(_, signal)| signal.clone()));
        self.frame = contact.patch.takes_frames().then(|| Arc::clone(contact.patch.map()));
    }

    /// The same without the map of a patch that takes frames.
    pub(super) fn without_frame(self) -> Self {
        Self { frame: None, ..self }
    }

    /// Lets a contact of the same kind follow them.
    pub(super) fn give_to(&self, contact: &mut Contact) {
        let push_height = contact.inputs.push_height;
        contact.inputs.clone_from(&self.inputs);
        contact.inputs.push_height = push_height;
        contact.body.signals_mut().zip(&self.body).for_each(|(to, from)| to.clone_from(from));
        if let Some(frame) = &self.frame {
            Arc::make_mut(&mut contact.patch).set_map(frame);
        }
    }

    /// Whether the body of a contact has as many.
    pub(super) fn fit_body(&self, contact: &Contact) -> bool {
        self.body.len() == contact.body.signals().count()
    }

    /// Whether the surface of a contact moves if it does here, and only then.
    pub(super) fn fit_surface(&self, contact: &Contact) -> bool {
        self.inputs.surface.is_some() == contact.inputs.surface.is_some()
    }

    /// Whether the patches of a contact have the same inputs of their own.
    pub(super) fn fit_parts(&self, contact: &Contact) -> bool {
        let has = |own: &PatchInputs| (own.normal_force.is_some(), own.surface.is_some());
        self.inputs.patches.iter().map(has).eq(contact.inputs.patches.iter().map(has))
    }

    /// Whether both take no frames, or frames of the same number of cells.
    pub(super) fn fit_frame(&self, contact: &Contact) -> bool {
        let own = contact.patch.takes_frames().then(|| contact.patch.weights().len());
        self.frame.as_ref().map(|frame| frame.len()) == own
    }
}

/// Bytes that are no snapshot of this version.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SnapshotError {
    /// They do not begin as a snapshot does.
    #[error("no snapshot: expected bytes that `Snapshot::to_bytes` gave")]
    Foreign,
    /// They are of another version of the format.
    #[error("a snapshot of version {found}: expected version {VERSION}")]
    Version {
        /// Their version.
        found: u32,
    },
    /// They were changed or cut off.
    #[error("a damaged snapshot ({reason}): expected the bytes that `Snapshot::to_bytes` gave, all of them")]
    Damaged {
        /// How that shows.
        reason: String,
    },
}

/// What a snapshot begins with.
const MAGIC: [u8; 8] = *b"bristle\x1a";
/// The version of the format: 7 since patches have inputs of their own.
const VERSION: u32 = 7;
/// Bytes of magic and version.
const HEAD: usize = 8 + 4;

/// A snapshot as it is serialised.
#[derive(serde::Serialize, serde::Deserialize)]
struct Content<'a> {
    engine: std::borrow::Cow<'a, str>,
    clocks: std::borrow::Cow<'a, [Clock]>,
    kinds: std::borrow::Cow<'a, [ModelKind]>,
    inputs: std::borrow::Cow<'a, [Drives]>,
    states: std::borrow::Cow<'a, [State]>,
}

impl Snapshot {
    /// The engine that saved it: its kind, precision, adapter and driver.
    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// Number of contacts.
    pub const fn len(&self) -> usize {
        self.states.len()
    }

    /// Whether there is no contact.
    pub const fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Puts what some contacts have in another snapshot of the same engine in the place of what they have
    /// here. A contact whose place cannot take another one ([`Batch::takes`](super::Batch::takes)) is so
    /// replaced in a new batch, and the others go on there with the same bits.
    ///
    /// # Errors
    /// A snapshot of another engine or another number of contacts, or no such contact; nothing is put then.
    pub fn replace(&mut self, contacts: &[usize], by: &Self) -> Result<(), ParameterError> {
        let n = self.len();
        if by.engine != self.engine {
            return Err(ParameterError::new("by", &by.engine, format!("a snapshot of {}", self.engine)));
        }
        if by.len() != n {
            let found = format!("{} contacts", by.len());
            return Err(ParameterError::new("by", found, format!("{n}, as here")));
        }
        if let Some(k) = contacts.iter().find(|k| **k >= n) {
            return Err(ParameterError::new("contacts", k, format!("indices below {n}, the number of contacts")));
        }
        for &k in contacts {
            self.clocks[k] = by.clocks[k];
            self.kinds[k] = by.kinds[k];
            self.inputs[k].clone_from(&by.inputs[k]);
            self.states[k].clone_from(&by.states[k]);
        }
        Ok(())
    }

    /// The snapshot as bytes: magic, version, the content as [postcard](https://postcard.jamesmunns.com)
    /// writes it, and a CRC-32 of all that; numbers are little-endian.
    ///
    /// # Errors
    /// None that is known; the writer of the serialisation may refuse.
    pub fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        let content = Content {
            engine: (&*self.engine).into(),
            clocks: (&*self.clocks).into(),
            kinds: (&*self.kinds).into(),
            inputs: (&*self.inputs).into(),
            states: (&*self.states).into(),
        };
        let mut out = [&MAGIC[..], &VERSION.to_le_bytes()].concat();
        out = postcard::to_extend(&content, out).map_err(damaged)?;
        out.extend(crc32fast::hash(&out).to_le_bytes());
        Ok(out)
    }

    /// The snapshot of [`Snapshot::to_bytes`].
    ///
    /// # Errors
    /// Bytes that are not exactly those of a snapshot of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let damaged = |reason: &str| SnapshotError::Damaged { reason: reason.to_owned() };
        if !bytes.starts_with(&MAGIC) {
            return Err(SnapshotError::Foreign);
        }
        let (body, sum) = bytes.split_last_chunk::<4>().ok_or_else(|| damaged("it is cut off"))?;
        let found = body.get(8..12).and_then(|v| v.try_into().ok()).map(u32::from_le_bytes);
        let found = found.ok_or_else(|| damaged("it is cut off"))?;
        if found != VERSION {
            return Err(SnapshotError::Version { found });
        }
        if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return Err(damaged("its checksum is another"));
        }
        let (content, left) = postcard::take_from_bytes(&body[HEAD..]).map_err(self::damaged)?;
        let Content { engine, clocks, kinds, inputs, states } = content;
        let n = states.len();
        if !left.is_empty() || [clocks.len(), kinds.len(), inputs.len()] != [n; 3] {
            return Err(damaged("its parts do not fit"));
        }
        Ok(Self {
            engine: engine.into_owned(),
            clocks: clocks.into_owned(),
            kinds: kinds.into_owned(),
            inputs: inputs.into_owned(),
            states: states.into_owned(),
        })
    }
}

fn damaged(e: postcard::Error) -> SnapshotError {
    SnapshotError::Damaged { reason: e.to_string() }
}

/// A saved state without what only the engine that saved it knows how to go on with: a stage whose bristles
/// have not moved yet, a grid that moves as one rigid body.
pub(super) fn plain(contact: &Contact, state: &State) -> State {
    let mut state = state.clone();
    if let Some(rigid) = state.rigid.take() {
        let [sx, sy, sw] = rigid.shift;
        let patch = contact.patch.isotropic();
        for (pair, i) in state.bristles.iter_mut().zip(contact.cells_ever_active()) {
            let [x, y] = patch.place(i);
            *pair = [pair[0] + (sx - sw * y), pair[1] + (sy + sw * x)];
        }
    }
    crate::solver::commit::commit(contact, &mut state);
    let State { checks, padding, .. } = State::default();
    State { checks, padding, ..state }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact::{Form, Model};
    use crate::cpu::Cpu;
    use crate::engine::{Engine, Stepping};
    use crate::fixtures::{disc, held};
    use crate::patch::{FrictionAxes, Patch};

    /// Contacts that were advanced, as saved.
    fn saved(contacts: &[Contact], duration: f64) -> Snapshot {
        let mut batch = Cpu::new().batch(contacts.to_vec(), Stepping::default()).unwrap();
        batch.advance(duration).unwrap();
        batch.save().unwrap()
    }

    /// What has the checksum of the bytes before it.
    fn summed(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    #[test]
    fn bytes_come_back_as_the_snapshot_and_no_other_bytes_do() {
        let contact = held(Model::Ellipsoid(Form::Consistent), &disc(5), 0.9);
        let snapshot = saved(&[contact.clone(), contact], 0.01);
        let bytes = snapshot.to_bytes().unwrap();
        let back = Snapshot::from_bytes(&bytes).unwrap();
        assert_eq!(format!("{back:?}"), format!("{snapshot:?}"));
        assert!(snapshot.states[0].pending.is_some() && snapshot.clocks[1].time == 0.01);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut other = bytes.clone();
                other[at] ^= 1 << bit;
                assert!(Snapshot::from_bytes(&other).is_err(), "bit {bit} of byte {at}");
            }
            assert!(Snapshot::from_bytes(&bytes[..at]).is_err(), "{at} bytes");
        }
    }

    #[test]
    fn a_right_checksum_does_not_make_a_snapshot() {
        let contact = held(Model::Ellipsoid(Form::Consistent), &disc(5), 0.9);
        let snapshot = saved(&[contact.clone(), contact], 0.01);
        let bytes = snapshot.to_bytes().unwrap();
        let body = &bytes[..bytes.len() - 4];
        assert!(Snapshot::from_bytes(&summed(body.to_vec())).is_ok());
        assert!(Snapshot::from_bytes(&summed([body, &[0]].concat())).is_err(), "a byte more");
        // Neither content that ends early.
        for at in HEAD..body.len() {
            assert!(Snapshot::from_bytes(&summed(body[..at].to_vec())).is_err(), "{at} bytes");
        }
        let [mut clocks, mut kinds, mut inputs, mut states] = [0; 4].map(|_| snapshot.clone());
        clocks.clocks.truncate(1);
        kinds.kinds.truncate(1);
        inputs.inputs.truncate(1);
        states.states.truncate(1);
        for (k, other) in [clocks, kinds, inputs, states].iter().enumerate() {
            let error = Snapshot::from_bytes(&other.to_bytes().unwrap()).unwrap_err();
            let reason = "its parts do not fit".to_owned();
            assert_eq!(error, SnapshotError::Damaged { reason }, "part {k} has one contact");
        }
    }

    #[test]
    fn a_plain_state_has_its_bristles_where_they_are_and_nothing_of_its_engine() {
        let mut directed = held(Model::Distributed, &disc(11), 20.0);
        let axes = FrictionAxes::new(0.5, 0.4).unwrap();
        directed.patch = Patch::clone(&directed.patch).with_friction_axes(axes).into();
        for contact in [held(Model::Distributed, &disc(11), 4.0), directed] {
            let mut batch = Cpu::new().batch(vec![contact.clone()], Stepping::default()).unwrap();
            batch.advance(0.05).unwrap();
            let state = batch.save().unwrap().states.remove(0);
            assert!(state.rigid.is_some() && state.pending.is_some(), "it rests as one body");
            let plain_state = plain(&contact, &state);
            let State { checks, padding, .. } = State::default();
            let bristles = batch.bristles(0).unwrap();
            let apart =
                plain_state.bristles.as_flattened().iter().zip(bristles.as_flattened()).map(|(a, b)| (a - b).abs());
            assert!(apart.fold(0.0, f64::max) < 1e-12, "the bristles differ from those that are read");
            let stored = state.bristles.as_flattened().iter().zip(bristles.as_flattened()).map(|(a, b)| (a - b).abs());
            assert!(stored.fold(0.0, f64::max) > 1e-6, "those that are stored are elsewhere");
            let wanted = State { pending: None, rigid: None, checks, padding, ..state };
            assert_eq!(plain_state, State { bristles: plain_state.bristles.clone(), ..wanted });
            assert_eq!(plain(&contact, &plain_state), plain_state);
        }
    }
}
