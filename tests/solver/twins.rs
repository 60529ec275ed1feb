//! The shaders against their twins in Rust: one step from random states, whole rollouts, and wrong kernels
//! that the same comparison must catch.

use std::sync::{Arc, OnceLock};

use bristle::body::{Body, Frame};
use bristle::contact::{Bristles, Contact, Form, Model, PatchInputs};
use bristle::cpu::Cpu;
use bristle::engine::{Engine, Plan, Trajectories};
use bristle::error::EngineError;
use bristle::friction::{Friction, Law};
use bristle::gpu::{Choice, Gpu, Layout, Storage};
use bristle::limit_surface::{Rule, Table};
use bristle::moving_surface::MovingSurface;
use bristle::patch::{Exponent, FrictionAxes, Grid, Hertz, Patch, Placed, Shape};
use bristle::planar::Pose;
use bristle::schedule::{Signal, Sine};

use crate::common::{
    STEP, assert_close, bits, compare, flat, free, in_hand, kind, lost_on_a_long_way, of, on_table, one_step,
    one_step_agrees, paths_agree, plan, prescribed_twist, random_contact, rollout, shape,
};

/// The engine under test; no adapter is a failure that says how to install one.
fn gpu() -> &'static Gpu {
    static OPENED: OnceLock<Result<Gpu, String>> = OnceLock::new();
    OPENED.get_or_init(|| Gpu::new(Choice::Any).map_err(|e| e.to_string())).as_ref().unwrap_or_else(|e| panic!("{e}"))
}

fn edited(edit: fn(String) -> String) -> Gpu {
    Gpu::with_edit(Choice::Any, edit).unwrap_or_else(|e| panic!("{e}"))
}

/// A shader in which `wrong` stands for `right`, which it has.
fn replaced(text: String, right: &str, wrong: &str) -> String {
    assert!(text.contains(right), "the shader has no {right:?}: renew the mutant");
    text.replace(right, wrong)
}

/// Contacts of every kind, law, map and gamma in random states.
fn states() -> Vec<Contact> {
    (0..96).map(|k| random_contact(5, k)).collect()
}

#[test]
fn a_comparison_that_fails_says_where_and_by_how_much() {
    let message = compare("twist", &[1.0, 2.5], &[1.0, 2.0], 0.1).unwrap_err();
    assert_eq!(message, "twist[1] = 2.5e0, wanted 2e0: they differ by 5e-1, limit 1e-1");
    assert!(compare("twist", &[f64::NAN], &[1.0], 0.1).is_err() && compare("twist", &[1.0], &[], 0.1).is_err());
    assert_eq!(compare("twist", &[1.0, 2.25], &[1.0, 2.0], 0.5), Ok(0.5), "a share of the limit");
}

#[test]
fn one_step_from_random_states_is_the_same_on_the_gpu() {
    let contacts = states();
    let wanted = rollout(&Cpu::reference(), &contacts, &one_step());
    let single = wanted.status.iter().filter(|s| s.steps == 1).count();
    assert!(single * 4 >= contacts.len() * 3, "most are one step indeed: {single}");
    let found = rollout(gpu(), &contacts, &one_step());
    one_step_agrees(&contacts, &found, &wanted).unwrap_or_else(|e| panic!("{e}"));
}

/// Contacts that share one pipeline: software drivers compile more slowly the more they have compiled.
fn of_one_pipeline(gamma: f64) -> Vec<Contact> {
    let alike = |c: &Contact| {
        let Friction { law, gamma: own, .. } = c.friction;
        c.patch.grid().len() < 100 && law == Law::ElastoPlastic && own == gamma
    };
    (0..400).map(|k| random_contact(5, k)).filter(alike).collect()
}

/// The same with friction that differs from cell to cell.
fn with_friction_maps() -> Vec<Contact> {
    let mut contacts = of_one_pipeline(2.0);
    for contact in &mut contacts {
        let factors: Vec<f64> = (0..contact.patch.grid().len()).map(|i| 0.3 + 0.35 * (i % 4) as f64).collect();
        contact.patch = Arc::new(Patch::clone(&contact.patch).with_friction_map(&factors).unwrap());
    }
    contacts
}

#[test]
fn one_step_with_friction_maps_is_the_same_on_the_gpu_and_forgotten_factors_are_caught() {
    let contacts = with_friction_maps();
    let wanted = rollout(&Cpu::reference(), &contacts, &one_step());
    one_step_agrees(&contacts, &rollout(gpu(), &contacts, &one_step()), &wanted).unwrap_or_else(|e| panic!("{e}"));
    let forgetful = edited(|text| {
        let right = "return own_factors(first_cell(i), now_at - select(1u, 0u, inside)) * g;";
        replaced(text, right, "return g;")
    });
    one_step_agrees(&contacts, &rollout(&forgetful, &contacts, &one_step()), &wanted).expect_err("a wrong kernel");
}

/// The same with friction by direction. Contacts of one cell are left out: the wrench of one of them is 2e-5
/// off on a GPU without axes, too, which is the limit.
fn with_axes_of_friction() -> Vec<Contact> {
    let mut contacts = of_one_pipeline(2.0);
    contacts.retain(|contact| contact.patch.grid().len() > 1);
    for (k, contact) in contacts.iter_mut().enumerate() {
        let axes = FrictionAxes::new(0.4 + 0.2 * (k % 5) as f64, 0.7 * (k % 4) as f64).unwrap();
        contact.patch = Arc::new(Patch::clone(&contact.patch).with_friction_axes(axes));
    }
    contacts
}

#[test]
fn one_step_with_axes_of_friction_is_the_same_on_the_gpu_and_wrong_places_are_caught() {
    let contacts = with_axes_of_friction();
    let wanted = rollout(&Cpu::reference(), &contacts, &one_step());
    one_step_agrees(&contacts, &rollout(gpu(), &contacts, &one_step()), &wanted).unwrap_or_else(|e| panic!("{e}"));
    let mutants: [fn(String) -> String; 2] = [
        |text| replaced(text, "c.axes_yy * at.x - c.axes_xy * at.y", "c.axes_xx * at.x - c.axes_xy * at.y"),
        |text| replaced(text, "return Sums(apply(s.resist), rows", "return Sums(s.resist, rows"),
    ];
    for edit in mutants {
        let engine = edited(edit);
        one_step_agrees(&contacts, &rollout(&engine, &contacts, &one_step()), &wanted).expect_err("a wrong kernel");
    }
}

/// Two patches in place of each, the other one turned and apart.
fn with_several_patches() -> Vec<Contact> {
    let mut contacts = of_one_pipeline(2.0);
    for (k, contact) in contacts.iter_mut().enumerate() {
        let placed = |x: f64, theta: f64, force: f64| {
            let at = Pose::new(x, 0.3 * x, theta);
            Placed { patch: Patch::clone(&contact.patch), at, force, friction: 1.0 }
        };
        let two = [placed(0.0, 0.0, 1.0), placed(0.01 + 0.002 * (k % 4) as f64, k as f64, 0.7)];
        if contact.patch.changes() || contact.patch.takes_frames() {
            continue;
        }
        contact.patch = Arc::new(Patch::compound(&two).unwrap());
        if let Bristles::States(states) = &mut contact.initial.bristles {
            states.extend_from_within(..);
        }
    }
    contacts.retain(|contact| !contact.patch.parts().is_empty());
    assert!(contacts.len() > 10, "{}", contacts.len());
    contacts
}

/// The same with surfaces that move by themselves, and every other one with normal forces of its patches.
fn with_inputs_of_patches() -> Vec<Contact> {
    let mut contacts = with_several_patches();
    contacts.retain(|contact| contact.model.is_grid());
    assert!(contacts.len() > 10, "{}", contacts.len());
    for (k, contact) in contacts.iter_mut().enumerate() {
        let f_n = contact.inputs.normal_force.value(0.0);
        let own = |p: usize| {
            let wave = |mean: f64, amplitude: f64| {
                Signal::sines(mean, vec![Sine { amplitude, omega: 40.0 + 7.0 * k as f64, phase: 0.3 + p as f64 }])
            };
            let twist = [wave(0.02, 0.01), Signal::constant(-0.01 * p as f64), wave(0.5, 1.5)];
            let surface = MovingSurface { twist, at: [0.01 * p as f64, -0.02] };
            PatchInputs {
                normal_force: (k % 2 == 0).then(|| wave(0.5 * f_n, 0.2 * f_n)),
                surface: (k % 3 > 0 || p == 0).then_some(surface),
            }
        };
        contact.inputs.patches = vec![own(0), own(1)];
    }
    contacts
}

#[test]
fn one_step_with_inputs_of_patches_is_the_same_on_the_gpu_and_wrong_kernels_are_caught() {
    let contacts = with_inputs_of_patches();
    let wanted = rollout(&Cpu::reference(), &contacts, &one_step());
    one_step_agrees(&contacts, &rollout(gpu(), &contacts, &one_step()), &wanted).unwrap_or_else(|e| panic!("{e}"));
    let mutants: [fn(String) -> String; 5] = [
        |text| replaced(text, "u - part_surface[part_of(cell)]", "u"),
        |text| replaced(text, "part_share[i] = v.x;", "part_share[i] = 1.0;"),
        |text| {
            let end = "terms[first + 4u * number + 2u].slot";
            replaced(text, &format!("cell >= {end}"), &format!("cell > {end}"))
        },
        |text| replaced(text, "now.y * by.x + now.x * by.y", "now.y * by.x"),
        |text| replaced(text, "transform_twist(t, at(surface, q.xy))", "transform_twist(t, surface)"),
    ];
    for edit in mutants {
        let engine = edited(edit);
        one_step_agrees(&contacts, &rollout(&engine, &contacts, &one_step()), &wanted).expect_err("a wrong kernel");
    }
}

/// The same on surfaces that move: belts, turntables and hands.
fn with_moving_surfaces() -> Vec<Contact> {
    let mut contacts = of_one_pipeline(2.0);
    for (k, contact) in contacts.iter_mut().enumerate() {
        let wave = |mean: f64, amplitude: f64| {
            Signal::sines(mean, vec![Sine { amplitude, omega: 40.0 + 7.0 * k as f64, phase: 0.3 }])
        };
        let twist = [wave(0.02, 0.01), Signal::linear(&[(0.0, -0.01), (1.0, 0.3)]).unwrap(), wave(1.5, 4.0)];
        contact.inputs.surface = Some(MovingSurface { twist, at: [0.03, -0.02] });
    }
    contacts
}

#[test]
fn steps_on_moving_surfaces_are_the_same_on_the_gpu_and_wrong_kernels_are_caught() {
    let contacts = with_moving_surfaces();
    for wanted in ["prescribed", "body", "gripper", "world"] {
        assert!(contacts.iter().any(|c| kind(c) == wanted), "{wanted} is in the batch");
    }
    let wanted = rollout(&Cpu::reference(), &contacts, &one_step());
    one_step_agrees(&contacts, &rollout(gpu(), &contacts, &one_step()), &wanted).unwrap_or_else(|e| panic!("{e}"));
    let plan = plan(0.05, STEP, 0.01);
    let far = rollout(&Cpu::new(), &contacts, &plan);
    paths_agree(&contacts, &rollout(gpu(), &contacts, &plan), &far).unwrap_or_else(|e| panic!("{e}"));
    let mutants: [fn(String) -> String; 4] = [
        |text| replaced(text, "transform_twist(t, u - p.below) - p.after", "transform_twist(t, u) - p.after"),
        |text| replaced(text, "return Parts(at(s, q.xy), vec3f(0.0));", "return Parts(s, vec3f(0.0));"),
        |text| replaced(text, "return Rates(at(slip, q.xy), s.z, slip);", "return Rates(slip, s.z, slip);"),
        |text| replaced(text, "v[terms[i].slot - SLOT_SURFACE] +=", "v[terms[i].slot - SLOT_SURFACE] -="),
    ];
    for (k, edit) in mutants.into_iter().enumerate() {
        let engine = edited(edit);
        let found = rollout(&engine, &contacts, &one_step());
        one_step_agrees(&contacts, &found, &wanted).expect_err(&format!("wrong kernel {k}"));
    }
    // How far the hand has turned shows in the loads of the steps to come.
    let still = edited(|text| replaced(text, "vec3f(angle, 0.0, 0.0)", "vec3f(0.0)"));
    paths_agree(&contacts, &rollout(&still, &contacts, &plan), &far).expect_err("a hand that does not turn");
}

#[test]
fn one_step_of_several_patches_is_the_same_on_the_gpu() {
    let contacts = with_several_patches();
    let wanted = rollout(&Cpu::reference(), &contacts, &one_step());
    one_step_agrees(&contacts, &rollout(gpu(), &contacts, &one_step()), &wanted).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn side_by_side_and_one_by_one_are_the_same_on_the_cpu() {
    let mut contacts = states();
    contacts.extend(with_friction_maps());
    contacts.extend(with_several_patches());
    contacts.extend(with_inputs_of_patches());
    contacts.extend(with_axes_of_friction());
    let [wanted, found] = [Cpu::reference(), Cpu::new()].map(|cpu| rollout(&cpu, &contacts, &plan(0.02, STEP, 5e-3)));
    for k in 0..contacts.len() {
        let n = wanted.frames();
        assert_eq!(found.status[k], wanted.status[k], "contact {k}");
        let scale = flat(of(&wanted.twist, k, n)).iter().fold(1e-3f64, |m, v| m.max(v.abs()));
        let [a, b] = [&found, &wanted].map(|t| flat(of(&t.twist, k, n)));
        assert_close(&format!("contact {k}: twist"), &a, &b, 1e-9 * scale);
        let [a, b] = [&found, &wanted].map(|t| t.bristles[k].as_flattened());
        assert_close(&format!("contact {k}: bristles"), a, b, 1e-8);
    }
}

#[test]
fn whole_rollouts_are_the_same_on_the_gpu() {
    let contacts: Vec<Contact> = (100..130).map(|k| random_contact(5, k)).collect();
    let plan = plan(0.2, STEP, 0.02);
    let [wanted, found] = [&Cpu::new() as &dyn Engine, gpu()].map(|e| rollout(e, &contacts, &plan));
    paths_agree(&contacts, &found, &wanted).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn windows_and_dispatches_of_any_length_give_the_same_bits() {
    let contacts: Vec<Contact> = (200..207).map(|k| random_contact(5, k)).collect();
    for wanted in ["prescribed", "body"] {
        assert!(contacts.iter().any(|c| kind(c) == wanted), "{wanted} is in the batch");
    }
    let fixed = plan(0.02, STEP, 1e-3);
    for plan in [fixed.clone(), fixed.with_tolerance(1e-5).unwrap()] {
        let wanted = rollout(gpu(), &contacts, &plan);
        for (work, sweeps) in [(1.0, 7), (1e9, 1)] {
            let cut = Gpu::new(Choice::Any).unwrap().with_budget(work, sweeps);
            let found = rollout(&cut, &contacts, &plan);
            for (k, contact) in contacts.iter().enumerate() {
                let (f, w) = (bits(&found, k), bits(&wanted, k));
                let different = (0..f.len()).find(|&i| f[i] != w[i]);
                let name = format!("contact {k} ({}), {sweeps} sweeps a dispatch", kind(contact));
                assert_eq!(different, None, "{name}: the first number whose bits differ");
            }
        }
    }
}

/// A buffer that holds few limit surfaces: maps that change their shape between samples bring many.
#[test]
fn buffers_of_any_size_give_the_same_bits() {
    let grid = Grid::new(9, 9, 0.02, 0.02).unwrap();
    let wave = |k: usize| vec![Sine { amplitude: 1.0, omega: 100.0, phase: k as f64 }];
    let contact = |k: usize| {
        let rule = Hertz { radius: 2.5, exponent: Exponent::PerNewton(1.0) };
        let patch = Arc::new(Patch::hertz(grid, rule, 2.0).unwrap());
        let table = Arc::new(Table::new(&patch, Rule::Points, 4).unwrap());
        let model = Model::LimitSurface(table, Form::Consistent);
        let mut c =
            Contact { model, ..in_hand(&patch, Friction::default(), [0.002, 0.0, 0.0], Signal::sines(2.0, wave(k))) };
        // One or three maps a sample of 5 ms, and not at the samples alone.
        c.inputs.remap_every = Some([0.0075, 0.002][k % 2]);
        c
    };
    let contacts: Vec<Contact> = (0..6).map(contact).collect();
    let plan = plan(0.06, STEP, 5e-3);
    let wanted = rollout(gpu(), &contacts, &plan);
    let table = (17 * 5 * size_of::<[f32; 3]>()) as u64;
    // What one contact needs at least, what two do, and room for windows of several samples.
    for tables in [5, 11, 30] {
        let small = Gpu::new(Choice::Any).unwrap().with_buffers_of(tables * table);
        let found = rollout(&small, &contacts, &plan);
        for k in 0..contacts.len() {
            assert!(bits(&found, k) == bits(&wanted, k), "contact {k}, buffers of {tables} tables");
        }
    }
    let small = Gpu::new(Choice::Any).unwrap().with_buffers_of(4 * table);
    match small.rollout(&contacts, &plan, &|_| true) {
        Err(EngineError::Limit { contact: 1, what, .. }) => assert!(what.contains("limit surfaces"), "{what}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn prescribed_motions_choose_the_same_steps_on_the_gpu() {
    let drawn = |k: u64| {
        let mut c = random_contact(5, k);
        (c.patch.grid().len() > 1).then(|| {
            if let Some(body) = c.body.free() {
                c.body = Body::prescribed(body.twist);
            }
            prescribed_twist(&mut c)[k as usize % 3] =
                Signal::linear(&[(0.0, 0.0), (0.004, 0.02), (0.013, -0.03)]).unwrap();
            c
        })
    };
    let contacts: Vec<Contact> = (0..40).filter_map(drawn).collect();
    let plan = Plan { step: 5e-3, ..plan(0.02, STEP, 5e-3) }.with_tolerance(1e-5).unwrap();
    let [wanted, found] = [&Cpu::reference() as &dyn Engine, gpu()].map(|e| rollout(e, &contacts, &plan));
    let counts = |t: &Trajectories| t.status.iter().map(|s| s.steps).collect::<Vec<_>>();
    let (w, f) = (counts(&wanted), counts(&found));
    assert!(w.iter().max() > w.iter().min().map(|n| n * 2).as_ref(), "each at a pace of its own: {w:?}");
    for (k, contact) in contacts.iter().enumerate() {
        assert!(w[k].abs_diff(f[k]) * 50 <= w[k] + 100, "steps of contact {k} on the GPU {}, wanted {}", f[k], w[k]);
        let [a, b] = [&found, &wanted].map(|t| flat(of(&t.wrench, k, t.frames())));
        let scale = contact.friction.mu_s * contact.inputs.normal_force.value(0.0);
        assert_close(&format!("contact {k}: wrench"), &a, &b, 5e-5 * scale);
    }
}

/// Contacts of few cells, which share few kernels.
fn of_few_cells() -> Vec<Contact> {
    let small = |c: &Contact| c.patch.grid().len() < 64 && c.friction.gamma == 2.0;
    let contacts: Vec<Contact> = (0..140).map(|k| random_contact(5, k)).filter(small).collect();
    for &law in Law::ALL {
        assert!(contacts.iter().any(|c| c.friction.law == law), "{law:?} is in the batch");
    }
    contacts
}

#[test]
fn layouts_of_other_lanes_and_widths_make_the_same_step() {
    let mut contacts = of_few_cells();
    contacts.extend(with_inputs_of_patches().into_iter().filter(|contact| contact.patch.count_cells() < 64));
    assert!(contacts.iter().any(|contact| !contact.inputs.patches.is_empty()));
    let wanted = rollout(&Cpu::reference(), &contacts, &one_step());
    let adapter = gpu().adapter();
    let layouts = [
        // The first two share a subgroup of eight.
        Layout { lanes: 2, storage: Storage::Private },
        Layout { lanes: 4, storage: Storage::Workgroup },
        Layout { lanes: 8, storage: Storage::Workgroup },
        Layout { lanes: 16, storage: Storage::Private },
        Layout { lanes: 32, storage: Storage::Private },
        Layout { lanes: 64, storage: Storage::Workgroup },
    ];
    let valid = layouts.iter().filter(|layout| layout.shape(63, adapter).is_some());
    assert!(valid.clone().count() > 1, "of {adapter:?}");
    for layout in valid {
        let found = rollout(&Gpu::new(Choice::Any).unwrap().with_layout(*layout), &contacts, &one_step());
        one_step_agrees(&contacts, &found, &wanted).unwrap_or_else(|e| panic!("{layout}: {e}"));
    }
}

#[test]
fn contacts_that_share_a_subgroup_do_not_see_each_other() {
    let mut contacts = of_few_cells();
    contacts.extend(with_inputs_of_patches().into_iter().filter(|contact| contact.patch.count_cells() < 64));
    let layout = Layout { lanes: 2, storage: Storage::Workgroup };
    let engine = || Gpu::new(Choice::Any).unwrap().with_layout(layout);
    assert!(gpu().adapter().subgroup[0] > 2, "{:?}", gpu().adapter());
    // Each takes steps, samples and an end of its own.
    let plan = plan(0.02, STEP, 5e-3).with_tolerance(1e-5).unwrap();
    let together = rollout(&engine(), &contacts, &plan);
    for k in (0..contacts.len()).step_by(7) {
        let alone = rollout(&engine(), &contacts[k..=k], &plan);
        assert_eq!(bits(&together, k), bits(&alone, 0), "contact {k}");
    }
}

/// A wrong kernel: what is wrong with it, the text that is replaced and by what.
macro_rules! mutants {
    (gamma $gamma:literal: $($name:ident: $from:expr => $to:expr;)*) => {
        $(#[test]
        fn $name() {
            caught($gamma, |text| {
                assert!(text.contains($from), "the shader has no {:?}: renew the mutant", $from);
                text.replace($from, $to)
            });
        })*
    };
}

/// That the comparison finds a wrong kernel, and passes the right one.
#[track_caller]
fn caught(gamma: f64, edit: fn(String) -> String) {
    let contacts = of_one_pipeline(gamma);
    let wanted = rollout(&Cpu::new(), &contacts, &one_step());
    let right = rollout(gpu(), &contacts, &one_step());
    one_step_agrees(&contacts, &right, &wanted).unwrap_or_else(|e| panic!("the right kernel: {e}"));
    let found = rollout(&edited(edit), &contacts, &one_step());
    let message = one_step_agrees(&contacts, &found, &wanted).expect_err("the comparison lets a wrong kernel pass");
    assert!(message.contains("wanted"), "the message says what was wanted: {message}");
}

mutants! { gamma 2.0:
    wrong_sign_of_the_plastic_speed_is_caught:
        "fma(m.vx, yx, m.vy * yy)" => "-fma(m.vx, yx, m.vy * yy)";
    wrong_side_of_the_transition_is_caught: "let load = fma(r.pull, square," => "let load = fma(-r.pull, square,";
    wrong_start_of_the_transition_is_caught: "(k.s_ba * t.g < t.len) &" => "(1.1 * k.s_ba * t.g < t.len) &";
    wrong_extrapolation_to_the_second_stage_is_caught:
        "zx += committed.extrapolation *" => "zx += 0.9999 * committed.extrapolation *";
    wrong_torque_is_caught: "sum[2] += x * fy - y * fx;" => "sum[2] += x * fy + y * fx;";
    wrong_velocity_of_a_cell_is_caught: "u.y + u.z * x);" => "u.y - u.z * x);";
    wrong_stribeck_bell_is_caught: "max(v2 * -inv_v_s2, Real(-80.0))" => "max(1.01 * v2 * -inv_v_s2, Real(-80.0))";
    forgotten_pads_are_caught: "let grip = a * c.pads * v.f_n;" => "let grip = a * v.f_n;";
    forgotten_viscosity_is_caught: "let cxx = share * d.xx + w * k.sigma2;" => "let cxx = 0.9 * share * d.xx;";
    wrong_turn_of_the_body_is_caught: "t.cos * u.y - t.sin * u.x" => "t.cos * u.y + t.sin * u.x";
    wrong_cube_root_of_the_map_is_caught: "log2(max(f_n, TINY)) / 3.0" => "log2(max(f_n, TINY)) / 2.9";
    wrong_weight_of_the_stages_is_caught:
        "((1.0 - KAPPA) * body.du1 + KAPPA * body.du)" => "(KAPPA * body.du1 + (1.0 - KAPPA) * body.du)";
    wrong_gain_is_caught: "fma(back, turn * speed, back), z.xs" => "-fma(back, turn * speed, back), z.xs";
}

mutants! { gamma 1.0:
    wrong_exponent_of_the_bell_is_caught: "exp2(k.gamma * log2(x))" => "exp2(1.01 * k.gamma * log2(x))";
}

/// Steps of a run long enough to lose a naive sum in single precision.
const MANY: f64 = 1e5;

#[test]
fn a_hundred_thousand_tiny_steps_keep_their_digits_on_the_gpu() {
    let error = lost_on_a_long_way(gpu()).unwrap();
    assert!(error < 1e-6, "relative error of the way: {error:e}");
}

#[test]
fn without_the_compensation_a_hundred_thousand_tiny_steps_are_lost() {
    let naive = edited(|text| {
        assert!(text.contains("let y = d + low;"), "the compensated sum has changed: renew the mutant");
        text.replace("let y = d + low;", "let y = d;")
    });
    let error = lost_on_a_long_way(&naive).unwrap();
    assert!(error > 0.5, "relative error of the way: {error:e}");
}

#[test]
fn a_hundred_thousand_tiny_gains_of_speed_add_up_on_the_gpu() {
    let (gravity, step) = (1e-5, 2e-4);
    let mut contact = on_table(Frame::World, &shape(1, 0.01, Shape::Square), Friction::default());
    contact.inputs.normal_force = Signal::constant(0.0);
    let body = free(&mut contact);
    body.gravity[0] = Signal::constant(gravity);
    body.twist.vx = 1.0;
    let duration = MANY * step;
    let out = rollout(gpu(), &[contact], &Plan::new(duration, step, duration).unwrap());
    // A step gains 2e-9 m/s; a recorded speed is a single number, good to half its last digit.
    assert_close("speed", &[out.twist[1].vx], &[1.0 + gravity * duration], f64::from(f32::EPSILON));
}

#[test]
fn grids_from_one_cell_to_64_by_64_are_the_same_on_the_gpu() {
    let contacts: Vec<Contact> = [1, 2, 5, 16, 33, 48, 64]
        .iter()
        .flat_map(|&n| {
            Law::ALL.iter().map(move |&law| {
                let friction = Friction { law, ..Friction::default() };
                in_hand(&shape(n, 0.02, Shape::Disc), friction, [0.002, 0.0, 0.0], Signal::constant(1.2))
            })
        })
        .collect();
    let plan = plan(0.05, 2e-4, 0.01);
    let [wanted, found] = [&Cpu::new() as &dyn Engine, gpu()].map(|e| rollout(e, &contacts, &plan));
    for k in 0..contacts.len() {
        let [a, b] = [&found, &wanted].map(|t| flat(of(&t.pose, k, t.frames())));
        assert_close(&format!("{} cells: pose", wanted.bristles[k].len()), &a, &b, 1e-6);
    }
}
