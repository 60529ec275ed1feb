//! Which model to take: error against cost of all models on one task.

use std::sync::Arc;
use std::time::Instant;

use super::super::context::{Context, Error};
use super::super::item::Item;
use super::super::item::Wanted::{AtLeast, AtMost, Near};
use super::task::{self, DURATION, FRICTION, HELD, MASS, MU, Push, WEIGHT};
use crate::page::{Chart, Line, Picture, Scale, Table, palette};
use bristle::contact::{Form, Model};
use bristle::cpu::Cpu;
use bristle::engine::{Engine, Plan};
use bristle::friction::{Friction, Law};
use bristle::limit_surface::{Rule, Table as SurfaceTable};
use bristle::patch::Patch;
use bristle::point::{PointLaw, PointModel};
use bristle_bench::cpu_seconds;
use bristle_rigid::world::{Method, Worlds};

/// Steps [s].
const STEPS: [f64; 4] = [4e-3, 1e-3, 2.5e-4, 1e-4];
/// Between times at which the path is compared [s].
const EVERY: f64 = 0.05;
/// Stiffness of the bristles [1/m].
const SIGMA0: f64 = 1e5;
/// The load is at this angle [\u{b0}] from the first friction direction of the contact problem.
const ANGLE: f64 = 20.0;
/// Cells along a side of the grids.
const CELLS: usize = 21;

/// A model, and how it runs.
struct Subject {
    name: String,
    colour: &'static str,
    kind: Kind,
}

enum Kind {
    /// Contacts of an engine, so many of them.
    Contact(Model, Friction, usize),
    /// Worlds with so many friction directions, so many of them.
    World(usize, usize),
}

/// The result of a model in steps of one length.
struct Point {
    step: f64,
    /// Largest distance from Coulomb's path, and the distance at the end [m].
    error: f64,
    end: f64,
    /// Processor time per contact and simulated second [s].
    cost: f64,
}

pub(super) fn item(context: &Context<'_>) -> Result<Item, Error> {
    let mut item = Item::new(
        "choice",
        "Which model to take: error against cost of all of them on one task",
        "Where Coulomb's motion alone is wanted the implicit point law has the least error for its cost. Bristles \
         differ from it by what they give way before they slide, which is compliance and no error where contacts are \
         soft; a reduced bristle has the motion of the whole grid, up to its table. The contact problem is right up to \
         its polygon. A band of velocities creeps where the others rest.",
    );
    let steps = context.full_or(&STEPS[..], &STEPS[1..3]);
    let least = context.full_or(0.2, 0.02);
    let mut table = Table::new(
        format!("In steps of {} s", steps[steps.len() - 1]),
        &["model", "largest error [m]", "error at the end [m]", "processor time per contact and second [ms]", "has"],
    );
    let mut charts = ["Bristles", "Rigid contacts"].map(|title| {
        Chart::new(title, "processor time per contact and second [s]", "largest error [m]")
            .scales(Scale::Log, Scale::Log)
    });
    let mut last = Vec::new();
    for subject in subjects()? {
        context.begin(&format!("choice: {}", subject.name));
        let points = steps.iter().map(|h| subject.measure(*h, least)).collect::<Result<Vec<Point>, Error>>()?;
        let columns = [|p: &Point| p.cost, |p: &Point| p.error].map(|c| points.iter().map(c).collect::<Vec<f64>>());
        let line = Line::new(subject.colour, &columns[0], &columns[1]).marks().label(&*subject.name);
        let chart = &mut charts[usize::from(subject.is_rigid())];
        *chart = std::mem::take(chart).line(line);
        let Some(point) = points.last() else { continue };
        table.row([
            subject.name.clone(),
            format!("{:.1e}", point.error),
            format!("{:.1e}", point.end),
            format!("{:.3}", 1e3 * point.cost),
            subject.has().into(),
        ]);
        item.tell(format!("{}: processor time per contact and simulated second [s]", subject.name), point.cost);
        let id = subject.name.replace([' ', ',', '-'], "_");
        let [cost, error] = columns;
        item.columns.push((format!("{id}_cost_s"), cost));
        item.columns.push((format!("{id}_error_m"), error));
        last.push((subject.name, points));
    }
    checks(&mut item, &last);
    item.tables.push(table);
    item.pictures.push(Picture::new(charts.map(Chart::svg).to_vec(), "Each model in steps from long to short."));
    item.note = "Take the implicit point law for one contact that does not turn; a grid or a reduced bristle where \
                 the patch turns, where its compliance or its slow motion before break-away counts, and the \
                 reduced one where grids cost too much; the contact problem for several bodies that touch and leave \
                 each other. Laws with a band are here for comparison alone. Costs are those of this machine, in a \
                 batch."
        .into();
    item.parameters = format!(
        "A block of {MASS} kg, {WEIGHT} N, mu = {MU}, so that it slides above {FRICTION} N; a load that grows to 8 N \
         in 0.4 s and then is 2 N, until {DURATION} s, {ANGLE}\u{b0} from the first friction direction of the \
         contact problem; bristles of sigma0 = {SIGMA0:e}/m with half the critical damping, {CELLS} x {CELLS} cells \
         in a circle; bands of 1 mm/s, Quinn's of T F/M; double precision"
    );
    Ok(item)
}

/// Dry friction of bristles with half of the critical damping, which Dahl's law does not have.
fn bristles(law: Law) -> Friction {
    let sigma1 = (SIGMA0 * MASS / WEIGHT).sqrt();
    Friction { law, sigma0: SIGMA0, sigma1, sigma2: 0.0, mu_c: MU, mu_s: MU, ..Friction::default() }
}

fn subjects() -> Result<Vec<Subject>, Error> {
    let (mut all, mut colours) = (Vec::new(), palette::CYCLE.into_iter().cycle());
    let mut add = |name: &str, kind: Kind| {
        all.push(Subject { name: name.to_owned(), colour: colours.next().unwrap_or(palette::GRID), kind });
    };
    for (law, name) in [
        (Law::LuGre, "LuGre"),
        (Law::ElastoPlastic, "Elasto-Plastic"),
        (Law::Dahl, "Dahl"),
        (Law::ViscoelastoPlastic, "springs on sliders"),
    ] {
        add(&format!("{name}, grid"), Kind::Contact(Model::Distributed, bristles(law), 4));
    }
    let table = Arc::new(SurfaceTable::new(&*task::disc(CELLS)?, Rule::Cells, 20)?);
    for (law, name) in [(Law::LuGre, "LuGre"), (Law::ElastoPlastic, "Elasto-Plastic")] {
        let model = Model::LimitSurface(Arc::clone(&table), Form::Consistent);
        add(&format!("{name}, reduced"), Kind::Contact(model, bristles(law), 256));
    }
    for law in PointLaw::ALL {
        // Without viscosity the approximation of the implicit law is the law itself.
        if *law != PointLaw::Approximate {
            let name = if *law == PointLaw::GeneralizedMaxwellSlip { "generalized Maxwell slip" } else { law.name() };
            add(&format!("{name}, point"), Kind::Contact(PointModel::from(*law).into(), bristles(Law::default()), 256));
        }
    }
    for directions in [8, 32] {
        add(&format!("contact problem, {directions}"), Kind::World(directions, 64));
    }
    Ok(all)
}

impl Subject {
    fn is_rigid(&self) -> bool {
        match &self.kind {
            Kind::Contact(model, ..) => model.point().is_some(),
            Kind::World(..) => true,
        }
    }

    /// What it has that others have not.
    fn has(&self) -> &'static str {
        match &self.kind {
            Kind::Contact(Model::Distributed, ..) => "any pressure map, turns, compliance",
            Kind::Contact(Model::Point(model), ..) if model.law.has_elements() => "compliance",
            Kind::Contact(Model::Point(model), ..) if model.law.has_band() => "no state",
            Kind::Contact(Model::Point(_), ..) => "no state, exact stick",
            Kind::Contact(..) => "turns, compliance",
            Kind::World(..) => "several bodies, contacts that open and close",
        }
    }

    /// Runs it in steps of `step` [s], again and again until the processor has worked for `least` [s].
    fn measure(&self, step: f64, least: f64) -> Result<Point, Error> {
        let (mut path, mut runs) = (Vec::new(), 0u32);
        // Where the system tells no processor time, the time that passes.
        let start = Instant::now();
        let clock = || cpu_seconds().unwrap_or_else(|| start.elapsed().as_secs_f64());
        let before = clock();
        while runs == 0 || clock() - before < least {
            path = self.path(step)?;
            runs += 1;
        }
        let spent = (clock() - before).max(1e-3) / f64::from(runs);
        let angle = ANGLE.to_radians();
        let distance = |(k, [x, y]): (usize, &[f64; 2])| {
            let way = Push::Ramp.position(k as f64 * EVERY);
            (x - way * angle.cos()).hypot(y - way * angle.sin())
        };
        let distances: Vec<f64> = path.iter().enumerate().map(distance).collect();
        let (Kind::Contact(.., many) | Kind::World(_, many)) = self.kind;
        Ok(Point {
            step,
            error: distances.iter().copied().fold(0.0, f64::max),
            end: distances.last().copied().unwrap_or(f64::NAN),
            cost: spent / (many as f64 * DURATION),
        })
    }

    /// Where it is at every [`EVERY`] [m].
    fn path(&self, step: f64) -> Result<Vec<[f64; 2]>, Error> {
        let angle = ANGLE.to_radians();
        match &self.kind {
            Kind::Contact(model, friction, many) => {
                let cells = if model.is_grid() { CELLS } else { 1 };
                let patch: Arc<Patch> = match model {
                    Model::LimitSurface(..) => task::disc(CELLS)?,
                    _ => task::disc(cells)?,
                };
                let mut model = model.clone();
                if let Model::Point(PointModel { law: PointLaw::Quinn, band, .. }) = &mut model {
                    *band = step * FRICTION / MASS;
                }
                let contact = task::contact(&patch, model, *friction, Push::Ramp, angle)?;
                let out = Cpu::new().run(&vec![contact; *many], &Plan::new(DURATION, step, EVERY)?)?;
                if out.status.iter().any(|s| s.failure.is_some()) {
                    return Err(Error::Failed(self.name.clone()));
                }
                Ok(out.pose[out.of(0)].iter().map(|q| [q.x, q.y]).collect())
            }
            Kind::World(directions, many) => {
                let worlds = vec![task::world(*directions, Push::Ramp, angle)?; *many];
                let mut worlds = Worlds::new(worlds, step, Method::Double)?;
                let mut path = vec![[0.0; 2]];
                while (path.len() as f64 - 0.5) * EVERY < DURATION {
                    worlds.advance(EVERY)?;
                    let at = worlds.world(0).states()[1].pose.translation;
                    path.push([at.x, at.y]);
                }
                Ok(path)
            }
        }
    }
}

/// What does not depend on the machine: errors in the shortest steps.
fn checks(item: &mut Item, all: &[(String, Vec<Point>)]) {
    let of = |name: &str| all.iter().find(|(own, _)| own == name).and_then(|(_, points)| points.last());
    let error = |name: &str| of(name).map_or(f64::NAN, |p| p.error);
    let step = of("implicit, point").map_or(f64::NAN, |p| p.step);
    // Loads at the end of a step are early by up to a step, at the fastest 0.24 m/s.
    item.claims("implicit point law: error over its step [m/s]", error("implicit, point") / step, AtMost(0.26));
    let ratio = |a: &str, b: &str| error(a) / error(b);
    let over = "error over that of";
    item.claims(
        format!("Quinn's law, its band tuned: {over} the implicit law"),
        ratio("quinn, point", "implicit, point"),
        Near(1.0, 1e-6),
    );
    // Between its nodes, 4.5 degrees apart, the table's friction is up to 0.08 % too small.
    for law in ["LuGre", "Elasto-Plastic"] {
        item.claims(
            format!("{law}: error of a reduced bristle over the grid's [m]"),
            (error(&format!("{law}, reduced")) - error(&format!("{law}, grid"))).abs(),
            AtMost(1.5e-4),
        );
    }
    item.claims(
        format!("springs on sliders, grid: {over} LuGre's"),
        ratio("springs on sliders, grid", "LuGre, grid"),
        AtMost(0.2),
    );
    item.claims(
        format!("contact problem, 32 directions: {over} 8 directions"),
        ratio("contact problem, 32", "contact problem, 8"),
        AtMost(0.15),
    );
    // Under the load that friction holds a band of 1 mm/s goes on by 2/4.9 of that.
    let creep = 1e-3 * HELD / FRICTION * (DURATION - 0.5);
    item.claims(
        "viscous band: position at the end over the creep of 0.7 s",
        of("viscous-band, point").map_or(f64::NAN, |p| p.end) / creep,
        AtLeast(0.8),
    );
    item.measured = format!(
        "In steps of {step} s the implicit point law is within {:.0e} m of Coulomb's path, the grids within {:.0e} \
         (springs on sliders) and {:.0e} m (LuGre), the contact problem within {:.0e} (32 directions) and {:.0e} m \
         (8).",
        error("implicit, point"),
        error("springs on sliders, grid"),
        error("LuGre, grid"),
        error("contact problem, 32"),
        error("contact problem, 8")
    );
}
