//! Writes the NPZ file of a sweep. A file appears under its name only when it is complete.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::margins::PressedPatch;
use super::parts::{self, Parts};
use super::sweep::{Case, Sweep, combinations, save_sweeps};
use crate::rollout::RolloutError;
use crate::rollout::npz::Npz;
use crate::table_file;
use bristle::error::PatchError;
use bristle::limit_surface::{Rule, Table};
use bristle::patch::{Grid, Patch};
use bristle_scenario::input;

const FORMAT: &str = "bristle limit surfaces 1";

/// Lets `write` make the file `path`: it appears when it is complete and lasts, and not at all if `write`
/// fails.
///
/// # Errors
/// Those of `write`, or what the machine says.
pub fn publish<E>(
    path: &Path,
    io: impl Fn(PathBuf, std::io::Error) -> E,
    write: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    // The name contains the number of this process, so that no other process writes the same file.
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    let partial = path.with_file_name(name);
    let appear = || {
        fs::File::options().write(true).open(&partial)?.sync_all()?;
        fs::rename(&partial, path)
    };
    let done = write(&partial).and_then(|()| appear().map_err(|e| io(path.to_owned(), e)));
    if done.is_err() {
        // The first error is reported, not one of the removal.
        let _ = fs::remove_file(&partial);
    }
    done
}

/// Writes the tables of a sweep as NPZ. As in `Table::save`, with the table as leading axis; `r`, `u`,
/// `mu`, `f_n` `(tables)`, `cop`, `centre`, `cells`, `cell_m` `(tables, 2)`; `weights` `(tables, ny, nx)` of
/// the largest grid, NaN beyond a smaller one; of several patches `patch_cells`, `patch_cell_m`, `patch_at`
/// `(tables, patches, ..)`, 0 where a table has fewer patches; `sweep.<key>` `(tables)` for keys with
/// numbers, else the index into the values that `metadata` lists; `single_precision` there is a list.
///
/// # Errors
/// What the machine says.
pub fn save(path: &Path, tables: &[Table], cases: &[Case], sweeps: &[Sweep]) -> Result<(), RolloutError> {
    let Some(first) = tables.first() else { return Ok(()) };
    let (count, n) = (tables.len() as u64, first.n_ls());
    let shape = [count, 4 * n as u64 + 1, n as u64 + 1, 3];
    let load = |case: &Case| (case.source.mu.unwrap_or(1.0), case.source.f_n.unwrap_or(1.0));
    let mut npz = Npz::create(path)?;
    let twists =
        tables.iter().flat_map(|t| (0..=4 * n).flat_map(move |i| (0..=n).flat_map(move |j| t.twist(i, j).to_array())));
    npz.array("twists", &shape, twists)?;
    npz.array("h", &shape, tables.iter().flat_map(|t| t.nodes().iter().flatten().copied()))?;
    let wrenches = tables.iter().zip(cases).flat_map(|(t, case)| {
        let (mu, f_n) = load(case);
        t.nodes().iter().flat_map(move |[x, y, z]| [mu * f_n * x, mu * f_n * y, mu * f_n * t.radius() * z])
    });
    npz.array("wrenches", &shape, wrenches)?;
    npz.array("r", &[count], tables.iter().map(Table::radius))?;
    npz.array("u", &[count], tables.iter().map(|t| t.patch().viscous()))?;
    npz.array("cop", &[count, 2], tables.iter().flat_map(|t| t.patch().cop()))?;
    npz.array("centre", &[count, 2], tables.iter().flat_map(Table::centre))?;
    npz.array("mu", &[count], cases.iter().map(|c| load(c).0))?;
    npz.array("f_n", &[count], cases.iter().map(|c| load(c).1))?;
    npz.array(
        "cells",
        &[count, 2],
        tables.iter().flat_map(|t| [t.patch().grid().nx as i64, t.patch().grid().ny as i64]),
    )?;
    npz.array("cell_m", &[count, 2], tables.iter().flat_map(|t| [t.patch().grid().dx, t.patch().grid().dy]))?;
    let largest = |of: fn(&Table) -> usize| tables.iter().map(of).max().unwrap_or(0);
    let (nx, ny) = (largest(|t| t.patch().grid().nx), largest(|t| t.patch().grid().ny));
    let weights = tables.iter().flat_map(|t| {
        let weight = |i: usize, j: usize| {
            if i < t.patch().grid().nx && j < t.patch().grid().ny {
                t.patch().weights()[j * t.patch().grid().nx + i]
            } else {
                f64::NAN
            }
        };
        (0..ny).flat_map(move |j| (0..nx).map(move |i| weight(i, j)))
    });
    npz.array("weights", &[count, ny as u64, nx as u64], weights)?;
    if let Some(Parts { most, arrays }) = Parts::of(&tables.iter().map(Table::patch).collect::<Vec<_>>()) {
        for ((name, width), values) in parts::ARRAYS.into_iter().zip(arrays) {
            npz.array(name, &[count, most as u64, width as u64], values)?;
        }
    }
    save_sweeps(&mut npz, sweeps)?;
    let metadata = json!({
        "format": FORMAT,
        "version": env!("CARGO_PKG_VERSION"),
        "rule": first.rule().name(),
        "n_ls": n,
        "single_precision": tables.iter().map(Table::is_single).collect::<Vec<_>>(),
        "at_origin": first.is_at_origin(),
        "tables": count,
        "sweeps": sweeps.iter().map(|s| json!({ "key": s.key, "values": s.values })).collect::<Vec<_>>(),
        "conventions": "SI; twists (vx, vy, w) and wrenches (fx, fy, tau) at `centre`, patch frame; u about cop; \
            friction on the moving body; axes [table, theta, phi, component]; h = (fx, fy, tau/r)/(mu f_n); weights \
            [table, row from the bottom, column], NaN beyond a table's own grid; the last sweep runs fastest",
    });
    let text = metadata.to_string().into_bytes();
    npz.array("metadata", &[text.len() as u64], text)?;
    npz.finish().map(drop)
}

/// The patches of an NPZ of `Table::save` or [`save`], with the coefficient and force that it says, and the
/// sweeps that made them.
///
/// # Errors
/// A file that cannot be read, or is no such file.
pub fn load(path: &Path) -> Result<(Vec<PressedPatch>, Vec<Sweep>), PatchError> {
    let mut file = input::Npz::open(path)?;
    let metadata = file.json("metadata")?;
    if metadata["format"] != FORMAT {
        let (table, (mu, f_n)) = (table_file::load(path)?, table_file::saved_load(path)?);
        return Ok((vec![PressedPatch { patch: table.patch().clone(), rule: table.rule(), mu, f_n }], Vec::new()));
    }
    let wrong = |reason: String| PatchError::File { path: path.to_owned(), reason };
    let rule: Rule = metadata["rule"].as_str().unwrap_or_default().parse()?;
    let sweeps: Vec<Sweep> =
        serde_json::from_value(metadata["sweeps"].clone()).map_err(|e| wrong(format!("sweeps: {e}")))?;
    let (shape, weights) = (file.shape("weights")?, file.numbers("weights")?);
    let &[count, ny, nx] = shape.as_slice() else { return Err(wrong(format!("weights of shape {shape:?}"))) };
    let mut array = |name: &str, each: usize| {
        let (shape, values) = (file.shape(name)?, file.numbers(name)?);
        let expected = count.saturating_mul(each);
        if values.len() == expected {
            Ok(values)
        } else {
            Err(wrong(format!("{name} of shape {shape:?}: expected {expected} numbers")))
        }
    };
    let (cells, cell_m, mu, f_n) = (array("cells", 2)?, array("cell_m", 2)?, array("mu", 1)?, array("f_n", 1)?);
    if count == 0 || combinations(&sweeps) != count {
        return Err(wrong(format!(
            "{count} tables: expected one or more, and one for every combination of the sweeps"
        )));
    }
    let parts = Parts::read(path, &mut file, count)?;
    let patch = |k: usize| {
        let [columns, rows] = [0, 1].map(|axis| cells[2 * k + axis] as usize);
        if columns > nx || rows > ny {
            return Err(wrong(format!("table {k} has {columns} x {rows} cells: expected at most {nx} x {ny}")));
        }
        let grid = Grid::new(columns, rows, columns as f64 * cell_m[2 * k], rows as f64 * cell_m[2 * k + 1])?;
        let row = |j: usize| &weights[(k * ny + j) * nx..][..columns];
        let map: Vec<f64> = (0..rows).flat_map(row).copied().collect();
        let compound = parts.as_ref().map(|parts| parts.patch(k, &map)).transpose().map(Option::flatten);
        let patch = compound.and_then(|compound| compound.map_or_else(|| Patch::from_pressure(grid, &map), Ok));
        let patch = patch.map_err(|e| wrong(format!("table {k}: {e}")))?;
        Ok(PressedPatch { patch, rule, mu: mu[k], f_n: f_n[k] })
    };
    Ok(((0..count).map(patch).collect::<Result<_, _>>()?, sweeps))
}
