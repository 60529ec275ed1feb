//! Labels of datasets mean slip: an object that rests near the limit of friction has no slip; a lost object
//! has slip from the sample at which it slides.

use std::fs::File;
use std::path::Path;

use bristle::Cpu;
use bristle_data::rollout::{Options, rollout};
use bristle_scenario::Scenario;

/// Two pads of 4 N hold an object at `share` of what they can.
fn text(law: &str, model: &str, sigma0: f64, share: f64) -> String {
    format!(
        r#"
duration = 1.0
record_every = 0.05
[contact]
{model}
[patch]
shape = "square"
cells = 11
size = 0.02
[friction]
law = "{law}"
mu_c = 0.5
mu_s = 0.5
sigma0 = {sigma0:e}
sigma1 = {}
[body]
kind = "gripper"
mass = {}
inertia = {{ rectangle = [0.05, 0.05] }}
[inputs]
normal_force = 4.0
gravity = [0, {{ points = [[0, 0], [0.2, -9.81]] }}]
"#,
        8e-4 * sigma0,
        share * 4.0 / 9.81
    )
}

fn numbers(run: &Path, name: &str) -> Vec<f64> {
    let mut zip = zip::ZipArchive::new(File::open(run.join("trajectories.npz")).unwrap()).unwrap();
    npyz::NpyFile::new(zip.by_name(&format!("{name}.npy")).unwrap()).unwrap().into_vec().unwrap()
}

#[test]
fn an_object_that_rests_near_the_limit_never_slips() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = 0;
    for law in ["elasto-plastic", "viscoelasto-plastic"] {
        for model in ["", "model = \"reduced\"\nsurface = \"ellipsoid\"", "model = \"reduced\""] {
            for (sigma0, share) in [(1e5, 0.91), (1e6, 0.95), (1e7, 0.99)] {
                let text = format!("stop_when = {{ slip_for = 0.1 }}\n{}", text(law, model, sigma0, share));
                let scenario = Scenario::parse(&text, ".".as_ref(), "rest.toml").unwrap();
                let out = dir.path().join(run.to_string());
                run += 1;
                rollout(&scenario, &Cpu::new(), &Options::new(&out), &|_| true).unwrap();
                let context = format!("{law} {model} {sigma0} {share}");
                let speed = numbers(&out, "twist")[60..].iter().fold(0.0f64, |most, v| most.max(v.abs()));
                assert!(speed < 1e-10, "{context}: {speed} m/s");
                assert_eq!(numbers(&out, "slip"), [0.0; 21], "{context}");
                assert_eq!(numbers(&out, "first_slip"), [-1.0], "{context}");
                assert_eq!(numbers(&out, "time_to_slip"), [-1.0; 21], "{context}");
                assert!((numbers(&out, "near_limit")[20] - 1.0).abs() < 1e-9, "{context}");
            }
        }
    }
}

/// Where the weight is more than the pads hold it slides when the load has come to what they hold.
#[test]
fn an_object_that_is_lost_slips_from_then_on() {
    let dir = tempfile::tempdir().unwrap();
    for (run, law) in ["elasto-plastic", "viscoelasto-plastic", "lugre", "dahl"].into_iter().enumerate() {
        let scenario = Scenario::parse(&text(law, "", 1e6, 1.6), ".".as_ref(), "lost.toml").unwrap();
        let out = dir.path().join(run.to_string());
        rollout(&scenario, &Cpu::new(), &Options::new(&out), &|_| true).unwrap();
        let slip = numbers(&out, "slip");
        assert_eq!(slip[..2], [0.0; 2], "{law}");
        assert!(slip[3..].iter().all(|slip| (slip - 1.0).abs() < 1e-9), "{law}: {slip:?}");
        let first = numbers(&out, "first_slip")[0];
        let wanted = if slip[2] > 0.5 { 0.1 } else { 0.15 };
        assert!((first - wanted).abs() < 1e-9, "{law}: {first}");
        assert_eq!(numbers(&out, "time_to_slip")[3..], [0.0; 18], "{law}");
    }
}
