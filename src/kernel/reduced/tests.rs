use super::*;
use crate::friction::{Friction, Law};
use crate::limit_surface::{Rule, Surface};
use crate::patch::{Exponent, Grid, Hertz, Patch, Shape};
use crate::random::Draw;

/// The 3 x 3 gain is the derivative of the resistance over the patch twist, of every law, form and
/// surface, in stick, on the ramp and in slide.
#[test]
fn the_gain_is_the_derivative_of_the_resistance() {
    let patch = Patch::shape(Grid::new(21, 21, 0.02, 0.02).unwrap(), Shape::LineGradientX).unwrap();
    let table = Arc::new(Table::new(&patch, Rule::Cells, 20).unwrap());
    let cases =
        [(Law::LuGre, Form::Consistent), (Law::ElastoPlastic, Form::Published), (Law::ElastoPlastic, Form::Consistent)];
    for (law, form) in cases {
        for table in [None, Some(&table)] {
            let friction = Friction { law, ..Friction::default() };
            let k = Consts::<f64>::new(&friction);
            let a = 5.86e-5;
            let stage = Stage {
                a_sigma0: a * friction.sigma0,
                damping: friction.sigma1 / (friction.sigma0 * a),
                mu_c: friction.mu_c,
                mu_d: friction.mu_s - friction.mu_c,
                chi: 1.0,
                pull: 1.0,
            };
            // How often the bristle stuck, was on the ramp and slid.
            let mut met = [0; 3];
            for n in 0..600 {
                let draw = Draw::new(7, n);
                let number = |name: &str| draw.normal(name);
                let mut one = Reduced {
                    loading: 0.0,
                    zeta: Vector3::new(number("zx"), number("zy"), number("zw")) * draw.uniform("z"),
                    hidden: 0.0,
                    kept: Vector3::zeros(),
                    cop: patch.cop(),
                    radius: patch.radius(),
                    viscous: patch.viscous(),
                    table: table.map(Arc::clone),
                    single: false,
                    form,
                    k,
                };
                let size = 1e-2 * 1e-4f64.powf(draw.uniform("v"));
                let v = [size * number("vx"), size * number("vy"), size / one.radius * number("w")];
                let mut resist = |u: [f64; 3]| one.sweep(Twist::from(u), None, Some(&stage));
                let gain = resist(v).gain;
                let scale = [1.0, 1.0, 1.0 / patch.radius()];
                for (axis, scale) in scale.into_iter().enumerate() {
                    let column: Vector3<f64> = gain.column(axis).into();
                    // Torques over the radius, so that all are of one size.
                    let level = |v: Vector3<f64>| Vector3::new(v.x, v.y, v.z / patch.radius());
                    // A short difference may be rounding of the root, a long one may meet a kink of the
                    // look-up.
                    let error = [1e-6, 1e-5, 1e-4].map(|share| {
                        let h = scale * share * size;
                        let shifted = |h: f64| {
                            let mut u = v;
                            u[axis] += h;
                            u
                        };
                        let change = (resist(shifted(h)).resist - resist(shifted(-h)).resist) / (2.0 * h);
                        level(change - column).norm() / scale
                    });
                    let error = error.into_iter().fold(f64::INFINITY, f64::min);
                    let most = level(gain.column(0).into()).norm().max(stage.a_sigma0 * stage.damping);
                    assert!(
                        error <= 1e-3 * most,
                        "{law:?}, {form:?}, table {}: state {n}, axis {axis}: {error} of {most}",
                        table.is_some()
                    );
                }
                let drive = one.drive(&k, Twist::from(v).at(patch.cop()));
                let x =
                    one.bristle(&k, &stage, &drive).zeta.norm() / (drive.h * (stage.mu_c + stage.mu_d * drive.m.bell));
                met[usize::from(x > k.s_ba) + usize::from(x >= 0.999)] += 1;
            }
            assert!(law == Law::LuGre || met.iter().all(|n| *n > 20), "{form:?}: stick, ramp, slide {met:?}");
        }
    }
}

/// A table's own radius is the one by its rule, of its own patch and of no other.
#[test]
fn the_radius_is_by_the_rule_of_the_table() {
    let grid = Grid::new(9, 9, 0.02, 0.02).unwrap();
    let [disc, square] = [Shape::Disc, Shape::Square].map(|shape| Patch::shape(grid, shape).unwrap());
    for rule in Rule::ALL {
        let table = Table::new(&disc, rule, 5).unwrap();
        for patch in [&disc, &square, &disc.scaled(2.0, 2.0).unwrap()] {
            let wanted = Surface::new(patch, rule).radius();
            assert_eq!(radius_of(patch, Some(&table)).to_bits(), wanted.to_bits(), "{}", rule.name());
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
