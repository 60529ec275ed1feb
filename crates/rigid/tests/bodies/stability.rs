//! Stability of contacts under a load: analytic answers, proofs, and laws that hold for any assembly.

use std::f64::consts::PI;

use bristle::limit_surface::{Rule, Surface};
use bristle::patch::{Grid, Patch, Shape};
use bristle::planar::Wrench;
use bristle::random::Draw;
use bristle_rigid::cone::{Cone, ContactFrame, Fit, Polygon, Section};
use bristle_rigid::stability::{Assembly, Motion, PointContact, RigidBody, SpatialWrench, Stability};
use nalgebra::{Rotation3, Vector3};
use proptest::prelude::*;

/// Of factors against analytic ones, relative.
const TOLERANCE: f64 = 1e-7;

const UP: [f64; 3] = [0.0, 0.0, 1.0];

fn polygon(sides: usize, fit: Fit, angle: f64) -> Section {
    Section::Polygon(Polygon { sides, fit, angle })
}

fn contact(position: [f64; 3], normal: [f64; 3], section: Section, mu: f64) -> PointContact {
    PointContact::new(position, Cone::new(section, mu, ContactFrame::new(normal, None).unwrap()).unwrap())
}

fn on_floor(at: &[[f64; 2]], section: Section, mu: f64) -> Vec<PointContact> {
    at.iter().map(|[x, y]| contact([*x, *y, 0.0], UP, section, mu)).collect()
}

fn force_at(point: [f64; 3], force: [f64; 3]) -> SpatialWrench {
    SpatialWrench::at(point, force, [0.0; 3])
}

fn one_body(fixed: SpatialWrench, load: SpatialWrench, contacts: Vec<PointContact>) -> Assembly {
    Assembly { bodies: vec![RigidBody { fixed, load }], contacts }
}

fn solved(assembly: &Assembly) -> Stability {
    let answer = assembly.stability().unwrap_or_else(|e| panic!("{e}"));
    check(assembly, &answer);
    answer
}

fn most(assembly: &Assembly) -> f64 {
    solved(assembly).factors.map_or(f64::NAN, |[_, most]| most)
}

fn assert_near(found: f64, wanted: f64) {
    assert!((found - wanted).abs() <= TOLERANCE * wanted.abs().max(1e-3), "{found}, wanted {wanted}");
}

fn v3(v: [f64; 3]) -> Vector3<f64> {
    v.into()
}

/// What an answer claims, by sums of its own: forces balance and are in their cones; a motion is not slowed
/// down by any force of a cone, and the load drives it.
fn check(of: &Assembly, answer: &Stability) {
    assert_eq!(answer.holds, answer.forces.is_some());
    let loads = of.bodies.iter().flat_map(|b| [b.fixed.force, b.load.force, b.fixed.moment, b.load.moment]);
    let size = loads.flatten().fold(1e-9f64, |m, v| m.max(v.abs()));
    if let Some(forces) = &answer.forces {
        for (k, body) in of.bodies.iter().enumerate() {
            let all = body.fixed.plus(&body.load);
            let (mut force, mut moment) = (v3(all.force), v3(all.moment));
            for (c, f) in of.contacts.iter().zip(forces) {
                let sign = if c.body == k {
                    1.0
                } else if c.on == Some(k) {
                    -1.0
                } else {
                    0.0
                };
                force += sign * v3(f.force);
                moment += sign * (v3(c.position).cross(&v3(f.force)) + f.torsion * v3(c.cone.frame().axes()[2]));
            }
            assert!(force.norm() + moment.norm() <= 1e-6 * size, "{force} {moment}");
        }
        // Fingers that press against each other may do so with forces far above the loads.
        let size = forces.iter().flat_map(|f| f.force).fold(size, |m, v| m.max(v.abs()));
        for (c, f) in of.contacts.iter().zip(forces) {
            let normal = c.cone.frame().to_contact(f.force)[2];
            assert!(c.margin(f) >= -1e-6 * size && c.cone.margin(f.force) >= -1e-6 * size);
            assert!(normal >= -1e-6 * size && normal <= c.most + 1e-6 * size);
            assert!(f.torsion.abs() <= c.torsion * normal + 1e-6 * size);
        }
    }
    if let Some(motion) = &answer.motion {
        assert!(motion.leak <= 1e-6, "{motion:?} {of:?} {answer:?}");
        assert_powers(of, motion);
        if answer.holds {
            let [_, most] = answer.factors.expect("factor 1 holds");
            assert!((motion.bound() - most).abs() <= 1e-6 * (1.0 + most), "{} {most}", motion.bound());
        } else {
            assert!(motion.proves_below(1.0) > 1e3 * size, "{}", motion.proves_below(1.0));
        }
    }
}

/// Powers of a motion against those of random forces inside the cones.
fn assert_powers(of: &Assembly, motion: &Motion) {
    let velocity = |body: usize, at: [f64; 3]| {
        let t = motion.twists[body];
        Vector3::new(t[0], t[1], t[2]) + Vector3::new(t[3], t[4], t[5]).cross(&v3(at))
    };
    let turn = |body: usize| Vector3::new(motion.twists[body][3], motion.twists[body][4], motion.twists[body][5]);
    let power = |w: &SpatialWrench, k: usize| v3(w.force).dot(&velocity(k, [0.0; 3])) + v3(w.moment).dot(&turn(k));
    let of_bodies =
        |f: fn(&RigidBody) -> &SpatialWrench| of.bodies.iter().enumerate().map(|(k, b)| power(f(b), k)).sum();
    let (fixed, load): (f64, f64) = (of_bodies(|b| &b.fixed), of_bodies(|b| &b.load));
    let size = 1.0 + fixed.abs() + load.abs();
    assert!((motion.fixed_power - fixed).abs() + (motion.load_power - load).abs() <= 1e-12 * size);
    let mut taken = 0.0;
    for (k, c) in of.contacts.iter().enumerate() {
        let mut least = 0.0f64;
        for i in 0..200 {
            let draw = Draw::new(9, 1000 * k as u64 + i);
            // On the cone, where the power is least: tangential force and moment share the friction.
            let split = if c.torsion > 0.0 { draw.uniform("split") } else { 1.0 };
            let angle = 2.0 * PI * draw.uniform("angle");
            let out = c.cone.project(c.cone.frame().to_world([1e3 * angle.cos(), 1e3 * angle.sin(), 0.0]));
            let [t, b, n] = c.cone.frame().to_contact(out);
            let (t, b) = if n > 0.0 { (split * t / n, split * b / n) } else { (0.0, 0.0) };
            let torsion = match c.cone.section() {
                Section::Circle => (1.0 - split * split).max(0.0).sqrt(),
                _ => 1.0 - split,
            };
            let f = v3(c.cone.frame().to_world([t, b, 1.0]));
            let moment =
                v3(c.cone.frame().axes()[2]) * (torsion * c.torsion * if draw.uniform("s") < 0.5 { 1.0 } else { -1.0 });
            let of_body = |body: usize| f.dot(&velocity(body, c.position)) + moment.dot(&turn(body));
            least = least.min(of_body(c.body) - c.on.map_or(0.0, of_body));
        }
        if c.most.is_finite() {
            taken -= least * c.most;
        } else {
            assert!(least >= -1e-6, "contact {k} slows the motion down: {least} W for 1 N");
        }
    }
    assert!(taken <= motion.resistance + 1e-9 * size, "{taken} > {}", motion.resistance);
}

/// A block of width 0.2 and height `h` on a plane that rises by `alpha`; its axes are those of the plane.
fn on_incline(alpha: f64, section: Section, mu: f64, h: f64) -> Assembly {
    let corners = [[0.1, 0.1], [-0.1, 0.1], [-0.1, -0.1], [0.1, -0.1]];
    let weight = force_at([0.0, 0.0, 0.5 * h], [-10.0 * alpha.sin(), 0.0, -10.0 * alpha.cos()]);
    one_body(SpatialWrench::default(), weight, on_floor(&corners, section, mu))
}

#[test]
fn a_block_holds_on_an_incline_as_long_as_its_tangent_is_below_the_coefficient() {
    for mu in [0.1f64, 0.5, 1.3] {
        // Pyramids that touch the circle down the incline have its coefficient.
        for section in [Section::Circle, polygon(4, Fit::Outer, 0.0), polygon(8, Fit::Inner, 0.0)] {
            let below = solved(&on_incline((mu * (1.0 - 1e-5)).atan(), section, mu, 0.01));
            assert!(below.holds && below.factors == Some([0.0, f64::INFINITY]) && below.motion.is_none(), "{below:?}");
            let above = solved(&on_incline((mu * (1.0 + 1e-5)).atan(), section, mu, 0.01));
            assert!(!above.holds && above.factors.unwrap()[1] < 1e-6, "{above:?}");
        }
        // A square inside the circle with a side across the incline is weaker by the root of 2.
        let weak = polygon(4, Fit::Inner, PI / 4.0);
        let limit = mu / 2f64.sqrt();
        assert!(solved(&on_incline((0.999 * limit).atan(), weak, mu, 0.01)).holds);
        assert!(!solved(&on_incline((1.001 * limit).atan(), weak, mu, 0.01)).holds);
    }
}

#[test]
fn a_tall_block_tips_before_it_slides() {
    // It tips when the weight passes the lower edge: tan(alpha) = 0.1/(h/2).
    let h = 0.5;
    let limit: f64 = 0.1 / (0.5 * h);
    assert!(solved(&on_incline((0.999 * limit).atan(), Section::Circle, 0.9, h)).holds);
    assert!(!solved(&on_incline((1.001 * limit).atan(), Section::Circle, 0.9, h)).holds);
}

#[test]
fn a_push_grows_until_the_block_slides_or_tips() {
    let corners = [[0.1, 0.1], [-0.1, 0.1], [-0.1, -0.1], [0.1, -0.1]];
    let pushed = |height: f64| {
        let weight = force_at([0.0, 0.0, 0.2], [0.0, 0.0, -20.0]);
        one_body(weight, force_at([0.0, 0.0, height], [3.0, 0.0, 0.0]), on_floor(&corners, Section::Circle, 0.4))
    };
    assert_near(most(&pushed(0.1)), 0.4 * 20.0 / 3.0);
    assert_near(most(&pushed(0.25)), 0.4 * 20.0 / 3.0);
    // 20 N at 0.1 m from the edge against the push at its height.
    assert_near(most(&pushed(0.5)), 20.0 * 0.1 / 0.5 / 3.0);
    let lifted = one_body(
        force_at([0.0; 3], [0.0, 0.0, -20.0]),
        force_at([0.0; 3], [0.0, 0.0, 1.0]),
        on_floor(&corners, Section::Circle, 0.4),
    );
    assert_near(most(&lifted), 20.0);
}

#[test]
fn a_tripod_tips_about_the_edge_between_two_feet() {
    let feet: Vec<[f64; 2]> = (0..3).map(|k| (2.0 * PI * f64::from(k) / 3.0).sin_cos()).map(|(s, c)| [c, s]).collect();
    for (x, y) in [(-2.0, 0.0), (-3.0, 0.4), (0.9, 1.8), (1.2, -1.1)] {
        // 10 N at the middle; a weight grows at a place outside of the triangle, at most until a foot is
        // unloaded.
        let limit = (0..3)
            .map(|k| {
                let ([ax, ay], [bx, by]) = (feet[k], feet[(k + 1) % 3]);
                let side = |x: f64, y: f64| (bx - ax) * (y - ay) - (by - ay) * (x - ax);
                let (middle, at) = (side(0.0, 0.0), side(x, y));
                if at < 0.0 { 10.0 * middle / -at } else { f64::INFINITY }
            })
            .fold(f64::INFINITY, f64::min);
        let down = |x, y, f: f64| force_at([x, y, 0.3], [0.0, 0.0, -f]);
        for section in [Section::Circle, polygon(3, Fit::Inner, 0.0)] {
            assert_near(most(&one_body(down(0.0, 0.0, 10.0), down(x, y, 1.0), on_floor(&feet, section, 0.5))), limit);
        }
    }
}

/// Two fingers that press against each other along x, 0.1 m apart.
fn fingers(section: Section, mu: f64, most: f64, torsion: f64) -> Vec<PointContact> {
    let finger = |x: f64| {
        let frame = ContactFrame::new([-x, 0.0, 0.0], Some(UP)).unwrap();
        let cone = Cone::new(section, mu, frame).unwrap();
        PointContact { most, torsion, ..PointContact::new([x, 0.0, 0.0], cone) }
    };
    vec![finger(-0.05), finger(0.05)]
}

#[test]
fn two_fingers_hold_twice_the_friction_of_one() {
    let weight = |at: f64| force_at([0.0, at, -0.02], [0.0, 0.0, -5.0]);
    let none = SpatialWrench::default();
    // Without a largest squeeze any weight is held.
    let answer = solved(&one_body(none, weight(0.0), fingers(Section::Circle, 0.6, f64::INFINITY, 0.0)));
    assert!(answer.holds && answer.factors == Some([0.0, f64::INFINITY]), "{answer:?}");
    // The gentlest grip: half of the weight over mu, on each.
    for f in answer.forces.unwrap() {
        assert_near(f.force[0].abs(), 2.5 / 0.6);
    }
    for section in [Section::Circle, polygon(4, Fit::Outer, 0.0), polygon(6, Fit::Inner, 0.0)] {
        assert_near(most(&one_body(none, weight(0.0), fingers(section, 0.6, 8.0, 0.0))), 2.0 * 0.6 * 8.0 / 5.0);
    }
    // A weight beside the line through both turns the object about it: points cannot hold that.
    let answer = solved(&one_body(none, weight(0.03), fingers(Section::Circle, 0.6, 8.0, 0.0)));
    assert!(!answer.holds && answer.factors.unwrap()[1] < 1e-6);
    let turns = answer.motion.unwrap().twists[0];
    assert!(turns[3].abs() > 10.0 && turns[1].abs() + turns[2].abs() < 0.1, "{turns:?}");
}

/// Soft fingers: moment about the normal and tangential force share the friction, docs/model.md (210).
#[test]
fn soft_fingers_hold_a_weight_beside_their_line() {
    let (mu, squeeze, torsion, arm): (f64, f64, f64, f64) = (0.6, 8.0, 0.01, 0.03);
    let weight = force_at([0.0, arm, -0.02], [0.0, 0.0, -5.0]);
    let (slide, turn) = (1.0 / mu, arm / torsion);
    for (section, share) in [
        (Section::Circle, slide.hypot(turn)),
        (polygon(4, Fit::Inner, 0.0), slide + turn),
        (polygon(4, Fit::Outer, 0.0), slide.max(turn)),
    ] {
        let assembly = one_body(SpatialWrench::default(), weight, fingers(section, mu, squeeze, torsion));
        assert_near(most(&assembly), 2.0 * squeeze / 5.0 / share);
    }
    // Without friction along the surface, a moment alone.
    let twisted = SpatialWrench { force: [0.0; 3], moment: [0.02, 0.0, 0.0] };
    let assembly = one_body(SpatialWrench::default(), twisted, fingers(Section::Circle, 0.0, squeeze, torsion));
    assert_near(most(&assembly), 2.0 * squeeze * torsion / 0.02);
}

/// Two boxes of 10 N, the upper one moved by `shift`; both 0.2 m wide and 0.1 m high.
fn stack(shift: f64, mu: [f64; 2], push: [[f64; 3]; 2]) -> Assembly {
    let corners = |low: f64, high: f64| [[low, 0.1], [high, 0.1], [low, -0.1], [high, -0.1]];
    let mut contacts = on_floor(&corners(-0.1, 0.1), Section::Circle, mu[0]);
    for [x, y] in corners(shift - 0.1, 0.1) {
        let between = contact([x, y, 0.1], UP, Section::Circle, mu[1]);
        contacts.push(PointContact { body: 1, on: Some(0), ..between });
    }
    let body = |x: f64, z: f64, push: [f64; 3]| RigidBody {
        fixed: force_at([x, 0.0, z], [0.0, 0.0, -10.0]),
        load: force_at([x, 0.0, z], push),
    };
    Assembly { bodies: vec![body(0.0, 0.05, push[0]), body(shift, 0.15, push[1])], contacts }
}

#[test]
fn a_stack_fails_where_it_is_weakest() {
    let (none, push) = ([0.0; 3], [1.0, 0.0, 0.0]);
    // The upper box slides on the lower, both slide on the floor, the lower slides out from under the upper:
    // then friction above and below have to be overcome, which a rigid stack does not need.
    assert_near(most(&stack(0.0, [0.5, 0.2], [none, push])), 0.2 * 10.0);
    assert_near(most(&stack(0.0, [0.2, 0.5], [none, push])), 0.2 * 20.0);
    assert_near(most(&stack(0.0, [0.5, 0.2], [push, none])), 0.5 * 20.0);
    // The upper box tips over the edge of the lower one.
    assert!(solved(&stack(0.0999, [0.5, 0.5], [none, none])).holds);
    let fallen = solved(&stack(0.1001, [0.5, 0.5], [none, none]));
    assert!(!fallen.holds && fallen.factors.is_none());
    // What moves is the upper one.
    let twists = fallen.motion.unwrap().twists;
    let size = |t: [f64; 6]| t.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    assert!(size(twists[0]) < 1e-3 * size(twists[1]), "{twists:?}");
}

/// A part that is fixed may need the load: a block on a steep plane that is pressed against it.
#[test]
fn a_load_may_have_to_be_large_enough() {
    let alpha = 0.6f64;
    let weight = force_at([0.0; 3], [-10.0 * alpha.sin(), 0.0, -10.0 * alpha.cos()]);
    let press = force_at([0.0; 3], [0.0, 0.0, -1.0]);
    let corners = [[0.1, 0.1], [-0.1, 0.1], [-0.1, -0.1], [0.1, -0.1]];
    let answer = solved(&one_body(weight, press, on_floor(&corners, Section::Circle, 0.3)));
    let [least, most] = answer.factors.unwrap();
    assert_near(least, 10.0 * alpha.sin() / 0.3 - 10.0 * alpha.cos());
    assert!(!answer.holds && most == f64::INFINITY);
}

/// A cone, the limit surface of one cell and the program agree on how far a tangential load may grow.
#[test]
fn one_point_is_the_limit_surface_of_one_cell() {
    let patch = Patch::shape(Grid::new(1, 1, 0.01, 0.01).unwrap(), Shape::Square).unwrap();
    let surface = Surface::new(&patch, Rule::Points);
    for (mu, f_n, fx, fy) in [(0.4, 7.0, 1.0, 0.5), (1.2, 0.3, -0.2, 0.9)] {
        let margin = surface.margin(Wrench::new(fx, fy, 0.0), mu, f_n).unwrap();
        let cone = Cone::new(Section::Circle, mu, ContactFrame::identity()).unwrap();
        let k = margin.factor;
        assert!(cone.margin([k * fx, k * fy, f_n]).abs() < 1e-12 * f_n);
        assert!((cone.margin([fx, fy, f_n]) - (1.0 - 1.0 / k) * mu * f_n).abs() < 1e-12 * f_n);
        let load = force_at([0.0; 3], [fx, fy, 0.0]);
        let pressed = force_at([0.0; 3], [0.0, 0.0, -f_n]);
        assert_near(most(&one_body(pressed, load, vec![PointContact::new([0.0; 3], cone)])), k);
    }
}

/// A tripod that is pushed along the floor, at its height, has the normal forces of its weight: it slides
/// where the limit surface of three cells with those pressures says.
#[test]
fn a_pushed_tripod_slides_where_its_limit_surface_says() {
    let grid = Grid::new(7, 5, 0.7, 0.5).unwrap();
    let (cells, shares) = ([(0, 0), (6, 1), (2, 4)], [0.5, 0.2, 0.3]);
    let mut pressure = vec![0.0; 35];
    cells.iter().zip(shares).for_each(|((i, j), w)| pressure[j * 7 + i] = w);
    let patch = Patch::from_pressure(grid, &pressure).unwrap();
    let surface = Surface::new(&patch, Rule::Points);
    let feet = cells.map(|(i, j)| [0.1 * (i as f64 - 3.0), 0.1 * (j as f64 - 2.0)]);
    let [cx, cy] = patch.cop();
    let (mu, weight) = (0.35, 12.0);
    for k in 0..24u64 {
        let [fx, fy, tau] = ["fx", "fy", "tau"].map(|name| Draw::new(4, k).normal(name));
        let tau = 0.2 * tau;
        let load = SpatialWrench::at([cx, cy, 0.0], [fx, fy, 0.0], [0.0, 0.0, tau]);
        let fixed = force_at([cx, cy, 0.0], [0.0, 0.0, -weight]);
        let wanted = surface.margin(Wrench::new(fx, fy, tau), mu, weight).unwrap();
        let answer = solved(&one_body(fixed, load, on_floor(&feet, Section::Circle, mu)));
        let [_, found] = answer.factors.unwrap();
        assert!((found / wanted.factor - 1.0).abs() < 1e-7, "{found}, the surface says {}", wanted.factor);
        let [inner, outer] = [Fit::Inner, Fit::Outer]
            .map(|fit| most(&one_body(fixed, load, on_floor(&feet, polygon(16, fit, 0.0), mu))));
        assert!(inner <= found * (1.0 + 1e-7) && found <= outer * (1.0 + 1e-7), "{inner} {found} {outer}");
        assert!(outer / inner < 1.0 / (PI / 16.0).cos().powi(2) + 1e-7);
    }
}

#[test]
fn what_is_no_assembly_is_refused() {
    let good = stack(0.0, [0.5, 0.5], [[0.0; 3]; 2]);
    let bad = |change: fn(&mut Assembly)| {
        let mut assembly = good.clone();
        change(&mut assembly);
        assembly.stability().unwrap_err().to_string()
    };
    for (message, part) in [
        (bad(|a| a.bodies.clear()), "bodies = none: expected one or more"),
        (bad(|a| a.bodies[1].load.force[2] = f64::NAN), "bodies.1.load = not finite"),
        (bad(|a| a.contacts[2].position[0] = f64::INFINITY), "contacts.2.position = inf"),
        (bad(|a| a.contacts[2].most = 0.0), "contacts.2.most = 0: expected a force > 0 [N]"),
        (bad(|a| a.contacts[2].most = f64::NAN), "contacts.2.most = NaN"),
        (bad(|a| a.contacts[3].torsion = -1.0), "contacts.3.torsion = -1"),
        (bad(|a| a.contacts[4].body = 2), "contacts.4.body = 2: expected the index of a body, below 2"),
        (bad(|a| a.contacts[4].on = Some(1)), "contacts.4.on = 1: expected the index of a body, below 2, and another"),
    ] {
        assert!(message.contains(part), "{message}");
    }
    // No contact at all: nothing holds, unless nothing acts.
    let falling = one_body(SpatialWrench::default(), force_at([0.1, 0.2, 0.3], [0.0, 0.0, -1.0]), Vec::new());
    assert!(!solved(&falling).holds);
    assert!(solved(&one_body(SpatialWrench::default(), SpatialWrench::default(), Vec::new())).holds);
}

fn vector(size: f64) -> impl Strategy<Value = [f64; 3]> {
    [-size..size, -size..size, -size..size]
}

/// Position, a direction inwards, coefficient of friction, largest force, moment of a contact.
type GivenContact = ([f64; 3], [f64; 3], f64, f64, f64);
/// Contacts, and force and moment of what is fixed and of the load.
type Given = (Vec<GivenContact>, [[f64; 3]; 4]);

/// Contacts anywhere around a body, that push inwards or not.
fn assemblies() -> impl Strategy<Value = Given> {
    let contact = (
        vector(0.3),
        vector(1.0),
        prop_oneof![Just(0.0), 0.05..1.5],
        prop_oneof![Just(f64::INFINITY), 1.0..20.0],
        prop_oneof![Just(0.0), 0.001..0.05],
    );
    (prop::collection::vec(contact, 1..7), [vector(3.0), vector(0.5), vector(3.0), vector(0.5)])
}

fn assembly((contacts, [f, m, g, n]): &Given, section: Section, rotation: Rotation3<f64>) -> Assembly {
    let turned = |v: [f64; 3]| -> [f64; 3] { (rotation * v3(v)).into() };
    let contacts = contacts.iter().map(|(at, inward, mu, most, torsion)| {
        // Most of them are pressed inwards.
        let normal = v3(*inward) * 0.3 - v3(*at);
        let normal = if normal.norm() > 0.01 { normal.into() } else { UP };
        let frame = ContactFrame::new(turned(normal), None).unwrap();
        let cone = Cone::new(section, *mu, frame).unwrap();
        PointContact { most: *most, torsion: *torsion, ..PointContact::new(turned(*at), cone) }
    });
    let contacts = contacts.collect();
    let wrench = |force, moment| SpatialWrench { force: turned(force), moment: turned(moment) };
    one_body(wrench(*f, *m), wrench(*g, *n), contacts)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Whatever the contacts: forces that balance, or a motion that proves that there are none; polygons
    /// inside the circle hold no more than it does, polygons around it no less; and the circle does not know
    /// the axes.
    #[test]
    fn any_assembly_has_forces_or_a_motion(given in assemblies(), sides in 3..12usize, turn in vector(3.0)) {
        let still = Rotation3::identity();
        let circle = solved(&assembly(&given, Section::Circle, still));
        let turned = solved(&assembly(&given, Section::Circle, Rotation3::new(turn.into())));
        let [inner, outer] =
            [Fit::Inner, Fit::Outer].map(|fit| solved(&assembly(&given, polygon(sides, fit, 0.0), still)));
        let range = |s: &Stability| s.factors.unwrap_or([f64::INFINITY, f64::NEG_INFINITY]);
        let near = |a: f64, b: f64| a == b || (a - b).abs() <= 1e-5 * (1.0 + a.abs().min(b.abs()));
        let inside = |a: [f64; 2], b: [f64; 2]| {
            (a[0] > a[1]) || ((b[0] <= a[0] || near(a[0], b[0])) && (a[1] <= b[1] || near(a[1], b[1])))
        };
        prop_assert!(inside(range(&inner), range(&circle)), "{inner:?} {circle:?}");
        prop_assert!(inside(range(&circle), range(&outer)), "{circle:?} {outer:?}");
        prop_assert!((0..2).all(|k| near(range(&circle)[k], range(&turned)[k])), "{circle:?} {turned:?}");
        prop_assert!(!inner.holds || circle.holds);
        prop_assert!(!circle.holds || outer.holds);
    }
}
