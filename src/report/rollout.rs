//! The page of a rollout.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::ReportError;
use super::run::{Run, drawn, read};
use crate::engine::UNCONVERGED;
use crate::limit_surface::{Rule, Surface, Table as LimitTable};
use crate::page::{Chart, Document, Key, Line, Part, Picture, Scale, Table, ink, phases, short};
use crate::planar::Wrench;
use crate::rollout::{Outcome, ROTATION_SPUN, SLIPPED};
use crate::scenario::Scenario;
use crate::statistics::{binned, by_chance, dependence, mean, quantile, rank_correlation};
use crate::surfaces::outline;

/// Most contacts drawn as lines, and drawn as phases.
const LINES: usize = 60;
const PHASES: usize = 60;
/// What stands in a table where there is no number.
const NONE: &str = "-";
/// Most parameters drawn against an outcome.
const PARAMETERS: usize = 3;

pub(super) fn document(dir: &Path) -> Result<Document, ReportError> {
    let path = dir.join("run.json");
    let text = fs::read_to_string(&path).map_err(|source| ReportError::Io { path: path.clone(), source })?;
    let record: Value = serde_json::from_str(&text).map_err(|e| ReportError::file(&path, format!("not JSON: {e}")))?;
    let run = read(&dir.join("trajectories.npz"))?;
    let parameters = drawn(&dir.join("contacts.npz"))?;
    let scenario = Scenario::load(&dir.join("scenario.toml"), &[])?;
    let mut parts = vec![outcomes(&run), motion(&run), slip(&run), wrenches(&run, &scenario)?];
    parts.push(causes(&run, &parameters));
    parts.push(failures(&run, &parameters));
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    let word = |key: &str| record["summary"][key].as_str().unwrap_or("?").to_owned();
    let number = |key: &str| record["summary"][key].as_f64().unwrap_or(f64::NAN);
    let steps = match record["tolerance"].as_f64() {
        Some(tolerance) => {
            format!("steps chosen by a tolerance of {tolerance:e} m/s, at most {} s long", record["step"])
        }
        None => format!("steps of at most {} s", record["step"]),
    };
    let intro = vec![format!(
        "{} over {} s, seed {}, on {} ({}, {}) in {:.2} s with {steps}; bristle {}.",
        contacts(run.fates.len()),
        record["duration"],
        record["seed"],
        word("engine"),
        word("precision"),
        word("adapter"),
        number("wall_s"),
        record["bristle"].as_str().unwrap_or("?"),
    )];
    Ok(Document { title: format!("Run {name}"), intro, key: key(&run), groups: vec![(String::new(), parts)] })
}

/// The outcomes that there are.
fn key(run: &Run) -> Vec<Key> {
    let is = |outcome: &Outcome| (0..run.fates.len()).any(|k| run.outcome(k) == *outcome);
    Outcome::ALL.into_iter().filter(is).map(Outcome::key).collect()
}

/// Tenth, half and nine tenths of the contacts at every time.
fn quantiles(time: &[f64], series: &[Vec<f64>]) -> [Vec<f64>; 3] {
    [0.1, 0.5, 0.9].map(|q| {
        let at = |i: usize| quantile(&series.iter().map(|s| s[i]).collect::<Vec<_>>(), q);
        (0..time.len()).map(at).collect()
    })
}

fn contacts(n: usize) -> String {
    format!("{n} contact{}", if n == 1 { "" } else { "s" })
}

fn told(v: f64, digits: usize) -> String {
    if v.is_finite() { short(v, digits) } else { NONE.into() }
}

/// From start to end: displacements [mm], rotations [deg].
fn ends(run: &Run) -> [Vec<f64>; 2] {
    [
        run.fates.iter().map(|f| 1e3 * f.displacement).collect(),
        run.fates.iter().map(|f| f.rotation.to_degrees()).collect(),
    ]
}

/// A scale for sizes on which their median stands apart from the least and the greatest, and its range; `limit` is on it.
fn scale(sizes: &[f64], limit: f64) -> (Scale, [f64; 2]) {
    let finite = || sizes.iter().copied().filter(|v| v.is_finite());
    let most = finite().fold(limit, f64::max);
    let least = finite().filter(|v| *v > 0.0).fold(limit, f64::min).max(1e-5 * limit);
    if quantile(sizes, 0.5) < 0.1 * most && finite().any(|v| v > 0.0) {
        return (Scale::Log, [0.5 * least, 2.0 * most]);
    }
    (Scale::Linear, [0.0, 1.05 * most])
}

/// A number that is no less than `low`, or none.
fn clamped(v: f64, low: f64) -> f64 {
    if v < low { low } else { v }
}

/// Share of `of` contacts whose value is below, in steps from one end of a range to the other.
fn share(values: impl Iterator<Item = f64>, of: f64, [low, high]: [f64; 2]) -> [Vec<f64>; 2] {
    let mut sorted: Vec<f64> = values.filter(|v| v.is_finite()).map(|v| v.max(low)).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let at = [low].into_iter().chain(sorted.into_iter().flat_map(|v| [v, v])).chain([high]);
    (at.collect::<Vec<f64>>(), (0..=n).flat_map(|i| [i as f64 / of; 2]).collect()).into()
}

fn outcomes(run: &Run) -> Part {
    let n = run.fates.len() as f64;
    let mut table = Table::new("", &["outcome", "contacts", "share"]);
    let mut row = |how: &str, is: &dyn Fn(usize) -> bool| {
        let count = (0..run.fates.len()).filter(|k| is(*k)).count() as f64;
        table.row([how.to_owned(), format!("{count}"), format!("{:.1} %", 100.0 * count / n)]);
    };
    let alone = |outcome: Outcome| move |k: usize| run.outcome(k) == outcome;
    row("neither slipped nor spun", &alone(Outcome::Stuck));
    row("slipped, but did not spin", &alone(Outcome::Slipped));
    row("spun, but did not slip", &alone(Outcome::Spun));
    row("slipped and spun", &alone(Outcome::SlippedAndSpun));
    row("became non-finite", &alone(Outcome::Failed));
    let kept = |k: usize| run.outcome(k) != Outcome::Failed;
    let (slipped, spun) = (1e3 * SLIPPED, ROTATION_SPUN.to_degrees());
    row(&format!("all that slipped: by more than {slipped} mm"), &|k| kept(k) && run.fates[k].slipped());
    row(&format!("all that spun: by more than {spun:.0}\u{b0}"), &|k| kept(k) && run.fates[k].spun());
    row("all with velocity solves that did not converge", &|k| run.status[k] as u32 & UNCONVERGED != 0);

    let [displacement, rotation] = ends(run);
    let mut numbers = Table::new("Quantiles over the contacts", &["", "least", "10 %", "median", "90 %", "greatest"]);
    for (name, values) in [("displacement [mm]", &displacement), ("rotation [\u{b0}]", &rotation)] {
        let cells = [0.0, 0.1, 0.5, 0.9, 1.0].map(|q| told(quantile(values, q), 4));
        numbers.row([name.to_owned()].into_iter().chain(cells));
    }
    let sizes: Vec<f64> = rotation.iter().map(|v| v.abs()).collect();
    let axes = [scale(&displacement, slipped), scale(&sizes, spun)];
    let cumulative = |title: &str, x: &str, c: usize, values: &[f64], unit: &str| {
        let (scale, [low, high]) = axes[c];
        let limit = [slipped, spun][c];
        let [value, rank] = share(values.iter().copied(), n, [low, high]);
        let middle = quantile(values, 0.5);
        let mut chart = Chart::new(title, x, "share of contacts below")
            .scales(scale, Scale::Linear)
            .x_range(low, high)
            .y_range(0.0, 1.05)
            .line(
                Line::new(ink::OTHER, &[limit; 2], &[0.0, 1.05])
                    .dashed()
                    .width(1.0)
                    .label(format!("{}{unit}", short(limit, 1))),
            )
            .line(Line::new(ink::TEXT, &value, &rank));
        if middle >= low {
            let label = format!("median {}{unit}", short(middle, 3));
            chart = chart.line(Line::new(ink::TEXT, &[middle], &[0.5]).dots().label(label));
        }
        chart
    };
    let directions = [(1.0, "counter-clockwise"), (-1.0, "clockwise")].map(|(sign, label)| {
        let turned = rotation.iter().map(|v| sign * v).filter(|v| *v > 0.0);
        let [value, rank] = share(turned, n, axes[1].1);
        Line::new(ink::ELLIPSOID, &value, &rank).label(label)
    });
    let [left, right] = directions;
    let panels = vec![
        cumulative("Displacement", "from start to end [mm]", 0, &displacement, " mm").svg(),
        cumulative("Rotation", "size from start to end [\u{b0}]", 1, &sizes, "\u{b0}")
            .line(left)
            .line(right.dashed())
            .svg(),
        both(run, [&displacement, &sizes], axes, [slipped, spun]),
    ];
    let caption = format!(
        "Displacement and rotation alone: share of the contacts that moved less. Displacement is that of the body's point at the centre of pressure. Grey dashes: {slipped} mm and {spun:.0}\u{b0}, beyond which a contact has slipped and spun. What is below a scale of decades is drawn at its lower edge."
    );
    Part {
        id: "outcomes".into(),
        title: "Outcomes".into(),
        pictures: vec![Picture::new(panels, caption).key(&key(run))],
        tables: vec![table, numbers],
        ..Part::default()
    }
}

/// Displacement against the size of the rotation, and their limits: slipped and spun, apart and together.
fn both(run: &Run, values: [&[f64]; 2], axes: [(Scale, [f64; 2]); 2], limits: [f64; 2]) -> String {
    let [(_, x), (_, y)] = axes;
    let limit = |along: &[f64], across: &[f64]| Line::new(ink::OTHER, along, across).dashed().width(1.0);
    let mut chart = Chart::new("Displacement and rotation", "displacement [mm]", "size of the rotation [\u{b0}]")
        .scales(axes[0].0, axes[1].0)
        .x_range(x[0], x[1])
        .y_range(y[0], y[1])
        .line(limit(&[limits[0]; 2], &y))
        .line(limit(&x, &[limits[1]; 2]));
    for outcome in Outcome::DRAWN {
        let [x, y] = [0, 1].map(|c| {
            let of = run.chosen.iter().filter(|k| run.outcome(**k) == outcome);
            of.map(|k| clamped(values[c][*k], axes[c].1[0])).collect::<Vec<f64>>()
        });
        chart = chart.line(Line::new(outcome.colour(), &x, &y).dots());
    }
    chart.svg()
}

/// Contacts as thin lines and their quantiles as a band; differences below `least` are rounding.
fn spread(run: &Run, title: &str, y: &str, series: &[Vec<f64>], least: f64) -> String {
    let [low, middle, high] = quantiles(&run.time, series);
    let mut chart = Chart::new(title, "t [s]", y).y_span(least).band(ink::OTHER, &run.time, &low, &high);
    for i in run.some(LINES) {
        chart = chart.line(Line::new(run.outcome(run.chosen[i]).colour(), &run.time, &series[i]).width(0.5));
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
    let extent = |v: &[Vec<f64>]| {
        let shown = run.some(LINES).into_iter().flat_map(|i| v[i].iter()).filter(|v| v.is_finite());
        let (low, high) = shown.fold((0f64, 0f64), |(a, b), v| (a.min(*v), b.max(*v)));
        high - low
    };
    let tall = extent(&y) > 2.0 * extent(&x);
    let lines = run.some(LINES).into_iter();
    let lines = lines.map(|i| Line::new(run.outcome(run.chosen[i]).colour(), &x[i], &y[i]).width(0.7));
    let path = Chart::new("Paths from the start", "x [mm]", "y [mm]").equal().lines(lines);
    // Beside the three other charts, as high as they are together.
    let path = if tall { path.height(890.0).fit(440.0) } else { path };
    let panels = vec![
        spread(run, "Along x", "x [mm]", &x, 1e-6),
        spread(run, "Along y", "y [mm]", &y, 1e-6),
        spread(run, "Rotation", "\u{3b8} [\u{b0}]", &angle, 1e-6),
        path.svg(),
    ];
    let caption = format!(
        "Band: from the tenth to the ninetieth percentile of {}; thin lines: {} of them, by outcome.",
        contacts(run.chosen.len()),
        run.some(LINES).len()
    );
    let picture = Picture::new(panels, caption).key(&key(run));
    Part {
        id: "motion".into(),
        title: "Motion".into(),
        pictures: vec![if tall { picture.tall() } else { picture }],
        ..Part::default()
    }
}

fn slip(run: &Run) -> Part {
    let n = run.slip.len() as f64;
    let finite = |i: usize| run.slip.iter().map(|s| s[i]).filter(|v| v.is_finite()).collect::<Vec<f64>>();
    let mean: Vec<f64> = (0..run.time.len()).map(|i| mean(&finite(i))).collect();
    let sliding = |i: usize| run.slip.iter().filter(|s| s[i] > 0.5).count() as f64 / n;
    let share: Vec<f64> = (0..run.time.len()).map(sliding).collect();
    let chart = Chart::new("Slip over time", "t [s]", "share")
        .y_range(0.0, 1.05)
        .line(Line::new(ink::TEXT, &run.time, &mean).label("mean slip"))
        .line(Line::new(ink::ELLIPSOID, &run.time, &share).dashed().label("contacts that slide"));
    let mut order = run.some(PHASES);
    order.sort_by(|a, b| run.fates[run.chosen[*a]].displacement.total_cmp(&run.fates[run.chosen[*b]].displacement));
    let rows: Vec<&[f64]> = order.iter().map(|i| run.slip[*i].as_slice()).collect();
    let end = run.time.last().copied().unwrap_or(1.0);
    let panels = vec![
        chart.svg(),
        phases("Slip and stick of single contacts", &run.time, &rows, end),
        spread(run, "Normal force of a pad", "fN [N]", &run.normal_force, 0.0),
    ];
    let caption = "Slip is the share of the normal force on sliding bristles; a contact slides here if it is more than a half. Of the single contacts each row is one, those that moved most at the bottom; green: sliding.";
    Part {
        id: "slip".into(),
        title: "Slip and stick".into(),
        pictures: vec![Picture::new(panels, caption)],
        ..Part::default()
    }
}

/// Wrench paths of the contacts at the tenth, half and nine tenths of the displacement.
fn wrenches(run: &Run, scenario: &Scenario) -> Result<Part, ReportError> {
    let mut by_fate: Vec<usize> = (0..run.chosen.len()).filter(|i| run.failed[run.chosen[*i]] < 0.0).collect();
    by_fate.sort_by(|a, b| run.fates[run.chosen[*a]].displacement.total_cmp(&run.fates[run.chosen[*b]].displacement));
    let (mut rows, mut told) = ([vec![], vec![]], Vec::new());
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
                .line(Line::new(run.outcome(k).colour(), &axis(c), &axis(2)).label("wrench"))
                .svg()
        };
        let fate = run.fates[k];
        rows[0].push(panel(0));
        rows[1].push(panel(1));
        told.push(format!(
            "{k} moves by {} mm and {}\u{b0}",
            short(1e3 * fate.displacement, 3),
            short(fate.rotation.to_degrees(), 3)
        ));
    }
    let about = "Friction of one pad about the centre of pressure, over what it can be. A path inside sticks, one on the edge slides; static and viscous friction reach beyond. The contacts are those at the tenth, half and nine tenths of the displacements.";
    let caption =
        format!("Contact {}. The limit surface is cut where the other force is zero.", told.join("; contact "));
    let pictures = if told.is_empty() { vec![] } else { vec![Picture::new(rows.concat(), caption)] };
    Ok(Part {
        id: "wrenches".into(),
        title: "Wrenches on the limit surface".into(),
        lead: vec![("Shown".into(), about.into())],
        pictures,
        ..Part::default()
    })
}

/// What a parameter has to do with the outcomes: rank correlation and dependence, for each of [`OUTCOMES`].
struct Cause<'a> {
    name: &'a str,
    values: &'a [f64],
    found: [[f64; 2]; 3],
}

/// Outcomes that parameters are compared with.
const OUTCOMES: [&str; 3] = ["displacement", "rotation", "size of rotation"];

impl Cause<'_> {
    /// The larger of the two numbers of an outcome.
    fn strength(&self, outcome: usize) -> f64 {
        self.found[outcome].iter().fold(0.0, |m, v| m.max(v.abs()))
    }

    fn strongest(&self) -> f64 {
        (0..OUTCOMES.len()).map(|o| self.strength(o)).fold(0.0, f64::max)
    }
}

/// The values, or one for all if they differ by rounding alone.
fn without_rounding(values: &[f64]) -> Vec<f64> {
    let [low, high] = [0.0, 1.0].map(|q| quantile(values, q));
    let alike = high - low <= 1e-6 * low.abs().max(high.abs());
    values.iter().map(|v| if alike && v.is_finite() { low } else { *v }).collect()
}

/// All parameters that say something, the strongest first.
fn compare<'a>(parameters: &'a [(String, Vec<f64>)], outcomes: &[Vec<f64>; 3]) -> Vec<Cause<'a>> {
    let mut found: Vec<Cause<'a>> = parameters
        .iter()
        .map(|(name, values)| {
            let found = [0, 1, 2].map(|o| [rank_correlation(values, &outcomes[o]), dependence(values, &outcomes[o])]);
            Cause { name, values, found }
        })
        .filter(|cause| cause.found.iter().flatten().any(|v| v.is_finite()))
        .collect();
    found.sort_by(|a, b| b.strongest().total_cmp(&a.strongest()));
    found
}

fn causes(run: &Run, parameters: &[(String, Vec<f64>)]) -> Part {
    let [displacement, rotation] = ends(run);
    let size: Vec<f64> = rotation.iter().map(|v| v.abs()).collect();
    let outcomes = [displacement, rotation, size];
    let found = compare(parameters, &outcomes.each_ref().map(|v| without_rounding(v)));
    let mut part = Part { id: "parameters".into(), title: "Parameters against outcome".into(), ..Part::default() };
    if found.is_empty() {
        let none = "Every parameter is the same for all contacts, or all contacts end alike.";
        part.lead.push(("Shown".into(), none.into()));
        return part;
    }
    let [by_rank, by_bins] = by_chance(run.fates.len());
    let mut table = Table::new(
        format!(
            "\u{3c1}: rank correlation, -1 to 1. \u{3b7}: what the parameter decides in either direction, 0 to 1 (correlation ratio of ranks over bins). Of unrelated numbers one in twenty exceeds {by_rank:.2} and {by_bins:.2}."
        ),
        &["parameter"],
    );
    table.head.extend(OUTCOMES.iter().flat_map(|name| [format!("{name} \u{3c1}"), format!("\u{3b7}")]));
    for cause in &found {
        let cells = cause.found.iter().flatten().map(|v| if v.is_finite() { format!("{v:.2}") } else { NONE.into() });
        table.row([cause.name.to_owned()].into_iter().chain(cells));
    }
    part.tables.push(table);

    let rows = [0, 1].map(|outcome| drawn_against(&found, outcome));
    // Rows of like length stand below each other.
    let columns = rows[0].len().min(rows[1].len());
    let (_, range) = scale(&outcomes[0], 1e3 * SLIPPED);
    let wide = scale(&outcomes[0], 1e3 * SLIPPED).0 == Scale::Log;
    let panel = |outcome: usize, cause: &Cause<'_>| {
        let mut chart = Chart::new("", cause.name, ["displacement [mm]", "rotation [\u{b0}]"][outcome]);
        let logarithmic = outcome == 0 && wide;
        let drawn: Vec<f64> =
            outcomes[outcome].iter().map(|v| if logarithmic { clamped(*v, range[0]) } else { *v }).collect();
        if logarithmic {
            chart = chart.scales(Scale::Linear, Scale::Log).y_range(range[0], range[1]);
        }
        for outcome in Outcome::DRAWN {
            let of: Vec<usize> = run.chosen.iter().copied().filter(|k| run.outcome(*k) == outcome).collect();
            let pick = |v: &[f64]| of.iter().map(|k| v[*k]).collect::<Vec<f64>>();
            chart = chart.line(Line::new(outcome.colour(), &pick(cause.values), &pick(&drawn)).dots());
        }
        let [[x, low], [_, middle], [_, high]] = [0.25, 0.5, 0.75].map(|q| binned(cause.values, &drawn, q));
        chart.band(ink::OTHER, &x, &low, &high).line(Line::new(ink::TEXT, &x, &middle).width(2.0)).svg()
    };
    let panels = rows.iter().enumerate().flat_map(|(outcome, row)| row[..columns].iter().map(move |c| (outcome, *c)));
    let caption = "The parameters that decide most, for the displacement and for the rotation, counter-clockwise up. Line and band: median and middle half of the contacts in bins of like counts.";
    let picture = Picture::new(panels.map(|(outcome, cause)| panel(outcome, cause)).collect(), caption);
    part.pictures.push(picture.key(&key(run)));
    part
}

/// The strongest parameters for an outcome, without those that only say again what one of them says.
fn drawn_against<'a>(found: &'a [Cause<'a>], outcome: usize) -> Vec<&'a Cause<'a>> {
    let mut order: Vec<&Cause<'_>> = found.iter().collect();
    order.sort_by(|a, b| b.strength(outcome).total_cmp(&a.strength(outcome)));
    let mut kept: Vec<&Cause<'_>> = Vec::new();
    for cause in order {
        if kept.iter().all(|other| !(rank_correlation(other.values, cause.values).abs() > 0.999)) {
            kept.push(cause);
        }
    }
    kept.truncate(PARAMETERS);
    kept
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_over_decades_have_a_scale_of_decades_and_their_limit_on_it() {
        let limit = 0.1;
        // Half of the contacts stick: the median is nothing beside the greatest.
        let sizes = [1e-3, 2e-3, 2.0, 80.0, 270.0];
        let (kind, [low, high]) = scale(&sizes, limit);
        assert_eq!(kind, Scale::Log);
        assert!(low < 1e-3 && high > 270.0);
        // All near each other, and beyond the limit.
        let (kind, [low, high]) = scale(&[50.0, 60.0, f64::NAN, 70.0], limit);
        assert!(kind == Scale::Linear && low == 0.0 && high > 70.0);
        // All far below the limit.
        let (kind, [low, high]) = scale(&[1e-4, 2e-4, 3e-4], limit);
        assert!(kind == Scale::Log && low < 1e-4 && high > limit);
        assert_eq!(scale(&[0.0, 0.0], limit).0, Scale::Linear);
    }

    #[test]
    fn parameters_do_not_decide_roundings() {
        let parameters = [("mass".to_owned(), (0..20).map(f64::from).collect::<Vec<f64>>())];
        let outcome = |unit: f64| parameters[0].1.iter().map(|v| 16.5 + unit * v).collect::<Vec<f64>>();
        let found = |unit: f64| compare(&parameters, &[(); 3].map(|()| without_rounding(&outcome(unit)))).len();
        assert_eq!((found(1e-8), found(1e-3)), (0, 1));
    }

    #[test]
    fn shares_climb_in_steps_from_end_to_end() {
        let [value, share] = share([3.0, f64::NAN, 0.0, 2.0].into_iter(), 4.0, [1.0, 5.0]);
        assert_eq!(value, [1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 5.0]);
        assert_eq!(share, [0.0, 0.0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75]);
    }
}
