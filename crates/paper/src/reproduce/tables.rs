//! Tables II, IV, V and VI: costs, as ratios to a scalar baseline in the same run.

use std::hint::black_box;
mod speeds;

use super::context::{Context, Error};
use super::item::Item;
use super::item::Wanted::{AtLeast, Near};
use super::setup::{IN_HAND_DURATION, Setup};
use crate::page::{Chart, Line, Picture, Scale, Table, palette, short};
use bristle::contact::Contact;
use bristle::cpu::Cpu;
use bristle::engine::{Engine, Plan};
use bristle::limit_surface::{Rule, Surface, Table as LimitTable};
use bristle_bench::baseline::Baseline;
use bristle_data::statistics::order;
use speeds::{SIZES, Speeds, contact, direct, least, nodes, speeds};

pub(super) const IDS: &[&str] = &["table2", "table4", "table5", "table6"];

/// Published iterations per second and seconds.
const TABLE_2: [f64; 8] = [1.6e5, 3.9e4, 2.8e4, 1.7e4, 1.1e4, 7.7e3, 5.7e3, 4.5e3];
const TABLE_5_SECONDS: [f64; 8] = [2.4e-2, 5.4e-2, 1.0e-1, 1.8e-1, 2.6e-1, 3.7e-1, 4.9e-1, 6.3e-1];
const TABLE_5_RATE: [f64; 8] = [8.7e5, 8.5e5, 7.7e5, 8.6e5, 8.7e5, 8.6e5, 8.6e5, 8.6e5];
const TABLE_6: [f64; 8] = [2.2e-2, 5.8e-2, 1.1e-1, 1.9e-1, 2.9e-1, 3.9e-1, 5.3e-1, 7.0e-1];
/// Table IV: name, map, published seconds, distributed and reduced.
const TABLE_4: [(&str, &str, [f64; 2]); 3] =
    [("circle", "circle", [217.98, 3.47]), ("k = 2", "k2", [237.06, 3.49]), ("k = 2 fN", "k2fN", [238.95, 70.23])];

pub(super) fn run(context: &Context<'_>) -> Result<Vec<Item>, Error> {
    let speeds = speeds(context)?;
    Ok(vec![distributed(&speeds), in_hand(context)?, reduced(&speeds), resolution(context)?])
}

fn sizes() -> Vec<f64> {
    SIZES.iter().map(|n| *n as f64).collect()
}

fn rates(seconds: &[f64]) -> Vec<f64> {
    seconds.iter().map(|s| 1.0 / s).collect()
}

const MACHINE: &str = "one core of this machine, least time of a few tries; square, Elasto-Plastic, sigma0 = \
 1e5, sigma1 = 20, dt = 0.1 ms, constant twist, as in the public test";

fn distributed(s: &Speeds) -> Item {
    let mut item = Item::new(
        "table2",
        "Table II: cost of the distributed model",
        "Iterations per second fall with the number of cells, N squared.",
    );
    let (ours, theirs) = (rates(&s.engine), rates(&s.baseline));
    // From 9 on: below, what does not depend on the cells shows.
    let slope = -order(&sizes()[1..], &theirs[1..]);
    item.claims("baseline: power of N by which iterations per second fall, from N = 9", slope, Near(2.0, 0.6));
    item.tell("engine: the same power", -order(&sizes()[1..], &ours[1..]));
    item.tell("N = 21: engine over baseline, equal steps", ours[4] / theirs[4]);
    let mut table = Table::new(
        "Iterations per second; a step of the engine is implicit and passes over the cells twice",
        &["N", "paper", "baseline here", "engine", "engine / baseline", "engine [ns per cell and pass]"],
    );
    for (i, n) in SIZES.into_iter().enumerate() {
        let pass = 1e9 * s.engine[i] / (2.0 * (n * n) as f64);
        table.row([
            format!("{n}"),
            short(TABLE_2[i], 2),
            short(theirs[i], 3),
            short(ours[i], 3),
            short(ours[i] / theirs[i], 3),
            short(pass, 3),
        ]);
    }
    item.measured = format!(
        "The baseline's rate falls with N to the power {slope:.2}. At N = 21 an implicit step of the engine \
         takes {} times as long as the baseline's explicit one; with a stiffness of 1e6 the explicit one has \
         to be about 40 times shorter.",
        short(s.engine[4] / s.baseline[4], 2)
    );
    item.tables.push(table);
    let chart = Chart::new("Iterations per second", "N", "1 / s").scales(Scale::Log, Scale::Log);
    item.pictures.push(Picture::new(
        vec![
            chart
                .line(Line::new(palette::OTHER, &sizes(), &TABLE_2).marks().dashed().label("paper's machine"))
                .line(Line::new(palette::OTHER, &sizes(), &theirs).marks().label("baseline here"))
                .line(Line::new(palette::GRID, &sizes(), &ours).marks().label("engine"))
                .svg(),
        ],
        "",
    ));
    item.columns = vec![
        ("N".into(), sizes()),
        ("paper".into(), TABLE_2.to_vec()),
        ("baseline".into(), theirs),
        ("engine".into(), ours),
    ];
    item.parameters = MACHINE.into();
    item
}

fn reduced(s: &Speeds) -> Item {
    let mut item = Item::new(
        "table5",
        "Table V: cost of the reduced model over N",
        "The reduced model's cost does not depend on N, its preparation grows with N squared; at N = 21 it \
         is about 80 times faster than the distributed model.",
    );
    let (ours, theirs) = (rates(&s.engine_reduced), rates(&s.baseline_reduced));
    let slope = order(&sizes()[2..], &s.baseline_table[2..]);
    let fall = -order(&sizes(), &theirs);
    let faster = s.baseline[4] / s.baseline_reduced[4];
    item.claims("baseline: power of N by which the rate falls", fall, Near(0.0, 0.5));
    item.claims("baseline: power of N by which preparation grows, from N = 13", slope, Near(2.0, 0.6));
    item.claims("N = 21, baseline: reduced over distributed rate", faster, AtLeast(30.0));
    item.tell("N = 21, engine: reduced over distributed rate", s.engine[4] / s.engine_reduced[4]);
    item.tell("N = 21: preparation, baseline over engine", s.baseline_table[4] / s.engine_table[4]);
    let mut table = Table::new(
        "",
        &[
            "N",
            "table, paper [s]",
            "table, baseline [s]",
            "table, engine [s]",
            "rate, paper [1/s]",
            "rate, baseline",
            "rate, engine",
        ],
    );
    for (i, n) in SIZES.into_iter().enumerate() {
        table.row([
            format!("{n}"),
            short(TABLE_5_SECONDS[i], 2),
            short(s.baseline_table[i], 2),
            short(s.engine_table[i], 2),
            short(TABLE_5_RATE[i], 2),
            short(theirs[i], 3),
            short(ours[i], 3),
        ]);
    }
    item.measured = format!(
        "In the baseline the reduced step is {faster:.0} times faster than the distributed one at N = 21, \
         its rate falls with N to the power {fall:.2}, and preparation grows with N to the power {slope:.2}. \
         The engine prepares the table {:.0} times faster than the baseline.",
        s.baseline_table[4] / s.engine_table[4]
    );
    item.tables.push(table);
    let chart = |title: &str, y: &str| Chart::new(title, "N", y).scales(Scale::Log, Scale::Log);
    let line = |colour, y: &[f64], label: &str| Line::new(colour, &sizes(), y).marks().label(label);
    item.pictures.push(Picture::new(
        vec![
            chart("Preparation of the table", "s")
                .line(line(palette::OTHER, &TABLE_5_SECONDS, "paper's machine").dashed())
                .line(line(palette::OTHER, &s.baseline_table, "baseline here"))
                .line(line(palette::SURFACE, &s.engine_table, "engine"))
                .svg(),
            chart("Iterations per second, reduced", "1 / s")
                .line(line(palette::OTHER, &TABLE_5_RATE, "paper's machine").dashed())
                .line(line(palette::OTHER, &theirs, "baseline here"))
                .line(line(palette::SURFACE, &ours, "engine"))
                .svg(),
        ],
        "",
    ));
    item.columns = vec![
        ("N".into(), sizes()),
        ("paper_table_s".into(), TABLE_5_SECONDS.to_vec()),
        ("baseline_table_s".into(), s.baseline_table.clone()),
        ("engine_table_s".into(), s.engine_table.clone()),
        ("paper_rate".into(), TABLE_5_RATE.to_vec()),
        ("baseline_rate".into(), theirs),
        ("engine_rate".into(), ours),
    ];
    item.parameters = format!("N_ls = 20, rule (23); {MACHINE}");
    item
}

fn resolution(context: &Context<'_>) -> Result<Item, Error> {
    let mut item = Item::new(
        "table6",
        "Table VI: cost of the table over N_ls",
        "Preparation of the limit surface grows with N_ls squared.",
    );
    let contact = contact(21)?;
    let tries = context.full_or(9, 5);
    let theirs: Vec<f64> = SIZES.iter().map(|n| least(tries, 1, || direct(&contact, nodes(*n)))).collect();
    let ours: Vec<f64> = SIZES
        .iter()
        .map(|n| {
            least(5, 1, || {
                black_box(LimitTable::of(&Surface::new(&contact.patch, Rule::Bilinear), *n).is_ok());
            })
        })
        .collect();
    let slope = order(&sizes(), &theirs);
    item.claims("baseline: power of N_ls by which preparation grows", slope, Near(2.0, 0.6));
    item.tell("engine: the same power", order(&sizes(), &ours));
    item.tell("N_ls = 21: baseline over engine", theirs[4] / ours[4]);
    let mut table = Table::new("Seconds", &["N_ls", "paper", "baseline here", "engine", "baseline / engine"]);
    for (i, n) in SIZES.into_iter().enumerate() {
        table.row([
            format!("{n}"),
            short(TABLE_6[i], 2),
            short(theirs[i], 2),
            short(ours[i], 2),
            short(theirs[i] / ours[i], 2),
        ]);
    }
    item.measured = format!(
        "The baseline's time grows with N_ls to the power {slope:.2}; the engine needs {:.0} times less at N_ls = 21.",
        theirs[4] / ours[4]
    );
    item.tables.push(table);
    item.columns = vec![
        ("N_ls".into(), sizes()),
        ("paper_s".into(), TABLE_6.to_vec()),
        ("baseline_s".into(), theirs),
        ("engine_s".into(), ours),
    ];
    item.parameters = format!("21 x 21 cells, rule (23); {MACHINE}");
    Ok(item)
}

/// Seconds for [`IN_HAND_DURATION`] in hand on one map.
struct InHand {
    distributed: f64,
    reduced: f64,
    /// The baseline's, whose cost is the same for all maps, on the circle.
    baseline: Option<f64>,
}

impl InHand {
    fn new(context: &Context<'_>, map: &str) -> Result<Self, Error> {
        let setup = match map {
            "k2" => Setup::in_hand((2, 1), "hertz").set("patch.exponent=2.0"),
            "k2fN" => Setup::in_hand((2, 1), "hertz").set("patch.exponent_per_newton=2.0"),
            map => Setup::in_hand((2, 1), map),
        };
        let (grid, engine) = (setup.contact()?, Cpu::new());
        let plan = Plan::new(IN_HAND_DURATION, bristle::engine::DEFAULT_STEP, 0.01)?;
        let time = |contact: &Contact| -> Result<f64, Error> {
            let mut failed = None;
            let seconds = least(context.full_or(3, 2), 1, || {
                failed = engine.run(std::slice::from_ref(contact), &plan).err();
            });
            failed.map_or(Ok(seconds), |e| Err(e.into()))
        };
        // The explicit step needs 5 us or less; a part of the run is enough to time it.
        let part = context.full_or(0.4, 0.05);
        let explicit = Plan::new(part, 5e-6, part)?;
        let baseline = (map == "circle").then(|| {
            let seconds = least(1, 1, || {
                black_box(Baseline.run(std::slice::from_ref(&grid), &explicit).is_ok());
            });
            seconds * IN_HAND_DURATION / part
        });
        Ok(Self { distributed: time(&grid)?, reduced: time(&setup.published().contact()?)?, baseline })
    }
}

fn in_hand(context: &Context<'_>) -> Result<Item, Error> {
    let mut item = Item::new(
        "table4",
        "Table IV: time to simulate 2 s in hand",
        "The reduced model simulates 2 s about 63 times faster than the distributed one; three times faster \
         if its table has to be made anew every 10 ms.",
    );
    let mut table = Table::new(
        "Seconds for 2 s of simulation, one core",
        &[
            "map",
            "paper: distributed",
            "reduced",
            "ratio",
            "explicit baseline: distributed",
            "engine: distributed",
            "reduced",
            "ratio",
            "baseline / engine",
        ],
    );
    let mut ratios = Vec::new();
    let mut columns = [Vec::new(), Vec::new(), Vec::new()];
    for (name, map, paper) in TABLE_4 {
        let InHand { distributed, reduced, baseline } = InHand::new(context, map)?;
        ratios.push(distributed / reduced);
        let text = |v: Option<f64>| v.map_or_else(String::new, |v| short(v, 3));
        table.row([
            name.to_owned(),
            short(paper[0], 4),
            short(paper[1], 3),
            short(paper[0] / paper[1], 2),
            text(baseline),
            short(distributed, 3),
            short(reduced, 2),
            short(distributed / reduced, 3),
            text(baseline.map(|b| b / distributed)),
        ]);
        for (column, v) in columns.iter_mut().zip([distributed, reduced, baseline.unwrap_or(f64::NAN)]) {
            column.push(v);
        }
        item.tell(format!("{name}: distributed, engine [s]"), distributed);
        item.tell(format!("{name}: reduced, engine [s]"), reduced);
        item.tell(format!("{name}: paper's distributed over the engine's"), paper[0] / distributed);
    }
    item.claims("circle: distributed over reduced, engine", ratios[0], AtLeast(63.0));
    item.measured = format!(
        "With the engine the reduced model is {} (circle), {} (k = 2) and {} times (k = 2 f_N) as fast as \
         the distributed one, which takes {} s for 2 s.",
        short(ratios[0], 2),
        short(ratios[1], 2),
        short(ratios[2], 2),
        short(columns[0][0], 2)
    );
    item.erratum = Some(
        "The published ratio measures the solver: 96 % of the calls of the distributed model \
     build the dense Jacobian of an adaptive stiff solver. A step that eliminates the bristles cell by cell \
     makes the distributed model cheap."
            .into(),
    );
    let [distributed, reduced, baseline] = columns;
    item.columns = vec![
        ("engine_distributed_s".into(), distributed),
        ("engine_reduced_s".into(), reduced),
        ("baseline_distributed_s".into(), baseline),
    ];
    item.tables.push(table);
    item.parameters = "Case 2, f1 of Fig. 29, 21 x 21 cells, step 0.2 ms; explicit baseline with steps of 5 \
     \u{b5}s, the longest that does not blow up"
        .into();
    Ok(item)
}
