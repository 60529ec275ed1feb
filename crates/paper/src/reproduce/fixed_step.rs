//! The simulations of Kikuuwe et al. (2005), *Fixed-Step Friction Simulation*, compared with the claims of
//! their text.

use std::path::Path;

use super::context::{Context, Error, Runs};
use super::item::Item;
use super::item::Wanted::{AtLeast, AtMost, Near};
use crate::page::{Chart, Line, Picture, palette};
use bristle::contact::{Contact, Model};
use bristle::engine::Plan;
use bristle::point::{PointLaw, PointModel};
use bristle_scenario::Scenario;

pub(super) const IDS: &[&str] = &["simulation1", "simulation2", "simulation3", "simulation4"];

pub(super) fn run(context: &Context<'_>) -> Result<Vec<Item>, Error> {
    Ok(vec![simulation_1(context)?, simulation_2(context)?, simulation_3(context)?, simulation_4(context)?])
}

const TEXTS: [&str; 4] = [
    include_str!("fixed_step/simulation_1.toml"),
    include_str!("fixed_step/simulation_2.toml"),
    include_str!("fixed_step/simulation_3.toml"),
    include_str!("fixed_step/simulation_4.toml"),
];

/// Contact and plan of simulation `k`, from 1.
fn scenario(k: usize) -> Result<(Contact, Plan), Error> {
    let scenario = Scenario::parse(TEXTS[k - 1], Path::new(""), "simulation")?;
    Ok((scenario.contact(0)?, scenario.plan()))
}

/// The models of Table I, by their names there.
fn table_1() -> [(&'static str, PointModel); 7] {
    let with = |law: PointLaw, band: f64| PointModel { band, ..law.into() };
    [
        ("K1", with(PointLaw::Karnopp, 1.0)),
        ("K2", with(PointLaw::Karnopp, 0.01)),
        ("K3", with(PointLaw::Karnopp, 1e-4)),
        ("Q1", with(PointLaw::Quinn, 1.0)),
        ("Q2", with(PointLaw::Quinn, 0.01)),
        ("Q3", with(PointLaw::Quinn, 1e-4)),
        ("P", PointLaw::Implicit.into()),
    ]
}

/// Simulation `k` with each model of Table I.
fn with_all(context: &Context<'_>, k: usize) -> Result<Runs, Error> {
    let (contact, plan) = scenario(k)?;
    let contacts: Vec<Contact> =
        table_1().into_iter().map(|(_, model)| Contact { model: Model::Point(model), ..contact.clone() }).collect();
    context.simulate_in(&contacts, &plan)
}

/// Places of K2, Q2, Q3 and P in Table I.
const K2: usize = 1;
const Q2: usize = 4;
const Q3: usize = 5;
const P: usize = 6;

/// The largest difference of two series.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn simulation_1(context: &Context<'_>) -> Result<Item, Error> {
    let mut item = Item::new(
        "simulation1",
        "Simulation I: seven models of Coulomb friction on a mass that stops",
        "Models Q2 and P are almost identical, as Quinn's model with the band T F/M is the proposed one. K1 is \
         inappropriate; Q1 approaches rest too slowly; K3 and Q3 oscillate in force; K2 keeps a velocity above zero \
         after 3 s.",
    );
    let runs = with_all(context, 1)?;
    let v = |k: usize| runs.twist(k, 0);
    let f = |k: usize| runs.wrench(k, 0);
    item.claims("Q2 against P: largest difference of v [m/s]", apart(&v(Q2), &v(P)), AtMost(1e-12));
    item.claims("Q2 against P: largest difference of f [N]", apart(&f(Q2), &f(P)), AtMost(1e-9));
    let least = v(K2)[3000..].iter().copied().fold(f64::INFINITY, f64::min);
    item.claims("K2: least velocity from 3 s on [m/s]", least, AtLeast(1e-3));
    item.compare("the same, independent program", least, Near(7.809_501_295e-3, 1e-11));
    let changes = |k: usize| f(k)[3000..].windows(2).filter(|f| f[0] * f[1] < 0.0).count() as f64;
    item.claims("Q3: changes of the sign of f from 3 s on", changes(Q3), AtLeast(100.0));
    item.claims("P: changes of the sign of f from 3 s on", changes(P), AtMost(0.0));
    item.claims("Q1: velocity at 2.5 s [m/s]", v(3)[2500], AtLeast(1e-3));
    let stop = v(P).iter().enumerate().skip(2000).find(|(_, v)| **v == 0.0).map_or(f64::NAN, |(i, _)| runs.time()[i]);
    item.compare("P: rest, exactly, from [s], independent program", stop, Near(2.021, 1e-9));
    item.compare("P: friction at rest [N], independent program", f(P)[4000], Near(-2.407_698_085_09, 1e-9));
    item.measured = format!(
        "P and Q2 differ by {:.0e} m/s. P is at rest from {stop:.3} s on; K2 goes on at {:.1} mm/s, and the force of \
         Q3 changes its sign {} times in the last second.",
        apart(&v(Q2), &v(P)),
        1e3 * least,
        changes(Q3)
    );
    let shown = [0, 1, 2, 3, 5, 6];
    let chart = |title: &str, y: &str, of: &dyn Fn(usize) -> Vec<f64>| {
        let lines = shown
            .iter()
            .zip(palette::CYCLE)
            .map(|(&k, colour)| Line::new(colour, runs.time(), &of(k)).label(table_1()[k].0));
        Chart::new(title, "t [s]", y).lines(lines).x_range(1.8, 3.0).svg()
    };
    item.pictures.push(Picture::new(
        vec![chart("Velocity", "v [m/s]", &v), chart("Friction", "f [N]", &f)],
        "About the stop; Q2 is P.",
    ));
    item.columns.push(("t_s".into(), runs.time().to_vec()));
    for (k, (name, _)) in table_1().into_iter().enumerate() {
        item.columns.push((format!("v_{name}_m_per_s"), v(k)));
        item.columns.push((format!("f_{name}_N"), f(k)));
    }
    item.parameters = "M = 1 kg, spring 90 N/m, F = 10 N, T = 1 ms; bands of 1, 0.01 and 0.0001 m/s".into();
    item.scenario = Some(TEXTS[0].into());
    Ok(item)
}

fn simulation_2(context: &Context<'_>) -> Result<Item, Error> {
    let mut item = Item::new(
        "simulation2",
        "Simulation II: where the velocity passes through zero",
        "After the velocity has passed through zero, that of Q2 is above the analytical value: there its friction acts \
         to raise the kinetic energy. The friction of P always takes energy, and is slightly more dissipative than the \
         analytical model.",
    );
    let runs = with_all(context, 2)?;
    let exact = |t: f64| if t < 0.0026 { -0.13 + 50.0 * t } else { 30.0 * (t - 0.0026) };
    let power = |k: usize| {
        let both = runs.wrench(k, 0).into_iter().zip(runs.twist(k, 0));
        both.map(|(f, v)| f * v).fold(f64::NEG_INFINITY, f64::max)
    };
    let (q2, p) = (runs.twist(Q2, 0), runs.twist(P, 0));
    item.claims("Q2: v over the analytical one at 4 ms [m/s]", q2[4] - exact(0.004), AtLeast(1e-3));
    item.claims("Q2: greatest power of friction, at the end of a step [W]", power(Q2), AtLeast(0.1));
    item.claims("P: v over the analytical one at 4 ms [m/s]", p[4] - exact(0.004), AtMost(0.0));
    item.claims("P: greatest power of friction, at the end of a step [W]", power(P), AtMost(1e-12));
    item.compare("P: v at 4 ms [m/s], independent program", p[4], Near(0.03, 1e-12));
    item.compare("Q2: v at 4 ms [m/s], independent program", q2[4], Near(0.05, 1e-12));
    item.measured =
        format!("At 4 ms v is {:.3} m/s in P, {:.3} m/s in Q2 and {:.3} m/s exactly.", p[4], q2[4], exact(0.004));
    let analytical: Vec<f64> = runs.time().iter().map(|t| exact(*t)).collect();
    item.pictures.push(Picture::new(
        vec![
            Chart::new("Velocity", "t [s]", "v [m/s]")
                .line(Line::new(palette::OTHER, runs.time(), &analytical).label("analytical").width(2.6))
                .line(Line::new(palette::GRID, runs.time(), &p).label("P").marks())
                .line(Line::new(palette::SURFACE, runs.time(), &q2).label("Q2").marks())
                .svg(),
        ],
        "Steps of 1 ms.",
    ));
    item.columns = vec![("t_s".into(), runs.time().to_vec()), ("v_P_m_per_s".into(), p), ("v_Q2_m_per_s".into(), q2)];
    item.parameters = "M = 1 kg, F = 10 N, load 40 N, v = -0.13 m/s at the start, T = 1 ms".into();
    item.scenario = Some(TEXTS[1].into());
    Ok(item)
}

fn simulation_3(context: &Context<'_>) -> Result<Item, Error> {
    let mut item = Item::new(
        "simulation3",
        "Simulation III: the proposed model in the plane",
        "The object completely stops at t = 4.5 s with no vibratory behaviours.",
    );
    item.erratum = Some("It stops at 4.634 s, whatever the step; see also the entry on the paper's errors.".into());
    let (contact, plan) = scenario(3)?;
    let runs = context.simulate_in(std::slice::from_ref(&contact), &plan)?;
    let fine = context.simulate_in(&[contact], &Plan::new(plan.duration(), 1e-4, 1e-4)?)?;
    let first = |runs: &Runs| {
        let (vx, vy) = (runs.twist(0, 0), runs.twist(0, 1));
        (0..vx.len()).find(|i| vx[*i] == 0.0 && vy[*i] == 0.0).unwrap_or(0)
    };
    let (stop, exact) = (runs.time()[first(&runs)], fine.time()[first(&fine)]);
    item.claims("time of the stop, T = 0.1 ms [s]", exact, Near(4.5, 0.05));
    item.compare("the same, independent program", exact, Near(4.6342, 1e-9));
    item.compare("the same, T = 1 ms [s], independent program", stop, Near(4.633, 1e-9));
    item.compare("the same, continuous time [s], independent program", exact, Near(4.634_414, 3e-4));
    let (x, y) = (runs.pose(0, 0), runs.pose(0, 1));
    item.compare("x at the stop, T = 1 ms [m], independent program", x[first(&runs)], Near(1.087_168_782, 1e-8));
    let after = runs.twist(0, 0)[first(&runs)..].iter().fold(0.0f64, |m, v| m.max(v.abs()));
    item.compare("greatest speed along x from the stop on [m/s]", after, AtMost(0.0));
    item.measured = format!("It stops at {exact:.4} s (T = 0.1 ms) or {stop:.3} s (T = 1 ms), exactly and for good.");
    item.pictures.push(Picture::new(
        vec![Chart::new("Path", "x [m]", "y [m]").line(Line::new(palette::GRID, &x, &y)).equal().svg()],
        "T = 1 ms.",
    ));
    item.columns = vec![("t_s".into(), runs.time().to_vec()), ("x_m".into(), x), ("y_m".into(), y)];
    item.parameters = "M = 1 kg, F = 10 N, spring 3 N/m to the origin, from (10, 0) m at (0, 30) m/s".into();
    item.scenario = Some(TEXTS[2].into());
    Ok(item)
}

fn simulation_4(context: &Context<'_>) -> Result<Item, Error> {
    let mut item = Item::new(
        "simulation4",
        "Simulation IV: hysteresis of ten elements side by side",
        "The model shows a smooth hysteresis behaviour. All loops are closed.",
    );
    let (contact, plan) = scenario(4)?;
    let runs = context.simulate_in(&[contact], &plan)?;
    let (x, f) = (runs.pose(0, 0).iter().map(|x| 1e3 * x).collect::<Vec<_>>(), runs.wrench(0, 0));
    for (name, before, after, wanted) in [
        ("inner loop, from 0.3 mm and back", 6700, 7300, -31.8),
        ("middle loop, from -0.2 mm and back", 6200, 7800, 15.638_554_329),
        ("outer loop, from 0.6 mm and back", 5400, 8600, -53.1),
    ] {
        item.claims(format!("{name}: change of the force [N]"), (f[before] - f[after]).abs(), AtMost(1e-9));
        item.compare(format!("{name}: force [N], independent program"), f[before], Near(wanted, 1e-8));
    }
    let most = f.iter().fold(0.0f64, |m, f| m.max(f.abs()));
    item.compare("greatest force [N]", most, Near(55.0, 1e-9));
    item.measured = format!(
        "After each loop the force comes back to within {:.0e} N of what it was.",
        [[6700, 7300], [6200, 7800], [5400, 8600]]
            .map(|[a, b]: [usize; 2]| (f[a] - f[b]).abs())
            .into_iter()
            .fold(1e-16, f64::max)
    );
    item.pictures.push(Picture::new(
        vec![
            Chart::new("Path", "t [s]", "x [mm]").line(Line::new(palette::GRID, runs.time(), &x)).svg(),
            Chart::new("Hysteresis", "x [mm]", "f [N]").line(Line::new(palette::GRID, &x, &f)).svg(),
        ],
        "The path is ours: the paper shows it without numbers.",
    ));
    item.columns = vec![("t_s".into(), runs.time().to_vec()), ("x_mm".into(), x), ("f_N".into(), f)];
    item.parameters = "ten elements of K = 10 N/mm, B = 0.1 N s/mm, M = 0, F = 1 to 10 N; 1 mm/s, T = 1 ms".into();
    item.scenario = Some(TEXTS[3].into());
    Ok(item)
}
