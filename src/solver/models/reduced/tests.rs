use super::*;
use crate::body::Body;
use crate::contact::{Form, Initial, Inputs};
use crate::friction::{Friction, Law};
use crate::limit_surface::{Rule, Surface};
use crate::number::dual::Dual;
use crate::patch::{Exponent, FrictionAxes, Grid, Hertz, Patch, Shape};
use crate::random::Draw;

/// The 3 x 3 gain is the derivative of the resistance over the patch twist, of every law, form and
/// surface, in stick, in the transition and in slide.
#[test]
fn the_gain_is_the_derivative_of_the_resistance() {
    let patch = Patch::shape(Grid::new(21, 21, 0.02, 0.02).unwrap(), Shape::LineGradientX).unwrap();
    let table = Arc::new(Table::new(&patch, Rule::Cells, 20).unwrap());
    let cases =
        [(Law::LuGre, Form::Consistent), (Law::ElastoPlastic, Form::Published), (Law::ElastoPlastic, Form::Consistent)];
    for (law, form) in cases {
        for table in [None, Some(&table)] {
            let friction = Friction { law, ..Friction::default() };
            let a = 5.86e-5;
            let stage = Stage {
                a_sigma0: a * friction.sigma0,
                damping: friction.sigma1 / (friction.sigma0 * a),
                mu_c: friction.mu_c,
                mu_d: friction.mu_s - friction.mu_c,
                chi: 1.0,
                extrapolation: 1.0,
                cuts: 0.0,
            };
            // How often the bristle stuck, was in the transition and slid.
            let mut met = [0; 3];
            for n in 0..600 {
                let draw = Draw::new(7, n);
                let number = |name: &str| draw.normal(name);
                let zeta = Vec3::new(number("zx"), number("zy"), number("zw")) * draw.uniform("z");
                let model = match table {
                    Some(table) => Model::LimitSurface(Arc::clone(table), form),
                    None => Model::Ellipsoid(form),
                };
                let contact = Contact {
                    patch: Arc::new(patch.clone()),
                    model,
                    friction,
                    body: Body::prescribed(Twist::default()),
                    inputs: Inputs::default(),
                    initial: Initial::default(),
                };
                let mut one = Reduced::<f64>::new(&contact);
                one.load(0, &contact, &[]);
                // The torsional radius of the cell centres for every surface.
                one.radius = patch.radius();
                one.elastic = patch.viscous() / (patch.radius() * patch.radius());
                one.zeta = zeta;
                let size = 1e-2 * 1e-4f64.powf(draw.uniform("v"));
                let v = [size * number("vx"), size * number("vy"), size / one.radius * number("w")];
                let mut evaluate = |u: [f64; 3]| one.sweep(Vec3::from(u), (&stage, 0), (&stage, 1));
                let (_, gain) = evaluate(v);
                let scale = [1.0, 1.0, 1.0 / patch.radius()];
                for (axis, scale) in scale.into_iter().enumerate() {
                    let column = gain.apply(Vec3::from([0, 1, 2].map(|i| f64::from(u8::from(i == axis)))));
                    // Torques over the radius, so that all are of one size.
                    let level = |v: Vec3<f64>| Vec3::new(v.x, v.y, v.z / patch.radius());
                    // A short difference may be rounding of the root, a long one may meet a kink of the
                    // look-up.
                    let error = [1e-6, 1e-5, 1e-4].map(|share| {
                        let h = scale * share * size;
                        let shifted = |h: f64| {
                            let mut u = v;
                            u[axis] += h;
                            u
                        };
                        let change = (evaluate(shifted(h)).0 - evaluate(shifted(-h)).0) * (0.5 / h);
                        level(change - column).norm().0 / scale
                    });
                    let error = error.into_iter().fold(f64::INFINITY, f64::min);
                    let most =
                        level(Vec3::new(gain.x.x, gain.y.x, gain.z.x)).norm().0.max(stage.a_sigma0 * stage.damping);
                    assert!(
                        error <= 1e-3 * most,
                        "{law:?}, {form:?}, table {}: state {n}, axis {axis}: {error} of {most}",
                        table.is_some()
                    );
                }
                let x = one.loading;
                met[usize::from(x > friction.s_ba) + usize::from(x >= 0.999)] += 1;
            }
            assert!(law == Law::LuGre || met.iter().all(|n| *n > 20), "{form:?}: stick, transition, slide {met:?}");
        }
    }
}

/// `D`, its direction, its size and `|h|` at `v_S`, where `r` is 1.
fn driven<R: Real>(of: &Reduced<R>, v_s: Vec3<R>) -> [R; 8] {
    let m = of.drive(v_s);
    [m.d.x, m.d.y, m.d.z, m.d_hat.x, m.d_hat.y, m.d_hat.z, m.speed, m.h]
}

/// On the lines of a table and beside them, the derivatives of numbers that carry some are those in one of
/// the cells there, and those of the gain; in pure rotation they are the means of both sides.
#[test]
fn on_a_line_of_a_table_the_derivative_is_that_of_one_of_its_cells() {
    let patch = Patch::shape(Grid::new(9, 9, 0.02, 0.02).unwrap(), Shape::LineGradientX).unwrap();
    let contact = Contact {
        model: Model::LimitSurface(Arc::new(Table::new(&patch, Rule::Cells, 4).unwrap()), Form::Consistent),
        patch: Arc::new(patch),
        friction: Friction::default(),
        body: Body::prescribed(Twist::default()),
        inputs: Inputs::default(),
        initial: Initial::default(),
    };
    let (mut plain, mut dual) = (Reduced::<f64>::new(&contact), Reduced::<Dual>::new(&contact));
    plain.load(0, &contact, &[]);
    dual.load(0, &contact, &[]);
    (plain.radius, dual.radius) = (1.0, Dual::constant(1.0));
    let central = |v: Vec3<f64>, h: f64| {
        [Vec3::new(h, 0.0, 0.0), Vec3::new(0.0, h, 0.0), Vec3::new(0.0, 0.0, h)].map(|by| {
            let (plus, minus) = (driven(&plain, v + by), driven(&plain, v - by));
            [0, 1, 2, 3, 4, 5, 6, 7].map(|i| (plus[i] - minus[i]) / (2.0 * h))
        })
    };
    // Exactly along axes and diagonals, with zeros of both signs, and as fast in rotation as in translation.
    let mut twists: Vec<[f64; 3]> = Vec::new();
    for n in 0..125 {
        let of = |k: u32| [-1.0, -0.0, 0.0, 1.0, 0.5][n / 5usize.pow(k) % 5];
        twists.push([of(0), of(1), of(2)]);
    }
    twists.extend([[0.6, 0.8, 1.0], [-0.8, 0.6, -1.0], [0.3, 0.2, 0.1]]);
    // All nodes, as close as rounding allows, and translations that are rounding.
    for (i, j) in (0..16).flat_map(|i| (1..8).map(move |j| (i, j))) {
        let [(y, x), (t, z)] = [i, j].map(|k| (f64::from(k) * std::f64::consts::FRAC_PI_8).sin_cos());
        twists.push([x * t, y * t, z]);
    }
    twists.extend([[1e-17, 0.0, 1.0], [-2e-17, 1e-17, -1.0], [1e-40, 1e-40, 0.5]]);
    for twist in twists {
        let v = Vec3::from(twist);
        let (s, vt) = (v.norm().0, twist[0].hypot(twist[1]));
        if s == 0.0 {
            continue;
        }
        let mut with = Vec3::from(twist.map(Dual::constant));
        (with.x.d[0], with.y.d[1], with.z.d[2]) = (1.0, 1.0, 1.0);
        let found = driven(&dual, with);
        let error = |wanted: [[f64; 8]; 3]| {
            let errors = (0..3).flat_map(|k| (0..8).map(move |i| (k, i)));
            errors.map(|(k, i)| (found[i].d[k] - wanted[k][i]).abs()).fold(0.0, f64::max)
        };
        let error = if vt > 1e-9 * s {
            // A little away from the line, in the cells around it.
            let theta = Vec3::new(-twist[1], twist[0], 0.0) * (1e-5 / vt);
            let phi = Vec3::new(twist[0] * twist[2], twist[1] * twist[2], -vt * vt) * (1e-5 / (vt * s));
            let cells = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)];
            cells.map(|(a, b)| error(central(v + theta * a + phi * b, 1e-7))).into_iter().fold(f64::INFINITY, f64::min)
        } else {
            error(central(v, 1e-7))
        };
        assert!(error < 1e-3, "{twist:?}: {error}");
        let values = driven(&plain, v);
        for (found, wanted) in found.iter().zip(values) {
            assert!((found.v - wanted).abs() <= 1e-14, "{twist:?}: {} {wanted}", found.v);
        }
        let m = dual.drive(with);
        for (row, d) in [(m.j.x, m.d.x), (m.j.y, m.d.y), (m.j.z, m.d.z)] {
            assert_eq!([row.x.v, row.y.v, row.z.v], [d.d[0], d.d[1], d.d[2]], "{twist:?}");
        }
    }
}

/// A table's own radius is the one by its rule, of its own patch and of such as differ in size alone.
#[test]
fn the_radius_is_by_the_rule_of_the_table() {
    let grid = Grid::new(9, 9, 0.02, 0.02).unwrap();
    let [disc, square] = [Shape::Disc, Shape::Square].map(|shape| Patch::shape(grid, shape).unwrap());
    let axes = |across: f64| disc.clone().with_friction_axes(FrictionAxes::new(across, 0.3).unwrap());
    let left = |i: usize| if i % 9 < 4 { 0.5 } else { 1.0 };
    let mapped = disc.clone().with_friction_map(&(0..81).map(left).collect::<Vec<_>>()).unwrap();
    for rule in Rule::ALL {
        for of in [&disc, &axes(1.5)] {
            let table = Table::new(of, rule, 5).unwrap();
            let others = [&square, &disc.scaled(1.0, 0.9).unwrap(), &axes(1.5), &axes(1.6), &mapped, &disc];
            for patch in others.into_iter().chain([of, &of.scaled(2.0, 2.0).unwrap()]) {
                // Where cells are oblique that of a table is not the one that was asked for.
                let wanted = Surface::new(patch, table.rule()).radius();
                assert_eq!(radius_of(patch, Some(&table)).to_bits(), wanted.to_bits(), "{}", rule.name());
            }
            let patch = of.scaled(0.37, 0.37).unwrap();
            let (found, wanted) = (radius_of(&patch, Some(&table)), Surface::new(&patch, table.rule()).radius());
            assert!((found - wanted).abs() <= 1e-14 * wanted, "{}: {found}, {wanted}", rule.name());
        }
    }
    assert_eq!(radius_of(&square, None).to_bits(), square.radius().to_bits());
}

/// Of maps that follow the force, on grids with and without a middle cell, a table knows the radius: it is
/// linear in the pressure.
#[test]
fn the_radius_of_a_map_that_follows_the_force_is_by_the_rule() {
    for (nx, ny, height) in [(21, 21, 0.02), (12, 9, 0.02), (8, 8, 0.013)] {
        let grid = Grid::new(nx, ny, 0.02, height).unwrap();
        for exponent in [Exponent::Fixed(2.0), Exponent::Fixed(0.7), Exponent::PerNewton(2.0)] {
            let patch = Patch::hertz(grid, Hertz { radius: 3.0, exponent }, 1.0).unwrap();
            for rule in Rule::ALL {
                let table = Table::new(&patch, rule, 3).unwrap();
                for f_n in [0.0, 0.3, 1.0, 1.7, 20.0] {
                    let patch = patch.under(f_n).scaled(0.5, 0.5).unwrap();
                    let wanted = Surface::new(&patch, rule).radius();
                    let found = table.radius_under(&patch).unwrap();
                    assert!((found - wanted).abs() <= 1e-12 * wanted, "{} {f_n} N: {found}, {wanted}", rule.name());
                    assert_eq!(radius_of(&patch, Some(&table)), found);
                }
            }
            // Contacts whose sizes are drawn share a table to the last place of single precision.
            let stretched = patch.scaled(1.0, 1.0 + 6e-8).unwrap();
            for rule in Rule::ALL {
                let wanted = Surface::new(&stretched, rule).radius();
                let found = Table::new(&patch, rule, 3).unwrap().radius_under(&stretched).unwrap();
                assert!((found - wanted).abs() <= 2e-11 * wanted, "{}: {found}, {wanted}", rule.name());
            }
            let table = Table::new(&patch, Rule::Cells, 3).unwrap();
            let other = Grid::new(nx, ny, 0.02, 2.0 * height).unwrap();
            assert_eq!(table.radius_under(&Patch::hertz(other, patch.rule().unwrap(), 1.0).unwrap()), None);
        }
    }
}
