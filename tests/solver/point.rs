//! Point contacts in fixed steps on every engine: the simulations of Kikuuwe et al. (2005), and the promises
//! of each law.
//!
//! `fixtures/point` has rows of converged series: `t` [s], velocities [m/s] and friction [N] at the end of
//! each step, of Simulation IV in mm.

use std::sync::Arc;

use crate::common::{Dice, rollout};
use bristle::body::{Body, Frame, FreeBody};
use bristle::contact::{Contact, Form, Initial, Inputs, Model};
use bristle::cpu::Cpu;
use bristle::engine::{Engine, Plan, Stepping, Trajectories};
use bristle::friction::{Friction, Law};
use bristle::gpu::{Choice, Gpu};
use bristle::limit_surface::{Rule, Table};
use bristle::patch::{Grid, Patch, Shape};
use bristle::planar::{Pose, Twist};
use bristle::point::{PointElement, PointLaw, PointModel};
use bristle::random::Draw;
use bristle::schedule::Signal;
use bristle::{Batch, Input};

/// Dry friction of `mu`.
fn dry(mu: f64) -> Friction {
    Friction { mu_c: mu, mu_s: mu, sigma2: 0.0, ..Friction::default() }
}

/// A body of `mass` [kg] under a normal force [N], at rest at the origin.
fn contact(model: impl Into<PointModel>, friction: Friction, mass: f64, normal_force: f64) -> Contact {
    Contact {
        patch: Arc::new(Patch::shape(Grid::new(1, 1, 1e-3, 1e-3).unwrap(), Shape::Square).unwrap()),
        model: Model::Point(model.into()),
        friction,
        body: FreeBody::new(Frame::World, mass, 1.0).into(),
        inputs: Inputs { normal_force: Signal::constant(normal_force), ..Inputs::default() },
        initial: Initial::default(),
    }
}

/// The same with a change to its body.
fn with(mut contact: Contact, change: impl FnOnce(&mut FreeBody)) -> Contact {
    change(contact.body.free_mut().unwrap());
    contact
}

fn with_band(law: PointLaw, band: f64) -> PointModel {
    PointModel { band, ..law.into() }
}

/// Engines, and their precision: of the reference, and of others relative to the largest number of a series.
fn engines() -> Vec<(Box<dyn Engine>, f64)> {
    let gpu = Gpu::new(Choice::Any).unwrap_or_else(|e| panic!("{e}"));
    vec![
        (Box::new(Cpu::reference()), 1e-9),
        (Box::new(Cpu::new()), 1e-9),
        (Box::new(Cpu::single()), 1e-5),
        (Box::new(gpu), 1e-5),
    ]
}

/// The columns of a fixture, by name.
struct Series(Vec<(String, Vec<f64>)>);

impl Series {
    fn read(text: &str) -> Self {
        let mut lines = text.lines();
        let names: Vec<&str> = lines.next().unwrap().split(',').collect();
        let rows: Vec<Vec<f64>> = lines.map(|l| l.split(',').map(|v| v.parse().unwrap()).collect()).collect();
        Self(names.iter().enumerate().map(|(i, n)| ((*n).to_owned(), rows.iter().map(|r| r[i]).collect())).collect())
    }

    fn of(&self, name: &str) -> &[f64] {
        &self.0.iter().find(|(own, _)| own == name).unwrap_or_else(|| panic!("{name}")).1
    }

    /// Compares `found` at every step of `step` [s] with the column `name`; `limit` is relative to the
    /// largest number.
    fn compare(&self, name: &str, found: &[f64], step: f64, limit: f64, what: &str) {
        let largest = self.of(name).iter().fold(0.0f64, |m, v| m.max(v.abs()));
        for (t, expected) in self.of("t").iter().zip(self.of(name)).filter(|(t, _)| **t > 0.0) {
            let value = found[(t / step).round() as usize];
            assert!((value - expected).abs() <= limit * largest, "{what}, {name} at {t} s: {value}, not {expected}");
        }
    }
}

/// One component of the twist, and of the friction on the body, of a contact.
fn velocity(out: &Trajectories, k: usize) -> Vec<f64> {
    out.twist[out.of(k)].iter().map(|u| u.vx).collect()
}

fn force(out: &Trajectories, k: usize) -> Vec<f64> {
    out.wrench[out.of(k)].iter().map(|w| w.fx).collect()
}

/// A mass of 1 kg under 10 N of friction on a spring of 90 N/m, whose end moves by 2 m/s until 2 s.
fn simulation_1(model: impl Into<PointModel>) -> Contact {
    with(contact(model, dry(1.0), 1.0, 10.0), |body| {
        body.spring = 90.0;
        body.anchor[0] = Signal::linear(&[(0.0, 0.0), (2.0, 4.0)]).unwrap();
    })
}

/// The limit of forces: where a mass comes to rest, friction is its velocity times `M/T`, and on the falling
/// branch of the Stribeck curve it has a steep slope. Both enlarge the rounding of single precision; no state
/// that is kept more exactly would change it, see `a_step_in_single_precision_alone_is_felt_in_the_force`.
fn of_forces(limit: f64) -> f64 {
    if limit > 1e-6 { 5.0 * limit } else { limit }
}

const STEP: f64 = 1e-3;

fn steps(duration: f64) -> Plan {
    Plan::new(duration, STEP, STEP).unwrap()
}

/// The models of Table I of the paper but Q3, whose oscillation amplifies rounding, and the viscous band.
fn table_1() -> [(&'static str, PointModel); 7] {
    [
        ("K1", with_band(PointLaw::Karnopp, 1.0)),
        ("K2", with_band(PointLaw::Karnopp, 0.01)),
        ("K3", with_band(PointLaw::Karnopp, 1e-4)),
        ("Q1", with_band(PointLaw::Quinn, 1.0)),
        ("Q2", with_band(PointLaw::Quinn, 0.01)),
        ("P", PointLaw::Implicit.into()),
        ("V", with_band(PointLaw::ViscousBand, 0.01)),
    ]
}

#[test]
fn simulation_1_has_the_series_of_every_model() {
    let data = Series::read(include_str!("../fixtures/point/simulation_1.csv"));
    let contacts: Vec<Contact> = table_1().into_iter().map(|(_, model)| simulation_1(model)).collect();
    for (engine, limit) in engines() {
        let out = rollout(engine.as_ref(), &contacts, &steps(4.0));
        let what = format!("{:?}", engine.info());
        for (k, (name, _)) in table_1().into_iter().enumerate() {
            data.compare(&format!("v_{name}"), &velocity(&out, k), STEP, limit, &what);
            data.compare(&format!("f_{name}"), &force(&out, k), STEP, of_forces(limit), &what);
        }
        // P stops, exactly and for good; the wide band of K2 never does.
        let (p, k2) = (&out.twist[out.of(5)], &out.twist[out.of(1)]);
        assert!(p[2021..].iter().all(|u| *u == Twist::default()), "{what}");
        assert!(k2[2021..].iter().all(|u| u.vx > 7e-3), "{what}");
        assert!(out.slip[out.of(5)][2021..].iter().all(|s| *s == 0.0), "{what}");
    }
}

#[test]
fn simulation_2_passes_through_zero_without_gaining_energy() {
    let data = Series::read(include_str!("../fixtures/point/simulation_2.csv"));
    let names = ["P", "Q2", "K2", "V"];
    let models = table_1().into_iter().filter(|(name, _)| names.contains(name));
    let (names, contacts): (Vec<_>, Vec<_>) = models
        .map(|(name, model)| {
            let pulled = with(contact(model, dry(1.0), 1.0, 10.0), |body| {
                body.wrench[0] = 40.0.into();
                body.twist = Twist::new(-0.13, 0.0, 0.0);
            });
            (name, pulled)
        })
        .unzip();
    for (engine, limit) in engines() {
        let out = rollout(engine.as_ref(), &contacts, &steps(0.012));
        for (k, name) in names.iter().enumerate() {
            let what = format!("{:?}", engine.info());
            data.compare(&format!("v_{name}"), &velocity(&out, k), STEP, limit, &what);
            data.compare(&format!("f_{name}"), &force(&out, k), STEP, of_forces(limit), &what);
            let power = |v: &f64, f: &f64| v * f;
            let (v, f) = (velocity(&out, k), force(&out, k));
            let gains = v.iter().zip(&f).any(|(v, f)| power(v, f) > 1e-3);
            assert_eq!(gains, *name != "P", "{what}, {name}");
        }
    }
}

/// A mass of 1 kg that circles on a spring of 3 N/m.
fn simulation_3(model: impl Into<PointModel>) -> Contact {
    let mut circling = with(contact(model, dry(1.0), 1.0, 10.0), |body| {
        body.spring = 3.0;
        body.twist = Twist::new(0.0, 30.0, 0.0);
    });
    circling.initial.pose = Pose::new(10.0, 0.0, 0.0);
    circling
}

#[test]
fn simulation_3_stops_in_the_plane_and_stays() {
    let data = Series::read(include_str!("../fixtures/point/simulation_3.csv"));
    for (engine, limit) in engines() {
        let out = rollout(engine.as_ref(), &[simulation_3(PointLaw::Implicit)], &steps(6.0));
        let what = format!("{:?}", engine.info());
        let columns: [(&str, Vec<f64>); 6] = [
            ("x", out.pose.iter().map(|q| q.x).collect()),
            ("y", out.pose.iter().map(|q| q.y).collect()),
            ("vx", velocity(&out, 0)),
            ("vy", out.twist.iter().map(|u| u.vy).collect()),
            ("fx", force(&out, 0)),
            ("fy", out.wrench.iter().map(|w| w.fy).collect()),
        ];
        // The direction of friction is the more uncertain the slower the motion is.
        let near_rest = if limit > 1e-6 { 20.0 } else { 1.0 };
        for (name, found) in columns {
            let limit = limit * if name.starts_with('f') { near_rest } else { 1.0 };
            data.compare(name, &found, STEP, limit, &what);
        }
        let stop = out.twist.iter().position(|u| u.vx == 0.0 && u.vy == 0.0).unwrap();
        assert_eq!(stop, 4633, "{what}");
        assert!(out.pose[stop..].iter().all(|q| *q == out.pose[stop]), "{what}");
    }
}

/// All in double precision but the length of the steps, which single precision rounds by 4.7e-8 of it: the
/// force of the step that brings Simulation III to rest differs by more than 1e-5 of the largest.
#[test]
fn a_step_in_single_precision_alone_is_felt_in_the_force() {
    let data = Series::read(include_str!("../fixtures/point/simulation_3.csv"));
    let off = |step: f64| {
        let plan = Plan::new(4.7, step, step).unwrap();
        let out = rollout(&Cpu::reference(), &[simulation_3(PointLaw::Implicit)], &plan);
        let found = |t: f64| out.wrench[(t / STEP).round() as usize].fy;
        let rows = data.of("t").iter().zip(data.of("fy")).filter(|(t, _)| (1e-9..4.6335).contains(*t));
        rows.map(|(t, f)| (found(*t) - f).abs()).fold(0.0, f64::max) / 10.0
    };
    let (exact, rounded) = (off(STEP), off(f64::from(STEP as f32)));
    assert!(exact < 1e-9 && rounded > 1e-5, "{exact:e} {rounded:e}");
}

/// Turning points of Simulation IV [mm], at 1 mm/s.
const TURNS: [f64; 13] = [0.0, 1.2, -1.2, 0.6, -0.2, 0.3, 0.0, 0.3, -0.2, 0.6, 1.2, -1.2, 1.2];

/// Ten elements that slide under 1 to 10 N, each of 10 N/mm and, if `damped`, 0.1 N s/mm, moved along
/// [`TURNS`].
fn simulation_4(law: PointLaw, damped: bool) -> Contact {
    let elements = (1..=10).map(|i| PointElement { share: f64::from(i) / 55.0, stiffness: 0.1 }).collect();
    let friction = Friction { sigma0: 1e5 / 55.0, sigma1: if damped { 1e3 / 55.0 } else { 0.0 }, ..dry(1.0) };
    let mut t = 0.0;
    let legs = TURNS.windows(2).map(|leg| {
        let (from, way) = (t, leg[1] - leg[0]);
        t += f64::abs(way);
        (from, 1e-3 * way.signum())
    });
    let twist = [Signal::steps(&legs.collect::<Vec<_>>()).unwrap(), 0.0.into(), 0.0.into()];
    let body = Body::Prescribed { twist, at: bristle::TwistPoint::Origin };
    Contact { body, ..contact(PointModel { elements, ..law.into() }, friction, 1.0, 55.0) }
}

#[test]
fn simulation_4_closes_its_loops() {
    let data = Series::read(include_str!("../fixtures/point/simulation_4.csv"));
    let contacts = [
        simulation_4(PointLaw::ViscoelastoPlastic, true),
        simulation_4(PointLaw::ViscoelastoPlastic, false),
        simulation_4(PointLaw::GeneralizedMaxwellSlip, false),
    ];
    for (engine, limit) in engines() {
        let plan = Plan { keep_bristles: true, ..steps(14.0) };
        let out = rollout(engine.as_ref(), &contacts, &plan);
        let what = format!("{:?}", engine.info());
        data.compare("f", &force(&out, 0), STEP, limit, &what);
        let millimetres: Vec<f64> = out.pose[out.of(0)].iter().map(|q| 1e3 * q.x).collect();
        data.compare("x", &millimetres, STEP, limit, &what);
        for (element, name) in [(0, "z1"), (4, "z5"), (9, "z10")] {
            let last = 1e3 * out.bristles[0][element][0] / (1e5 / 55.0);
            let expected = data.of(name)[data.of(name).len() - 1];
            assert!((last - expected).abs() < limit, "{what}: {name} {last}, not {expected}");
        }
        // The path comes back to 0.3, -0.2 and 0.6 mm, and friction with it: with and without damping.
        for k in 0..2 {
            let f = force(&out, k);
            for [before, after] in [[6700usize, 7300], [6200, 7800], [5400, 8600]] {
                let closed = (f[before] - f[after]).abs();
                assert!(closed < 55.0 * limit, "{what}: {} at {before} ms, {} at {after} ms", f[before], f[after]);
            }
        }
        // Under one coefficient of friction the generalized Maxwell slip is Maxwell slip.
        for (a, b) in force(&out, 1).iter().zip(force(&out, 2)) {
            assert!((a - b).abs() < 55.0 * limit, "{what}: {a} and {b}");
        }
    }
}

#[test]
fn stribeck_curve_is_solved_exactly_or_by_the_approximation() {
    let anchor = Series::read(include_str!("../fixtures/point/stribeck_anchor.csv"));
    let data = Series::read(include_str!("../fixtures/point/stribeck.csv"));
    let points: Vec<(f64, f64)> = anchor.of("t").iter().copied().zip(anchor.of("X").iter().copied()).collect();
    let friction = Friction { mu_c: 3.0, mu_s: 4.0, v_s: 0.05, sigma2: 1.5, ..dry(3.0) };
    let pulled = |law: PointLaw| {
        with(contact(law, friction, 0.8, 1.0), |body| {
            body.spring = 60.0;
            body.anchor[0] = Signal::linear(&points).unwrap();
        })
    };
    let contacts = [pulled(PointLaw::Implicit), pulled(PointLaw::Approximate)];
    for (engine, limit) in engines() {
        let out = rollout(engine.as_ref(), &contacts, &steps(3.0));
        for (k, name) in ["exact", "eq18"].into_iter().enumerate() {
            let what = format!("{:?}", engine.info());
            let x: Vec<f64> = out.pose[out.of(k)].iter().map(|q| q.x).collect();
            data.compare(&format!("x_{name}"), &x, STEP, limit, &what);
            data.compare(&format!("v_{name}"), &velocity(&out, k), STEP, limit, &what);
            data.compare(&format!("f_{name}"), &force(&out, k), STEP, of_forces(limit), &what);
        }
    }
}

/// Dahl under a constant velocity, in steps of any length: `mu_c f_N (1 - exp(-sigma0 x/mu_c))`.
#[test]
fn dahl_is_exact_in_long_steps() {
    let friction = Friction { sigma0: 2e4, sigma1: 50.0, sigma2: 3.0, mu_s: 1.5, ..dry(0.7) };
    let body = Body::prescribed(Twist::new(0.6e-2, 0.8e-2, 0.0));
    let driven = Contact { body, ..contact(PointLaw::Dahl, friction, 1.0, 2.0) };
    for (engine, limit) in engines() {
        let out = rollout(engine.as_ref(), std::slice::from_ref(&driven), &Plan::new(0.02, 2e-3, 2e-3).unwrap());
        for (t, w) in out.time.iter().zip(&out.wrench) {
            let force = 2.0 * 0.7 * (1.0 - (-2e4 * 1e-2 * t / 0.7).exp());
            let errors = [w.fx + 0.6 * force, w.fy + 0.8 * force].map(f64::abs);
            assert!(errors.iter().all(|e| *e < limit), "{:?} at {t} s: {w:?}, not {force}", engine.info());
        }
    }
}

/// After a jump of the velocity the force of a sliding element follows the Stribeck curve with the lag of its
/// attraction; before it slides it is a spring.
#[test]
fn generalized_maxwell_slip_lags_behind_the_velocity() {
    let friction = Friction { sigma0: 1e4, mu_c: 0.5, mu_s: 1.0, v_s: 0.01, sigma2: 0.0, ..Friction::default() };
    let (slow, fast, attraction) = (1e-3, 0.02, 30.0);
    let twist = [Signal::steps(&[(0.0, slow), (0.5, fast)]).unwrap(), 0.0.into(), 0.0.into()];
    let body = Body::Prescribed { twist, at: bristle::TwistPoint::Origin };
    let model = PointModel { attraction, ..PointLaw::GeneralizedMaxwellSlip.into() };
    let driven = Contact { body, ..contact(model, friction, 1.0, 2.0) };
    let psi = |v: f64| 0.5 + 0.5 * (-(v / 0.01f64).powi(2)).exp();
    for (engine, limit) in engines() {
        let out = rollout(engine.as_ref(), std::slice::from_ref(&driven), &steps(1.0));
        let f = force(&out, 0);
        let what = format!("{:?}", engine.info());
        // It sticks for psi/(sigma0 v) = 99 ms.
        assert!((f[50] + 2.0 * 1e4 * slow * 0.05).abs() < 2.0 * limit, "{what}: {}", f[50]);
        assert!((f[400] + 2.0 * psi(slow)).abs() < 2.0 * limit, "{what}: {}", f[400]);
        for n in [1, 10, 40, 200] {
            let lag = (-attraction * 1e-3 * f64::from(n) / psi(fast)).exp();
            let expected = -2.0 * (psi(fast) + (psi(slow) - psi(fast)) * lag);
            let found = f[500 + n as usize];
            assert!((found - expected).abs() < 10.0 * limit, "{what}: {found}, not {expected}");
        }
    }
}

/// A mass under the generalized Maxwell slip and a load that swings, along a line.
#[derive(Clone)]
struct Swinging {
    friction: Friction,
    attraction: f64,
    elements: Vec<PointElement>,
    /// Mass [kg], normal force and amplitude of the load [N], and its frequency [rad/s].
    mass: f64,
    normal: f64,
    amplitude: f64,
    omega: f64,
}

impl Swinging {
    fn contact(&self) -> Contact {
        let model = PointModel {
            attraction: self.attraction,
            elements: self.elements.clone(),
            ..PointLaw::GeneralizedMaxwellSlip.into()
        };
        with(contact(model, self.friction, self.mass, self.normal), |body| {
            let wave = bristle::schedule::Sine { amplitude: self.amplitude, omega: self.omega, phase: 0.0 };
            body.wrench[0] = Signal::sines(0.0, vec![wave]);
        })
    }
}

/// Bodies that stick, slide, and turn back; the last passes `v_s` within a step of 0.1 ms.
fn swinging() -> [Swinging; 5] {
    let element = |share, stiffness| PointElement { share, stiffness };
    let friction = Friction { sigma0: 1e3, mu_c: 0.7, mu_s: 1.0, v_s: 0.05, sigma2: 0.2, ..Friction::default() };
    let first = Swinging {
        friction,
        attraction: 30.0,
        elements: vec![element(0.1, 0.4), element(0.2, 0.3), element(0.3, 0.2), element(0.4, 0.1)],
        mass: 1.0,
        normal: 51.0,
        amplitude: 60.0,
        omega: 20.0,
    };
    let soft = Friction { sigma0: 200.0, ..friction };
    let flat = Friction { mu_c: 1.0, sigma2: 0.0, ..friction };
    let one = vec![element(1.0, 1.0)];
    [
        Swinging { friction: soft, mass: 5.0, omega: 10.0, ..first.clone() },
        Swinging { friction: flat, elements: one.clone(), ..first.clone() },
        Swinging { elements: one, attraction: 1e3, ..first.clone() },
        first.clone(),
        Swinging { friction: Friction { v_s: 5e-3, ..friction }, ..first },
    ]
}

/// How far the friction of a contact is from that in other trajectories at most [N].
fn worst(out: &Trajectories, other: &Trajectories, k: usize) -> f64 {
    force(out, k).iter().zip(force(other, k)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Within 1e-5 N at steps of 0.1 ms, though elements change within them.
#[test]
fn generalized_maxwell_slip_is_exact_to_1e_5_newton_in_steps_of_a_tenth_of_a_millisecond() {
    let contacts: Vec<Contact> = swinging().iter().map(Swinging::contact).collect();
    // Converged: a scheme of first order, in which all elements are driven by the velocity before the step,
    // comes within 2e-4 N of it, extrapolated from steps of 0.1 and 0.2 us.
    let expected = [
        [-15.6156790859, -33.0757777518, -41.0295374117, -41.4884634834, 21.5794783467, 42.9491456412],
        [-51.0, -51.0, 50.5470942872, 38.4310826866, -51.0, 45.5651379220],
        [-38.0700567505, -44.8956983726, 34.7799484463, 42.4848720238, -43.2580051289, 48.6425181146],
        [-38.0726130821, -42.8104226780, 38.5205864789, 46.3824924856, -41.9362577837, 35.3828316073],
        [-37.2171189382, -42.9562589635, 38.4379897548, 46.3802448248, -41.8613290635, 34.3529443037],
    ];
    let at = [5, 10, 20, 30, 40, 50];
    for (engine, limit) in engines() {
        let out = rollout(engine.as_ref(), &contacts, &Plan::new(0.5, 1e-4, 0.01).unwrap());
        let most = if limit > 1e-6 { 51.0 * 5.0 * limit } else { 1e-5 };
        for (k, expected) in expected.iter().enumerate() {
            let found = force(&out, k);
            for (i, expected) in at.iter().zip(expected) {
                let error = (found[*i] - expected).abs();
                assert!(error < most, "{:?}, contact {k} at {i}: {error} N", engine.info());
            }
        }
    }
}

/// A fifth of the step has less than a three hundredth of the error: without a Stribeck curve, on whose
/// falling branch steps are shorter than asked for.
#[test]
fn generalized_maxwell_slip_is_of_fourth_order() {
    let contacts: Vec<Contact> = swinging()
        .into_iter()
        .map(|own| Swinging { friction: Friction { mu_c: 1.0, sigma2: 0.5, ..own.friction }, ..own })
        .filter(|own| own.friction.sigma0 == 1e3)
        .map(|own| own.contact())
        .collect();
    let out = |step: f64| rollout(&Cpu::new(), &contacts, &Plan::new(0.5, step, 0.01).unwrap());
    let [coarse, fine, converged] = [1e-3, 2e-4, 1e-5].map(out);
    for k in 0..contacts.len() {
        let [coarse, fine] = [&coarse, &fine].map(|out| worst(out, &converged, k));
        assert!(coarse < 1e-3 && coarse > 300.0 * fine, "{k}: {coarse:e} N, then {fine:e} N");
    }
}

/// A load that begins at once on one element of a constant coefficient: an oscillation until it slides, then
/// a constant acceleration. The step in which it begins to slide leaves no error of its own.
#[test]
fn an_element_slides_from_the_very_time_at_which_it_reaches_its_limit() {
    let (mass, mu, normal, load, sigma0) = (2.0, 0.5, 10.0, 8.0, 4e3);
    let pushed =
        with(contact(PointLaw::GeneralizedMaxwellSlip, Friction { sigma0, ..dry(mu) }, mass, normal), |body| {
            body.wrench[0] = load.into();
        });
    let omega = f64::sqrt(normal * sigma0 / mass);
    // It slides where the spring's force is the friction, docs/model.md (A1).
    let slides = (1.0 - mu * normal / load).acos() / omega;
    let at_once = load / mass / omega * (omega * slides).sin();
    for (engine, limit) in engines() {
        let out = rollout(engine.as_ref(), std::slice::from_ref(&pushed), &Plan::new(0.1, 2e-4, 1e-2).unwrap());
        for (t, u) in out.time.iter().zip(&out.twist).skip(2) {
            let expected = at_once + (load - mu * normal) / mass * (t - slides);
            let error = (u.vx - expected).abs();
            assert!(error < 1e-8 + limit, "{:?} at {t} s: {}, not {expected} m/s", engine.info(), u.vx);
        }
        assert!(out.status[0].steps < 505, "{}", out.status[0].steps);
    }
}

/// A body that is moved to and fro has the pose of the motion, not that of a first-order sum.
#[test]
fn a_given_motion_moves_by_its_integral() {
    let wave = bristle::schedule::Sine { amplitude: 0.1, omega: 20.0, phase: 0.3 };
    let body = Body::Prescribed {
        twist: [Signal::sines(0.02, vec![wave]), 0.0.into(), 0.0.into()],
        at: bristle::TwistPoint::Origin,
    };
    let moved = Contact { body, ..contact(PointLaw::GeneralizedMaxwellSlip, dry(0.5), 1.0, 1.0) };
    for (engine, limit) in engines() {
        let out = rollout(engine.as_ref(), std::slice::from_ref(&moved), &steps(0.5));
        for (t, q) in out.time.iter().zip(&out.pose) {
            let expected = 0.02 * t + 0.1 / 20.0 * (0.3f64.cos() - (20.0 * t + 0.3).cos());
            assert!((q.x - expected).abs() < 1e-2 * limit, "{:?} at {t} s: {} m, not {expected} m", engine.info(), q.x);
        }
    }
}

/// Random bodies in the plane under a random law: nothing that no force acts on gains energy.
#[test]
fn friction_takes_energy_from_every_body() {
    // (18) has no such promise, nor has the generalized Maxwell slip: a sliding element follows a friction
    // that rises, which bends its spring without work.
    let gains = |law| matches!(law, PointLaw::Approximate | PointLaw::GeneralizedMaxwellSlip);
    let laws = PointLaw::ALL.iter().filter(|law| !gains(**law));
    let mut contacts = Vec::new();
    for &law in laws {
        for k in 0..20u64 {
            let d = Dice(Draw::new(24, k));
            let mu_c = d.log("mu_c", 0.1, 2.0);
            let friction = Friction {
                sigma0: d.log("sigma0", 1e3, 1e6),
                sigma1: d.between("sigma1", 0.0, 200.0),
                mu_c,
                mu_s: mu_c * d.between("mu_s", 1.0, 2.0),
                v_s: d.log("v_s", 1e-3, 0.1),
                sigma2: d.between("sigma2", 0.0, 2.0),
                ..Friction::default()
            };
            // With a mass of its own a slider may give back what it has taken.
            let many = law != PointLaw::Dahl;
            let element = |i: u32| PointElement {
                share: d.between(&format!("share {i}"), 0.1, 1.0),
                stiffness: d.between(&format!("stiffness {i}"), 0.1, 1.0),
            };
            let mut elements: Vec<PointElement> = (0..if many { 4 } else { 1 }).map(element).collect();
            let sum = |of: fn(&PointElement) -> f64| elements.iter().map(of).sum::<f64>();
            let (shares, stiffnesses) = (sum(|e| e.share), sum(|e| e.stiffness));
            for e in &mut elements {
                (e.share, e.stiffness) = (e.share / shares, e.stiffness / stiffnesses);
            }
            // Wide enough that the explicit laws are stable.
            let model = PointModel { band: 10.0, elements, ..law.into() };
            let (v, at) = (d.log("v", 1e-3, 1.0), d.between("angle", 0.0, 6.3));
            let twist = Twist::new(v * at.cos(), v * at.sin(), 0.0);
            contacts.push(with(contact(model, friction, d.log("mass", 0.1, 10.0), d.log("f_n", 0.1, 20.0)), |body| {
                body.twist = twist;
            }));
        }
    }
    for (engine, limit) in engines() {
        let out = rollout(engine.as_ref(), &contacts, &Plan { keep_bristles: true, ..steps(0.3) });
        for (k, contact) in contacts.iter().enumerate() {
            let (Model::Point(model), body) = (&contact.model, contact.body.free().unwrap()) else { unreachable!() };
            assert_eq!(out.status[k].failure, None);
            let mut most = 0.5 * body.mass * body.twist.vx.hypot(body.twist.vy).powi(2);
            let stores = !model.elements().is_empty();
            for u in &out.twist[out.of(k)] {
                let kinetic = 0.5 * body.mass * u.vx.hypot(u.vy).powi(2);
                assert!(kinetic <= most * (1.0 + 10.0 * limit), "{:?}, {:?}: {kinetic}", engine.info(), model.law);
                // Elements give back what they store, so that the start alone bounds the motion.
                most = if stores { most } else { kinetic };
            }
        }
    }
}

/// The exact root never speeds a body up, and approximation (18) does where `sigma2 f_N T/M > 1`.
#[test]
fn approximation_adds_energy_in_steps_that_are_too_long() {
    let viscous = Friction { sigma2: 250.0, ..dry(0.1) };
    let sliding = |law: PointLaw| with(contact(law, viscous, 0.1, 1.0), |body| body.twist.vx = 1.0);
    let out = rollout(&Cpu::reference(), &[sliding(PointLaw::Implicit), sliding(PointLaw::Approximate)], &steps(0.02));
    let [exact, approximate] = [0, 1].map(|k| velocity(&out, k));
    assert!(exact.windows(2).all(|v| v[1].abs() <= v[0].abs()), "{exact:?}");
    assert!(approximate.windows(2).any(|v| v[1].abs() > v[0].abs()), "{approximate:?}");
}

/// Below break-away a body on elements oscillates about one place, and comes to rest there.
#[test]
fn elements_hold_a_load_without_drift() {
    let friction = Friction { sigma0: 1e5, sigma1: 300.0, ..dry(0.5) };
    let wave = bristle::schedule::Sine { amplitude: 1.0, omega: 40.0, phase: 0.0 };
    let held = with(contact(PointLaw::ViscoelastoPlastic, friction, 0.5, 10.0), |body| {
        body.wrench[0] = Signal::sines(2.0, vec![wave]);
    });
    for (engine, limit) in engines() {
        let period = std::f64::consts::TAU / 40.0;
        let plan = Plan::new(60.0 * period, 2e-4, period).unwrap();
        let out = rollout(engine.as_ref(), std::slice::from_ref(&held), &plan);
        let x: Vec<f64> = out.pose.iter().map(|q| q.x).collect();
        let drift = (x[60] - x[10]).abs();
        assert!(drift < limit * 3e-6, "{:?}: {drift} m in 50 periods of {} m", engine.info(), x[60]);
        assert!(out.slip.iter().all(|s| *s == 0.0));
    }
}

/// Slip is motion: nothing slips at rest at 95 % of the limit, all does once a body slides. Friction in
/// proportion to the velocity holds no load, and what drifts within a band slips if it drifts faster than
/// 1e-5 m/s.
#[test]
fn slip_is_motion_under_every_law() {
    let (mu, mass, f_n) = (0.5, 0.4, 8.0);
    let load = |body: &mut FreeBody| {
        let holds = mu * f_n;
        let points = [(0.0, 0.0), (0.3, 0.95 * holds), (1.0, 0.95 * holds), (1.001, 1.3 * holds)];
        body.wrench[0] = Signal::linear(&points).unwrap();
    };
    let (mut names, mut contacts) = (Vec::new(), Vec::new());
    for &law in PointLaw::ALL {
        // Quinn's is the implicit law with a band of T F/M; a viscous band is stable from half of that on.
        let band = if law == PointLaw::Karnopp { 1e-3 } else { 1e-3 * mu * f_n / mass };
        for sigma0 in [1e3, 1e5, 1e7] {
            let friction = Friction { sigma0, sigma1: (f_n * sigma0 * mass).sqrt() / f_n, ..dry(mu) };
            let mut held = with(contact(with_band(law, band), friction, mass, f_n), load);
            if law == PointLaw::Dahl {
                // Without a damper it would swing for long: it begins where its element holds the load.
                held.initial.bristles = bristle::contact::Bristles::States(vec![[0.95 * mu, 0.0]]);
                let points = [(1.0, 0.95 * mu * f_n), (1.001, 1.3 * mu * f_n)];
                held = with(held, |body| body.wrench[0] = Signal::linear(&points).unwrap());
            }
            let drifts = law == PointLaw::ViscousBand;
            names.push((format!("{law:?}, sigma0 = {sigma0}"), f64::from(u8::from(drifts))));
            contacts.push(held);
        }
    }
    for (engine, _) in engines() {
        let out = rollout(engine.as_ref(), &contacts, &Plan::new(1.1, 1e-3, 0.05).unwrap());
        for (k, (name, at_rest)) in names.iter().enumerate() {
            let (slip, near, twist) = (&out.slip[out.of(k)], &out.near_limit[out.of(k)], &out.twist[out.of(k)]);
            for i in 18..=20 {
                let what = format!("{:?}, {name}: at rest, {:?}", engine.info(), twist[i]);
                assert_eq!((slip[i], near[i]), (*at_rest, 1.0), "{what}");
            }
            for i in 21..23 {
                let what = format!("{:?}, {name}: it slides, {:?}", engine.info(), twist[i]);
                assert_eq!((slip[i], near[i]), (1.0, 1.0), "{what}");
            }
        }
    }
}

/// With sliders that have a mass, the fixed step's equations (22) to (29) hold, written out.
#[test]
fn sliders_with_a_mass_follow_their_equation_of_motion() {
    let friction = Friction { sigma0: 5e3, sigma1: 20.0, sigma2: 0.4, mu_c: 0.4, mu_s: 0.7, v_s: 0.02, ..dry(0.4) };
    let (f_n, mass, t) = (3.0, 0.05, STEP);
    let twist = [Signal::steps(&[(0.0, 0.05), (0.1, -0.02), (0.2, 0.1)]).unwrap(), 0.0.into(), 0.0.into()];
    let body = Body::Prescribed { twist: twist.clone(), at: bristle::TwistPoint::Origin };
    let model = PointModel { slider_mass: mass, ..PointLaw::ViscoelastoPlastic.into() };
    let driven = Contact { body, ..contact(model, friction, 1.0, f_n) };
    let (k, b) = (f_n * friction.sigma0, f_n * friction.sigma1);
    let phi = |v: f64| -v.signum() * f_n * (0.4 + 0.3 * (-(v / 0.02f64).powi(2)).exp() + 0.4 * v.abs());
    for (engine, limit) in engines() {
        let out = rollout(engine.as_ref(), std::slice::from_ref(&driven), &steps(0.3));
        let f = force(&out, 0);
        let (mut x, mut w, mut before) = (0.0, 0.0, 0.0);
        let mut slid = 0;
        for (n, &found) in f.iter().enumerate().skip(1) {
            let v = twist[0].value(t * (n as f64 - 0.5));
            let (x_old, w_old) = (x, w);
            x += v * t;
            // The slider's velocity u solves M (u - u')/T = g - f with f = -K (x - w) - B (v - u): by
            // bisection.
            let pull = |u: f64| -k * (x - w_old - u * t) - b * (v - u);
            let held = mass * (0.0 - before) / t + pull(0.0);
            let u = if held.abs() <= f_n * 0.7 {
                0.0
            } else {
                let rest = |u: f64| mass * (u - before) / t - phi(u) + pull(u);
                let (mut low, mut high) = if held < 0.0 { (1e-12, 10.0) } else { (-10.0, -1e-12) };
                for _ in 0..200 {
                    let middle = 0.5 * (low + high);
                    if rest(middle) < 0.0 { low = middle } else { high = middle }
                }
                0.5 * (low + high)
            };
            slid += usize::from(u != 0.0);
            w = w_old + u * t;
            let expected = -k * (x - w) - b * ((x - x_old) - (w - w_old)) / t;
            before = u;
            let scale = f_n * 10.0;
            let error = (found - expected).abs();
            assert!(error < scale * limit, "{:?}, step {n}: {found}, not {expected}", engine.info());
        }
        assert!((50..298).contains(&slid), "{slid} of 300 steps slide");
    }
}

/// How often `residual` changes its sign between 0 and `top`, neither of which counts.
fn roots(residual: impl Fn(f64) -> f64, top: f64) -> usize {
    let signs = (1..100_000).map(|i| residual(top * f64::from(i) / 1e5) > 0.0);
    signs.clone().zip(signs.skip(1)).filter(|(a, b)| a != b).count()
}

/// Steps whose equation has several roots, on the falling branch of the Stribeck curve: in long steps they
/// are counted where a scan finds several, and on every engine; in short steps there are none.
#[test]
fn steps_with_several_roots_are_counted() {
    let friction =
        Friction { sigma0: 1e3, sigma1: 0.0, sigma2: 0.1, mu_c: 0.4, mu_s: 1.0, v_s: 0.02, ..Friction::default() };
    let (mass, f_n, slider_mass, spring, t) = (0.4, 10.0, 0.1, 400.0, 5e-3);
    let anchor = |t: f64| 0.1 * t;
    let heavy = PointModel { slider_mass, ..PointLaw::ViscoelastoPlastic.into() };
    let four = PointModel { elements: vec![PointElement { share: 0.25, stiffness: 0.25 }; 4], ..heavy.clone() };
    let pulled = |model: PointModel| {
        with(contact(model, friction, mass, f_n), |body| {
            body.spring = spring;
            body.anchor[0] = Signal::linear(&[(0.0, 0.0), (1.0, anchor(1.0))]).unwrap();
        })
    };
    let wave = bristle::schedule::Sine { amplitude: 0.05, omega: 20.0, phase: 0.0 };
    let twist = [Signal::sines(0.0, vec![wave]), 0.0.into(), 0.0.into()];
    let moved = |model: PointModel| {
        let body = Body::Prescribed { twist: twist.clone(), at: bristle::TwistPoint::Origin };
        Contact { body, ..contact(model, friction, mass, f_n) }
    };
    let contacts = [
        pulled(PointLaw::Implicit.into()),
        pulled(heavy.clone()),
        pulled(four.clone()),
        moved(heavy.clone()),
        moved(four),
    ];
    let psi = |s: f64| 0.4 + 0.6 * (-(s / 0.02f64).powi(2)).exp() + 0.1 * s;
    let slows = t * f_n / mass;
    let plan = |step: f64| Plan::new(1.0, step, step).unwrap();
    let out = rollout(&Cpu::reference(), &contacts, &plan(t));
    // The implicit law: a speed after the step, and rest where friction holds.
    let implicit = |n: usize| {
        let (x, v) = (out.pose[n - 1].x, out.twist[n - 1].vx);
        let a = (v + t / mass * spring * (anchor(t * n as f64) - x)).abs();
        usize::from(a <= slows * psi(0.0)) + roots(|s| s + slows * psi(s) - a, a)
    };
    // A slider of velocity u under a force r of spring and damper, over the normal force: both ways, and at
    // rest.
    let (inertia, beta) = (slider_mass / (f_n * t), t * friction.sigma0);
    let sliders = |k: usize, n: usize, before: f64, is_free: bool| {
        let at = out.of(k).start + n;
        let zeta = -out.wrench[at - 1].fx / f_n;
        let unloaded = out.twist[at - 1].vx + t / mass * spring * (anchor(t * n as f64) - out.pose[at - 1].x);
        let body = |r: f64| if is_free { unloaded - slows * r } else { out.twist[at].vx };
        let residual = |u: f64| {
            let r = u.signum() * psi(u.abs()) + inertia * (u - before);
            zeta + beta * (body(r) - u) - r
        };
        let held = if is_free { (zeta + beta * unloaded) / (1.0 + beta * slows) } else { zeta + beta * body(0.0) };
        let rests = (held + inertia * before).abs() <= psi(0.0);
        usize::from(rests) + roots(residual, 2.0) + roots(|u| residual(-u), 2.0)
    };
    let scan = |k: usize, is_free: bool| {
        let (mut before, mut count) = (0.0, 0);
        for n in 1..=200 {
            count += u64::from(sliders(k, n, before, is_free) > 1);
            let at = out.of(k).start + n;
            let stretched = (out.wrench[at - 1].fx - out.wrench[at].fx) / f_n;
            before = out.twist[at].vx - stretched / beta;
        }
        count
    };
    let several = (1..=200).filter(|n| implicit(*n) > 1).count() as u64;
    // With more than one element on a free body steps are counted that might have several.
    let expected = [several, scan(1, true), 200, scan(3, false), scan(4, false)];
    assert!(expected.iter().all(|n| (5..=200).contains(n)), "{expected:?}");
    for (engine, limit) in engines() {
        let what = format!("{:?}", engine.info());
        let counts = rollout(engine.as_ref(), &contacts, &plan(t)).status;
        for (status, expected) in counts.iter().zip(expected) {
            let off = status.unconverged.abs_diff(expected);
            assert!(off <= if limit > 1e-6 { 2 } else { 0 }, "{what}: {counts:?}, not {expected:?}");
            assert_eq!(status.word(), bristle::engine::UNCONVERGED, "{what}");
        }
        let short = rollout(engine.as_ref(), &contacts, &Plan::new(0.5, 1e-4, 0.1).unwrap());
        assert!(short.status.iter().all(|s| s.word() == 0), "{what}: {:?}", short.status);
        // In pieces, and from a state that was saved, it is the same number.
        let whole = rollout(engine.as_ref(), &contacts, &Plan::new(1.0, t, 0.5).unwrap()).status;
        let mut batch = engine.batch(contacts.to_vec(), Stepping::fixed(t)).unwrap();
        batch.advance(0.5).unwrap();
        let saved = batch.save().unwrap();
        batch.advance(0.1).unwrap();
        batch.restore(&saved).unwrap();
        batch.advance(0.5).unwrap();
        let pieces = batch.statuses().unwrap();
        assert!(
            pieces.iter().zip(&whole).all(|(a, b)| a.unconverged == b.unconverged),
            "{what}: {pieces:?}, {whole:?}"
        );
    }
}

/// What a call would answer is the derivative of what it answers, and where there is no mass the next step's
/// friction.
#[test]
fn responses_are_those_of_the_next_step() {
    for &law in PointLaw::ALL {
        let friction = Friction { sigma0: 2e3, sigma1: 5.0, sigma2: 0.3, mu_c: 0.4, mu_s: 0.6, v_s: 0.03, ..dry(0.4) };
        let body = Body::prescribed(Twist::new(0.01, 0.02, 0.0));
        let driven = Contact { body, ..contact(with_band(law, 0.03), friction, 1.0, 2.0) };
        let mut batch = Cpu::new().batch(vec![driven], Stepping::fixed(STEP)).unwrap();
        batch.advance(0.05).unwrap();
        let at = |batch: &mut Batch, x: f64, y: f64| batch.respond(0, Twist::new(x, y, 0.0), STEP).unwrap();
        let (x, y, d) = (0.04, -0.03, 1e-7);
        let here = at(&mut batch, x, y);
        let [px, mx] = [d, -d].map(|d| at(&mut batch, x + d, y).wrench.to_array());
        let [py, my] = [d, -d].map(|d| at(&mut batch, x, y + d).wrench.to_array());
        // Quinn's friction by the curve is taken at the speed of the step before, whose slope is left out.
        let curved = law == PointLaw::Quinn;
        for i in 0..2 {
            for (j, (p, m)) in [(px, mx), (py, my)].into_iter().enumerate() {
                let (slope, gain) = ((p[i] - m[i]) / (2.0 * d), here.gain[i][j]);
                let size = here.gain[0][0].abs() + here.gain[1][1].abs();
                assert!(curved || (slope - gain).abs() < 1e-5 * (1.0 + size), "{law:?} {i} {j}: {slope}, not {gain}");
            }
        }
        batch.set(0, Input::Vx, x).unwrap();
        batch.set(0, Input::Vy, y).unwrap();
        batch.advance(STEP).unwrap();
        let next = batch.samples().unwrap()[0].wrench;
        let error = (next.fx - here.wrench.fx).abs() + (next.fy - here.wrench.fy).abs();
        assert!(error < 1e-12, "{law:?}: {next:?}, not {:?}", here.wrench);
    }
}

/// A contact of every law in a closed loop: pieces, snapshots, copies and resets have the bits of one run.
#[test]
fn batches_go_on_with_the_same_bits() {
    let friction = Friction { sigma0: 1e4, sigma1: 30.0, mu_c: 0.4, mu_s: 0.6, sigma2: 0.1, ..Friction::default() };
    let contacts: Vec<Contact> = PointLaw::ALL
        .iter()
        .map(|&law| {
            with(contact(with_band(law, 0.02), friction, 0.5, 4.0), |body| {
                body.spring = 200.0;
                body.anchor = [Signal::linear(&[(0.0, 0.0), (1.0, 0.25)]).unwrap(), 0.01.into()];
            })
        })
        .collect();
    for (engine, _) in engines() {
        let what = format!("{:?}", engine.info());
        let plan = Plan::new(0.5, STEP, 0.125).unwrap();
        let whole = rollout(engine.as_ref(), &contacts, &plan);
        let mut batch = engine.batch(contacts.clone(), Stepping::fixed(STEP)).unwrap();
        let all: Vec<usize> = (0..contacts.len()).collect();
        for piece in 1..=4 {
            batch.advance(0.125).unwrap();
            for (k, sample) in batch.samples().unwrap().iter().enumerate() {
                let at = whole.of(k).start + piece;
                assert_eq!((sample.pose, sample.wrench), (whole.pose[at], whole.wrench[at]), "{what}, contact {k}");
            }
        }
        let saved = batch.save().unwrap();
        let bytes = bristle::Snapshot::from_bytes(&saved.to_bytes().unwrap()).unwrap();
        batch.set_each(Input::AnchorX, &vec![-0.1; contacts.len()]).unwrap();
        batch.advance(0.05).unwrap();
        let first: Vec<_> = batch.samples().unwrap().to_vec();
        batch.advance(0.05).unwrap();
        batch.restore(&bytes).unwrap();
        batch.set_each(Input::AnchorX, &vec![-0.1; contacts.len()]).unwrap();
        batch.advance(0.05).unwrap();
        assert_eq!(batch.samples().unwrap(), &first[..], "{what}");
        batch.reset(&all).unwrap();
        for _ in 0..4 {
            batch.advance(0.125).unwrap();
        }
        for (k, sample) in batch.samples().unwrap().iter().enumerate() {
            assert_eq!(sample.pose, whole.pose[whole.of(k).end - 1], "{what}, contact {k}");
        }
        // A state of one law is none of another.
        assert!(batch.copy(0, &[1]).is_err() && batch.copy(5, &[6]).is_err(), "{what}");
        // And goes on on another engine.
        let mut other = Cpu::reference().batch(contacts.clone(), Stepping::fixed(STEP)).unwrap();
        other.restore(&saved).unwrap();
        other.set_each(Input::AnchorX, &vec![-0.1; contacts.len()]).unwrap();
        other.advance(0.05).unwrap();
        for (a, b) in other.samples().unwrap().iter().zip(&first) {
            let error = (a.pose.x - b.pose.x).abs();
            assert!(error < 1e-5, "{what}: {a:?}, not {b:?}");
        }
    }
}

/// What a point contact cannot have is refused.
#[test]
fn what_turns_a_body_is_refused() {
    let good = || contact(PointLaw::Implicit, dry(0.5), 1.0, 1.0);
    let field = |contact: Contact| contact.validate_over(1.0).unwrap_err().field;
    good().validate_over(1.0).unwrap();
    assert_eq!(field(with(good(), |body| body.twist.w = 0.1)), "initial.twist.w");
    assert_eq!(field(with(good(), |body| body.frame = crate::common::WITH_THE_BODY)), "body.kind");
    assert_eq!(field(with(good(), |body| body.spring = -1.0)), "body.spring");
    assert_eq!(field(contact(with_band(PointLaw::Quinn, 0.0), dry(0.5), 1.0, 1.0)), "contact.point.band");
    let grid = Contact { model: Model::Distributed, ..with(good(), |body| body.spring = 1.0) };
    assert_eq!(field(grid), "body.spring");
}

/// The viscoelasto-plastic law of a patch: from rest a spring, then the limit, at any speed.
#[test]
fn a_patch_of_springs_on_sliders_is_elastic_up_to_its_limit() {
    let friction = Friction { law: Law::ViscoelastoPlastic, sigma0: 2e4, sigma1: 0.0, ..dry(0.7) };
    let patch = crate::common::shape(9, 0.02, Shape::Square);
    let table = Arc::new(Table::new(&patch, Rule::Cells, 10).unwrap());
    // Along an axis the table of the surface has a node.
    let models = [
        ([0.6, 0.8], Model::Distributed),
        ([0.6, 0.8], Model::Ellipsoid(Form::Consistent)),
        ([0.0, 1.0], Model::LimitSurface(table, Form::Published)),
    ];
    for (engine, limit) in engines() {
        for speed in [1e-4, 1e-2] {
            let duration = 7e-5 / speed;
            let plan = Plan::new(duration, duration / 2000.0, duration / 14.0).unwrap();
            for ([x, y], model) in &models {
                let moved = crate::common::prescribed(&patch, friction, [x * speed, y * speed, 0.0], 2.0);
                let out = rollout(engine.as_ref(), &[Contact { model: model.clone(), ..moved }], &plan);
                for (t, w) in out.time.iter().zip(&out.wrench) {
                    let force = 2.0 * (2e4 * speed * t).min(0.7);
                    let errors = [w.fx + x * force, w.fy + y * force, 10.0 * w.tau].map(f64::abs);
                    let what = format!("{:?}, {model:?}, {speed} m/s at {t} s", engine.info());
                    assert!(errors.iter().all(|e| *e < 5.0 * limit), "{what}: {w:?}, not {force}");
                }
            }
        }
    }
}

/// Under a load that loops far below the limit such a patch comes back to where it was, loop after loop.
#[test]
fn a_patch_of_springs_on_sliders_does_not_drift() {
    let friction = Friction { law: Law::ViscoelastoPlastic, sigma0: 1e5, sigma1: 300.0, ..dry(0.5) };
    let patch = crate::common::shape(9, 0.02, Shape::Disc);
    let wave = |amplitude, phase| vec![bristle::schedule::Sine { amplitude, omega: 40.0, phase }];
    let mut held = crate::common::on_table(Frame::World, &patch, friction);
    let body = held.body.free_mut().unwrap();
    body.wrench =
        [Signal::sines(1.0, wave(1.0, 0.0)), Signal::sines(0.5, wave(0.5, 1.0)), Signal::sines(0.0, wave(3e-3, 2.0))];
    let period = std::f64::consts::TAU / 40.0;
    let ellipsoid = Contact { model: Model::Ellipsoid(Form::Consistent), ..held.clone() };
    for (engine, limit) in engines() {
        let plan = Plan::new(40.0 * period, 2e-4, period).unwrap();
        let out = rollout(engine.as_ref(), &[held.clone(), ellipsoid.clone()], &plan);
        for k in 0..2 {
            let q = &out.pose[out.of(k)];
            let drift = (q[40].x - q[10].x).hypot(q[40].y - q[10].y);
            assert!(drift < 3e-6 * limit, "{:?}, contact {k}: {drift} m in 30 periods", engine.info());
            assert!((q[40].theta - q[10].theta).abs() < 3e-4 * limit, "{:?}, contact {k}", engine.info());
        }
    }
}
