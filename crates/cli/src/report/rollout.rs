//! The page of a rollout.

mod causes;
mod outcomes;

use std::path::Path;

use super::ReportError;
use super::run::{Run, drawn, read};
use bristle::engine::{LEFT, Reason};
use bristle::limit_surface::{Rule, Surface, Table as LimitTable};
use bristle::planar::Wrench;
use bristle_data::rollout::Sums;
use bristle_data::statistics::{mean, quantile};
use bristle_paper::page::{Chart, Document, Line, Part, Picture, Table, palette, phases, short};
use bristle_paper::run_picture::colour;
use bristle_paper::surface_picture::outline;
use bristle_scenario::Scenario;

/// Most contacts drawn as lines, and drawn as phases.
const LINES: usize = 60;
const PHASES: usize = 60;

pub(super) fn document(dir: &Path) -> Result<Document, ReportError> {
    let Some((record, sums)) = Sums::of(dir)? else {
        let source = std::io::ErrorKind::NotFound.into();
        return Err(ReportError::Io { path: dir.join("run.json"), source });
    };
    sums.check_small()?;
    if record["bodies"].is_array() {
        let reason = "the run of a scenario with `[[bodies]]`: expected one of patches. Its trajectories.npz has \
                      poses, twists, forces and energies, trajectories.svg the paths";
        return Err(ReportError::file(dir, reason));
    }
    for name in ["scenario.toml", "trajectories.npz", "contacts.npz"] {
        sums.check_file(name)?;
    }
    let run = read(&dir.join("trajectories.npz"))?;
    let parameters = drawn(&dir.join("contacts.npz"), run.motions.len())?;
    let scenario = Scenario::load(&dir.join("scenario.toml"), &[])?;
    let mut parts = vec![outcomes::part(&run), motion(&run), slip(&run), wrenches(&run, &scenario)?];
    parts.push(causes::part(&run, &parameters));
    let setting = if record["tolerance"].is_number() { "--tolerance" } else { "--step" };
    parts.push(failures(&run, &parameters, setting));
    // The name of a directory that is given as `.`, too.
    let whole = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let name = whole.file_name().unwrap_or_default().to_string_lossy();
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
        contacts(run.motions.len()),
        record["duration"],
        record["seed"],
        word("engine"),
        word("precision"),
        word("adapter"),
        number("wall_s"),
        record["bristle"].as_str().unwrap_or("?"),
    )];
    Ok(Document { title: format!("Run {name}"), intro, key: run.key(), groups: vec![(String::new(), parts)] })
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

/// Contacts as thin lines and their quantiles as a band; differences below `least` are rounding.
fn spread(run: &Run, title: &str, y: &str, series: &[Vec<f64>], least: f64) -> String {
    let [low, middle, high] = quantiles(&run.time, series);
    let mut chart = Chart::new(title, "t [s]", y).y_span(least).band(palette::OTHER, &run.time, &low, &high);
    for i in run.some(LINES) {
        chart = chart.line(Line::new(colour(run.outcome(run.chosen[i])), &run.time, &series[i]).width(0.5));
    }
    chart.line(Line::new(palette::TEXT, &run.time, &middle).width(2.0).label("median")).svg()
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
    let lines = lines.map(|i| Line::new(colour(run.outcome(run.chosen[i])), &x[i], &y[i]).width(0.7));
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
    let picture = Picture::new(panels, caption).key(&run.key());
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
        .line(Line::new(palette::TEXT, &run.time, &mean).label("mean slip"))
        .line(Line::new(palette::ELLIPSOID, &run.time, &share).dashed().label("contacts that slide"));
    let mut order = run.some(PHASES);
    order.sort_by(|a, b| run.motions[run.chosen[*a]].displacement.total_cmp(&run.motions[run.chosen[*b]].displacement));
    let rows: Vec<&[f64]> = order.iter().map(|i| run.slip[*i].as_slice()).collect();
    let end = run.time.last().copied().unwrap_or(1.0);
    let panels = vec![
        chart.svg(),
        phases("Slip and stick of single contacts", &run.time, &rows, end),
        spread(run, "Normal force of a pad", "fN [N]", &run.normal_force, 0.0),
    ];
    let caption = "Slip is the share of the normal force on bristles that slip, each faster than 10 \u{b5}m/s; near \
     the limit are those longer than s_ba of it, whether they slip or not. A contact slides here if slip is more than \
     a half. Of the single contacts each row is one, those that moved most at the bottom; green: \
     sliding.";
    Part {
        id: "slip".into(),
        title: "Slip and stick".into(),
        pictures: vec![Picture::new(panels, caption)],
        ..Part::default()
    }
}

/// Wrench paths of the contacts at the tenth, half and nine tenths of the displacement.
fn wrenches(run: &Run, scenario: &Scenario) -> Result<Part, ReportError> {
    let mut by_motion: Vec<usize> = (0..run.chosen.len()).filter(|i| run.failed[run.chosen[*i]] < 0.0).collect();
    by_motion
        .sort_by(|a, b| run.motions[run.chosen[*a]].displacement.total_cmp(&run.motions[run.chosen[*b]].displacement));
    let (mut rows, mut told) = ([vec![], vec![]], Vec::new());
    let mut picks: Vec<usize> = [0.1, 0.5, 0.9]
        .iter()
        .filter_map(|q| by_motion.get((q * by_motion.len().saturating_sub(1) as f64).round() as usize).copied())
        .collect();
    picks.dedup();
    for i in picks {
        let k = run.chosen[i];
        let contact = scenario.contact(k as u64)?;
        let own_forces = contact.inputs.patches.iter().any(|own| own.normal_force.is_some());
        if contact.patch.sequence().is_some() || own_forces || contact.moves_loads() {
            // Each of its maps, or of the shares of its patches, has a surface of its own.
            continue;
        }
        // A map that follows the force is taken at the mean one.
        let force = &run.normal_force[i];
        // A contact that has left has no samples after that.
        let there: Vec<f64> = force.iter().copied().filter(|f_n| f_n.is_finite()).collect();
        let mean = there.iter().sum::<f64>() / there.len() as f64;
        let patch = contact.patch.under(mean);
        let surface = Surface::new(&patch, Rule::Cells);
        let (cop, r, friction) = (surface.patch().cop(), surface.radius(), surface.friction());
        let mu = |t: f64| contact.inputs.mu_c.as_ref().map_or(contact.friction.mu_c, |mu| mu.value(t));
        let Ok(table) = LimitTable::of(&surface, 20) else { continue };
        let path: Vec<[f64; 3]> = run.wrench[i]
            .chunks_exact(3)
            .zip(force.iter().zip(&run.time))
            .filter(|(_, (f_n, _))| **f_n > 0.0)
            .map(|(w, (f_n, t))| {
                let w = Wrench::new(w[0], w[1], w[2]).about(cop);
                [w.fx, w.fy, if r > 0.0 { w.tau / r } else { 0.0 }].map(|v| v / (friction * mu(*t) * f_n))
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
                .line(Line::new(palette::OTHER, &close(0), &close(1)).dashed().label("limit surface"))
                .line(Line::new(colour(run.outcome(k)), &axis(c), &axis(2)).label("wrench"))
                .svg()
        };
        let motion = run.motions[k];
        rows[0].push(panel(0));
        rows[1].push(panel(1));
        told.push(format!(
            "{k} moves by {} mm and {}\u{b0}",
            short(1e3 * motion.displacement, 3),
            short(motion.rotation.to_degrees(), 3)
        ));
    }
    let about = "Friction of one pad about the centre of pressure, over what it can be. A path inside \
     sticks, one on the edge slides; static and viscous friction reach beyond. The contacts are those at the \
     tenth, half and nine tenths of the displacements.";
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

/// Contacts that were stopped or did not converge; a smaller `setting` helps.
fn failures(run: &Run, parameters: &[(String, Vec<f64>)], setting: &str) -> Part {
    const LISTED: usize = 30;
    let bad: Vec<usize> = (0..run.motions.len()).filter(|k| run.status[*k] as u32 & !LEFT != 0).collect();
    let failed = bad.iter().filter(|k| run.failed[**k] >= 0.0).count();
    // A file may say this of a contact that was not stopped.
    let is_spent = |k: usize| run.failed[k] >= 0.0 && run.status[k] as u32 & Reason::Steps as u32 != 0;
    let spent = bad.iter().filter(|k| is_spent(**k)).count();
    let mut part = Part { id: "failures".into(), title: "Failures".into(), ..Part::default() };
    let said = if bad.is_empty() {
        "None: every contact ran to its end and every velocity solve converged.".to_owned()
    } else {
        format!(
            "{} contacts became non-finite, {spent} took more steps than they may (`limits.steps`); {} \
             others had velocity solves that did not converge in three iterations, or had several solutions. A \
             smaller `{setting}` helps these.",
            failed - spent,
            bad.len() - failed
        )
    };
    part.lead.push(("Found".into(), said));
    if bad.is_empty() {
        return part;
    }
    let mut table = Table::new(
        format!("The first {} of {}", bad.len().min(LISTED), bad.len()),
        &["contact", "stopped at step", "unconverged solves"],
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
