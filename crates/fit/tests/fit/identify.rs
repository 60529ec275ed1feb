//! Directions that a recording cannot tell are named, and held; the rest is told.

use crate::common::{file, fitted, noise, strokes, with_force};
use bristle::random::Draw;
use bristle_fit::fit::{Estimate, Fit};
use bristle_fit::recording::Recording;

const STEP: f64 = 0.02;

fn of<'f>(fit: &'f Fit, name: &str) -> &'f Estimate {
    fit.estimates.iter().find(|e| e.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// Whether one direction has all these names.
fn named(fit: &Fit, names: &[&str]) -> bool {
    fit.directions.iter().any(|d| names.iter().all(|name| d.unknowns.iter().any(|u| u == name)))
}

/// The fit of `unknowns` to what a contact with the numbers `truth` would do.
fn planted(unknowns: &[&str], truth: &[(&str, f64)], recording: Recording) -> Fit {
    let table: String = unknowns.iter().map(|path| format!("\"{path}\" = {{}}\n")).collect();
    let file = file("elasto-plastic", &table, "");
    let noise: Vec<f64> = noise(&Draw::new(7, 0), recording.time.len(), STEP, 0.0).iter().map(|n| 0.02 * n).collect();
    let fit = fitted(&file, &with_force(&file, recording, truth, 0.05, &noise));
    println!("{}", bristle_fit::report::text(&fit));
    fit
}

/// Strokes of one speed [m/s], 1 s each.
fn one_speed(speed: f64, rows: usize) -> Recording {
    let mut recording = strokes(&Draw::new(1, 0), rows, STEP);
    let place = |k: usize| {
        let (stroke, within) = (k / 50, (k % 50) as f64 * STEP);
        if stroke.is_multiple_of(2) { speed * within } else { speed * (1.0 - within) }
    };
    recording.inputs[1].values = (0..rows).map(place).collect();
    recording
}

#[test]
fn the_gain_of_the_sensor_is_one_direction_with_what_makes_force() {
    let truth = [("friction.mu_c", 0.4), ("friction.sigma0", 6e3)];
    let unknowns = ["friction.mu_c", "friction.sigma0", "wrench.fx.gain"];
    let fit = planted(&unknowns, &truth, strokes(&Draw::new(3, 0), 1500, STEP));
    assert!(named(&fit, &["wrench.fx.gain", "friction.mu_c", "friction.sigma0"]), "{:?}", fit.directions);
    assert!(!of(&fit, "wrench.fx.gain").identifiable && of(&fit, "wrench.fx.gain").value == 1.0);
    let mu = of(&fit, "friction.mu_c");
    // An interval of 90 % need not have the truth; three times as wide a one should.
    let reach = mu.high - mu.low;
    assert!((mu.value - 0.4).abs() < 1.5 * reach && reach < 0.02, "{mu:?}");
    assert!(fit.before.iter().any(|b| b.contains("wrench.fx.gain")));
}

#[test]
fn a_normal_force_that_is_not_known_is_one_direction_with_the_coefficient() {
    let mut recording = strokes(&Draw::new(3, 0), 1500, STEP);
    recording.inputs.remove(0);
    let unknowns = ["friction.mu_c", "friction.sigma0", "inputs.normal_force"];
    let fit = planted(&unknowns, &[("friction.mu_c", 0.4), ("inputs.normal_force", 4.0)], recording);
    assert!(named(&fit, &["inputs.normal_force", "friction.mu_c"]), "{:?}", fit.directions);
    assert!(!of(&fit, "friction.mu_c").identifiable && !of(&fit, "inputs.normal_force").identifiable);
}

#[test]
fn one_speed_shows_the_sliding_friction_and_not_its_parts() {
    let unknowns = ["friction.mu_c", "friction.mu_s_over_mu_c", "friction.v_s", "friction.sigma0"];
    let truth = [("friction.mu_c", 0.4), ("friction.mu_s_over_mu_c", 1.3), ("friction.v_s", 1e-2)];
    let fit = planted(&unknowns, &truth, one_speed(1e-3, 1500));
    for name in &unknowns[..3] {
        assert!(!of(&fit, name).identifiable, "{name}");
    }
    assert!(of(&fit, "friction.sigma0").identifiable);
    let sliding = of(&fit, "sliding_friction");
    let true_one = 0.4 * (1.0 + 0.3 * (-0.01f64).exp());
    let reach = sliding.high - sliding.low;
    assert!((sliding.value - true_one).abs() < 1.5 * reach && reach < 0.02, "{sliding:?}");
    assert!(fit.before.iter().any(|b| b.contains("friction.v_s")), "{:?}", fit.before);
}

#[test]
fn an_unknown_that_the_law_does_not_have_moves_nothing() {
    let table = "\"friction.mu_c\" = {}\n\"friction.sigma0\" = {}\n\"friction.sigma1\" = {}\n";
    let file = file("dahl", table, "");
    let recording = strokes(&Draw::new(3, 0), 1000, STEP);
    let noise: Vec<f64> = noise(&Draw::new(7, 0), 1000, STEP, 0.0).iter().map(|n| 0.02 * n).collect();
    let fit = fitted(&file, &with_force(&file, recording, &[("friction.mu_c", 0.4)], 0.0, &noise));
    assert!(named(&fit, &["friction.sigma1"]) && of(&fit, "friction.sigma1").held);
    assert!(of(&fit, "friction.mu_c").identifiable && of(&fit, "friction.sigma0").identifiable);
    assert!(fit.converged);
}

/// Small strokes below break-away show the stiffness; of the coefficient only that it is above what was
/// needed.
#[test]
fn strokes_that_do_not_break_away_give_a_lower_limit() {
    let mut recording = one_speed(1e-5, 1500);
    recording.inputs[0].values.fill(5.0);
    // 10 um at 1e4/m: a tenth of the normal force, which is below 0.9 x 0.5.
    let fit =
        planted(&["friction.mu_c", "friction.sigma0"], &[("friction.mu_c", 0.5), ("friction.s_ba", 0.9)], recording);
    let mu = of(&fit, "friction.mu_c");
    assert!(!mu.identifiable && mu.closed == [true, false] && (0.1..=0.15).contains(&mu.low), "{mu:?}");
    let sigma0 = of(&fit, "friction.sigma0");
    assert!((sigma0.value - 1e4).abs() < 1.5 * (sigma0.high - sigma0.low) && sigma0.identifiable, "{sigma0:?}");
}

/// Where friction hardly rises at rest no derivative leads to the Stribeck velocity. The search for its
/// interval meets the better fit, and then the velocity counts as told.
#[test]
fn what_another_minimum_hides_is_not_called_untold() {
    let lugre = crate::common::LAWS.iter().position(|(name, _)| *name == "lugre").unwrap();
    for seed in [5, 33] {
        let covered = crate::common::covered(lugre, seed, 0.0);
        assert!(covered.iter().all(|(_, is_in)| *is_in == Some(true)), "seed {seed}: {covered:?}");
    }
}

/// A recording that begins while bristles are loaded: what they were loaded by can be an unknown.
#[test]
fn bristles_may_be_loaded_where_a_recording_begins() {
    let whole = strokes(&Draw::new(3, 0), 1000, STEP);
    let noise: Vec<f64> = noise(&Draw::new(7, 0), 1000, STEP, 0.0).iter().map(|n| 0.02 * n).collect();
    let truth = [("friction.mu_c", 0.4), ("friction.sigma0", 6e3)];
    let table = "\"friction.mu_c\" = {}\n\"friction.sigma0\" = {}\n";
    let cut = |from: usize| {
        let mut made = with_force(&file("elasto-plastic", table, ""), whole.clone(), &truth, 0.05, &noise);
        made.time = made.time[from..].iter().map(|t| t - made.time[from]).collect();
        let channels = made.inputs.iter_mut().chain(&mut made.compared);
        channels.for_each(|c| c.values = c.values.split_off(from));
        made.pieces = std::iter::once(0..made.time.len()).collect();
        made
    };
    // At rest, after a stroke.
    let force = cut(0).compared[0].values.clone();
    let from =
        (100..900).find(|i| force[*i].abs() > 1.5 && whole.inputs[1].values[*i] == whole.inputs[1].values[i + 20]);
    let recording = cut(from.unwrap());
    let without = fitted(&file("elasto-plastic", table, ""), &recording);
    let with = fitted(&file("elasto-plastic", &format!("{table}\"start.x\" = {{}}\n"), ""), &recording);
    println!("{}\n{}", bristle_fit::report::text(&without), bristle_fit::report::text(&with));
    assert!(without.misfit.iter().any(|m| m.on == "the start"), "{:?}", without.misfit);
    assert!(with.misfit.is_empty(), "{:?}", with.misfit);
    for (name, value) in truth {
        let e = of(&with, name);
        let reach = e.high - e.low;
        assert!((e.value - value).abs() < reach && reach < 0.02 * value && e.identifiable, "{e:?}");
    }
}

/// What a disc that turns has in common with a joint: `unknowns`, as a table, are fitted to a torque.
fn joint(unknowns: &str, truth: &[(&str, f64)]) -> Fit {
    joint_under(unknowns, truth, true)
}

/// The same under a normal force that is recorded, or that of the file.
fn joint_under(unknowns: &str, truth: &[(&str, f64)], is_recorded: bool) -> Fit {
    let text = format!(
        "[patch]\nshape = \"disc\"\ncells = 7\nsize = 0.05\n[friction]\nlaw = \"lugre\"\nmu_c = 0.5\n\
         mu_s_over_mu_c = 1.0\nsigma0 = 1e4\nsigma1 = 0\n[body]\nkind = \"prescribed\"\n\
         [inputs]\nnormal_force = 5.0\n[fit]\nstarts = 4\n[fit.unknowns]\n{unknowns}"
    );
    let file = bristle_fit::FitFile::parse(&text, ".".as_ref(), "fit.toml").unwrap_or_else(|e| panic!("{e}"));
    let mut recording = strokes(&Draw::new(3, 0), 1000, STEP);
    recording.inputs[1].name = "position.theta".into();
    recording.inputs[1].values.iter_mut().for_each(|x| *x *= 50.0);
    recording.compared[0].name = "wrench.tau".into();
    if !is_recorded {
        recording.inputs.remove(0);
    }
    let noise: Vec<f64> = noise(&Draw::new(7, 0), 1000, STEP, 0.0).iter().map(|n| 2e-4 * n).collect();
    let fit = fitted(&file, &with_force(&file, recording, truth, 1e-3, &noise));
    println!("{}", bristle_fit::report::text(&fit));
    fit
}

/// Rates of a joint are those of its cells, not of the angle.
#[test]
fn a_joint_shows_what_a_rate_adds() {
    let truth = [("friction.mu_c", 0.4), ("friction.sigma1", 100.0), ("friction.sigma2", 3.0)];
    let fit = joint("\"friction.mu_c\" = {}\n\"friction.sigma1\" = {}\n\"friction.sigma2\" = {}\n", &truth);
    assert!(fit.directions.is_empty() && fit.converged, "{:?}", fit.directions);
    for (name, value) in truth {
        let e = of(&fit, name);
        assert!((e.value - value).abs() < e.high - e.low && e.high - e.low < 0.2 * value && e.identifiable, "{e:?}");
    }
}

/// The size, which can be measured, is held; the direction has all that makes a torque with it.
#[test]
fn a_joint_under_one_load_does_not_tell_its_radius() {
    let truth = [("friction.mu_c", 0.4), ("friction.sigma0", 8e3), ("friction.sigma2", 3.0)];
    let table = "\"friction.mu_c\" = {}\n\"friction.sigma0\" = {}\n\"friction.sigma2\" = {}\n\"patch.size\" = {}\n";
    let fit = joint(table, &truth);
    assert!(
        named(&fit, &["patch.size", "friction.mu_c", "friction.sigma0", "friction.sigma2"]),
        "{:?}",
        fit.directions
    );
    assert_eq!(fit.directions[0].unknowns[0], "patch.size");
    for (name, value) in truth {
        let e = of(&fit, name);
        assert!((e.value - value).abs() < e.high - e.low && e.high - e.low < 0.02 * value && !e.identifiable, "{e:?}");
    }
}

#[test]
fn a_bound_that_keeps_an_unknown_from_its_value_is_said() {
    let table = "\"friction.mu_c\" = {}\n\"friction.sigma0\" = { bounds = [1e2, 4e3] }\n";
    let file = file("elasto-plastic", table, "");
    let truth = [("friction.mu_c", 0.4), ("friction.sigma0", 6e3)];
    let noise: Vec<f64> = noise(&Draw::new(7, 0), 1000, STEP, 0.0).iter().map(|n| 0.02 * n).collect();
    let fit = fitted(&file, &with_force(&file, strokes(&Draw::new(3, 0), 1000, STEP), &truth, 0.0, &noise));
    let stiffness = of(&fit, "friction.sigma0");
    assert!(stiffness.note.contains("at its upper bound") && !stiffness.identifiable, "{stiffness:?}");
    assert!(of(&fit, "friction.mu_c").note.is_empty());
}

/// What the scenario lets vary would come too early if the run began before the recording.
#[test]
fn a_motion_before_the_recording_wants_recorded_inputs() {
    let text = "[patch]\nshape = \"square\"\ncells = 1\n[body]\nkind = \"prescribed\"\n[inputs]\n\
                normal_force = { points = [[0.0, 5.0], [9.0, 6.0]] }\n[fit]\n[fit.unknowns]\n\
                \"friction.mu_c\" = {}\n\"start.x\" = {}\n";
    let file = bristle_fit::FitFile::parse(text, ".".as_ref(), "fit.toml").unwrap_or_else(|e| panic!("{e}"));
    let mut recording = strokes(&Draw::new(3, 0), 500, STEP);
    recording.inputs.remove(0);
    let error = bristle_fit::fit::fit(&file, &[recording], &[], &|_| true).unwrap_err().to_string();
    assert!(
        error.starts_with("fit.toml:7:") && error.contains("inputs.normal_force") && error.contains("start"),
        "{error}"
    );
}

/// What a fit cannot go through is refused by the name of its key.
#[test]
fn layers_and_inputs_of_patches_are_refused() {
    for (text, wanted) in [
        (
            "[patch]\ncells = 3\nlayer = { shear_stiffness = 1e7, stiffness = 1e8 }\n\
             indenter = { shape = \"sphere\", radius = 0.02, depth = 1e-4 }\n",
            "patch.layer = given: expected none: the pressure on an elastic layer",
        ),
        (
            "[patch]\ncells = 3\nshape = \"square\"\n[[patches]]\nat = [0.01, 0]\nsurface = { vx = 0.1 }\n\
             [[patches]]\nat = [-0.01, 0]\n",
            "patches = `normal_force` or `surface`: expected none: patches with normal forces or surfaces of their own",
        ),
    ] {
        let text = format!(
            "{text}[friction]\nmu_c = 0.5\n[body]\nkind = \"prescribed\"\n[fit]\n[fit.unknowns]\n\
             \"friction.mu_c\" = {{}}\n"
        );
        let file = bristle_fit::FitFile::parse(&text, ".".as_ref(), "fit.toml").unwrap_or_else(|e| panic!("{e}"));
        let mut recording = strokes(&Draw::new(3, 0), 500, STEP);
        if text.contains("indenter") {
            recording.inputs.remove(0);
        }
        let error = bristle_fit::fit::fit(&file, &[recording], &[], &|_| true).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

/// A few samples that are far off are said, with what bears them.
#[test]
fn outliers_are_said_and_huber_bears_them() {
    let table = "\"friction.mu_c\" = {}\n\"friction.sigma0\" = {}\n";
    let truth = [("friction.mu_c", 0.4), ("friction.sigma0", 5e3)];
    let mut noise: Vec<f64> = noise(&Draw::new(7, 0), 1500, STEP, 0.0).iter().map(|n| 0.02 * n).collect();
    noise.iter_mut().step_by(150).for_each(|n| *n += 40.0);
    let [squares, huber] = ["", "loss = \"huber\""].map(|loss| {
        let file = file("elasto-plastic", table, loss);
        let fit = fitted(&file, &with_force(&file, strokes(&Draw::new(3, 0), 1500, STEP), &truth, 0.05, &noise));
        println!("{}", bristle_fit::report::text(&fit));
        fit
    });
    let told = |fit: &Fit| fit.notes.iter().any(|n| n.contains("9 of 1499 samples are more than 10 usual deviations"));
    assert!(told(&squares) && !told(&huber), "{:?} {:?}", squares.notes, huber.notes);
    let mu = of(&huber, "friction.mu_c");
    assert!((mu.value - 0.4).abs() < 0.004 && mu.identifiable, "{mu:?}");
    assert!((of(&squares, "friction.mu_c").value - 0.4).abs() > (mu.value - 0.4).abs());
}

/// One of fifty is an outlier, too; one of fifteen is not: there the law may be wrong.
#[test]
fn outliers_are_said_up_to_a_share() {
    let table = "\"friction.mu_c\" = {}\n\"friction.sigma0\" = {}\n";
    let truth = [("friction.mu_c", 0.4), ("friction.sigma0", 5e3)];
    let said = |every: usize| {
        let mut noise: Vec<f64> = noise(&Draw::new(7, 0), 1500, STEP, 0.0).iter().map(|n| 0.02 * n).collect();
        noise.iter_mut().skip(7).step_by(every).for_each(|n| *n += 40.0);
        let file = file("elasto-plastic", table, "");
        let recording = with_force(&file, strokes(&Draw::new(3, 0), 1500, STEP), &truth, 0.05, &noise);
        fitted(&file, &recording).notes.into_iter().find(|n| n.contains("usual deviations"))
    };
    assert!(said(50).is_some_and(|note| note.contains("30 of 1499 samples")));
    assert_eq!(said(15), None);
}

/// With all that makes a force unknown, two directions are null: none of their unknowns moves nothing.
#[test]
fn two_directions_at_once_have_names() {
    let truth = [("friction.mu_c", 0.4), ("friction.sigma0", 8e3), ("friction.sigma2", 3.0)];
    let paths = ["friction.mu_c", "friction.sigma0", "friction.sigma2", "patch.size", "inputs.normal_force"];
    let table: String = paths.iter().map(|path| format!("\"{path}\" = {{}}\n")).collect();
    let fit = joint_under(&table, &truth, false);
    assert!(fit.directions.len() >= 2, "{:?}", fit.directions);
    for direction in &fit.directions {
        assert!(!direction.sentence.contains("moves nothing"), "{}", direction.sentence);
        assert!(direction.unknowns.len() > 1, "{direction:?}");
    }
    assert!(named(&fit, &["inputs.normal_force", "friction.mu_c"]), "{:?}", fit.directions);
}

/// A delay beside a damper, which does nearly the same, is found where the residual wants it.
#[test]
fn a_delay_that_is_there_is_found_beside_a_damper() {
    let file = file(
        "elasto-plastic",
        "\"friction.mu_c\" = {}\n\"friction.sigma0\" = {}\n\"friction.sigma1\" = {}\n\"wrench.fx.delay\" = {}\n",
        "",
    );
    let truth = [("friction.mu_c", 0.4), ("friction.sigma0", 5e3)];
    let noise: Vec<f64> = noise(&Draw::new(7, 0), 1500, STEP, 0.0).iter().map(|n| 0.02 * n).collect();
    let mut late = with_force(&file, strokes(&Draw::new(3, 0), 1500, STEP), &truth, 0.05, &noise);
    // By five samples.
    let force = &mut late.compared[0].values;
    force.rotate_right(5);
    let first = force[5];
    force[..5].fill(first);
    let fit = fitted(&file, &late);
    println!("{}", bristle_fit::report::text(&fit));
    let [delay, sigma0] = ["wrench.fx.delay", "friction.sigma0"].map(|name| of(&fit, name));
    assert!((delay.value - 5.0 * STEP).abs() < 2e-3 && !delay.held, "{delay:?}");
    assert!((sigma0.value / 5e3 - 1.0).abs() < 0.02, "{sigma0:?}");
}

/// A prior on the gain is a calibration: the coefficient is known as well as the gain is.
#[test]
fn a_prior_on_a_gain_is_used() {
    let table = "\"friction.mu_c\" = {}\n\"friction.sigma0\" = {}\n\
                 \"wrench.fx.gain\" = { prior = { normal = [1.0, 0.02] } }\n";
    let file = file("elasto-plastic", table, "");
    let truth = [("friction.mu_c", 0.4), ("friction.sigma0", 6e3)];
    let noise: Vec<f64> = noise(&Draw::new(7, 0), 1500, STEP, 0.0).iter().map(|n| 0.02 * n).collect();
    let fit = fitted(&file, &with_force(&file, strokes(&Draw::new(3, 0), 1500, STEP), &truth, 0.05, &noise));
    println!("{}", bristle_fit::report::text(&fit));
    let gain = of(&fit, "wrench.fx.gain");
    assert!(!gain.held && !fit.before.iter().any(|b| b.contains("wrench.fx.gain")), "{gain:?} {:?}", fit.before);
    // 1.645 standard deviations to either side.
    for (name, value) in [("wrench.fx.gain", 1.0), ("friction.mu_c", 0.4), ("friction.sigma0", 6e3)] {
        let e = of(&fit, name);
        let reach = 0.5 * (e.high - e.low) / value;
        assert!((0.028..0.04).contains(&reach) && e.low < value && value < e.high, "{reach}: {e:?}");
    }
}

/// Steps are as short as the fastest recording wants, whichever comes first.
#[test]
fn the_order_of_recordings_does_not_matter() {
    let file = file("lugre", "\"friction.mu_c\" = {}\n\"friction.sigma0\" = {}\n", "");
    let truth = [("friction.mu_c", 0.4), ("friction.sigma0", 2e3)];
    let made = |speed: f64, seed: u64| {
        let noise: Vec<f64> = noise(&Draw::new(seed, 0), 1000, STEP, 0.0).iter().map(|n| 0.002 * n).collect();
        with_force(&file, one_speed(speed, 1000), &truth, 0.0, &noise)
    };
    let (slow, fast) = (made(2e-4, 5), made(1e-2, 6));
    let found = [[slow.clone(), fast.clone()], [fast, slow]].map(|recordings| {
        let fit = bristle_fit::fit::fit(&file, &recordings, &[], &|_| true).unwrap_or_else(|e| panic!("{e}"));
        let e = of(&fit, "friction.sigma0").clone();
        assert!(fit.estimates.iter().any(|e| e.name == "sliding_friction@1"), "{:?}", fit.estimates);
        e
    });
    for e in &found {
        let reach = e.high - e.low;
        assert!((e.value - 2e3).abs() < 1.5 * reach && reach < 40.0, "{e:?}");
        assert!((e.value - found[0].value).abs() < 0.05 * reach, "{e:?} and {:?}", found[0]);
    }
}

/// What the file says of the friction on parts of the patch is in the friction of sliding, and numbers that
/// the file holds are no unknowns.
#[test]
fn sliding_friction_is_that_of_the_map() {
    let table = "\"friction.mu_c\" = {}\n\"wrench.fx.gain\" = {}\n\"friction.sigma0\" = { value = 6e3 }\n";
    let mapped = file("dahl", table, "").clone();
    let changes = ["friction.map=[[0.5]]".to_owned()];
    let truth = [("friction.mu_c", 0.8), ("friction.sigma0", 6e3)];
    let noise: Vec<f64> = noise(&Draw::new(7, 0), 1500, STEP, 0.0).iter().map(|n| 0.02 * n).collect();
    let recording = strokes(&Draw::new(3, 0), 1500, STEP);
    let halved = [("friction.mu_c", 0.4), ("friction.sigma0", 6e3)];
    let recording = with_force(&mapped, recording, &halved, 0.0, &noise);
    let fit = bristle_fit::fit::fit(&mapped, &[recording], &changes, &|_| true).unwrap_or_else(|e| panic!("{e}"));
    println!("{}", bristle_fit::report::text(&fit));
    let sliding = of(&fit, "sliding_friction");
    assert!((sliding.value - 0.4).abs() < 0.01 && sliding.identifiable, "{sliding:?}");
    assert!((of(&fit, "friction.mu_c").value - truth[0].1).abs() < 0.02, "{:?}", fit.estimates);
    assert!(!fit.before.iter().any(|b| b.contains("wrench.fx.gain")), "{:?}", fit.before);
}

/// The sentences about what the model has not, of a recording with this force and its places times `scale`.
fn missed(scale: f64, force: impl Fn(usize, f64) -> f64) -> Vec<String> {
    let mut recording = strokes(&Draw::new(3, 0), 1500, STEP);
    let truth = [("friction.mu_c", 0.4), ("friction.sigma0", 6e3)];
    let unknowns = "\"friction.mu_c\" = {}\n\"friction.sigma0\" = {}";
    let file = file("elasto-plastic", unknowns, "");
    let noise: Vec<f64> = noise(&Draw::new(7, 0), 1500, STEP, 0.0).iter().map(|n| 0.02 * n).collect();
    recording = with_force(&file, recording, &truth, 0.05, &noise);
    let values = recording.compared[0].values.iter().enumerate().map(|(i, x)| force(i, *x)).collect();
    recording.compared[0].values = values;
    recording.inputs[1].values.iter_mut().for_each(|x| *x *= scale);
    fitted(&file, &recording).misfit.into_iter().map(|m| m.sentence).collect()
}

/// A force that is noise alone, and a position in a unit a million times too small.
#[test]
fn what_is_no_friction_is_said() {
    let draw = Draw::new(9, 0);
    let is_said = |sentences: &[String], part: &str| sentences.iter().any(|sentence| sentence.contains(part));
    let (unseen, unexplained) = ("no friction is seen", "of the square of what was measured");
    let good = missed(1.0, |_, x| x);
    assert!(!is_said(&good, unseen) && !is_said(&good, unexplained), "{good:?}");
    let noise = missed(1.0, |i, _| 0.5 * draw.normal(&format!("{i}")));
    assert!(is_said(&noise, unseen) && !is_said(&noise, unexplained), "{noise:?}");
    let other_unit = missed(1e-6, |_, x| x);
    assert!(!is_said(&other_unit, unseen) && is_said(&other_unit, unexplained), "{other_unit:?}");
}

/// Two surfaces with coefficients of their own have sliding frictions of their own, although both are slid
/// over at one speed.
#[test]
fn surfaces_with_their_own_coefficient_have_their_own_sliding_friction() {
    let file = file("elasto-plastic", "\"friction.mu_c\" = { own = true }", "");
    let of = |seed: u64, mu: f64| {
        let noise: Vec<f64> = noise(&Draw::new(seed, 0), 600, STEP, 0.0).iter().map(|n| 0.02 * n).collect();
        with_force(&file, one_speed(1e-3, 600), &[("friction.mu_c", mu)], 0.0, &noise)
    };
    let fit = bristle_fit::fit::fit(&file, &[of(1, 0.4), of(2, 0.7)], &[], &|_| true).unwrap();
    for (name, wanted) in [("sliding_friction@0", 0.4), ("sliding_friction@1", 0.7)] {
        let found = self::of(&fit, name);
        assert!((found.value - wanted).abs() < 3e-3 && found.identifiable, "{found:?}");
    }
}

/// Sliding one way under a load that is constant but for noise tells the coefficient or the offset, however
/// the noise of the load seems to tell them apart.
#[test]
fn noise_of_the_normal_force_tells_nothing() {
    let unknowns = "\"friction.mu_c\" = {}";
    let file = file("elasto-plastic", unknowns, "");
    for seed in 0..6 {
        let draw = Draw::new(seed, 5);
        let mut recording = one_speed(1e-3, 800);
        recording.inputs[1].values = (0..800).map(|k| 1e-2 + 1e-3 * k as f64 * STEP).collect();
        let noise: Vec<f64> = noise(&draw, 800, STEP, 0.0).iter().map(|n| 0.02 * n).collect();
        let mut recording = with_force(&file, recording, &[("friction.mu_c", 0.4)], -0.2, &noise);
        // What is read of a load that is constant.
        let loads = (0..800).map(|k| 5.0 + 0.02 * draw.normal(&format!("load {k}"))).collect();
        recording.inputs[0].values = loads;
        let fit = fitted(&file, &recording);
        assert!(named(&fit, &["wrench.fx.offset", "friction.mu_c"]), "{seed}: {:?}", fit.directions);
        assert!(!of(&fit, "friction.mu_c").identifiable && !of(&fit, "wrench.fx.offset").identifiable, "{seed}");
        assert!(of(&fit, "sliding_friction").value > 0.3, "{seed}: {:?}", of(&fit, "sliding_friction"));
    }
}

/// A drift of the sensor is said, and the other sign where it fits.
#[test]
fn drifts_and_signs_are_said() {
    let drift = missed(1.0, |i, x| x + 0.02 * i as f64 * STEP);
    assert!(drift.iter().any(|s| s.starts_with("wrench.fx of made: the time explains ")), "{drift:?}");
    let file = file("elasto-plastic", "\"friction.mu_c\" = {}\n\"friction.sigma0\" = {}", "");
    let truth = [("friction.mu_c", 0.4), ("friction.sigma0", 6e3)];
    let mut recording = with_force(&file, strokes(&Draw::new(3, 0), 1500, STEP), &truth, 0.05, &[0.0; 1500]);
    let doubted = |recording: &Recording| fitted(&file, recording).notes.iter().any(|n| n.contains("opposite `sign`"));
    assert!(!doubted(&recording));
    recording.compared[0].values.iter_mut().for_each(|x| *x = -*x);
    assert!(doubted(&recording));
}

/// Two samples that no sensor can have said do not move a fit by Huber's loss.
#[test]
fn far_outliers_do_not_move_a_fit_that_bears_them() {
    let truth = [("friction.mu_c", 0.4), ("friction.sigma0", 6e3)];
    let file = file("elasto-plastic", "\"friction.mu_c\" = {}\n\"friction.sigma0\" = {}", "loss = \"huber\"");
    let noise: Vec<f64> = noise(&Draw::new(7, 0), 1500, STEP, 0.0).iter().map(|n| 0.02 * n).collect();
    let mut recording = with_force(&file, strokes(&Draw::new(3, 0), 1500, STEP), &truth, 0.05, &noise);
    (recording.compared[0].values[300], recording.compared[0].values[700]) = (-999.0, 1e6);
    let fit = fitted(&file, &recording);
    for (name, wanted, off) in [("friction.mu_c", 0.4, 2e-3), ("friction.sigma0", 6e3, 100.0)] {
        let found = of(&fit, name);
        assert!((found.value - wanted).abs() < off && found.identifiable, "{found:?}");
    }
}
