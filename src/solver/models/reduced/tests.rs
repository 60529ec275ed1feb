use super::*;
use crate::body::Body;
use crate::contact::{Form, Initial, Inputs};
use crate::friction::{Friction, Law};
use crate::limit_surface::{Rule, Surface};
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
