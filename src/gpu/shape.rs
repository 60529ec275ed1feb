//! Shapes of the kernel for a grid: how the cells of a contact are laid out over the lanes of its workgroup,
//! and which layout an adapter gets.

use super::device::Adapter;

/// Where a lane keeps its cells, and how many it computes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Storage {
    /// In private memory, in pairs: for software drivers, and for grids that do not fit the memory of a
    /// workgroup.
    Private,
    /// In the memory of the workgroup, one by one.
    Workgroup,
}

impl Storage {
    /// Cells that a lane computes at once.
    #[must_use]
    pub const fn width(self) -> u32 {
        match self {
            Self::Private => 2,
            Self::Workgroup => 1,
        }
    }
}

/// How a kernel is laid out, whatever the number of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Layout {
    /// Lanes of a contact, a power of two.
    pub lanes: u32,
    /// Where a lane keeps its cells.
    pub storage: Storage,
}

/// The shape of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelShape {
    /// Lanes of the workgroup.
    pub workgroup: u32,
    /// Lanes of a contact; 1 for reduced contacts.
    pub lanes: u32,
    /// Turns that a lane has memory for, one after the other; 0 for reduced contacts.
    pub turns: u32,
    /// Where a lane keeps its cells.
    pub storage: Storage,
    /// How the lanes of a contact sum.
    pub sums: Sums,
}

/// How the lanes of a contact sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sums {
    /// A contact has a part of a subgroup, within which lanes exchange numbers.
    Part,
    /// A contact has a workgroup, which is made of so many subgroups at most.
    Subgroups(u32),
    /// A contact has a workgroup, through whose memory the lanes sum.
    Memory,
}

/// Lanes of the widest workgroup (portable limit).
const WIDEST: u32 = 256;
/// Largest number of turns of a lane; with 256 lanes and pairs this is a grid of 128 x 128.
pub(super) const MOST_TURNS: u32 = 32;
/// Numbers of a cell in the memory of a workgroup: its bristle.
const NUMBERS_PER_CELL: u32 = 2;
/// Lanes that sum through memory, at least.
const LEAST_WITHOUT_SUBGROUPS: u32 = 32;
/// Sums of a pass.
const SUMS: u32 = 12;
/// Numbers on which the lanes of a workgroup agree at once.
const AGREED: u32 = 1;

/// The layout for some adapters.
struct Row {
    /// Where a lane keeps its cells.
    storage: Storage,
    /// Fewest lanes of a contact, if that is a part of the smallest subgroup; else it has the largest.
    lanes: u32,
    /// Turns of a lane above which a contact has twice as many.
    turns: u32,
    /// Where the row comes from.
    source: &'static str,
}

// Which layout an adapter gets. A contact has a part of a subgroup that divides the smallest, or else the
// largest subgroup or several, so that no lane of a subgroup is empty and few wait at a barrier. Every lane
// solves the body for itself: with fewer lanes a contact takes fewer instructions, and fewer contacts are
// under way at once. `bristle bench --shapes` prints what a row should be on the adapter at hand.

/// For drivers that run on the CPU.
const SOFTWARE: Row = Row {
    storage: Storage::Private,
    lanes: WIDEST,
    turns: 32,
    source: "measured on llvmpipe (docs/hardware.md): subgroups take turns, and cells are in memory anyway",
};
/// For GPUs.
const HARDWARE: Row = Row {
    storage: Storage::Workgroup,
    lanes: 8,
    turns: 16,
    source: "machine code for AMD and NVIDIA (docs/kernels.md); not measured",
};

/// The row of an adapter.
const fn row(adapter: &Adapter) -> &'static Row {
    if adapter.software { &SOFTWARE } else { &HARDWARE }
}

/// The smallest and the largest subgroup of an adapter that sums over them.
fn subgroups(adapter: &Adapter) -> Option<[u32; 2]> {
    let [least, largest] = adapter.subgroup;
    let fits = adapter.subgroup_sums && (2..=WIDEST).contains(&largest) && largest.is_power_of_two();
    fits.then(|| [least.max(1), largest])
}

/// Lanes of a workgroup of contacts that have one each.
fn one_subgroup(adapter: &Adapter) -> u32 {
    subgroups(adapter).map_or(LEAST_WITHOUT_SUBGROUPS, |[_, largest]| largest)
}

/// Lanes of a contact, the fewest first.
fn lanes_of(row: &Row, adapter: &Adapter) -> Vec<u32> {
    let largest = one_subgroup(adapter);
    let part = subgroups(adapter).map_or(0, |[least, _]| least);
    let whole = |lanes: u32| lanes >= largest || (row.lanes..=part).contains(&lanes);
    (0..=WIDEST.ilog2()).map(|n| 1 << n).filter(|&lanes| whole(lanes)).collect()
}

impl KernelShape {
    /// The shape for a contact with `cells` cells: a function of the contact and the adapter alone, so that
    /// its result does not depend on its neighbours. The row's, with twice as many lanes as long as each
    /// would take more turns than the row says; pairs in private memory where that is too large for the
    /// memory of a workgroup.
    #[must_use]
    pub fn of(cells: usize, adapter: &Adapter) -> Self {
        let row = row(adapter);
        let storage = row.storage;
        let enough = |lanes: &u32| cells as u32 <= lanes * storage.width() * row.turns;
        let lanes = lanes_of(row, adapter).into_iter().find(enough).unwrap_or(WIDEST);
        let large = Layout { lanes, storage: Storage::Private };
        Layout { lanes, storage }.shape(cells, adapter).unwrap_or_else(|| large.unchecked(cells, adapter))
    }

    /// The shape for contacts with a reduced bristle, one a lane, in workgroups of one subgroup.
    #[must_use]
    pub fn reduced(adapter: &Adapter) -> Self {
        let workgroup = one_subgroup(adapter).max(LEAST_WITHOUT_SUBGROUPS);
        Self { workgroup, lanes: 1, turns: 0, storage: Storage::Workgroup, sums: Sums::Memory }
    }

    /// Cells that a lane computes at once: 1 or 2; 1 for reduced contacts.
    #[must_use]
    pub const fn width(self) -> u32 {
        self.storage.width()
    }

    /// Whether its contacts have a reduced bristle.
    #[must_use]
    pub const fn is_reduced(self) -> bool {
        self.turns == 0
    }

    /// Whether the iterations of a root in the transition stay a loop. If they are written out, a compiler
    /// for CPUs orders the whole root of the one cell of a pair before that of the other. The two are then
    /// too far apart for the processor to overlap them.
    #[must_use]
    pub const fn roots_loop(self) -> bool {
        self.turns > 0 && matches!(self.storage, Storage::Private)
    }

    /// Contacts that one workgroup steps.
    #[must_use]
    pub const fn contacts(self) -> u32 {
        self.workgroup / self.lanes
    }

    /// Bytes of workgroup memory.
    #[must_use]
    pub const fn workgroup_memory(self) -> u32 {
        let sums = match self.sums {
            Sums::Part | Sums::Subgroups(1) => 0,
            Sums::Subgroups(subgroups) => SUMS * subgroups + AGREED,
            Sums::Memory => SUMS * (self.workgroup + 1) + AGREED,
        };
        let cells = match self.storage {
            Storage::Workgroup => NUMBERS_PER_CELL * self.workgroup * self.turns,
            Storage::Private => 0,
        };
        4 * (sums + cells)
    }
}

impl Layout {
    /// All layouts that a contact with `cells` cells may have on an adapter: those with no more lanes than it
    /// takes for one turn, and the one that the adapter gets.
    #[must_use]
    pub fn all(cells: usize, adapter: &Adapter) -> Vec<Self> {
        let own = Self::of(cells, adapter);
        let mut all = Vec::new();
        for lanes in (2..=8).map(|n| 1 << n).filter(|lanes| *lanes <= adapter.max_workgroup.min(WIDEST)) {
            for storage in [Storage::Private, Storage::Workgroup] {
                let layout = Self { lanes, storage };
                let small = lanes == 4 || ((lanes / 2 * storage.width()) as usize) < cells;
                if (small || own == Some(layout)) && layout.shape(cells, adapter).is_some() {
                    all.push(layout);
                }
            }
        }
        all
    }

    /// The layout that an adapter gets for a contact with `cells` cells.
    #[must_use]
    pub fn of(cells: usize, adapter: &Adapter) -> Option<Self> {
        let shape = KernelShape::of(cells, adapter);
        Some(Self { lanes: shape.lanes, storage: shape.storage })
    }

    /// Where the layouts of an adapter come from.
    #[must_use]
    pub fn source(adapter: &Adapter) -> &'static str {
        row(adapter).source
    }

    /// The shape for a contact with `cells` cells, if it has one.
    #[must_use]
    pub fn shape(self, cells: usize, adapter: &Adapter) -> Option<KernelShape> {
        let shape = self.unchecked(cells, adapter);
        let sums = shape.sums != Sums::Memory || self.lanes >= LEAST_WITHOUT_SUBGROUPS;
        let fits = shape.workgroup_memory() <= adapter.max_workgroup_memory;
        (shape.turns <= MOST_TURNS && sums && fits).then_some(shape)
    }

    fn unchecked(self, cells: usize, adapter: &Adapter) -> KernelShape {
        let turns = (cells as u32).div_ceil(self.lanes * self.storage.width()).max(1);
        // A loop over private memory runs over the cells of the contact, so that contacts of many sizes share
        // a kernel whose memory is rounded up. A software driver has memory enough for one size, and takes
        // seconds to compile a kernel. Of workgroup memory each takes what it needs, as that decides how many
        // workgroups share a processor.
        let turns = match self.storage {
            Storage::Private if adapter.software => turns.max(MOST_TURNS),
            Storage::Private => turns.next_power_of_two().max(4),
            Storage::Workgroup => turns,
        };
        let (sums, workgroup) = match subgroups(adapter) {
            Some([least, largest]) if self.lanes < largest && self.lanes <= least => (Sums::Part, largest),
            Some([least, _]) => (Sums::Subgroups((self.lanes / least).max(1)), self.lanes),
            None => (Sums::Memory, self.lanes),
        };
        KernelShape { workgroup, lanes: self.lanes, turns, storage: self.storage, sums }
    }
}

impl std::fmt::Display for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let storage = match self.storage {
            Storage::Private => "pairs in private memory",
            Storage::Workgroup => "single cells in workgroup memory",
        };
        write!(f, "{} lanes of {storage}", self.lanes)
    }
}

/// What decides the shape of every kernel of an adapter, in words: it fixes the order of sums.
pub(super) fn described(adapter: &Adapter) -> String {
    let row = row(adapter);
    let lanes = lanes_of(row, adapter)[0];
    let first = Layout { lanes, storage: row.storage };
    let [least, most] = adapter.subgroup;
    let sums = if adapter.subgroup_sums { format!("subgroups of {least} to {most}") } else { "memory".to_owned() };
    format!("{first}, twice as many above {} turns; sums over {sums}", row.turns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(vendor: u32, subgroup: [u32; 2], software: bool) -> Adapter {
        Adapter {
            name: String::new(),
            vendor,
            backend: String::new(),
            device_type: String::new(),
            software,
            driver: String::new(),
            subgroup,
            subgroup_sums: subgroup[1] > 0,
            max_storage_buffer: 1 << 27,
            max_workgroup: 256,
            max_workgroup_memory: 32 << 10,
        }
    }

    #[test]
    fn lanes_are_a_part_of_a_subgroup_or_whole_ones_as_many_as_turns_ask_for() {
        let amd = adapter(0x1002, [32, 64], false);
        let lanes = |cells, adapter: &Adapter| KernelShape::of(cells, adapter).lanes;
        assert_eq!([1, 128, 129, 317, 512, 513, 1025, 4096].map(|n| lanes(n, &amd)), [8, 8, 16, 32, 32, 64, 128, 256]);
        let shape = KernelShape::of(317, &amd);
        assert_eq!((shape.turns, shape.width(), shape.storage, shape.sums), (10, 1, Storage::Workgroup, Sums::Part));
        assert_eq!((shape.workgroup, shape.contacts()), (64, 2));
        let shape = KernelShape::of(1000, &amd);
        assert_eq!((shape.workgroup, shape.contacts(), shape.sums), (64, 1, Sums::Subgroups(2)));
        assert_eq!(KernelShape::of(4096, &amd).storage, Storage::Private, "32 KB do not fit beside the sums");
        let nvidia = adapter(0x10de, [32, 32], false);
        assert_eq!((lanes(25, &nvidia), KernelShape::of(25, &nvidia).contacts()), (8, 4));
        assert_eq!((lanes(317, &nvidia), KernelShape::of(317, &nvidia).sums), (32, Sums::Subgroups(1)));
        let intel = adapter(0x8086, [8, 32], false);
        assert_eq!([25, 128, 129, 317].map(|n| lanes(n, &intel)), [8, 8, 32, 32], "16 would be half of a subgroup");
        let llvmpipe = adapter(0x10005, [8, 8], true);
        let shape = KernelShape::of(317, &llvmpipe);
        assert_eq!((shape.workgroup, shape.width(), shape.turns, shape.storage), (8, 2, 32, Storage::Private));
        assert_eq!(lanes(317, &adapter(0, [0, 0], false)), 32, "without subgroups");
    }

    #[test]
    fn every_cell_has_a_lane_and_every_layout_fits() {
        for adapter in [
            adapter(0x1002, [32, 64], false),
            adapter(0x8086, [8, 32], false),
            adapter(0x10005, [8, 8], true),
            adapter(0, [0, 0], false),
        ] {
            for cells in [1, 2, 63, 64, 65, 317, 441, 1025, 4096, 16384] {
                let own = KernelShape::of(cells, &adapter);
                assert!((own.lanes * own.width() * own.turns) as usize >= cells && own.turns <= MOST_TURNS);
                assert_eq!(own.workgroup % own.lanes, 0, "{own:?}");
                let all = Layout::all(cells, &adapter);
                assert!(all.contains(&Layout::of(cells, &adapter).unwrap()), "{cells}: {own:?} is one of {all:?}");
                for shape in all.iter().map(|layout| layout.shape(cells, &adapter).unwrap()) {
                    assert!((shape.lanes * shape.width() * shape.turns) as usize >= cells, "{shape:?}");
                    assert!(shape.workgroup_memory() <= adapter.max_workgroup_memory, "{shape:?}");
                }
            }
        }
    }
}
