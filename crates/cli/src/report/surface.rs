//! The page of one limit surface or a sweep of them.

use std::path::Path;

use serde_json::Value;

use super::ReportError;
use bristle::limit_surface::{Ellipsoid, Quartic, Rule, Surface, Table as LimitTable};
use bristle::patch::{Grid, Patch};
use bristle_paper::page::{Chart, Document, Key, Line, Part, Picture, Table, heat, palette};
use bristle_paper::surface_picture::{outline, solid};
use bristle_scenario::input::Npz;

/// Most tables of a sweep that are drawn.
const DRAWN: usize = 6;

/// A table of the file and what it is called.
struct Entry {
    name: String,
    patch: Patch,
    table: LimitTable,
}

pub(super) fn document(path: &Path) -> Result<Document, ReportError> {
    let mut file = Npz::open(path)?;
    let metadata = file.json("metadata")?;
    let rule: Rule = metadata["rule"]
        .as_str()
        .unwrap_or_default()
        .parse()
        .map_err(|e: bristle::error::ParameterError| ReportError::file(path, e.to_string()))?;
    let n_ls = metadata["n_ls"].as_u64().unwrap_or(0) as usize;
    let entries = entries(path, &mut file, &metadata, rule, n_ls)?;
    let mut parts = Vec::new();
    if entries.len() > 1 {
        parts.push(over_sweep(&mut file, &metadata, &entries)?);
    }
    let count = entries.len();
    let shown = count.min(DRAWN);
    parts.extend((0..shown).map(|i| part(&entries[i * count / shown], i)));
    let intro = vec![format!(
        "{count} limit surface{} by the rule {}, N_ls = {n_ls}{}.",
        if count == 1 { "" } else { "s" },
        rule.name(),
        if shown < count { format!("; {shown} of them are drawn") } else { String::new() }
    )];
    let title = format!("Limit surfaces of {}", path.file_name().unwrap_or_default().to_string_lossy());
    let key = vec![Key::new(palette::SURFACE, "limit surface"), Key::dashed(palette::ELLIPSOID, "ellipsoid")];
    Ok(Document { title, intro, key, groups: vec![(String::new(), parts)] })
}

fn entries(path: &Path, file: &mut Npz, metadata: &Value, rule: Rule, n_ls: usize) -> Result<Vec<Entry>, ReportError> {
    let shape = file.shape("weights")?;
    let whole = file.numbers("weights")?;
    let wrong = |e: String| ReportError::file(path, e);
    let entry = |name: String, grid: [f64; 4], weights: &[f64]| -> Result<Entry, ReportError> {
        let [nx, ny, dx, dy] = grid;
        let grid = Grid::new(nx as usize, ny as usize, nx * dx, ny * dy).map_err(|e| wrong(e.to_string()))?;
        let patch = Patch::from_pressure(grid, weights).map_err(|e| wrong(e.to_string()))?;
        let table = LimitTable::new(&patch, rule, n_ls).map_err(|e| wrong(e.to_string()))?;
        Ok(Entry { name, patch, table })
    };
    let pair = |v: &Value, k: usize| v[k].as_f64().unwrap_or(0.0);
    let &[count, rows, columns] = shape.as_slice() else {
        let (cells, size) = (&metadata["cells"], &metadata["cell_m"]);
        let grid = [pair(cells, 0), pair(cells, 1), pair(size, 0), pair(size, 1)];
        return Ok(vec![entry("Limit surface".into(), grid, &whole)?]);
    };
    let (cells, sizes) = (file.numbers("cells")?, file.numbers("cell_m")?);
    let fits = |cell: &[f64]| cell[0] <= columns as f64 && cell[1] <= rows as f64;
    if count == 0 || [&cells, &sizes].iter().any(|v| v.len() != 2 * count) || !cells.chunks_exact(2).all(fits) {
        return Err(wrong(format!(
            "weights have shape {shape:?}, cells {} numbers and cell_m {}: expected two for every table, \
             within its weights",
            cells.len(),
            sizes.len()
        )));
    }
    (0..count)
        .map(|k| {
            let (nx, ny) = (cells[2 * k] as usize, cells[2 * k + 1] as usize);
            let at = |i: usize, j: usize| whole[(k * rows + j) * columns + i];
            let weights: Vec<f64> = (0..ny).flat_map(|j| (0..nx).map(move |i| (i, j))).map(|(i, j)| at(i, j)).collect();
            entry(format!("Table {k}"), [nx as f64, ny as f64, sizes[2 * k], sizes[2 * k + 1]], &weights)
        })
        .collect()
}

fn over_sweep(file: &mut Npz, metadata: &Value, entries: &[Entry]) -> Result<Part, ReportError> {
    let radius: Vec<f64> = entries.iter().map(|e| 1e3 * e.table.radius()).collect();
    let viscous: Vec<f64> = entries.iter().map(|e| 1e6 * e.table.patch().viscous()).collect();
    let mut panels = Vec::new();
    for sweep in metadata["sweeps"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let key = sweep["key"].as_str().unwrap_or_default();
        let x = file.numbers(&format!("sweep.{key}"))?;
        let chart = |y: &str, v: &[f64]| Chart::new("", key, y).line(Line::new(palette::SURFACE, &x, v).dots()).svg();
        panels.extend([chart("r [mm]", &radius), chart("u [mm\u{b2}]", &viscous)]);
    }
    let caption =
        "Torsional radius and viscous factor of every table; a key without numbers has the index of its value.";
    Ok(Part {
        id: "sweep".into(),
        title: "Over the sweep".into(),
        pictures: vec![Picture::new(panels, caption)],
        ..Part::default()
    })
}

fn part(entry: &Entry, index: usize) -> Part {
    let table = &entry.table;
    let surface = Surface::new(&entry.patch, table.rule());
    let ((_, ellipsoid), (_, quartic)) = (Ellipsoid::fit(&surface), Quartic::fit(&surface));
    let circle: Vec<[f64; 2]> = (0..=180).map(|d| (f64::from(d) * 2.0).to_radians().sin_cos().into()).collect();
    let section = |axis: usize| {
        let edge = outline(table, axis, 1 - axis);
        let close = |p: &[[f64; 2]], c: usize| p.iter().chain(p.first()).map(|q| q[c]).collect::<Vec<f64>>();
        let name = ["x", "y"][axis];
        Chart::new(
            format!("Section through f{name} and \u{3c4}"),
            format!("f{name} / (\u{3bc} fN)"),
            "\u{3c4} / (\u{3bc} fN r)",
        )
        .equal()
        .height(360.0)
        .line(Line::new(palette::ELLIPSOID, &close(&circle, 0), &close(&circle, 1)).dashed().label("ellipsoid"))
        .line(Line::new(palette::SURFACE, &close(&edge, 0), &close(&edge, 1)).label("limit surface"))
        .svg()
    };
    let [x, y] = table.patch().cop().map(|c| (1e6 * c).round() / 1e3 + 0.0);
    let mut numbers = Table::new("", &["", ""]);
    for (name, value) in [
        ("torsional radius r [mm]", format!("{:.4}", 1e3 * table.radius())),
        ("viscous factor u [mm\u{b2}]", format!("{:.4}", 1e6 * table.patch().viscous())),
        ("centre of pressure [mm]", format!("{x:.3}, {y:.3}")),
        ("greatest power of friction over all look-ups, unit motion", format!("{:.4}", table.passivity(2).largest)),
        (
            "ellipsoid off by at most",
            format!("{:.1} %, {:.1}\u{b0}", 100.0 * ellipsoid.max, ellipsoid.max_angle.to_degrees()),
        ),
        (
            "quartic off by at most",
            format!("{:.1} %, {:.1}\u{b0}", 100.0 * quartic.max, quartic.max_angle.to_degrees()),
        ),
    ] {
        numbers.row([name.to_owned(), value]);
    }
    let map = heat(
        "Pressure",
        &format!("{} cells", entry.patch.cells().len()),
        table.patch().grid().nx,
        table.patch().weights(),
        palette::GRID,
    );
    Part {
        id: format!("table{index}"),
        title: entry.name.clone(),
        pictures: vec![Picture::new(
            vec![map, solid(table), section(0), section(1)],
            "Dots on the body: motions six degrees apart.",
        )],
        tables: vec![numbers],
        ..Part::default()
    }
}
