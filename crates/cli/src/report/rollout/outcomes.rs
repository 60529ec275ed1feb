//! The outcomes of the contacts: how far they moved and turned, and which slipped, spun, or did both.

use super::super::run::Run;
use bristle::engine::{Reason, UNCONVERGED};
use bristle_data::rollout::{Outcome, ROTATION_SPUN, SLIPPED};
use bristle_data::statistics::quantile;
use bristle_paper::page::{Chart, Line, Part, Picture, Scale, Table, palette, short};
use bristle_paper::run_picture::{DRAWN, colour};

/// The entry of a table without a number.
pub(super) const NONE: &str = "-";

/// A scale for sizes on which their median stands apart from the least and the greatest, and its range, which
/// has `limit` in it.
pub(super) fn scale(sizes: &[f64], limit: f64) -> (Scale, [f64; 2]) {
    let finite = || sizes.iter().copied().filter(|v| v.is_finite());
    let most = finite().fold(limit, f64::max);
    let least = finite().filter(|v| *v > 0.0).fold(limit, f64::min).max(1e-5 * limit);
    if quantile(sizes, 0.5) < 0.1 * most && finite().any(|v| v > 0.0) {
        return (Scale::Log, [0.5 * least, 2.0 * most]);
    }
    (Scale::Linear, [0.0, 1.05 * most])
}

/// A number that is no less than `low`, or none.
pub(super) fn clamped(v: f64, low: f64) -> f64 {
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

pub(super) fn part(run: &Run) -> Part {
    let n = run.motions.len() as f64;
    let mut table = Table::new("", &["outcome", "contacts", "share"]);
    let mut row = |how: &str, is: &dyn Fn(usize) -> bool| {
        let count = (0..run.motions.len()).filter(|k| is(*k)).count() as f64;
        table.row([how.to_owned(), format!("{count}"), format!("{:.1} %", 100.0 * count / n)]);
    };
    let alone = |outcome: Outcome| move |k: usize| run.outcome(k) == outcome;
    row("neither slipped nor spun", &alone(Outcome::Stuck));
    row("slipped, but did not spin", &alone(Outcome::Slipped));
    row("spun, but did not slip", &alone(Outcome::Spun));
    row("slipped and spun", &alone(Outcome::SlippedAndSpun));
    let spent = |k: usize| run.status[k] as u32 & Reason::Steps as u32 != 0;
    row("became non-finite", &|k| run.outcome(k) == Outcome::Failed && !spent(k));
    row("took more steps than they may", &spent);
    let kept = |k: usize| run.outcome(k) != Outcome::Failed;
    let (slipped, spun) = (1e3 * SLIPPED, ROTATION_SPUN.to_degrees());
    row(&format!("all that slipped: by more than {slipped} mm"), &|k| kept(k) && run.motions[k].slipped());
    row(&format!("all that spun: by more than {spun:.0}\u{b0}"), &|k| kept(k) && run.motions[k].spun());
    row("all with velocity solves that did not converge", &|k| run.status[k] as u32 & UNCONVERGED != 0);

    let [displacement, rotation] = run.ends();
    let mut numbers = Table::new("Quantiles over the contacts", &["", "least", "10 %", "median", "90 %", "greatest"]);
    for (name, values) in [("displacement [mm]", &displacement), ("rotation [\u{b0}]", &rotation)] {
        let cells = [0.0, 0.1, 0.5, 0.9, 1.0].map(|q| number_or_none(quantile(values, q)));
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
                Line::new(palette::OTHER, &[limit; 2], &[0.0, 1.05])
                    .dashed()
                    .width(1.0)
                    .label(format!("{}{unit}", short(limit, 1))),
            )
            .line(Line::new(palette::TEXT, &value, &rank));
        if middle >= low {
            let label = format!("median {}{unit}", short(middle, 3));
            chart = chart.line(Line::new(palette::TEXT, &[middle], &[0.5]).dots().label(label));
        }
        chart
    };
    let directions = [(1.0, "counter-clockwise"), (-1.0, "clockwise")].map(|(sign, label)| {
        let turned = rotation.iter().map(|v| sign * v).filter(|v| *v > 0.0);
        let [value, rank] = share(turned, n, axes[1].1);
        Line::new(palette::ELLIPSOID, &value, &rank).label(label)
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
        "Displacement and rotation alone: share of the contacts that moved less. Displacement is that of the \
         body's point at the centre of pressure. Grey dashes: {slipped} mm and {spun:.0}\u{b0}, beyond which \
         a contact has slipped and spun. What is below a scale of decades is drawn at its lower edge."
    );
    Part {
        id: "outcomes".into(),
        title: "Outcomes".into(),
        pictures: vec![Picture::new(panels, caption).key(&run.key())],
        tables: vec![table, numbers],
        ..Part::default()
    }
}

fn number_or_none(v: f64) -> String {
    if v.is_finite() { short(v, 4) } else { NONE.into() }
}

/// Displacement against the size of the rotation, with their limits, which separate the outcomes.
fn both(run: &Run, values: [&[f64]; 2], axes: [(Scale, [f64; 2]); 2], limits: [f64; 2]) -> String {
    let [(_, x), (_, y)] = axes;
    let limit = |along: &[f64], across: &[f64]| Line::new(palette::OTHER, along, across).dashed().width(1.0);
    let mut chart = Chart::new("Displacement and rotation", "displacement [mm]", "size of the rotation [\u{b0}]")
        .scales(axes[0].0, axes[1].0)
        .x_range(x[0], x[1])
        .y_range(y[0], y[1])
        .line(limit(&[limits[0]; 2], &y))
        .line(limit(&x, &[limits[1]; 2]));
    for outcome in DRAWN {
        let [x, y] = [0, 1].map(|c| {
            let of = run.chosen.iter().filter(|k| run.outcome(**k) == outcome);
            of.map(|k| clamped(values[c][*k], axes[c].1[0])).collect::<Vec<f64>>()
        });
        chart = chart.line(Line::new(colour(outcome), &x, &y).dots());
    }
    chart.svg()
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
    fn shares_climb_in_steps_from_end_to_end() {
        let [value, share] = share([3.0, f64::NAN, 0.0, 2.0].into_iter(), 4.0, [1.0, 5.0]);
        assert_eq!(value, [1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 5.0]);
        assert_eq!(share, [0.0, 0.0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75]);
    }
}
