//! The arrays of a run.

/// Type of an array's items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    F64,
    F32,
    U32,
    U64,
    I64,
    U8,
    Bool,
}

impl Item {
    /// Bytes of one item.
    pub const fn size(self) -> u64 {
        match self {
            Self::F64 | Self::I64 | Self::U64 => 8,
            Self::F32 | Self::U32 => 4,
            Self::U8 | Self::Bool => 1,
        }
    }
}

/// An array of the run, `[contact]`, `[contact, sample]` or `[contact, sample, width]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub name: &'static str,
    pub item: Item,
    pub per_sample: bool,
    pub width: usize,
    pub about: &'static str,
}

const fn samples(name: &'static str, width: usize, about: &'static str) -> Column {
    Column { name, item: Item::F64, per_sample: true, width, about }
}

const fn contacts(name: &'static str, item: Item, about: &'static str) -> Column {
    Column { name, item, per_sample: false, width: 1, about }
}

/// All arrays but `time`.
pub(super) const COLUMNS: [Column; 13] = [
    samples("pose", 3, "x [m], y [m], theta [rad] of the centre of mass; of the patch if its twist is prescribed"),
    samples("twist", 3, "vx [m/s], vy [m/s], w [rad/s] at the same point"),
    samples("wrench", 3, "friction of one pad on the body at the patch origin: fx [N], fy [N], tau [N m]"),
    samples("normal_force", 1, "of one pad [N]"),
    samples("slip", 1, "share of the normal force carried by sliding bristles: 0 sticks, 1 slides everywhere"),
    contacts("displacement", Item::F64, "distance [m] from start to end of the body's point at the centre of pressure"),
    contacts("rotation", Item::F64, "rotation [rad] from start to end"),
    contacts(
        "status",
        Item::U32,
        "0 is clean; 1 twist and 2 wrench became non-finite; 4 some stages had not converged; 8 took as many \
         steps as it may; 16 has left and was stopped",
    ),
    contacts("failed_step", Item::I64, "step at which the contact failed, -1 if it did not"),
    contacts(
        "frames",
        Item::U64,
        "samples before the contact failed or after which it was stopped; all of them if it was not",
    ),
    contacts("unconverged", Item::U64, "stages that had not converged after three iterations"),
    contacts("steps", Item::U64, "steps taken"),
    contacts("passes", Item::U64, "passes over the cells"),
];

/// Bytes of one sample of one contact over all arrays.
pub(super) const BYTES_PER_SAMPLE: u64 = 11 * 8;
/// Bytes of one contact in the arrays without samples.
pub(super) const BYTES_PER_CONTACT: u64 = 7 * 8 + 4;

impl Column {
    /// The array with that name.
    pub fn named(name: &str) -> &'static Self {
        COLUMNS.iter().find(|c| c.name == name).unwrap_or_else(|| unreachable!("no array {name}"))
    }

    /// Lengths of its axes for so many contacts with so many samples.
    pub fn shape(&self, contacts: u64, samples: usize) -> Vec<u64> {
        let samples = self.per_sample.then_some(samples as u64);
        let width = (self.width > 1).then_some(self.width as u64);
        [Some(contacts), samples, width].into_iter().flatten().collect()
    }

    /// Bytes of one contact.
    pub fn bytes(&self, samples: usize) -> u64 {
        self.item.size() * self.width as u64 * if self.per_sample { samples as u64 } else { 1 }
    }
}
