//! The dependence of the outcomes of contacts on the parameters that were drawn.

use super::super::run::Run;
use super::outcomes::{NONE, clamped, scale};
use bristle_data::rollout::SLIPPED;
use bristle_data::statistics::{binned, by_chance, dependence, quantile, rank_correlation};
use bristle_paper::page::{Chart, Line, Part, Picture, Scale, Table, palette};
use bristle_paper::run_picture::{DRAWN, colour};

/// Most parameters drawn against an outcome.
const PARAMETERS: usize = 3;

/// How the outcomes depend on a parameter: rank correlation and dependence, for each of [`OUTCOMES`].
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

/// All parameters on which an outcome may depend, the strongest first.
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

pub(super) fn part(run: &Run, parameters: &[(String, Vec<f64>)]) -> Part {
    let [displacement, rotation] = run.ends();
    let size: Vec<f64> = rotation.iter().map(|v| v.abs()).collect();
    let outcomes = [displacement, rotation, size];
    let found = compare(parameters, &outcomes.each_ref().map(|v| without_rounding(v)));
    let mut part = Part { id: "parameters".into(), title: "Parameters against outcome".into(), ..Part::default() };
    if found.is_empty() {
        let none = "Every parameter is the same for all contacts, or all contacts end alike.";
        part.lead.push(("Shown".into(), none.into()));
        return part;
    }
    let [by_rank, by_bins] = by_chance(run.motions.len());
    let mut table = Table::new(
        format!(
            "\u{3c1}: rank correlation, -1 to 1. \u{3b7}: what the parameter decides in either direction, 0 \
             to 1 (correlation ratio of ranks over bins). Of unrelated numbers one in twenty exceeds \
             {by_rank:.2} and {by_bins:.2}."
        ),
        &["parameter"],
    );
    table.head.extend(OUTCOMES.iter().flat_map(|name| [format!("{name} \u{3c1}"), "\u{3b7}".to_owned()]));
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
        for outcome in DRAWN {
            let of: Vec<usize> = run.chosen.iter().copied().filter(|k| run.outcome(*k) == outcome).collect();
            let pick = |v: &[f64]| of.iter().map(|k| v[*k]).collect::<Vec<f64>>();
            chart = chart.line(Line::new(colour(outcome), &pick(cause.values), &pick(&drawn)).dots());
        }
        let [[x, low], [_, middle], [_, high]] = [0.25, 0.5, 0.75].map(|q| binned(cause.values, &drawn, q));
        chart.band(palette::OTHER, &x, &low, &high).line(Line::new(palette::TEXT, &x, &middle).width(2.0)).svg()
    };
    let panels = rows.iter().enumerate().flat_map(|(outcome, row)| row[..columns].iter().map(move |c| (outcome, *c)));
    let caption = "The parameters that decide most, for the displacement and for the rotation, \
     counter-clockwise up. Line and band: median and middle half of the contacts in bins of like counts.";
    let picture = Picture::new(panels.map(|(outcome, cause)| panel(outcome, cause)).collect(), caption);
    part.pictures.push(picture.key(&run.key()));
    part
}

/// The strongest parameters for an outcome, without those that only repeat one of them.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_do_not_decide_roundings() {
        let parameters = [("mass".to_owned(), (0..20).map(f64::from).collect::<Vec<f64>>())];
        let outcome = |unit: f64| parameters[0].1.iter().map(|v| 16.5 + unit * v).collect::<Vec<f64>>();
        let found = |unit: f64| compare(&parameters, &[(); 3].map(|()| without_rounding(&outcome(unit)))).len();
        assert_eq!((found(1e-8), found(1e-3)), (0, 1));
    }
}
