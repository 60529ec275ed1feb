//! Tables as NPZ files, which NumPy opens with `numpy.load`.

use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::Path;

use npyz::WriterBuilder;
use serde::{Deserialize, Serialize};
use zip::write::{SimpleFileOptions, ZipWriter};

use bristle::error::{ParameterError, PatchError};
use bristle::limit_surface::{Rule, Table};
use bristle::patch::{Grid, Patch};
use bristle_scenario::input::Npz;

use crate::disk::FirstError;
use crate::surfaces::parts::{self, Parts};

/// What an NPZ says beside its arrays, as JSON in the bytes of `metadata`.
#[derive(Serialize, Deserialize)]
struct Metadata {
    format: String,
    rule: String,
    n_ls: usize,
    /// Whether the nodes are exact to single precision only; files that do not say are not.
    #[serde(default)]
    single_precision: bool,
    /// Whether `centre` is the origin of the patch; of files that do not say it is the centre of pressure.
    #[serde(default)]
    at_origin: bool,
    mu: f64,
    normal_force_n: f64,
    cells: [usize; 2],
    cell_m: [f64; 2],
    conventions: String,
}

const FORMAT: &str = "bristle limit surface 1";
const CONVENTIONS: &str = "SI; twists (vx, vy, w) and wrenches (fx, fy, tau) at `centre`, patch frame; \
u about cop; friction on the moving body; axes [theta, phi, component]; h = (fx, fy, tau/r)/(mu f_N); \
weights [row from the bottom, column]";

/// Writes the table as NPZ: `twists`, `h` (normalised) and `wrenches` (for `mu` [-] and `f_n` \[N\]), all
/// of shape `(4 N_ls + 1, N_ls + 1, 3)`; `r` \[m\], `u` [m^2]; `cop` and `centre` \[m\]; `weights`
/// `(ny, nx)`, bottom row first; `metadata`, JSON as bytes: `json.loads(bytes(z["metadata"]))`, with
/// `single_precision` for nodes that are exact to that only. Of several patches, `patch_cells`
/// `(patches, 2)`, columns and rows, `patch_cell_m` `(patches, 2)` and `patch_at` `(patches, 3)`, place \[m\]
/// and turn \[rad\]; `weights` are those of all cells in one row, patch after patch, whose sums are the
/// shares of the normal force.
///
/// # Errors
/// A patch whose cells are parallelograms, which the file could not hold; what the machine says when the file
/// cannot be written.
pub fn save(table: &Table, path: &Path, mu: f64, f_n: f64) -> Result<(), PatchError> {
    if table.patch().is_irregular() && table.patch().parts().is_empty() {
        let accepted = "cells that are rectangles, as a file of tables has them";
        return Err(ParameterError::new("table.patch", "another patch", accepted).into());
    }
    let io = |source| PatchError::Io { path: path.to_owned(), source };
    let file = File::create(path).map_err(io)?;
    write(table, BufWriter::new(FirstError::new(file)), mu, f_n).map_err(io)
}

fn write(table: &Table, sink: BufWriter<FirstError<File>>, mu: f64, f_n: f64) -> std::io::Result<()> {
    let n = table.n_ls();
    let shape = [4 * n as u64 + 1, n as u64 + 1, 3];
    let twists = (0..=4 * n).flat_map(|i| (0..=n).flat_map(move |j| table.twist(i, j).to_array()));
    let scale = [mu * f_n, mu * f_n, mu * f_n * table.radius()];
    let wrenches = table.nodes().iter().flat_map(|h| [0, 1, 2].map(|k| h[k] * scale[k]));
    let (patch, grid) = (table.patch(), table.patch().grid());
    let metadata = Metadata {
        format: FORMAT.to_owned(),
        rule: table.rule().name().to_owned(),
        n_ls: n,
        single_precision: table.is_single(),
        at_origin: table.is_at_origin(),
        mu,
        normal_force_n: f_n,
        cells: [grid.nx, grid.ny],
        cell_m: [grid.dx, grid.dy],
        conventions: CONVENTIONS.to_owned(),
    };
    let mut zip = ZipWriter::new(sink);
    array(&mut zip, "twists", &shape, twists)?;
    array(&mut zip, "h", &shape, table.nodes().iter().flatten().copied())?;
    array(&mut zip, "wrenches", &shape, wrenches)?;
    array(&mut zip, "r", &[], [table.radius()])?;
    array(&mut zip, "u", &[], [patch.viscous()])?;
    array(&mut zip, "cop", &[2], patch.cop())?;
    array(&mut zip, "centre", &[2], table.centre())?;
    array(&mut zip, "weights", &[grid.ny as u64, grid.nx as u64], patch.weights().iter().copied())?;
    if let Some(Parts { most, arrays }) = Parts::of(&[patch]) {
        for ((name, width), values) in parts::ARRAYS.into_iter().zip(arrays) {
            array(&mut zip, name, &[most as u64, width as u64], values)?;
        }
    }
    let json = serde_json::to_vec(&metadata)?;
    array(&mut zip, "metadata", &[json.len() as u64], json)?;
    let sink = zip.finish().map_err(std::io::Error::from)?.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    sink.into_inner().map(drop)
}

/// Coefficient of friction [-] and normal force \[N\] that a table was saved with.
///
/// # Errors
/// As [`load`].
pub fn saved_load(path: &Path) -> Result<(f64, f64), PatchError> {
    let metadata = metadata(path, &mut Npz::open(path)?)?;
    Ok((metadata.mu, metadata.normal_force_n))
}

/// Reads a table that [`save`] wrote.
///
/// # Errors
/// A file that cannot be read, or that is not such a table.
pub fn load(path: &Path) -> Result<Table, PatchError> {
    let wrong = |reason: String| PatchError::File { path: path.to_owned(), reason };
    let mut file = Npz::open(path)?;
    let metadata = metadata(path, &mut file)?;
    let rule: Rule = metadata.rule.parse()?;
    let ([nx, ny], [dx, dy]) = (metadata.cells, metadata.cell_m);
    let grid = Grid::new(nx, ny, nx as f64 * dx, ny as f64 * dy)?;
    let (weights, parts) = (file.numbers("weights")?, Parts::read(path, &mut file, 1)?);
    let compound = parts.map(|parts| parts.patch(0, &weights)).transpose()?.flatten();
    let patch = compound.map_or_else(|| Patch::from_pressure(grid, &weights), Ok)?;
    let flat = file.numbers("h")?;
    let expected = 3usize
        .saturating_mul(metadata.n_ls.saturating_mul(4).saturating_add(1))
        .saturating_mul(metadata.n_ls.saturating_add(1));
    if metadata.n_ls == 0 || flat.len() != expected {
        return Err(wrong(format!("h has {} numbers: expected {expected} for n_ls = {}", flat.len(), metadata.n_ls)));
    }
    let &[radius] = file.numbers("r")?.as_slice() else { return Err(wrong("r is not one number".to_owned())) };
    if !flat.iter().all(|h| h.is_finite()) || !(radius.is_finite() && radius >= 0.0) {
        return Err(wrong("h or r: expected finite numbers, r >= 0".to_owned()));
    }
    let h = flat.chunks_exact(3).map(|h| [h[0], h[1], h[2]]).collect();
    let (n_ls, at_origin, is_single) = (metadata.n_ls, metadata.at_origin, metadata.single_precision);
    Ok(Table::from_nodes(patch, rule, n_ls, radius, h, at_origin, is_single))
}

fn metadata(path: &Path, file: &mut Npz) -> Result<Metadata, PatchError> {
    let wrong = |reason: String| PatchError::File { path: path.to_owned(), reason };
    let json = file.json("metadata")?;
    if json["format"].as_str().is_some_and(|format| format.starts_with("bristle limit surfaces")) {
        return Err(wrong(format!(
            "holds {} tables of a sweep: expected one table, or the patch's own file and its `--sweep`",
            json["tables"]
        )));
    }
    if json["format"] != FORMAT {
        return Err(wrong(format!("format {}: expected {FORMAT:?}, one table", json["format"])));
    }
    serde_json::from_value(json).map_err(|e| wrong(format!("metadata: {e}")))
}

fn array<T: npyz::AutoSerialize>(
    zip: &mut ZipWriter<impl Write + Seek>,
    name: &str,
    shape: &[u64],
    values: impl IntoIterator<Item = T>,
) -> std::io::Result<()> {
    zip.start_file(format!("{name}.npy"), SimpleFileOptions::default()).map_err(std::io::Error::from)?;
    let mut bytes = Vec::new();
    let mut npy = npyz::WriteOptions::new().default_dtype().shape(shape).writer(&mut bytes).begin_nd()?;
    npy.extend(values)?;
    npy.finish()?;
    zip.write_all(&bytes)
}
