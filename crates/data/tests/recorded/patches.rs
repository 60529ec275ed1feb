//! Friction of each of several patches (`--with patches`): forces and torques sum up to the recorded wrench,
//! shares to the recorded shares, and recording them changes no other number.

use std::fs::File;
use std::path::Path;

use bristle::engine::Engine;
use bristle::gpu::{Choice, Gpu};
use bristle::limit_surface::{Rule, Surface};
use bristle::patch::Part;
use bristle::{Contact, Cpu};
use bristle_data::observe::{Under, margins, patch_margins};
#[cfg(feature = "lerobot")]
use bristle_data::rollout::Format;
use bristle_data::rollout::{Datasets, Extra, Merge, Options, Shard, merge, rollout};
use bristle_scenario::Scenario;

/// Two fingers on an object, or a stool of two feet and a rail, that stick, slip in part and slide.
fn text(kind: &str, law: &str) -> String {
    format!(
        r#"
duration = 0.12
record_every = 0.01
contacts = 2
[patch]
shape = "disc"
cells = 7
size = 0.012
[[patches]]
at = [0.03, {{ uniform = [-0.002, 0.002] }}]
turn = 0.4
[[patches]]
at = [-0.02, 0.005]
share = {{ uniform = [0.5, 1.5] }}
friction = 0.7
[[patches]]
at = [0.0, -0.03]
turn = -1.1
patch = {{ shape = "square", cells = [9, 2], size = [0.03, 0.004] }}
[friction]
law = "{law}"
mu_c = 0.5
mu_s = 0.7
[body]
kind = {kind}
mass = 0.2
inertia = 2e-4
[inputs]
normal_force = {{ points = [[0, 3], [0.05, 1.2], [0.1, 4]] }}
wrench = {{ fx = 0.7, fy = -0.4, tau = {{ uniform = [0.001, 0.02] }} }}
"#
    )
}

/// The same where the patches have normal forces of their own, and two of them surfaces that move.
fn with_inputs(text: &str) -> String {
    let changes = [
        ("turn = 0.4", "turn = 0.4\nnormal_force = { points = [[0, 1], [0.05, 0.4], [0.1, 1.5]] }"),
        (
            "share = { uniform = [0.5, 1.5] }",
            "normal_force = { uniform = [0.6, 1.2] }\nsurface.vx = { points = [[0, 0], [0.02, 0.01]] }\n\
             surface.w = { points = [[0, 0], [0.1, 3]] }",
        ),
        (
            "turn = -1.1",
            "turn = -1.1\nnormal_force = { points = [[0.06, 1], [0.08, -0.5]] }\n\
             surface.vy = { points = [[0, 0], [0.03, -0.02]] }",
        ),
        ("normal_force = { points = [[0, 3], [0.05, 1.2], [0.1, 4]] }\nwrench", "wrench"),
    ];
    changes.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    })
}

/// Where the patches are.
const PLACES: [[f64; 2]; 3] = [[0.03, 0.0], [-0.02, 0.005], [0.0, -0.03]];

fn options(out: &Path, extras: &[Extra]) -> Options {
    let datasets = Datasets { extras: extras.to_vec(), ..Datasets::default() };
    Options { datasets, ..Options::new(out) }
}

fn array(run: &Path, name: &str) -> (Vec<u64>, Vec<f64>) {
    let mut zip = zip::ZipArchive::new(File::open(run.join("trajectories.npz")).unwrap()).unwrap();
    let npy = npyz::NpyFile::new(zip.by_name(&format!("{name}.npy")).unwrap()).unwrap();
    (npy.shape().to_vec(), npy.into_vec().unwrap())
}

#[test]
fn the_wrenches_and_shares_of_all_patches_are_those_of_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let engines: [Box<dyn Engine>; 3] =
        [Box::new(Cpu::new()), Box::new(Cpu::reference()), Box::new(Gpu::new(Choice::Any).unwrap())];
    let mut partial = 0;
    for (run, engine) in engines.iter().enumerate() {
        let tolerance = if engine.info().precision == "f64" { 3e-7 } else { 2e-5 };
        let kinds = [("\"body\"\noffset = [0.001, -0.002]", "elasto-plastic"), ("\"gripper\"", "lugre")];
        for (own, (kind, law)) in [false, true].into_iter().flat_map(|own| kinds.map(|kind| (own, kind))) {
            let text = if own { with_inputs(&text(kind, law)) } else { text(kind, law) };
            let scenario = Scenario::parse(&text, ".".as_ref(), "s.toml").unwrap();
            let [with, without] = ["with", "without"].map(|name| dir.path().join(format!("{name}{run}{law}{own}")));
            rollout(&scenario, engine.as_ref(), &options(&with, &[Extra::Patches]), &|_| true).unwrap();
            rollout(&scenario, engine.as_ref(), &options(&without, &[]), &|_| true).unwrap();
            for name in ["pose", "wrench", "slip", "near_limit"] {
                let bits = |of: &Path| array(of, name).1.into_iter().map(f64::to_bits).collect::<Vec<_>>();
                assert_eq!(bits(&with), bits(&without), "{name}");
            }
            let (shape, wrenches) = array(&with, "patch_wrench");
            let (one_each, forces) = array(&with, "patch_normal_force");
            assert_eq!((shape, one_each), (vec![2, 13, 3, 3], vec![2, 13, 3]));
            let [slips, nears] = ["patch_slip", "patch_near_limit"].map(|name| array(&with, name).1);
            follow_from_slip(&with, &slips);
            let [wrench, force, slip, near] =
                ["wrench", "normal_force", "slip", "near_limit"].map(|name| array(&with, name).1);
            for i in 0..26 {
                let contact = scenario.contact(i as u64 / 13).unwrap();
                let parts = contact.patch.parts();
                let (mut sum, mut shares) = ([0.0; 3], [0.0; 3]);
                for (k, part) in parts.iter().enumerate() {
                    let at = part.at();
                    assert!((at.x - PLACES[k][0]).abs() < 1e-12 && (at.y - PLACES[k][1]).abs() < 3e-3);
                    let [fx, fy, tau] = std::array::from_fn(|c| wrenches[9 * i + 3 * k + c]);
                    sum = [sum[0] + fx, sum[1] + fy, sum[2] + tau + at.x * fy - at.y * fx];
                    let of = 3 * i + k;
                    let share = forces[of] / force[i];
                    shares = [shares[0] + share, shares[1] + share * slips[of], shares[2] + share * nears[of]];
                    partial += usize::from((slips[of] > 0.5) != (slip[i] > 0.5));
                    // No patch has more friction than its own coefficient allows.
                    let most = if k == 1 { 0.7 } else { 1.0 } * 0.7 * forces[of] + 0.02 * force[i];
                    assert!(fx.hypot(fy) < most * (1.0 + 1e-3), "{fx} {fy} of {}", forces[of]);
                }
                for (c, arm) in [1.0, 1.0, 0.03].into_iter().enumerate() {
                    let (found, wanted) = (sum[c], wrench[3 * i + c]);
                    let limit = tolerance * force[i] * arm;
                    assert!((found - wanted).abs() < limit, "{kind} {law} {i}: {found} {wanted}");
                }
                assert!((shares[0] - 1.0).abs() < 1e-6);
                // In single precision bristles at a threshold may be on either side of it.
                let unsure = if tolerance < 1e-6 { 1e-6 } else { 0.02 };
                assert!((shares[1] - slip[i]).abs() < unsure && (shares[2] - near[i]).abs() < unsure, "{shares:?}");
            }
        }
    }
    assert!(partial > 5, "some patches slip while others stick: {partial}");
}

/// The times to slip of each patch are those of its own samples, by their definition.
fn follow_from_slip(run: &Path, slips: &[f64]) {
    let ((shape, to), (one_each, first)) = (array(run, "patch_time_to_slip"), array(run, "patch_first_slip"));
    assert_eq!((shape, one_each), (vec![2, 13, 3], vec![2, 3]));
    let (_, times) = array(run, "time");
    for (contact, patch) in (0..2).flat_map(|contact| (0..3).map(move |patch| (contact, patch))) {
        let slides: Vec<f64> =
            (0..13).filter(|i| slips[39 * contact + 3 * i + patch] >= 0.99).map(|i| times[i]).collect();
        assert_eq!(first[3 * contact + patch], slides.first().copied().unwrap_or(-1.0));
        for (i, time) in times.iter().enumerate() {
            let next = slides.iter().find(|next| *next >= time);
            assert_eq!(
                to[39 * contact + 3 * i + patch],
                next.map_or(-1.0, |next| next - time),
                "{contact} {patch} {i}"
            );
        }
    }
}

#[test]
fn shards_extensions_and_formats_have_the_patches() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, all) = (Cpu::new(), |_| true);
    let text = text("\"gripper\"", "lugre");
    let scenario = Scenario::parse(&text, ".".as_ref(), "s.toml").unwrap();
    let out = |name: &str| dir.path().join(name);
    let content = |of: &Path| std::fs::read(of.join("trajectories.npz")).unwrap();
    let both = [Extra::Patches, Extra::Shear];
    rollout(&scenario, &engine, &options(&out("whole"), &both), &all).unwrap();
    let part = |index, extras: &[Extra]| {
        let part = out(&format!("part{index}{}", extras.len()));
        rollout(&scenario, &engine, &Options { shard: Some(Shard { index, of: 2 }), ..options(&part, extras) }, &all)
            .unwrap();
        part
    };
    let parts = [part(1, &both), part(2, &both)];
    merge(&Merge::open(&parts).unwrap(), &options(&out("merged"), &both)).unwrap();
    assert!(content(&out("merged")) == content(&out("whole")));
    let without = [part(1, &[Extra::Shear]), part(2, &[Extra::Shear])];
    let refused = merge(&Merge::open(&without).unwrap(), &options(&out("no"), &both)).unwrap_err().to_string();
    assert!(refused.contains("has no friction of patches") && refused.contains("`--with patches`"), "{refused}");
    let fewer = Scenario::parse(&text.replace("contacts = 2", "contacts = 1"), ".".as_ref(), "s.toml").unwrap();
    rollout(&fewer, &engine, &options(&out("grown"), &both), &all).unwrap();
    rollout(&scenario, &engine, &Options { extend: true, ..options(&out("grown"), &both) }, &all).unwrap();
    assert!(content(&out("grown")) == content(&out("whole")));
    #[cfg(feature = "lerobot")]
    {
        let datasets = Datasets { formats: vec![Format::Zarr, Format::Lerobot], extras: both.to_vec() };
        rollout(&scenario, &engine, &Options { datasets, ..Options::new(out("learn")) }, &all).unwrap();
        let info = std::fs::read_to_string(out("learn").join("lerobot/meta/info.json")).unwrap();
        let info: serde_json::Value = serde_json::from_str(&info).unwrap();
        let shape = |name: &str| info["features"][name]["shape"].clone();
        assert_eq!(shape("observation.patch_wrench"), serde_json::json!([3, 3]));
        assert_eq!(shape("label.patch_slip"), serde_json::json!([3]));
        assert_eq!(shape("label.patch_time_to_slip"), serde_json::json!([3]));
        assert_eq!(shape("observation.shear"), serde_json::json!([1, 116, 2]));
        let zarr = out("learn").join("dataset.zarr/patch_wrench/zarr.json");
        let zarr: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(zarr).unwrap()).unwrap();
        assert_eq!(zarr["dimension_names"], serde_json::json!(["contact", "sample", "patch", "axis"]));
    }
}

/// Where patches have normal forces of their own, margins are those of patches with the shares of the sample,
/// and actions have these forces and surfaces. Patches with surfaces of their own have no margin.
#[test]
fn margins_and_actions_follow_the_forces_of_patches() {
    let dir = tempfile::tempdir().unwrap();
    let base = text("\"gripper\"", "elasto-plastic");
    let whole = with_inputs(&base);
    let scenario = Scenario::parse(&whole, ".".as_ref(), "s.toml").unwrap();
    let out = dir.path().join("run");
    let asked = options(&out, &[Extra::Patches, Extra::Margin]);
    let refused = rollout(&scenario, &Cpu::new(), &asked, &|_| true).unwrap_err().to_string();
    assert!(refused.contains("with = margin: expected nothing of patches with a `surface` of their own"), "{refused}");
    assert!(!out.exists());
    let at_rest: Vec<&str> = whole.lines().filter(|line| !line.starts_with("surface.")).collect();
    let at_rest = Scenario::parse(&at_rest.join("\n"), ".".as_ref(), "s.toml").unwrap();
    rollout(&at_rest, &Cpu::new(), &asked, &|_| true).unwrap();
    let [margin, wrench, force, forces] =
        ["margin", "wrench", "normal_force", "patch_normal_force"].map(|name| array(&out, name).1);
    for i in [0, 5, 9, 12] {
        let share = |k: usize| forces[3 * i + k];
        let text = base
            .replace("turn = 0.4", &format!("turn = 0.4\nshare = {}", share(0)))
            .replace("share = { uniform = [0.5, 1.5] }", &format!("share = {}", share(1)))
            .replace("turn = -1.1", &format!("turn = -1.1\nshare = {}", share(2)));
        let fixed = Scenario::parse(&text, ".".as_ref(), "s.toml").unwrap().contact(0).unwrap();
        let load = [0, 1, 2].map(|c| wrench[3 * i + c]);
        let wanted = margins(&[0.0], &[load], &[force[i]], &mut Under::new(&fixed, std::iter::empty()))[0];
        assert!((margin[i] - wanted).abs() < 1e-5, "sample {i}: {} {wanted}", margin[i]);
    }
    assert_eq!(forces[3 * 9 + 2], 0.0, "the third is lifted");
    let ((shape, own), wrenches) = (array(&out, "patch_margin"), array(&out, "patch_wrench").1);
    assert_eq!((shape, own[3 * 9 + 2]), (vec![2, 13, 3], 0.0));
    let contact = at_rest.contact(1).unwrap();
    let wanted = patch_margins(&contact, &[0.7; 13], wrenches[9 * 13..].as_chunks().0, &forces[3 * 13..]);
    assert_eq!(own[3 * 13..], wanted);
    #[cfg(feature = "lerobot")]
    {
        let datasets = Datasets { formats: vec![Format::Lerobot], extras: Vec::new() };
        rollout(&scenario, &Cpu::new(), &Options { datasets, ..Options::new(dir.path().join("learn")) }, &|_| true)
            .unwrap();
        let info = std::fs::read_to_string(dir.path().join("learn/lerobot/meta/info.json")).unwrap();
        let info: serde_json::Value = serde_json::from_str(&info).unwrap();
        let names = info["features"]["action"]["names"].to_string();
        for name in ["patches.0.normal_force", "patches.1.surface.w", "patches.2.surface.vy"] {
            assert!(names.contains(&format!("\"{name}")), "{name}: {names}");
        }
        assert!(!names.contains("patches.0.surface.vx") && !names.contains("\"normal_force"), "{names}");
    }
}

/// Recorded forces of patches balance the moment of a push: their centre of pressure is ahead of that at rest
/// by the height times the push over the normal force. Margins and images of pressure have these loads.
#[test]
fn loads_under_a_push_are_recorded() {
    let feet = [[0.03, 0.0], [-0.02, 0.005], [0.0, -0.03]];
    let kind =
        "\"prescribed\"\n[inputs.twist]\nvx = { points = [[0, 0], [0.05, 0.02]] }\nvy = 0.003\nw = 0.4\n[ignored]";
    let pushed = text(kind, "elasto-plastic")
        .replace("[ignored]\nmass = 0.2\ninertia = 2e-4\n", "")
        .replace("{ uniform = [-0.002, 0.002] }", "0.0")
        .lines()
        .filter(|line| !line.starts_with("wrench"))
        .fold(String::new(), |text, line| text + line + "\n")
        .replace("[inputs]\n", "[inputs]\npush_height = 0.008\n");
    let dir = tempfile::tempdir().unwrap();
    let scenario = Scenario::parse(&pushed, ".".as_ref(), "s.toml").unwrap();
    let out = dir.path().join("run");
    rollout(&scenario, &Cpu::new(), &options(&out, &[Extra::Patches, Extra::Margin, Extra::Tactile]), &|_| true)
        .unwrap();
    let [wrench, force, of_patches, wrenches, margin] =
        ["wrench", "normal_force", "patch_normal_force", "patch_wrench", "margin"].map(|name| array(&out, name).1);
    let mut zip = zip::ZipArchive::new(File::open(out.join("trajectories.npz")).unwrap()).unwrap();
    let tactile: Vec<f32> = npyz::NpyFile::new(zip.by_name("tactile.npy").unwrap()).unwrap().into_vec().unwrap();
    let mut most = 0.0f64;
    for i in 0..26 {
        let contact = scenario.contact(i as u64 / 13).unwrap();
        let rest: Vec<f64> = contact.patch.parts().iter().map(Part::share).collect();
        let loads = &of_patches[3 * i..][..3];
        for axis in 0..2 {
            let sum: f64 = (0..3).map(|k| wrenches[9 * i + 3 * k + axis]).sum();
            assert!((sum - wrench[3 * i + axis]).abs() < 1e-6 * force[i]);
            let ahead: f64 = (0..3).map(|k| (loads[k] / force[i] - rest[k]) * feet[k][axis]).sum();
            assert!((ahead + 0.008 * wrench[3 * i + axis] / force[i]).abs() < 1e-8, "{i}: {ahead}");
        }
        most = (0..3).fold(most, |most, k| most.max((loads[k] / force[i] - rest[k]).abs()));
        let patch = contact.patch_under(loads);
        let cells = patch.weights().len();
        for (found, w) in tactile[cells * i..][..cells].iter().zip(patch.weights()) {
            assert!((f64::from(*found) - w * force[i]).abs() < 1e-6 * force[i]);
        }
        let mut fixed = Contact { patch: patch.into_owned().into(), ..contact.clone() };
        fixed.inputs.push_height = 0.0;
        let load = [0, 1, 2].map(|c| wrench[3 * i + c]);
        let mut under = Under::with(&fixed, contact.inputs_before(0.01 * (i % 13) as f64));
        let wanted = margins(&[0.0], &[load], &[force[i]], &mut under)[0];
        assert!((margin[i] - wanted).abs() < 1e-6, "{i}: {} {wanted}", margin[i]);
    }
    assert!(most > 0.03, "some load moves: {most}");
}

/// A force through the centre of friction, which is not that of pressure, moves two patches without a turn.
#[test]
fn margins_are_about_the_centre_of_friction() {
    let text = "duration = 0.1\n[patch]\ncells = 3\nsize = 0.01\n[[patches]]\nat = [0.06, 0]\n\
                [[patches]]\nat = [-0.06, 0]\nfriction = 0.5\n[friction]\nmu_c = 0.5\nmu_s = 0.6\n\
                [body]\nkind = 'world'\nmass = 1\ninertia = 1e-3\n[inputs]\nnormal_force = 8\n";
    let contact = Scenario::parse(text, ".".as_ref(), "s.toml").unwrap().contact(0).unwrap();
    let (force, f_n) = (-2.0, 8.0);
    let wrench = [0.0, force, 0.02 * force];
    let found = margins(&[0.0], &[wrench], &[f_n], &mut Under::new(&contact, std::iter::empty()))[0];
    let wanted = 1.0 - 2.0 / (0.75 * 0.6 * f_n);
    assert!((found - wanted).abs() < 1e-9, "{found} {wanted}");
}

/// The margin of each patch alone: a force through its centre, in the axes of the whole, has the limit
/// `mu_s f N`, along an axis of friction and across it; a torque has that of its torsional radius.
#[test]
fn each_patch_has_a_margin_of_its_own() {
    let text = "duration = 0.1\n[patch]\nshape = 'disc'\ncells = 9\nsize = 0.01\n[[patches]]\nat = [0.06, 0]\n\
                turn = 0.7\n[[patches]]\nat = [-0.06, 0]\nturn = -1.2\nfriction = 0.5\n[friction]\nmu_c = 0.5\n\
                mu_s = 0.6\nAXES[body]\nkind = 'world'\nmass = 1\ninertia = 1e-3\n[inputs]\nnormal_force = 8\n";
    for (axes, across) in [("", 1.0), ("mu = { ratio = 0.25 }\n", 0.25)] {
        let text = text.replace("AXES", axes);
        let contact = Scenario::parse(&text, ".".as_ref(), "s.toml").unwrap().contact(0).unwrap();
        // Two samples of both patches; the second one is lifted at last.
        let wrench = [[0.9, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, -0.3, 0.0], [0.0, 0.0, 0.0]];
        let forces = [3.0, 2.0, 4.0, 0.0];
        let limits = [0.6 * 3.0, across * 0.5 * 0.6 * 2.0, across * 0.6 * 4.0];
        let found = patch_margins(&contact, &[0.6, 0.6], &wrench, &forces);
        for i in 0..3 {
            let wanted = 1.0 - wrench[i][0].hypot(wrench[i][1]) / limits[i];
            assert!((found[i] - wanted).abs() < 1e-9, "{axes} {i}: {} {wanted}", found[i]);
        }
        assert_eq!(found[3], 0.0);
        if across == 1.0 {
            let radius = contact.patch.part(0).1.map(|own| Surface::new(&own, Rule::Cells).radius()).unwrap();
            let torque = 0.5 * 0.6 * 3.0 * radius;
            let found = patch_margins(&contact, &[0.6], &[[0.0, 0.0, torque], [0.0; 3]], &[3.0, 2.0]);
            assert!((found[0] - 0.5).abs() < 1e-9 && found[1] == 1.0, "{found:?}");
        }
    }
}

#[test]
fn contacts_without_several_patches_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let several = text("\"gripper\"", "lugre");
    let reduced = several.replace("[patch]", "[contact]\nmodel = \"reduced\"\n[patch]");
    let (start, end) = (several.find("[[patches]]").unwrap(), several.find("[friction]").unwrap());
    let single = format!("{}{}", &several[..start], &several[end..]);
    for (text, wanted) in [(single, "with = patches: expected this extra only for"), (reduced, "`distributed`")] {
        let scenario = Scenario::parse(&text, ".".as_ref(), "s.toml").unwrap();
        let out = dir.path().join("run");
        let refused = rollout(&scenario, &Cpu::new(), &options(&out, &[Extra::Patches]), &|_| true);
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(wanted), "{refused}");
        assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none(), "nothing is written");
    }
}
