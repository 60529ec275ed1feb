//! Fig. 10: jumps in the force of a line of cells, and the rules that remove them.

use super::context::{Context, Error};
use super::item::Item;
use super::item::Wanted::{AtLeast, AtMost};
use super::setup::{PROFILE_DURATION, Setup};
use crate::page::{Chart, Line, Picture, palette};
use bristle::limit_surface::{Rule, Surface};
use bristle::planar::Twist;
use bristle_data::statistics::greatest;

pub(super) const IDS: &[&str] = &["fig10"];

/// While the patch turns and starts to translate [s]; at 1.2 s the centre of rotation leaves the patch.
const SHOWN: [f64; 2] = [0.8, 1.19];
const SAMPLES: usize = 2001;

pub(super) fn run(context: &Context<'_>) -> Result<Vec<Item>, Error> {
    let mut item = Item::new(
        "fig10",
        "Figure 10: steps in the force of a line",
        "Sums over cell centres make the force jump whenever the centre of rotation passes a cell; the \
         bilinear rule removes the jumps.",
    );
    let setup = Setup::profile("line").coulomb();
    let contact = setup.contact()?;
    let runs = context.simulate(std::slice::from_ref(&contact), PROFILE_DURATION, 1e-3)?;
    let t: Vec<f64> =
        (0..SAMPLES).map(|i| SHOWN[0] + (SHOWN[1] - SHOWN[0]) * i as f64 / (SAMPLES - 1) as f64).collect();
    // The profile between these times: 1 rad/s and 25 mm/s^2 along x.
    let twists: Vec<Twist> = t.iter().map(|t| Twist::new(0.025 * (t - 0.8), 0.0, 1.0)).collect();
    let [points, bilinear, cells] = Rule::ALL.map(|rule| {
        let surface = Surface::new(&contact.patch, rule);
        surface.coulombs(&twists).iter().map(|w| w.fx).collect::<Vec<f64>>()
    });
    let jump = |f: &[f64]| greatest(&f.windows(2).map(|w| w[1] - w[0]).collect::<Vec<_>>());
    let [a, b, c] = [&points, &bilinear, &cells].map(|f| jump(f));
    item.claims(
        "largest change of the force from one of 2001 twists to the next: centres over exact",
        a / c,
        AtLeast(10.0),
    );
    item.claims("the same: bilinear rule over exact", b / c, AtMost(1.5));
    let off = |f: &[f64]| greatest(&f.iter().zip(&cells).map(|(a, b)| a - b).collect::<Vec<_>>());
    item.tell("largest distance of the force from exact integrals, centres [N]", off(&points));
    item.tell("largest distance of the force from exact integrals, bilinear rule [N]", off(&bilinear));
    let rim = Surface::new(&contact.patch, Rule::Bilinear);
    let [inside, outside] = [0.009_999, 0.010_001].map(|y| rim.coulomb(Twist::new(y, 0.0, 1.0)).fx);
    item.tell("jump of the bilinear rule where the centre of rotation leaves the patch [N]", (outside - inside).abs());
    item.measured = format!(
        "At cell centres the steady force jumps by {:.3} N at a time; with the bilinear rule, as with exact \
         integrals over the cells, by no more than {:.4} N between neighbouring samples.",
        a,
        b.max(c)
    );
    let (time, force) = (runs.time(), runs.wrench(0, 0));
    let shown: Vec<usize> = (0..time.len()).filter(|i| (SHOWN[0]..=SHOWN[1]).contains(&time[*i])).collect();
    let pick = |v: &[f64]| shown.iter().map(|i| v[*i]).collect::<Vec<f64>>();
    let whole = Chart::new("Distributed LuGre", "t [s]", "fx [N]")
        .line(Line::new(palette::GRID, time, &force))
        .x_range(0.7, 2.3);
    let zoom = Chart::new("The beginning", "t [s]", "fx [N]")
        .line(Line::new(palette::GRID, &pick(time), &pick(&force)).label("distributed"))
        .line(Line::new(palette::OTHER, &t, &points).width(1.0).label("steady, centres"));
    let rules = Chart::new("Steady force by rule", "t [s]", "fx [N]")
        .line(Line::new(palette::OTHER, &t, &points).label("centres").width(1.0))
        .line(Line::new(palette::SURFACE, &t, &bilinear).label("bilinear"))
        .line(Line::new(palette::ELLIPSOID, &t, &cells).dashed().label("exact cells"));
    item.pictures.push(Picture::new(
        vec![whole.svg(), zoom.svg(), rules.svg()],
        "The centre of rotation moves along the line by one cell in 38 ms.",
    ));
    item.columns = vec![
        ("t_s".into(), t),
        ("centres_fx_N".into(), points),
        ("bilinear_fx_N".into(), bilinear),
        ("cells_fx_N".into(), cells),
        ("distributed_t_s".into(), pick(time)),
        ("distributed_fx_N".into(), pick(&force)),
    ];
    item.parameters = "LuGre, line of 21 cells over 20 mm, Table I with p = 0, the twist of Fig. 5".into();
    item.scenario = Some(setup.text);
    Ok(vec![item])
}
