//! Maps that follow a recording or an indenter: pressure frames, each with the time from which it holds.

use std::sync::Arc;

use super::indenter::{Foundation, Indentation, Indenter, Press};
use super::{Grid, shares};
use crate::error::{ParameterError, PatchError};
use crate::schedule::{SAME_TIME, Signal, within_run};

/// Recorded pressure maps of one grid, each from its time on: [`Patch::following`](super::Patch::following)
/// makes a patch of them, and all patches share their memory.
///
/// The first map also holds before its time, the last one after it. A frame without pressure has the map of
/// the frame before it (at the beginning that of the first with pressure), and no normal force.
///
/// ```
/// use bristle::patch::{Grid, Patch, Sequence};
/// // Two cells of 10 mm x 10 mm, whose pressure [Pa] goes from the left to the right within 0.2 s.
/// let frames = [[2e4, 0.0], [1e4, 1e4], [0.0, 0.0], [0.0, 3e4]];
/// let sequence = Sequence::new([2, 1], vec![0.0, 0.1, 0.15, 0.2], &frames)?;
/// assert_eq!([0.0, 0.12, 0.15, 9.0].map(|t| sequence.frame_at(t)), [0, 1, 2, 3]);
/// let force = sequence.normal_force(1e-4);
/// assert_eq!([0.0, 0.15, 0.2].map(|t| force.value(t)), [2.0, 0.0, 3.0]);
/// let patch = Patch::following(Grid::new(2, 1, 0.02, 0.01)?, sequence.into())?;
/// assert_eq!(patch.weights(), [1.0, 0.0]);
/// # Ok::<(), bristle::error::PatchError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sequence {
    /// Columns and rows.
    cells: [usize; 2],
    times: Vec<f64>,
    /// Frames in a row whose maps are equal have one.
    maps: Maps,
    /// The map of every frame.
    map_of: Vec<u32>,
    /// How each map is loaded, where maps differ by their force too, as an elastic layer needs them; else
    /// none.
    loadings: Vec<Loading>,
    /// The sum of the pressures of every frame.
    sums: Vec<f64>,
    /// Indices of the cells that carry pressure in some frame.
    active: Vec<usize>,
}

/// Maps, as shares of the normal force.
#[derive(Clone, Debug, PartialEq)]
enum Maps {
    /// In memory.
    Stored(Vec<Arc<[f64]>>),
    /// Made when they are needed, each of what presses.
    Pressed(Box<Indentation>, Vec<Press>),
}

/// How a layer is loaded under a map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loading {
    /// Normal force over the largest of all maps [-].
    pub force: f64,
    /// The share of the cells with pressure in some frame that have pressure now [-].
    pub cells: f64,
}

/// Least time between two frames \[s\].
pub const CLOSEST_FRAMES: f64 = 1e-6;

impl Sequence {
    /// Frames of `cells` columns and rows, each from its one of `times` \[s\] on: non-negative pressures in
    /// any unit, one a cell, bottom row first.
    ///
    /// # Errors
    /// Another number of times than of frames, or none; a time that is negative, not finite, or not 1e-6 s
    /// after the one before; a frame of another size, or with a pressure that is negative or not finite; no
    /// pressure in any frame.
    pub fn new<F: AsRef<[f64]>>(cells: [usize; 2], times: Vec<f64>, frames: &[F]) -> Result<Self, PatchError> {
        Self::stored(cells, times, frames, false)
    }

    /// As [`Sequence::new`], of pressures on an elastic layer, in any one unit: maps in a row that differ by
    /// their force alone count as two. For [`Model::Layer`](crate::contact::Model::Layer).
    ///
    /// # Errors
    /// As [`Sequence::new`].
    pub fn on_layer<F: AsRef<[f64]>>(cells: [usize; 2], times: Vec<f64>, frames: &[F]) -> Result<Self, PatchError> {
        Self::stored(cells, times, frames, true)
    }

    fn stored<F: AsRef<[f64]>>(
        cells: [usize; 2],
        times: Vec<f64>,
        frames: &[F],
        is_layer: bool,
    ) -> Result<Self, PatchError> {
        let [nx, ny] = cells;
        let grid = Grid::new(nx, ny, 1.0, 1.0)?;
        check_times(&times, frames.len())?;
        let (mut maps, mut map_of, mut sums) = (Vec::<Arc<[f64]>>::new(), Vec::new(), Vec::new());
        let mut sums_of_maps = Vec::new();
        let mut active = vec![false; grid.len()];
        for (k, frame) in frames.iter().enumerate() {
            let frame = frame.as_ref();
            let sum = frame.iter().sum();
            let mut own: Option<Arc<[f64]>> = None;
            match shares(&grid, frame) {
                Ok(shares) => {
                    let map: Arc<[f64]> = shares.collect();
                    active.iter_mut().zip(&*map).for_each(|(active, w)| *active |= *w > 0.0);
                    own = Some(map);
                }
                Err(PatchError::Empty) if is_layer => own = maps.last().cloned(),
                Err(PatchError::Empty) => {}
                Err(error) => return Err(PatchError::Frame { frame: k, error: Box::new(error) }),
            }
            if let Some(map) = own
                && (maps.last() != Some(&map) || is_layer && sums_of_maps.last() != Some(&sum))
            {
                maps.push(map);
                sums_of_maps.push(sum);
            }
            map_of.push(maps.len().saturating_sub(1) as u32);
            sums.push(sum);
        }
        if maps.is_empty() {
            return Err(PatchError::Empty);
        }
        // Frames before the first with pressure have its map, but not its force.
        if is_layer && sums[0] == 0.0 {
            let lifted = sums.iter().take_while(|sum| **sum == 0.0).count();
            maps.insert(0, Arc::clone(&maps[0]));
            sums_of_maps.insert(0, 0.0);
            map_of[lifted..].iter_mut().for_each(|map| *map += 1);
        }
        let active: Vec<usize> = (0..grid.len()).filter(|i| active[*i]).collect();
        let loaded = |map: &Arc<[f64]>| map.iter().filter(|w| **w > 0.0).count();
        let loadings =
            if is_layer { loadings(&sums_of_maps, maps.iter().map(loaded), active.len()) } else { Vec::new() };
        Ok(Self { cells, times, maps: Maps::Stored(maps), map_of, loadings, sums, active })
    }

    /// The pressures of an `indenter` on an elastic layer over `grid`, at its one of `times` \[s\] and from
    /// then on as each of `presses` says: `docs/model.md` (20i) and (20j). Their unit is Pa. A map is made
    /// when it is needed, so that many frames take little memory.
    ///
    /// # Errors
    /// Numbers out of range, a foundation that is not for this indenter, times as in [`Sequence::new`], or no
    /// contact in any frame.
    pub fn indented(
        grid: Grid,
        indenter: Indenter,
        foundation: Foundation,
        times: Vec<f64>,
        presses: &[Press],
    ) -> Result<Self, PatchError> {
        let by = Indentation::new(grid, indenter, foundation)?;
        check_times(&times, presses.len())?;
        let (mut maps, mut map_of, mut sums) = (Vec::<Press>::new(), Vec::new(), Vec::new());
        let (mut sums_of_maps, mut loaded) = (Vec::new(), Vec::new());
        let mut active = vec![false; grid.len()];
        let mut last = None;
        for press in presses {
            by.check(press)?;
            if last.replace(press) != Some(press) {
                let (mut sum, mut count) = (0.0, 0);
                by.cells(press, |i, pressure| {
                    (sum, count, active[i]) = (sum + pressure, count + 1, true);
                });
                loaded.push(count);
                // A map without pressure has the shares of the one before.
                maps.push(if count == 0 { maps.last().copied().unwrap_or(*press) } else { *press });
                sums_of_maps.push(sum);
            }
            map_of.push(maps.len().saturating_sub(1) as u32);
            sums.push(sums_of_maps.last().copied().unwrap_or_default());
        }
        let first = sums_of_maps.iter().position(|sum| *sum > 0.0).ok_or(PatchError::Empty)?;
        let with_pressure = maps[first];
        maps[..first].fill(with_pressure);
        let active: Vec<usize> = (0..grid.len()).filter(|i| active[*i]).collect();
        let loadings = loadings(&sums_of_maps, loaded.into_iter(), active.len());
        let cells = [grid.nx, grid.ny];
        Ok(Self { cells, times, maps: Maps::Pressed(Box::new(by), maps), map_of, loadings, sums, active })
    }

    /// Whether it is that of an elastic layer, [`Sequence::on_layer`] or [`Sequence::indented`].
    pub const fn is_on_layer(&self) -> bool {
        !self.loadings.is_empty()
    }

    /// How a layer is loaded under map number `map`; fully for one that is none.
    pub(crate) fn loading(&self, map: u32) -> Loading {
        self.loadings.get(map as usize).copied().unwrap_or(Loading { force: 1.0, cells: 1.0 })
    }

    /// Whether it fits cells of this grid; frames of a recording fit any.
    pub(super) fn is_for(&self, grid: &Grid) -> bool {
        match &self.maps {
            Maps::Stored(_) => self.cells == [grid.nx, grid.ny],
            Maps::Pressed(by, _) => by.grid() == grid,
        }
    }

    /// Columns and rows.
    pub const fn cells(&self) -> [usize; 2] {
        self.cells
    }

    /// Times of the frames \[s\].
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Number of frames.
    pub const fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there is no frame (never).
    pub const fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The frame that holds at time `t` \[s\].
    pub fn frame_at(&self, t: f64) -> usize {
        self.times.partition_point(|from| *from <= t + SAME_TIME).max(1) - 1
    }

    /// Checks that the frames are for a run of `duration` \[s\]: a time lies in it, and if there are several
    /// frames, one beside the first. Else the first would be the map all the time, as where times are those
    /// of another clock. An engine does so before a run.
    ///
    /// # Errors
    /// The range of the times, and that of the run.
    pub fn check_over(&self, duration: f64) -> Result<(), ParameterError> {
        let times: Vec<[f64; 2]> = self.times.iter().map(|t| [*t; 2]).collect();
        within_run(TIMES, &times, duration, 0.0, false)
    }

    /// The normal force \[N\] of the frames, if each of their cells has `area` [m^2] and their unit is Pa:
    /// the sum of the pressures times the area, from the time of each frame on.
    pub fn normal_force(&self, area: f64) -> Signal {
        // A force beyond all numbers is refused where it is used, as is the largest one.
        let force = |sum: f64| (sum * area).min(f64::MAX);
        let points: Vec<(f64, f64)> = self.times.iter().zip(&self.sums).map(|(t, sum)| (*t, force(*sum))).collect();
        Signal::steps(&points).expect("times increase")
    }

    /// The number of the map that holds at time `t` [s].
    pub(crate) fn map_at(&self, t: f64) -> u32 {
        self.map_of[self.frame_at(t)]
    }

    /// The number of maps; frames in a row with the same map have one.
    pub const fn map_count(&self) -> usize {
        match &self.maps {
            Maps::Stored(maps) => maps.len(),
            Maps::Pressed(_, presses) => presses.len(),
        }
    }

    /// Map number `map`, the shares of the normal force of all cells.
    pub fn map(&self, map: usize) -> Arc<[f64]> {
        match &self.maps {
            Maps::Stored(maps) => Arc::clone(&maps[map]),
            Maps::Pressed(by, presses) => by.shares(&presses[map]),
        }
    }

    /// Indices of the cells that carry pressure in some frame.
    pub(crate) fn active(&self) -> &[usize] {
        &self.active
    }

    /// The sums of the pressures.
    pub fn sums(&self) -> &[f64] {
        &self.sums
    }

    /// Memory \[byte\].
    pub fn memory(&self) -> usize {
        let maps = match &self.maps {
            Maps::Stored(maps) => maps.iter().map(|map| size_of_val(&**map)).sum(),
            Maps::Pressed(by, presses) => by.memory() + size_of_val(&**presses),
        };
        maps + size_of_val(&*self.loadings) + size_of_val(&*self.active) + self.len() * 3 * size_of::<f64>()
    }
}

/// How the maps load a layer, with the sums of their pressures and the numbers of loaded cells.
fn loadings(sums: &[f64], loaded: impl Iterator<Item = usize>, cells: usize) -> Vec<Loading> {
    let most = sums.iter().copied().fold(0.0, f64::max);
    sums.iter()
        .zip(loaded)
        .map(|(sum, loaded)| Loading {
            force: sum / most,
            cells: if *sum > 0.0 { loaded as f64 / cells as f64 } else { 0.0 },
        })
        .collect()
}

/// What errors call the times of frames.
const TIMES: &str = "patch.frames.times";

fn check_times(times: &[f64], frames: usize) -> Result<(), ParameterError> {
    if times.len() != frames || frames == 0 {
        let accepted = format!("{}, one for each frame", frames.max(1));
        return Err(ParameterError::new(TIMES, format!("{} times", times.len()), accepted));
    }
    if let Some(t) = times.iter().find(|t| !(t.is_finite() && **t >= 0.0)) {
        return Err(ParameterError::new(TIMES, t, "finite times >= 0 [s]"));
    }
    match times.windows(2).find(|pair| pair[1] - pair[0] < (1.0 - 1e-3) * CLOSEST_FRAMES) {
        Some(pair) => {
            let accepted = format!("a time at least 1e-6 s after the one before, {} s", pair[0]);
            Err(ParameterError::new(TIMES, pair[1], accepted))
        }
        None => Ok(()),
    }
}

impl PartialEq for Sequence {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
            || (self.cells, &self.times, &self.sums) == (other.cells, &other.times, &other.sums)
                && (&self.map_of, &self.maps, &self.loadings) == (&other.map_of, &other.maps, &other.loadings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::Patch;

    #[test]
    fn frames_without_pressure_have_the_map_beside_them_and_no_force() {
        let frames = [[0.0, 0.0], [0.0, 0.0], [1.0, 3.0], [0.0, 0.0], [2.0, 0.0]];
        let sequence = Sequence::new([2, 1], (0..5).map(f64::from).collect(), &frames).unwrap();
        let map = |t: f64| sequence.map(sequence.map_at(t) as usize).to_vec();
        assert_eq!(sequence.map_count(), 2);
        assert_eq!([0.0, 1.0, 2.0, 3.0].map(map), [[0.25, 0.75]; 4]);
        assert_eq!([4.0, 5.0].map(map), [[1.0, 0.0]; 2]);
        let force = sequence.normal_force(0.5);
        let forces: Vec<f64> = (0..7).map(|t| force.value(f64::from(t))).collect();
        assert_eq!(forces, [0.0, 0.0, 2.0, 0.0, 1.0, 1.0, 1.0]);
        assert_eq!(sequence.active(), [0, 1]);
        // In between and outside each frame holds, and a time within rounding is that of the frame.
        let at = |t: f64| sequence.frame_at(t);
        assert_eq!([-1.0, 0.999, 1.0 - 1e-10, 1.0, 77.0].map(at), [0, 0, 1, 1, 4]);
    }

    #[test]
    fn maps_of_a_layer_differ_by_their_force_too() {
        let frames = [[0.0, 0.0], [1.0, 3.0], [1.0, 3.0], [2.0, 6.0], [0.0, 0.0], [4.0, 0.0]];
        let sequence = Sequence::on_layer([2, 1], (0..6).map(f64::from).collect(), &frames).unwrap();
        let at = |t: i32| sequence.map_at(f64::from(t));
        assert_eq!([0, 1, 2, 3, 4, 5].map(at), [0, 1, 1, 2, 3, 4]);
        let shares: Vec<f64> = (0..5).map(|map| sequence.map(map)[0]).collect();
        assert_eq!(shares, [0.25, 0.25, 0.25, 0.25, 1.0]);
        let loading = |map: u32| (sequence.loading(map).force, sequence.loading(map).cells);
        assert_eq!([0, 1, 2, 3, 4].map(loading), [(0.0, 0.0), (0.5, 1.0), (1.0, 1.0), (0.0, 0.0), (0.5, 0.5)]);
    }

    #[test]
    fn sequences_that_cannot_be_say_why() {
        let wrong =
            |times: &[f64], frames: &[[f64; 2]]| Sequence::new([2, 1], times.to_vec(), frames).unwrap_err().to_string();
        let two = [[1.0, 0.0], [0.0, 1.0]];
        assert!(wrong(&[0.0], &two).contains("patch.frames.times = 1 times: expected 2"));
        assert!(wrong(&[], &[]).contains("patch.frames.times = 0 times: expected 1"));
        assert!(wrong(&[1.0, 0.5], &two).contains("patch.frames.times = 0.5: expected a time at least 1e-6 s after"));
        assert!(wrong(&[1.0, 1.0], &two).contains("after the one before, 1 s"));
        assert!(wrong(&[-0.1, 1.0], &two).contains("patch.frames.times = -0.1: expected finite times >= 0"));
        assert!(wrong(&[0.0, f64::NAN], &two).contains("patch.frames.times = NaN"));
        assert!(wrong(&[0.0, 1.0], &[[1.0, 0.0], [1.0, -2.0]]).contains("frame 1: pressure of cell (ix = 1"));
        assert!(wrong(&[0.0, 1.0], &[[0.0; 2]; 2]).contains("is empty"));
        let sequence = Arc::new(Sequence::new([2, 1], vec![0.0, 1.0], &two).unwrap());
        sequence.check_over(1.0).unwrap();
        let message = sequence.check_over(0.5).unwrap_err().to_string();
        assert_eq!(message, "patch.frames.times = 0 to 1 s: expected several times [s] in the run, 0 to 0.5 s");
        let other = Grid::new(3, 1, 0.1, 0.1).unwrap();
        assert!(Patch::following(other, sequence).unwrap_err().to_string().contains("2 values: expected 3"));
    }
}
