//! The state of a batch as a value, and as bytes.

use std::sync::Arc;

use super::{Clock, Saved};
use crate::contact::{Contact, Inputs, ModelKind};
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
    pub(super) saved: Vec<Saved>,
    /// The bristles of all contacts.
    pub(super) pairs: Vec<[f64; 2]>,
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

    /// Lets a contact of the same kind follow them.
    pub(super) fn give_to(&self, contact: &mut Contact) {
        contact.inputs.clone_from(&self.inputs);
        contact.body.signals_mut().zip(&self.body).for_each(|(to, from)| to.clone_from(from));
        if let Some(frame) = &self.frame {
            Arc::make_mut(&mut contact.patch).set_map(frame);
        }
    }

    /// Whether the body of a contact has as many.
    pub(super) fn fit_body(&self, contact: &Contact) -> bool {
        self.body.len() == contact.body.signals().count()
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
/// The version of the format: 3 since maps follow recorded frames.
const VERSION: u32 = 3;
/// Bytes of magic, version, and the length of what is not bristles.
const HEAD: usize = 8 + 4 + 8;

/// All but the bristles.
#[derive(serde::Serialize, serde::Deserialize)]
struct Meta<'a> {
    engine: std::borrow::Cow<'a, str>,
    clocks: std::borrow::Cow<'a, [Clock]>,
    kinds: std::borrow::Cow<'a, [ModelKind]>,
    inputs: std::borrow::Cow<'a, [Drives]>,
    saved: std::borrow::Cow<'a, [Saved]>,
}

impl Snapshot {
    /// The engine that saved it: its kind, precision, adapter and driver.
    #[must_use]
    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// Number of contacts.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.saved.len()
    }

    /// Whether there is no contact.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.saved.is_empty()
    }

    /// The snapshot as bytes: magic, version, all but the bristles (length first), bristles, and a CRC-32 of
    /// all that; numbers are little-endian.
    ///
    /// # Errors
    /// None that is known; the writer of the serialisation may refuse.
    pub fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        let meta = Meta {
            engine: (&*self.engine).into(),
            clocks: (&*self.clocks).into(),
            kinds: (&*self.kinds).into(),
            inputs: (&*self.inputs).into(),
            saved: (&*self.saved).into(),
        };
        let meta = postcard::to_stdvec(&meta).map_err(damaged)?;
        let mut out = Vec::with_capacity(HEAD + meta.len() + size_of_val(&*self.pairs) + 4);
        out.extend(MAGIC);
        out.extend(VERSION.to_le_bytes());
        out.extend((meta.len() as u64).to_le_bytes());
        out.extend(meta);
        self.pairs.as_flattened().iter().for_each(|z| out.extend(z.to_le_bytes()));
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
        let length = body.get(12..HEAD).and_then(|v| v.try_into().ok()).map(u64::from_le_bytes);
        let rest = length.and_then(|n| body[HEAD..].split_at_checked(usize::try_from(n).ok()?));
        let (meta, numbers) = rest.ok_or_else(|| damaged("it is cut off"))?;
        let Meta { engine, clocks, kinds, inputs, saved } = postcard::from_bytes(meta).map_err(self::damaged)?;
        let (numbers, left) = numbers.as_chunks::<16>();
        let half = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let pairs: Vec<[f64; 2]> = numbers.iter().map(|b| [half(&b[..8]), half(&b[8..])]).collect();
        let n = saved.len();
        let fits = |s: &Saved| s.pairs.start <= s.pairs.end && s.pairs.end <= pairs.len();
        if !left.is_empty() || [clocks.len(), kinds.len(), inputs.len()] != [n; 3] || !saved.iter().all(fits) {
            return Err(damaged("its parts do not fit"));
        }
        Ok(Self {
            engine: engine.into_owned(),
            clocks: clocks.into_owned(),
            kinds: kinds.into_owned(),
            inputs: inputs.into_owned(),
            saved: saved.into_owned(),
            pairs,
        })
    }
}

fn damaged(e: postcard::Error) -> SnapshotError {
    SnapshotError::Damaged { reason: e.to_string() }
}

/// A saved state without what only the engine that saved it knows how to go on with: a stage whose bristles
/// have not moved yet, a grid that moves as one rigid body.
pub(super) fn plain(contact: &Contact, saved: &Saved, pairs: &[[f64; 2]]) -> (Saved, Vec<[f64; 2]>) {
    let mut pairs = pairs[saved.pairs.clone()].to_vec();
    let mut state = saved.state.clone();
    if let Some(rigid) = state.rigid.take() {
        let [sx, sy, sw] = rigid.shift;
        let grid = contact.patch.grid();
        for (pair, i) in pairs.iter_mut().zip(contact.cells_ever_active()) {
            let [x, y] = grid.centre(i % grid.nx, i / grid.nx);
            *pair = [pair[0] + (sx - sw * y), pair[1] + (sy + sw * x)];
        }
    }
    crate::solver::commit::commit(contact, &mut state, &mut pairs);
    let State { checks, padding, .. } = State::default();
    (state.checks, state.padding) = (checks, padding);
    let pairs_of = 0..pairs.len();
    (Saved { state, failure: saved.failure, pairs: pairs_of }, pairs)
}
