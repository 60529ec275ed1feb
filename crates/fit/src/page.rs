//! A fit as one page that opens from disk.

mod pictures;
mod words;

use bristle_page::{Bar, Chart, Document, Key, Line, Part, Picture, Scale, Table, bars, matrix, palette};

use crate::along::Along;
use crate::compare::Comparison;
use crate::fit::Fit;
use crate::next::Next;
use crate::report::{digits, interval};

/// What was measured, the model where it was fitted, and where it predicts.
const MEASURED: Key = Key::new(palette::OTHER, "measured");
const FITTED: Key = Key::new(palette::GRID, "model, fitted part");
const PREDICTED: Key = Key::new(palette::SURFACE, "model, predicted part");

/// The page of some fits of the same recordings, the best one first, as HTML text; `along` and `next` are of
/// the first.
pub fn html(fits: &[Fit], comparison: Option<&Comparison>, along: &[Along], next: Option<&Next>) -> String {
    let fit = &fits[0];
    let mut names: Vec<&str> = fit.channels.iter().map(|c| c.recording.as_str()).collect();
    names.dedup();
    let mut parts = vec![unknowns(fit)];
    parts.extend(fit.channels.iter().enumerate().map(|(k, _)| pictures::over_time(fit, k)));
    parts.extend((0..fit.channels.len()).filter_map(|k| pictures::loops(fit, k)));
    parts.extend(profiles(fit, along));
    parts.extend(correlations(fit));
    parts.push(noise(fit));
    parts.extend(comparison.map(|c| laws(fits, c)));
    parts.extend(next.map(experiments));
    parts.push(notes(fit));
    let title = match names.as_slice() {
        [one] => format!("Friction of {}", pictures::file_name(one)),
        all => format!("Friction of {} recordings", all.len()),
    };
    Document { title, intro: words::intro(fit), key: Vec::new(), groups: vec![(String::new(), parts)] }.html()
}

/// The table of the unknowns, and what cannot be told.
fn unknowns(fit: &Fit) -> Part {
    let mut table = Table::new("Values in SI units", &["unknown", "value", "90 % interval", "told", ""]);
    for e in &fit.estimates {
        let told = if e.identifiable { "yes" } else { "no" };
        table.row([e.name.clone(), digits(e.value), interval(e), told.into(), e.note.clone()]);
    }
    let mark = if fit.converged { ("converged", true) } else { ("not converged", false) };
    Part {
        id: "unknowns".into(),
        title: "What was found".into(),
        mark: Some((mark.0.into(), mark.1)),
        lead: words::lead(fit),
        tables: vec![table],
        ..Part::default()
    }
}

/// The cost over each unknown.
fn profiles(fit: &Fit, along: &[Along]) -> Option<Part> {
    let panel = |along: &Along| {
        let [x, y] = [0, 1].map(|axis| along.points.iter().map(|p| p[axis]).collect::<Vec<f64>>());
        let estimate = fit.estimates.iter().find(|e| e.name == along.name);
        let [low, high] = [x[0], x[x.len() - 1]];
        // Ticks of a logarithmic axis are powers of ten.
        let scale = if low > 0.0 && high > 30.0 * low { Scale::Log } else { Scale::Linear };
        let most = y.iter().copied().fold(1.2, f64::max).min(4.0);
        let mut chart = Chart::new(along.name.clone(), "", "rise of the cost")
            .scales(scale, Scale::Linear)
            .y_range(-0.05 * most, 1.05 * most)
            .line(Line::new(palette::OTHER, &[low, high], &[1.0, 1.0]).dashed())
            .line(Line::new(palette::GRID, &x, &y).marks());
        for (end, is_closed) in estimate.iter().flat_map(|e| [(e.low, e.closed[0]), (e.high, e.closed[1])]) {
            if is_closed {
                chart = chart.line(Line::new(palette::ELLIPSOID, &[end, end], &[0.0, 1.0]).width(2.4));
            }
        }
        chart.svg()
    };
    let key = [
        Key::new(palette::GRID, "lowest cost with the others free"),
        Key::new(palette::ELLIPSOID, "ends of the 90 % interval"),
        Key::dashed(palette::OTHER, "rise at which an interval ends"),
    ];
    let caption = "How much the cost rises when one unknown is held beside its best value and the others are fitted \
                   again, over the rise at which its 90 % interval ends. A parabola is what linear theory has; an \
                   arm that stays low is an end that the recording does not tell.";
    (!along.is_empty()).then(|| Part {
        id: "profiles".into(),
        title: "How well each unknown is known".into(),
        pictures: vec![Picture::new(along.iter().map(panel).collect(), caption).key(&key)],
        ..Part::default()
    })
}

/// How the errors of the unknowns go together.
fn correlations(fit: &Fit) -> Option<Part> {
    let spread = fit.minimum.spread.as_ref().filter(|spread| spread.free.len() > 1)?;
    let names: Vec<String> = spread.free.iter().map(|j| fit.minimum.unknowns[*j].name.clone()).collect();
    let c = &spread.covariance;
    let value = |i: usize, j: usize| c[(i, j)] / (c[(i, i)] * c[(j, j)]).sqrt();
    let caption = "Near 1 or -1 two unknowns are known together better than each of them.";
    Some(Part {
        id: "correlations".into(),
        title: "Correlations".into(),
        pictures: vec![Picture::new(vec![matrix("Correlations of the unknowns", &names, value)], caption)],
        ..Part::default()
    })
}

/// The sizes of noise of each compared quantity.
fn noise(fit: &Fit) -> Part {
    let panel = |k: usize| {
        let c = &fit.channels[k];
        let unit = pictures::unit(&c.name);
        let bar = |name: &str, size: f64, colour: &'static str| {
            let share = c.normal_force.map_or(String::new(), |n| format!(" = {} fN", digits(size / n)));
            Bar { name: name.into(), size, number: format!("{} {unit}{share}", digits(size)), colour }
        };
        let mut all = vec![bar("noise of the sensor", c.sensor, palette::OTHER)];
        all.extend(c.repeatability.map(|size| bar("repeatability of periods", size, palette::ELLIPSOID)));
        all.push(bar("residual of the fitted part", c.residual, palette::GRID));
        all.extend(c.held_out.map(|size| bar("residual of the predicted part", size, palette::SURFACE)));
        bars(&pictures::named(fit, k), &all)
    };
    let caption = "Root mean squares. A residual above the repeatability is the law's; between sensor and \
                   repeatability it is the mechanism's. fN is the mean normal force.";
    Part {
        id: "noise".into(),
        title: "Noise".into(),
        pictures: vec![Picture::new((0..fit.channels.len()).map(panel).collect(), caption)],
        ..Part::default()
    }
}

/// The laws that were compared.
fn laws(fits: &[Fit], comparison: &Comparison) -> Part {
    let colour = |k: usize| if k == 0 { palette::GRID } else { palette::OTHER };
    let ranked = comparison.laws.iter().enumerate();
    let all: Vec<Bar> = ranked
        .filter_map(|(k, law)| {
            let size = law.held_out_ratio?;
            Some(Bar { name: law.law.clone(), size, number: format!("{size:.2}"), colour: colour(k) })
        })
        .collect();
    let mut table = Table::new("", &["law", "error of the predicted part", "criterion", "told from the best"]);
    for (k, law) in comparison.laws.iter().enumerate() {
        let ratio = law.held_out_ratio.map_or("-".into(), |r| format!("x {r:.2}"));
        let told = if k == 0 { "-" } else { ["no", "yes"][usize::from(law.is_told)] };
        table.row([law.law.clone(), ratio, format!("{:+.0}", law.criterion), told.into()]);
    }
    let of = |fit: &Fit| {
        let mut table = Table::new("", &["unknown", "value", "90 % interval"]);
        fit.estimates.iter().for_each(|e| table.row([e.name.clone(), digits(e.value), interval(e)]));
        (format!("Unknowns of {}", fit.law), table)
    };
    let title = "Error of the predicted part, over that of the best law";
    let picture = Picture::new(vec![bars(title, &all)], "");
    Part {
        id: "laws".into(),
        title: "Comparison of laws".into(),
        lead: vec![("Result".into(), words::sentence(&comparison.sentence))],
        pictures: if all.is_empty() { Vec::new() } else { vec![picture] },
        tables: vec![table],
        folded: fits.iter().skip(1).map(of).collect(),
        ..Part::default()
    }
}

/// What each of the experiments would tell.
fn experiments(next: &Next) -> Part {
    let mut head = vec!["unknown", "now"];
    head.extend(next.experiments.iter().map(|e| e.experiment.as_str()));
    let mut table = Table::new("90 % interval of each unknown, in SI units: now, and after each experiment", &head);
    for (j, now) in next.now.iter().enumerate() {
        let then = next.experiments.iter().map(|e| e.then[j].text());
        table.row([now.name.clone(), now.text()].into_iter().chain(then));
    }
    Part {
        id: "next".into(),
        title: "Which experiment next".into(),
        lead: vec![("Result".into(), words::sentence(&next.sentence))],
        tables: vec![table],
        ..Part::default()
    }
}

/// What was done to the recordings.
fn notes(fit: &Fit) -> Part {
    let lead = fit.notes.iter().map(|note| (String::new(), words::sentence(note)));
    Part {
        id: "notes".into(),
        title: "What was done to the recordings".into(),
        lead: lead.collect(),
        details: vec![("The scenario with the fitted numbers".into(), fit.scenario.clone())],
        ..Part::default()
    }
}
