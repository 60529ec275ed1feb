//! The arrays of a run.

use super::sensor::Sensor;
use bristle::contact::Contact;
use bristle::engine::Plan;
use bristle::patch::Grid;

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

/// An array of the run, `[contact]`, `[contact, sample]` or `[contact, sample, width]`; of the cells of a
/// grid `[contact, sample, row, column, width]`, of several patches `[contact, sample, patch, width]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub name: &'static str,
    pub item: Item,
    pub per_sample: bool,
    /// What the numbers of a sample are of, if there are several.
    pub each: Option<Each>,
    pub width: usize,
    pub about: &'static str,
}

/// What there are several of in a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Each {
    /// The cells of a grid: its rows and columns.
    Cell([u64; 2]),
    /// Patches.
    Patch(u64),
}

pub(super) const fn samples(name: &'static str, width: usize, about: &'static str) -> Column {
    Column { name, item: Item::F64, per_sample: true, each: None, width, about }
}

pub(super) const fn contacts(name: &'static str, item: Item, about: &'static str) -> Column {
    Column { name, item, per_sample: false, each: None, width: 1, about }
}

/// All arrays but `time`, and but those that are recorded on request.
pub(super) const COLUMNS: [Column; 14] = [
    samples("pose", 3, "x [m], y [m], theta [rad] of the centre of mass; of the patch if its twist is prescribed"),
    samples("twist", 3, "vx [m/s], vy [m/s], w [rad/s] at the same point"),
    samples("wrench", 3, "friction of one pad on the body at the patch origin: fx [N], fy [N], tau [N m]"),
    samples("normal_force", 1, "of one pad [N]"),
    samples(
        "slip",
        1,
        "share of the normal force on bristles that slip, each faster than 1e-5 m/s: 0 sticks, 1 slides everywhere",
    ),
    samples(
        "near_limit",
        1,
        "share of the normal force on bristles near their limit, longer than s_ba of it, whether they slip or not",
    ),
    contacts("displacement", Item::F64, "distance [m] from start to end of the body's point at the centre of pressure"),
    contacts("rotation", Item::F64, "rotation [rad] from start to end"),
    contacts(
        "status",
        Item::U32,
        "0 is clean; 1 twist and 2 wrench became non-finite; 4 some stages had not converged, or of a point \
         contact some steps had several solutions; 8 took as many steps as it may; 16 has left and was stopped",
    ),
    contacts("failed_step", Item::I64, "step at which the contact failed, -1 if it did not"),
    contacts(
        "frames",
        Item::U64,
        "samples before the contact failed or after which it was stopped; all of them if it was not",
    ),
    contacts(
        "unconverged",
        Item::U64,
        "stages that had not converged after three iterations; of a point contact, steps with several solutions",
    ),
    contacts("steps", Item::U64, "steps taken"),
    contacts("passes", Item::U64, "passes over the cells"),
];

/// The names of [`shear`].
pub(super) const SHEAR: [&str; 3] = ["shear", "cell_nearness", "marker_displacement"];

/// The arrays of friction in the cells of a grid of that many rows and columns.
pub(super) fn shear([rows, columns]: [u64; 2]) -> [Column; 3] {
    let image = |name, width, about| Column {
        name,
        item: Item::F32,
        per_sample: true,
        each: Some(Each::Cell([rows, columns])),
        width,
        about,
    };
    [
        image(SHEAR[0], 2, "friction of every cell on the body [N]: fx, fy in the axes of the patch; bottom row first"),
        image(
            SHEAR[1],
            1,
            "how near every bristle is to its limit: its length over that [-], 1 in steady sliding; above s_ba it \
             counts as near; bottom row first",
        ),
        image(
            SHEAR[2],
            2,
            "how far the surface of an elastic layer is displaced in every cell [m]: x, y in the axes of the patch; \
             bottom row first",
        ),
    ]
}

/// The arrays of each of several patches that labels follow from.
pub(super) const PATCH_WRENCH: &str = "patch_wrench";
pub(super) const PATCH_NORMAL_FORCE: &str = "patch_normal_force";
pub(super) const PATCH_SLIP: &str = "patch_slip";
/// The names of [`of_patches`].
pub(super) const OF_PATCHES: [&str; 4] = [PATCH_WRENCH, PATCH_NORMAL_FORCE, PATCH_SLIP, "patch_near_limit"];

/// The arrays of each of so many patches.
fn of_patches(patches: u64) -> [Column; 4] {
    let each = |name, width, about| Column { each: Some(Each::Patch(patches)), ..samples(name, width, about) };
    [
        each(
            OF_PATCHES[0],
            3,
            "friction of each of several patches of one pad on the body at the origin of the patch, in the axes of \
             the whole: fx [N], fy [N], tau [N m]",
        ),
        each(OF_PATCHES[1], 1, "of each of several patches of one pad [N]"),
        each(OF_PATCHES[2], 1, "share of the normal force of each patch on bristles that slip, as `slip` has it"),
        each(OF_PATCHES[3], 1, "share of the normal force of each patch on bristles near their limit"),
    ]
}

/// What is recorded of the bristles on request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct OfBristles {
    /// The grid whose cells have their friction recorded.
    pub shear: Option<Grid>,
    /// Whether their displacement is, too: that of an elastic layer.
    pub markers: bool,
    /// What reads the friction of cells, if that is not read as it is.
    pub sensor: Option<Sensor>,
    /// The number of patches that have theirs recorded.
    pub patches: Option<usize>,
}

impl OfBristles {
    /// Whether anything is.
    pub const fn is_any(&self) -> bool {
        self.shear.is_some() || self.patches.is_some()
    }

    /// Its arrays.
    pub fn columns(&self) -> Vec<Column> {
        let markers = usize::from(self.markers);
        let cells = self.shear.map(|grid| shear([grid.ny as u64, grid.nx as u64]).into_iter().take(2 + markers));
        let patches = self.patches.map(|patches| of_patches(patches as u64));
        cells.into_iter().flatten().chain(patches.into_iter().flatten()).collect()
    }

    /// Bytes of one sample in its arrays.
    pub fn bytes(&self) -> u64 {
        self.columns().iter().map(|column| column.bytes(1)).sum()
    }
}

/// Bytes of one cell of one sample in the arrays of [`shear`].
const BYTES_PER_CELL: u64 = 3 * 4;
/// The same with [`OfBristles::markers`].
const BYTES_PER_CELL_OF_LAYER: u64 = 5 * 4;
/// Bytes of one bristle in a sample, from which these are made.
const BYTES_PER_BRISTLE: u64 = 2 * 8;
/// Bytes of one sample of one contact over all arrays of [`COLUMNS`].
pub(super) const BYTES_PER_SAMPLE: u64 = 12 * 8;
/// Bytes of one contact in the arrays without samples.
pub(super) const BYTES_PER_CONTACT: u64 = 7 * 8 + 4;

/// Bytes of one sample of contacts like these `few`, in memory while they are simulated.
pub(super) fn bytes_in_memory(plan: &Plan, few: &[Contact]) -> u64 {
    let cells = few.iter().map(|c| c.patch.grid().len() as u64).max().unwrap_or(0);
    let on_layer = few.iter().any(|c| c.layer().is_some());
    let cell = if on_layer { BYTES_PER_CELL_OF_LAYER } else { BYTES_PER_CELL } + BYTES_PER_BRISTLE;
    BYTES_PER_SAMPLE + if plan.sample_bristles { cells * cell } else { 0 }
}

impl Column {
    /// The array with that name.
    pub fn named(name: &str) -> &'static Self {
        COLUMNS.iter().find(|c| c.name == name).unwrap_or_else(|| unreachable!("no array {name}"))
    }

    /// Its axes after that of the contacts, for so many samples: their names and lengths.
    pub fn axes(&self, samples: usize) -> Vec<(&'static str, u64)> {
        let samples = self.per_sample.then_some(("sample", samples as u64));
        let each = match self.each {
            None => [None; 2],
            Some(Each::Cell([rows, columns])) => [Some(("row", rows)), Some(("column", columns))],
            Some(Each::Patch(patches)) => [Some(("patch", patches)), None],
        };
        // xarray wants one length of all axes with a name.
        let numbers = if matches!(self.each, Some(Each::Cell(_))) { "force" } else { "axis" };
        let width = (self.width > 1).then_some((numbers, self.width as u64));
        std::iter::once(samples).chain(each).chain([width]).flatten().collect()
    }

    /// Lengths of its axes for so many contacts with so many samples.
    pub fn shape(&self, contacts: u64, samples: usize) -> Vec<u64> {
        std::iter::once(contacts).chain(self.axes(samples).into_iter().map(|(_, n)| n)).collect()
    }

    /// Bytes of one contact.
    pub fn bytes(&self, samples: usize) -> u64 {
        self.item.size() * self.axes(samples).into_iter().map(|(_, n)| n).product::<u64>()
    }
}
