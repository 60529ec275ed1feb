//! The page of a rollout.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::ReportError;
use super::run::{Run, drawn, read};
use crate::limit_surface::{Rule, Surface, Table as LimitTable};
use crate::page::{Chart, Document, Line, Part, Picture, Scale, Table, ink, phases};
use crate::planar::Wrench;
use crate::scenario::Scenario;
use crate::statistics::{quantile, rank_correlation};
use crate::surfaces::outline;

/// Most contacts drawn as lines, and drawn as phases.
const LINES: usize = 60;
const PHASES: usize = 60;
/// Most parameters drawn against the outcome.
const PARAMETERS: usize = 6;

pub(super) fn document(dir: &Path) -> Result<Document, ReportError> {
    let path = dir.join("run.json");
    let text = fs::read_to_string(&path).map_err(|source| ReportError::Io { path: path.clone(), source })?;
    let record: Value = serde_json::from_str(&text).map_err(|e| ReportError::file(&path, format!("not JSON: {e}")))?;
    let run = read(&dir.join("trajectories.npz"))?;
    let parameters = drawn(&dir.join("contacts.npz"))?;
    let scenario = Scenario::load(&dir.join("scenario.toml"), &[])?;
    let mut parts = vec![outcomes(&run, &record), motion(&run), slip(&run), wrenches(&run, &scenario)?];
    parts.push(causes(&run, &parameters));
    parts.push(failures(&run, &parameters));
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let word = |key: &str| record["summary"][key].as_str().unwrap_or("?").to_owned();
    let number = |key: &str| record["summary"][key].as_f64().unwrap_or(f64::NAN);
    let intro = vec![format!(
        "{} contacts over {} s, seed {}, on {} ({}, {}) in {:.2} s with steps of at most {} s; bristle {}.",
        run.fates.len(),
        record["duration"],
        record["seed"],
        word("engine"),
        word("precision"),
        word("adapter"),
        number("wall_s"),
        record["step"],
        record["bristle"].as_str().unwrap_or("?"),
    )];
    let key = vec![(ink::OTHER, "stuck"), (ink::GRID, "slipped"), (ink::SURFACE, "spun"), (ink::BAD, "failed")];
    Ok(Document { title: format!("Run {name}"), intro, key, groups: vec![(String::new(), parts)] })
}

/// Tenth, half and nine tenths of the contacts at every time.
fn quantiles(time: &[f64], series: &[Vec<f64>]) -> [Vec<f64>; 3] {
    [0.1, 0.5, 0.9].map(|q| {
        let at = |i: usize| quantile(&series.iter().map(|s| s[i]).collect::<Vec<_>>(), q);
        (0..time.len()).map(at).collect()
    })
}

fn share(values: &[f64]) -> [Vec<f64>; 2] {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let rank = (0..sorted.len()).map(|i| (i as f64 + 1.0) / n).collect();
    [sorted, rank]
}

fn outcomes(run: &Run, record: &Value) -> Part {
    let status = &record["summary"]["status"];
    let n = run.fates.len() as f64;
    let mut table = Table::new("", &["outcome", "contacts", "share"]);
    for (key, how) in [
        ("stuck", "neither slipped nor spun"),
        ("slipped", "slipped by more than 0.1 mm"),
        ("spun", "turned by more than 1\u{b0}"),
        ("failed", "became non-finite"),
        ("unconverged", "had velocity solves that did not converge"),
    ] {
        let count = status[key].as_f64().unwrap_or(f64::NAN);
        table.row([how.to_owned(), format!("{count}"), format!("{:.1} %", 100.0 * count / n)]);
    }
    let displacement: Vec<f64> = run.fates.iter().map(|f| 1e3 * f.displacement).collect();
    let rotation: Vec<f64> = run.fates.iter().map(|f| f.rotation.to_degrees()).collect();
    let mut numbers = Table::new("Quantiles over the contacts", &["", "least", "10 %", "median", "90 %", "greatest"]);
    let chart = |title: &str, x: &str, values: &[f64]| {
        let [value, rank] = share(values);
        Chart::new(title, x, "share of contacts below")
            .y_range(0.0, 1.02)
            .line(Line::new(ink::GRID, &value, &rank))
            .svg()
    };
    for (name, values) in [("displacement [mm]", &displacement), ("rotation [\u{b0}]", &rotation)] {
        let cells = [0.0, 0.1, 0.5, 0.9, 1.0].map(|q| format!("{:.4}", quantile(values, q)));
        numbers.row([name.to_owned()].into_iter().chain(cells));
    }
    let panels = vec![
        chart("Displacement", "from start to end [mm]", &displacement),
        chart("Rotation", "from start to end [\u{b0}]", &rotation),
    ];
    Part {
        id: "outcomes".into(),
        title: "Outcomes".into(),
        pictures: vec![Picture::new(
            panels,
            "Share of the contacts that moved less. Displacement is that of the body's point at the centre of pressure.",
        )],
        tables: vec![table, numbers],
        ..Part::default()
    }
}

/// Contacts as thin lines and their quantiles as a band.
fn spread(run: &Run, title: &str, y: &str, series: &[Vec<f64>]) -> String {
    let [low, middle, high] = quantiles(&run.time, series);
    let mut chart = Chart::new(title, "t [s]", y).band(ink::OTHER, &run.time, &low, &high);
    for i in run.some(LINES) {
        chart = chart.line(Line::new(run.colour(run.chosen[i]), &run.time, &series[i]).width(0.5));
    }
    chart.line(Line::new(ink::TEXT, &run.time, &middle).width(2.0).label("median")).svg()
}

fn motion(run: &Run) -> Part {
    // From the start: bodies that begin elsewhere are compared by how they move.
    let moved = |c: usize, unit: f64| -> Vec<Vec<f64>> {
        let from_start = |p: &Vec<f64>| {
            let q = Run::component(p, c);
            q.iter().map(|v| unit * (v - q[0])).collect()
        };
        run.pose.iter().map(from_start).collect()
    };
    let (x, y, angle) = (moved(0, 1e3), moved(1, 1e3), moved(2, 1f64.to_degrees()));
    let mut path = Chart::new("Paths from the start", "x [mm]", "y [mm]").equal();
    for i in run.some(LINES) {
        path = path.line(Line::new(run.colour(run.chosen[i]), &x[i], &y[i]).width(0.7));
    }
    let panels = vec![
        spread(run, "Along x", "x [mm]", &x),
        spread(run, "Along y", "y [mm]", &y),
        spread(run, "Rotation", "\u{3b8} [\u{b0}]", &angle),
        path.svg(),
    ];
    let caption = format!(
        "Band: from the tenth to the ninetieth percentile of {} contacts; thin lines: {} of them, by outcome.",
        run.chosen.len(),
        run.some(LINES).len()
    );
    Part {
        id: "motion".into(),
        title: "Motion".into(),
        pictures: vec![Picture::new(panels, caption)],
        ..Part::default()
    }
}

fn slip(run: &Run) -> Part {
    let n = run.slip.len() as f64;
    let mean: Vec<f64> =
        (0..run.time.len()).map(|i| run.slip.iter().map(|s| s[i]).filter(|v| v.is_finite()).sum::<f64>() / n).collect();
    let sliding = |i: usize| run.slip.iter().filter(|s| s[i] > 0.5).count() as f64 / n;
    let share: Vec<f64> = (0..run.time.len()).map(sliding).collect();
    let chart = Chart::new("Slip over time", "t [s]", "share")
        .y_range(0.0, 1.05)
        .line(Line::new(ink::GRID, &run.time, &mean).label("mean slip"))
        .line(Line::new(ink::SURFACE, &run.time, &share).label("contacts that slide"));
    let mut order = run.some(PHASES);
    order.sort_by(|a, b| run.fates[run.chosen[*a]].displacement.total_cmp(&run.fates[run.chosen[*b]].displacement));
    let rows: Vec<&[f64]> = order.iter().map(|i| run.slip[*i].as_slice()).collect();
    let end = run.time.last().copied().unwrap_or(1.0);
    let panels = vec![chart.svg(), phases("Slip and stick of single contacts", &run.time, &rows, end)];
    let normal = vec![spread(run, "Normal force of a pad", "fN [N]", &run.normal_force)];
    Part {
        id: "slip".into(),
        title: "Slip and stick".into(),
        pictures: vec![
            Picture::new(
                panels,
                "Slip is the share of the normal force on sliding bristles; a contact slides here if it is more than a half. Each row is a contact, those that moved most at the bottom; blue: sliding.",
            ),
            Picture::new(normal, ""),
        ],
        ..Part::default()
    }
}

/// Wrench paths of the contacts at the tenth, half and nine tenths of the displacement.
fn wrenches(run: &Run, scenario: &Scenario) -> Result<Part, ReportError> {
    let mut by_fate: Vec<usize> = (0..run.chosen.len()).filter(|i| run.failed[run.chosen[*i]] < 0.0).collect();
    by_fate.sort_by(|a, b| run.fates[run.chosen[*a]].displacement.total_cmp(&run.fates[run.chosen[*b]].displacement));
    let mut pictures = Vec::new();
    let mut picks: Vec<usize> = [0.1, 0.5, 0.9]
        .iter()
        .filter_map(|q| by_fate.get((q * by_fate.len().saturating_sub(1) as f64).round() as usize).copied())
        .collect();
    picks.dedup();
    for i in picks {
        let k = run.chosen[i];
        let contact = scenario.contact(k as u64)?;
        // A map that follows the force is taken at the mean one.
        let force = &run.normal_force[i];
        let mean = force.iter().sum::<f64>() / force.len() as f64;
        let patch = contact.patch.under(mean);
        let surface = Surface::new(&patch, Rule::Cells);
        let (cop, r) = (patch.cop(), surface.radius());
        let mu = |t: f64| contact.inputs.mu_c.as_ref().map_or(contact.friction.mu_c, |mu| mu.value(t));
        let Ok(table) = LimitTable::of(&surface, 20) else { continue };
        let path: Vec<[f64; 3]> = run.wrench[i]
            .chunks_exact(3)
            .zip(force.iter().zip(&run.time))
            .filter(|(_, (f_n, _))| **f_n > 0.0)
            .map(|(w, (f_n, t))| {
                let w = Wrench::new(w[0], w[1], w[2]).about(cop);
                [w.fx, w.fy, if r > 0.0 { w.tau / r } else { 0.0 }].map(|v| v / (mu(*t) * f_n))
            })
            .collect();
        let axis = |c: usize| path.iter().map(|p| p[c]).collect::<Vec<f64>>();
        let panel = |c: usize| {
            let edge = outline(&table, c, 1 - c);
            let close = |j: usize| edge.iter().chain(edge.first()).map(|p| p[j]).collect::<Vec<f64>>();
            let name = ["fx", "fy"][c];
            Chart::new(format!("Contact {k}"), format!("{name} / (\u{3bc}c fN)"), "\u{3c4} / (\u{3bc}c fN r)")
                .equal()
                .height(360.0)
                .line(Line::new(ink::OTHER, &close(0), &close(1)).dashed().label("limit surface"))
                .line(Line::new(run.colour(k), &axis(c), &axis(2)).label("wrench"))
                .svg()
        };
        let fate = run.fates[k];
        let caption = format!(
            "Contact {k} moves by {:.3} mm and {:.2}\u{b0}. The limit surface is cut where the other force is zero.",
            1e3 * fate.displacement,
            fate.rotation.to_degrees()
        );
        pictures.push(Picture::new(vec![panel(0), panel(1)], caption));
    }
    let about = "Friction of one pad about the centre of pressure, over what it can be. A path inside sticks, one on the edge slides; static and viscous friction reach beyond.";
    Ok(Part {
        id: "wrenches".into(),
        title: "Wrenches on the limit surface".into(),
        lead: vec![("Shown".into(), about.into())],
        pictures,
        ..Part::default()
    })
}

fn causes(run: &Run, parameters: &[(String, Vec<f64>)]) -> Part {
    let displacement: Vec<f64> = run.fates.iter().map(|f| 1e3 * f.displacement).collect();
    let rotation: Vec<f64> = run.fates.iter().map(|f| f.rotation.abs().to_degrees()).collect();
    let mut found: Vec<(&str, &[f64], [f64; 2])> = parameters
        .iter()
        .map(|(name, v)| {
            (name.as_str(), v.as_slice(), [rank_correlation(v, &displacement), rank_correlation(v, &rotation)])
        })
        .filter(|(_, _, c)| c.iter().any(|c| c.is_finite()))
        .collect();
    let strength = |c: &[f64; 2]| c[0].abs().max(c[1].abs());
    found.sort_by(|a, b| strength(&b.2).total_cmp(&strength(&a.2)));
    let mut table =
        Table::new("Rank correlation with the outcome, -1 to 1", &["parameter", "displacement", "rotation (size)"]);
    for (name, _, c) in &found {
        table.row([(*name).to_owned(), format!("{:.2}", c[0]), format!("{:.2}", c[1])]);
    }
    let colours = [ink::OTHER, ink::GRID, ink::SURFACE, ink::BAD];
    let panel = |name: &str, values: &[f64]| {
        let mut chart = Chart::new("", name, "displacement [mm]");
        let positive = displacement.iter().all(|d| !(*d <= 0.0));
        if positive && quantile(&displacement, 0.9) > 100.0 * quantile(&displacement, 0.1) {
            chart = chart.scales(Scale::Linear, Scale::Log);
        }
        for colour in colours {
            let of: Vec<usize> = run.chosen.iter().copied().filter(|k| run.colour(*k) == colour).collect();
            let pick = |v: &[f64]| of.iter().map(|k| v[*k]).collect::<Vec<f64>>();
            if !of.is_empty() {
                chart = chart.line(Line::new(colour, &pick(values), &pick(&displacement)).dots());
            }
        }
        chart.svg()
    };
    let panels: Vec<String> = found.iter().take(PARAMETERS).map(|(name, v, _)| panel(name, v)).collect();
    let lead = if found.is_empty() {
        vec![(
            "Shown".to_owned(),
            "Every parameter is the same for all contacts, or all contacts end alike.".to_owned(),
        )]
    } else {
        Vec::new()
    };
    let (pictures, tables) = if found.is_empty() {
        (vec![], vec![])
    } else {
        (vec![Picture::new(panels, "The parameters that matter most, by outcome.")], vec![table])
    };
    Part {
        id: "parameters".into(),
        title: "Parameters against outcome".into(),
        lead,
        pictures,
        tables,
        ..Part::default()
    }
}

fn failures(run: &Run, parameters: &[(String, Vec<f64>)]) -> Part {
    const LISTED: usize = 30;
    let bad: Vec<usize> = (0..run.fates.len()).filter(|k| run.status[*k] != 0.0).collect();
    let failed = bad.iter().filter(|k| run.failed[**k] >= 0.0).count();
    let mut part = Part { id: "failures".into(), title: "Failures".into(), ..Part::default() };
    let said = if bad.is_empty() {
        "None: every contact stayed finite and every velocity solve converged.".to_owned()
    } else {
        format!(
            "{failed} contacts became non-finite; {} others had velocity solves that did not converge in three iterations. A smaller `--step` helps.",
            bad.len() - failed
        )
    };
    part.lead.push(("Found".into(), said));
    if bad.is_empty() {
        return part;
    }
    let mut table = Table::new(
        format!("The first {} of {}", bad.len().min(LISTED), bad.len()),
        &["contact", "failed at step", "unconverged solves"],
    );
    let shown: Vec<&(String, Vec<f64>)> = parameters.iter().take(6).collect();
    table.head.extend(shown.iter().map(|p| p.0.clone()));
    for k in bad.into_iter().take(LISTED) {
        let step = if run.failed[k] >= 0.0 { format!("{}", run.failed[k]) } else { "-".into() };
        let values = shown.iter().map(|p| format!("{:.5}", p.1[k]));
        table.row([format!("{k}"), step, format!("{}", run.unconverged[k])].into_iter().chain(values));
    }
    part.tables.push(table);
    part
}
