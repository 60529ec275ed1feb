//! Friction in the cells of a grid (`--with shear`): its sum is the recorded wrench, its cells near their
//! limit are the recorded share, and recording it changes no other number. The tests cover every engine, law
//! and frame.

use std::fs::File;
use std::path::Path;

use bristle::Cpu;
use bristle::engine::{Engine, Plan};
use bristle::gpu::{Choice, Gpu};
use bristle_data::rollout::{Datasets, Extra, Merge, Options, Shard, merge, rollout};
use bristle_scenario::Scenario;

/// A block that is pushed and turned on a table, or held in a gripper that opens: it sticks, slips, and
/// rests.
fn text(law: &str, frame: &str) -> String {
    format!(
        r#"
duration = 0.12
record_every = 0.01
contacts = 3
[patch]
shape = "disc"
cells = [9, 7]
size = [0.02, 0.016]
[friction]
law = "{law}"
mu_c = {{ uniform = [0.4, 0.6] }}
mu_s = 0.7
[body]
kind = {frame}
mass = 0.2
inertia = 2e-4
[inputs]
normal_force = {{ points = [[0, 3], [0.05, 1.2], [0.1, 4]], hold = 0.01 }}
wrench = {{ fx = 1.0, fy = -0.4, tau = {{ uniform = [0.001, 0.006] }} }}
"#
    )
}

fn options(out: &Path, extras: &[Extra]) -> Options {
    let datasets = Datasets { extras: extras.to_vec(), ..Datasets::default() };
    Options { datasets, ..Options::new(out) }
}

fn array<T: npyz::Deserialize>(run: &Path, name: &str) -> (Vec<u64>, Vec<T>) {
    let mut zip = zip::ZipArchive::new(File::open(run.join("trajectories.npz")).unwrap()).unwrap();
    let npy = npyz::NpyFile::new(zip.by_name(&format!("{name}.npy")).unwrap()).unwrap();
    (npy.shape().to_vec(), npy.into_vec().unwrap())
}

fn engines() -> Vec<Box<dyn Engine>> {
    vec![
        Box::new(Cpu::new()),
        Box::new(Cpu::single()),
        Box::new(Cpu::reference()),
        Box::new(Gpu::new(Choice::Any).unwrap()),
    ]
}

#[test]
fn the_forces_of_all_cells_are_the_wrench_and_those_near_their_limit_are_the_share() {
    let dir = tempfile::tempdir().unwrap();
    let (mut slid, mut stuck, mut run) = (0, 0, 0);
    for engine in engines() {
        let info = engine.info();
        // Rates from single-precision velocities cancel: the damping has 30 s/m in the laws below.
        let tolerance = if info.precision == "f64" { 3e-7 } else { 2e-5 };
        for law in ["elasto-plastic", "lugre", "dahl", "viscoelasto-plastic"] {
            // Inputs that jump at the times of samples, which have those before.
            let jumps = "\
                mu_c = { points = [[0, 0.4], [0.1, 0.65]], hold = 0.02 }\n\
                surface = { vx = { points = [[0, 0], [0.1, 0.05]], hold = 0.03 }, w = 0.5 }\n";
            for (frame, map, mu) in [
                ("\"body\"\noffset = [0.001, -0.002]", "", ""),
                ("\"gripper\"", "", ""),
                ("\"world\"", "", ""),
                ("\"world\"", "", jumps),
                ("\"gripper\"", "", "mu = { ratio = 0.5, angle = 0.6 }"),
                // The map of a sample is that of the last update, for another force than that of the sample.
                ("\"gripper\"", "shape = \"hertz\"\nradius = 3\nupdate = 0.013", ""),
                ("\"world\"", "shape = \"hertz\"\nradius = 3\nupdate = 0.02", "mu = { ratio = 0.5, angle = 0.6 }"),
            ] {
                // Of a contact with more than fifty cells these fill the lanes of vectors, else contacts do.
                let [nx, ny] = if frame.contains("gripper") { [11, 9] } else { [9, 7] };
                let cells = nx * ny;
                let mut text = text(law, frame).replace("[9, 7]", &format!("[{nx}, {ny}]"));
                if mu == jumps {
                    text = text.replace("mu_c = { uniform = [0.4, 0.6] }\n", "") + jumps;
                } else {
                    text = text.replace("mu_s = 0.7", &format!("mu_s = 0.7\n{mu}"));
                }
                if !map.is_empty() {
                    text = text.replace("shape = \"disc\"", map).replace(", hold = 0.01", "");
                }
                let scenario = Scenario::parse(&text, ".".as_ref(), "s.toml").unwrap();
                run += 1;
                let (with, without) = (dir.path().join(format!("{run}")), dir.path().join(format!("{run}-without")));
                let all = |_| true;
                rollout(&scenario, engine.as_ref(), &options(&with, &[Extra::Shear, Extra::Tactile]), &all).unwrap();
                rollout(&scenario, engine.as_ref(), &options(&without, &[]), &all).unwrap();
                for name in ["pose", "twist", "wrench", "normal_force", "slip", "near_limit"] {
                    let bits = |of: &Path| array::<f64>(of, name).1.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                    assert_eq!(bits(&with), bits(&without), "{info:?} {law} {frame} {map} {name}");
                }
                let (shape, shear) = array::<f32>(&with, "shear");
                let (one_each, nearness) = array::<f32>(&with, "cell_nearness");
                assert_eq!((shape, one_each), (vec![3, 13, ny, nx, 2], vec![3, 13, ny, nx]));
                let (_, tactile) = array::<f32>(&with, "tactile");
                let [wrench, force, share] = ["wrench", "normal_force", "near_limit"].map(|n| array::<f64>(&with, n).1);
                for sample in 0..39 {
                    let [mut fx, mut fy, mut tau, mut near] = [0.0; 4];
                    for cell in 0..cells {
                        let at = (cells * sample + cell) as usize;
                        let [x, y] = [(cell % nx, nx, 0.02), (cell / nx, ny, 0.016)]
                            .map(|(i, n, size)| (i as f64 + 0.5 - 0.5 * n as f64) * size / n as f64);
                        let [cx, cy] = [0, 1].map(|k| f64::from(shear[2 * at + k]));
                        (fx, fy, tau) = (fx + cx, fy + cy, tau + x * cy - y * cx);
                        let is_near = nearness[at] > 0.9;
                        near += if is_near { f64::from(tactile[at]) / force[sample as usize] } else { 0.0 };
                        if tactile[at] == 0.0 {
                            assert_eq!([cx, cy], [0.0; 2], "nothing presses on cell {cell}");
                        } else {
                            slid += usize::from(is_near);
                            stuck += usize::from(nearness[at] < 0.5);
                        }
                    }
                    let context = || format!("{info:?} {law} {frame} {map} sample {sample}");
                    let scale = 0.7 * force[sample as usize];
                    let i = sample as usize;
                    for (found, wanted, arm) in
                        [(fx, wrench[3 * i], 1.0), (fy, wrench[3 * i + 1], 1.0), (tau, wrench[3 * i + 2], 0.01)]
                    {
                        assert!((found - wanted).abs() < tolerance * scale * arm, "{found} {wanted} {}", context());
                    }
                    // Bristles at the threshold may be on either side of it after rounding.
                    let all = nearness.chunks(cells as usize).zip(tactile.chunks(cells as usize)).nth(i).unwrap();
                    let unsure = all.0.iter().zip(all.1).filter(|(near, _)| (**near - 0.9).abs() < 1e-4);
                    let unsure = unsure.map(|(_, f)| f64::from(*f)).sum::<f64>() / force[i];
                    assert!((near - share[i]).abs() < 1e-5 + unsure, "{near} {} {}", share[i], context());
                }
            }
        }
    }
    assert!(slid > 1000 && stuck > 1000, "{slid} {stuck}");
}

/// Bristles are recorded as they are at the end, where they are asked for, too.
#[test]
fn the_last_of_the_sampled_bristles_are_those_at_the_end() {
    let scenario = Scenario::parse(&text("elasto-plastic", "\"gripper\""), ".".as_ref(), "s.toml").unwrap();
    let contacts = scenario.block(0..3).unwrap();
    let plan = Plan { keep_bristles: true, sample_bristles: true, ..scenario.plan() };
    for engine in engines() {
        let out = engine.run(&contacts, &plan).unwrap();
        for (end, all) in out.bristles.iter().zip(&out.sampled_bristles) {
            assert_eq!(all.len(), 13 * end.len());
            assert!(all[..end.len()].iter().all(|zeta| *zeta == [0.0; 2]), "they start unloaded");
            assert_eq!(all[12 * end.len()..], end[..], "{:?}", engine.info());
        }
    }
}

/// Images of contacts that have left are NaN from there on, as everything else is.
#[test]
fn what_was_not_simulated_has_no_images() {
    let dir = tempfile::tempdir().unwrap();
    let left = format!("stop_when = {{ displacement = 1e-4 }}\n{}", text("elasto-plastic", "\"world\""));
    let scenario = Scenario::parse(&left, ".".as_ref(), "s.toml").unwrap();
    for (i, engine) in engines().into_iter().enumerate() {
        let out = dir.path().join(i.to_string());
        let run = rollout(&scenario, engine.as_ref(), &options(&out, &[Extra::Shear]), &|_| true).unwrap();
        assert_eq!(run.status.left, 3);
        let (frames, shear, near) =
            (array::<u64>(&out, "frames").1, array::<f32>(&out, "shear").1, array::<f32>(&out, "cell_nearness").1);
        for sample in 0..3 * 13 {
            let is_there = (sample % 13) < frames[sample / 13] as usize;
            let all = shear[126 * sample..][..126].iter().chain(&near[63 * sample..][..63]);
            assert!(all.clone().all(|v| v.is_finite() == is_there), "sample {sample}");
        }
    }
}

#[test]
fn shards_and_extensions_have_the_bytes_of_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    let text = text("lugre", "\"gripper\"");
    let scenario = Scenario::parse(&text, ".".as_ref(), "s.toml").unwrap();
    let (engine, all) = (Cpu::new(), |_| true);
    let content = |of: &Path| std::fs::read(of.join("trajectories.npz")).unwrap();
    let whole = dir.path().join("whole");
    rollout(&scenario, &engine, &options(&whole, &[Extra::Shear]), &all).unwrap();

    let parts = |extras: &[Extra], name: &str| {
        let part = |index| {
            let out = dir.path().join(format!("{name}{index}"));
            rollout(
                &scenario,
                &engine,
                &Options { shard: Some(Shard { index, of: 2 }), ..options(&out, extras) },
                &all,
            )
            .unwrap();
            out
        };
        [part(1), part(2)]
    };
    let (with, without) = (parts(&[Extra::Shear], "with"), parts(&[], "without"));
    let merged = dir.path().join("merged");
    merge(&Merge::open(&with).unwrap(), &options(&merged, &[Extra::Shear])).unwrap();
    assert_eq!(content(&merged), content(&whole));
    let refused =
        merge(&Merge::open(&without).unwrap(), &options(&dir.path().join("no"), &[Extra::Shear])).unwrap_err();
    assert!(refused.to_string().contains("without1: has no friction of cells"), "{refused}");
    // A shard is not replaced by what is made of it.
    for out in [with[0].clone(), with[1].join("all"), dir.path().to_owned()] {
        let force = Options { force: true, ..options(&out, &[]) };
        let refused = merge(&Merge::open(&with).unwrap(), &force).unwrap_err().to_string();
        assert!(refused.contains("which is merged"), "{refused}");
    }
    let [plain, other] = ["plain", "other"].map(|name| dir.path().join(name));
    merge(&Merge::open(&with).unwrap(), &options(&plain, &[])).unwrap();
    merge(&Merge::open(&without).unwrap(), &options(&other, &[])).unwrap();
    assert_eq!(content(&plain), content(&other));

    let fewer = Scenario::parse(&text.replace("contacts = 3", "contacts = 2"), ".".as_ref(), "s.toml").unwrap();
    let grown = dir.path().join("grown");
    rollout(&fewer, &engine, &options(&grown, &[Extra::Shear]), &all).unwrap();
    rollout(&scenario, &engine, &Options { extend: true, ..options(&grown, &[Extra::Shear]) }, &all).unwrap();
    assert_eq!(content(&grown), content(&whole));

    // Of contacts that are there it cannot be made, and nothing that is there is thrown away.
    let margin = Extra::Margin;
    let cases = [
        (&[][..], &[Extra::Shear][..], "made `--with shear`"),
        (&[Extra::Shear], &[], "lost"),
        (&[margin], &[], "`--format npz --with margin`"),
    ];
    for (i, (here, asked, expected)) in cases.into_iter().enumerate() {
        let out = dir.path().join(format!("extended{i}"));
        rollout(&fewer, &engine, &options(&out, here), &all).unwrap();
        let before = content(&out);
        let extend = Options { extend: true, ..options(&out, asked) };
        let refused = rollout(&scenario, &engine, &extend, &all).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
        assert!(content(&out) == before && !out.with_extension("partial").exists());
    }
}

#[test]
fn contacts_without_cells_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let reduced = format!("contact = {{ model = \"reduced\" }}\n{}", text("lugre", "\"gripper\""));
    let scenario = Scenario::parse(&reduced, ".".as_ref(), "s.toml").unwrap();
    let out = dir.path().join("run");
    let refused = rollout(&scenario, &Cpu::new(), &options(&out, &[Extra::Shear]), &|_| true).unwrap_err().to_string();
    assert!(refused.contains("shear") && refused.contains("`distributed`"), "{refused}");
    assert!(std::fs::read_dir(dir.path()).unwrap().next().is_none(), "nothing is written");
}

/// Balls on tactile skin: taxels sum to the wrench and to the normal force, and the surface is displaced
/// against the friction on the body. A sensor changes the images alone, by as much as it says, and shards
/// have its faults, too.
#[test]
fn tactile_skin_is_recorded_as_it_is_and_as_a_sensor_reads_it() {
    let text = include_str!("../../../../examples/tactile_skin.toml");
    let (clean, _) = text.split_once("[sensor]").unwrap();
    let of = |text: &str, sensor: &str| {
        let text = text.replace("contacts = 64", "contacts = 4").replace("duration = 1.0", "duration = 0.4");
        Scenario::parse(&format!("{text}{sensor}"), ".".as_ref(), "skin.toml").unwrap()
    };
    let dir = tempfile::tempdir().unwrap();
    let both = [Extra::Shear, Extra::Tactile];
    let run = |scenario: &Scenario, engine: &dyn Engine, name: &str| {
        let out = dir.path().join(name);
        rollout(scenario, engine, &options(&out, &both), &|_| true).unwrap();
        out
    };
    for (k, engine) in engines().into_iter().enumerate() {
        let scenario = of(clean, "");
        let out = run(&scenario, &*engine, &format!("clean{k}"));
        let [wrench, force] = ["wrench", "normal_force"].map(|name| array::<f64>(&out, name).1);
        let (shape, shear) = array::<f32>(&out, "shear");
        assert_eq!(shape, [4, 41, 20, 20, 2]);
        let ((_, tactile), (same, markers)) =
            (array::<f32>(&out, "tactile"), array::<f32>(&out, "marker_displacement"));
        assert_eq!(same, shape);
        let mut most = 0.0f32;
        for (i, (shear, tactile)) in shear.chunks(800).zip(tactile.chunks(400)).enumerate() {
            let pressed: f64 = tactile.iter().map(|f| f64::from(*f)).sum();
            assert!((pressed - force[i]).abs() < 1e-5 * force[i].max(1.0), "{pressed} of {}", force[i]);
            let pulled: f64 = shear.iter().step_by(2).map(|f| f64::from(*f)).sum();
            assert!((pulled - wrench[3 * i]).abs() < 1e-4, "{pulled}, not {}", wrench[3 * i]);
            assert!(shear.chunks(2).zip(tactile).all(|(f, p)| *p > 0.0 || f == [0.0; 2]));
            // The damper of 1 ms is in the force, and not in the displacement.
            let stiffness = 5e7 * 1e-6;
            for (force, marker) in shear.iter().zip(&markers[800 * i..]) {
                assert!((marker * stiffness + force).abs() < 2e-4 + 1e-5 * force.abs(), "{marker} {force}");
                most = most.max(*marker);
            }
        }
        // Along x, with the ball.
        assert!(most > 2e-5, "{most}");
        let faulty = run(&of(text, ""), &*engine, &format!("faulty{k}"));
        for name in ["wrench", "normal_force", "slip", "cell_nearness"] {
            assert_eq!(content_of(&faulty, name), content_of(&out, name), "{name}");
        }
    }
    let engine = Cpu::single();
    let clean_run = dir.path().join("clean1");
    let late = run(&of(clean, "[sensor]\ndelay = 0.03\n"), &engine, "late");
    for name in ["shear", "tactile", "marker_displacement"] {
        let [late, own] = [&late, &clean_run].map(|run| array::<f32>(run, name).1);
        let size = own.len() / 4 / 41;
        for contact in 0..4 {
            let at = |sample: usize| (contact * 41 + sample) * size..(contact * 41 + sample + 1) * size;
            assert!((0..41).all(|sample| late[at(sample)] == own[at(sample.saturating_sub(3))]), "{name}");
        }
    }
    let dead = run(&of(clean, "[sensor]\ndead = 0.1\n"), &engine, "dead");
    let (found, own) = (array::<f32>(&dead, "tactile").1, array::<f32>(&clean_run, "tactile").1);
    let last = 400 * 40..400 * 41;
    let failed =
        found[last.clone()].iter().zip(&own[last.clone()]).filter(|(found, own)| **found == 0.0 && **own > 0.0);
    let pressed = own[last].iter().filter(|f| **f > 0.0).count() as f64;
    let share = failed.count() as f64 / pressed;
    assert!((0.02..0.25).contains(&share), "{share} of {pressed}");
    let whole = run(&of(text, ""), &engine, "whole");
    let parts = [1, 2].map(|index| {
        let out = dir.path().join(format!("part{index}"));
        let shard = Some(Shard { index, of: 2 });
        rollout(&of(text, ""), &engine, &Options { shard, ..options(&out, &[Extra::Shear]) }, &|_| true).unwrap();
        out
    });
    let merged = dir.path().join("merged");
    merge(&Merge::open(&parts).unwrap(), &options(&merged, &both)).unwrap();
    for name in ["shear", "tactile", "marker_displacement"] {
        assert_eq!(content_of(&merged, name), content_of(&whole, name), "{name}");
    }
}

/// The bits of an array.
fn content_of(run: &Path, name: &str) -> Vec<u64> {
    match ["wrench", "normal_force", "slip"].contains(&name) {
        true => array::<f64>(run, name).1.iter().map(|v| v.to_bits()).collect(),
        false => array::<f32>(run, name).1.iter().map(|v| u64::from(v.to_bits())).collect(),
    }
}

/// A run keeps the relief that its scenario has read, whatever the shape of that looks like.
#[test]
fn a_relief_is_part_of_the_run() {
    use npyz::WriterBuilder;
    let dir = tempfile::tempdir().unwrap();
    let file = File::create(dir.path().join("ridges.npy")).unwrap();
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&[100, 256]).writer(file).begin_nd().unwrap();
    writer.extend((0..25_600).map(|i| 1e-4 * f64::from(i % 256 / 32 % 2))).unwrap();
    writer.finish().unwrap();
    let text = r#"
duration = 0.02
body = { kind = "prescribed" }
inputs = { twist = { vx = 1e-3 } }
[patch]
cells = 9
layer = { stiffness = 1e8, shear_stiffness = 3e7 }
[patch.indenter]
shape = "heights"
file = "ridges.npy"
size = [0.01, 0.008]
depth = 1.5e-4
"#;
    let scenario = Scenario::parse(text, dir.path(), "ridges.toml").unwrap();
    let out = dir.path().join("run");
    rollout(&scenario, &Cpu::new(), &options(&out, &[Extra::Tactile]), &|_| true).unwrap();
    assert!(out.join("relief-ridges.npy").is_file());
    let again = Scenario::load(&out.join("scenario.toml"), &[]).unwrap();
    assert_eq!(again.maps(), scenario.maps());
    // Ridges press three times as much as grooves.
    let mut frame = array::<f32>(&out, "tactile").1[..81].to_vec();
    frame.retain(|f| *f > 0.0);
    frame.sort_by(f32::total_cmp);
    assert!(frame[frame.len() - 1] > 2.0 * frame[0], "{frame:?}");
}
