//! Several patches on one body in a file of tables: where they are, and their grids.

use std::path::Path;

use bristle::error::{ParameterError, PatchError};
use bristle::patch::{Grid, Patch, Placed};
use bristle::planar::Pose;
use bristle_scenario::input::Npz;

/// The arrays that a file has of tables of several patches: `(tables, patches, width)`, with zeros where a
/// table has fewer patches than others; a file of one table has them without the first axis. `weights` are
/// then those of the cells of all patches one after the other, in one row.
pub(crate) const ARRAYS: [(&str, usize); 3] = [("patch_cells", 2), ("patch_cell_m", 2), ("patch_at", 3)];

/// The patches of each of some tables.
pub(crate) struct Parts {
    /// Largest number of patches of a table.
    pub most: usize,
    /// The numbers of [`ARRAYS`].
    pub arrays: [Vec<f64>; 3],
}

impl Parts {
    /// Of the patches of some tables; none if all of them are patches by themselves.
    pub fn of(patches: &[&Patch]) -> Option<Self> {
        let most = patches.iter().map(|patch| patch.parts().len()).max().filter(|most| *most > 0)?;
        let mut arrays: [Vec<f64>; 3] = Default::default();
        for patch in patches {
            for k in 0..most {
                let (mut grid, mut at) = (Grid { nx: 0, ny: 0, dx: 0.0, dy: 0.0 }, Pose::default());
                if let Some(part) = patch.parts().get(k) {
                    (grid, at) = (*part.grid(), part.at());
                }
                arrays[0].extend([grid.nx as f64, grid.ny as f64]);
                arrays[1].extend([grid.dx, grid.dy]);
                arrays[2].extend([at.x, at.y, at.theta]);
            }
        }
        Some(Self { most, arrays })
    }

    /// What a file of so many tables says; none if it has patches by themselves.
    ///
    /// # Errors
    /// Arrays that cannot be read, or of another size.
    pub fn read(path: &Path, file: &mut Npz, tables: usize) -> Result<Option<Self>, PatchError> {
        if !file.names().iter().any(|name| name == ARRAYS[0].0) {
            return Ok(None);
        }
        let mut arrays: [Vec<f64>; 3] = Default::default();
        for (to, (name, _)) in arrays.iter_mut().zip(ARRAYS) {
            *to = file.numbers(name)?;
        }
        let most = arrays[0].len() / (ARRAYS[0].1 * tables.max(1));
        for (array, (name, width)) in arrays.iter().zip(ARRAYS) {
            if array.len() != tables * most * width {
                let reason = format!("{name} has {} numbers: expected {}", array.len(), tables * most * width);
                return Err(PatchError::File { path: path.to_owned(), reason });
            }
        }
        Ok(Some(Self { most, arrays }))
    }

    /// The compound patch of a table whose cells have these `weights`; none if the table is of one patch by
    /// itself.
    ///
    /// # Errors
    /// As [`Patch::compound`]; another number of weights than of cells.
    pub fn patch(&self, table: usize, weights: &[f64]) -> Result<Option<Patch>, PatchError> {
        let number = |array: usize, k: usize, c: usize| {
            let width = ARRAYS[array].1;
            self.arrays[array][(table * self.most + k) * width + c]
        };
        let (mut placed, mut rest) = (Vec::new(), weights);
        for k in (0..self.most).take_while(|k| number(0, *k, 0) > 0.0) {
            let [nx, ny] = [0, 1].map(|c| number(0, k, c) as usize);
            let [width, height] = [nx as f64 * number(1, k, 0), ny as f64 * number(1, k, 1)];
            let grid = Grid::new(nx, ny, width, height)?;
            let Some((own, others)) = rest.split_at_checked(grid.len()) else {
                let accepted = format!("one for each of the {} x {} cells of patch {k}", grid.nx, grid.ny);
                return Err(ParameterError::new("weights", format!("{} numbers", weights.len()), accepted).into());
            };
            rest = others;
            let force: f64 = own.iter().sum();
            // A patch that carries nothing has no map of its own.
            let uniform = vec![1.0; grid.len()];
            let patch = Patch::from_pressure(grid, if force > 0.0 { own } else { &uniform })?;
            placed.push(Placed {
                patch,
                at: Pose::new(number(2, k, 0), number(2, k, 1), number(2, k, 2)),
                force,
                friction: 1.0,
            });
        }
        if placed.is_empty() { Ok(None) } else { Patch::compound(&placed).map(Some) }
    }
}
