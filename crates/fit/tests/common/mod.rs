//! Recordings that are made: of a contact with known numbers, with noise.
#![allow(dead_code, reason = "each test uses a part")]

use bristle::random::Draw;
use bristle_fit::FitFile;
use bristle_fit::fit::{Fit, fit};
use bristle_fit::model::Problem;
use bristle_fit::recording::{Channel, Recording, Sign};
use bristle_fit::repeated::{Reach, Repeated};

/// Noise of a standard deviation of 1 at samples `step` \[s\] apart, correlated over `time` \[s\].
pub fn noise(draw: &Draw, n: usize, step: f64, time: f64) -> Vec<f64> {
    let a = if time > 0.0 { (-step / time).exp() } else { 0.0 };
    let mut x = draw.normal("start");
    let next = |k: usize| {
        x = a * x + (1.0 - a * a).sqrt() * draw.normal(&format!("noise {k}"));
        x
    };
    (0..n).map(next).collect()
}

/// A recording of strokes back and forth along x, whose lengths, speeds and rests are drawn: `rows` samples,
/// `step` \[s\] apart.
pub fn strokes(draw: &Draw, rows: usize, step: f64) -> Recording {
    let (mut x, mut t, mut left, mut speed, mut sign) = (0.0, 0.0, 0.0, 0.0, 1.0);
    let (mut time, mut place, mut k) = (Vec::new(), Vec::new(), 0);
    for _ in 0..rows {
        time.push(t);
        place.push(x);
        if left <= 0.0 {
            k += 1;
            let rests = k % 4 == 0;
            sign = if rests { sign } else { -sign };
            // 0.3 to 30 mm/s for 0.4 to 1.2 s.
            speed = if rests { 0.0 } else { 3e-4 * 100f64.powf(draw.uniform(&format!("speed {k}"))) };
            left = 0.4 + 0.8 * draw.uniform(&format!("time {k}"));
        }
        x += sign * speed * step;
        t += step;
        left -= step;
    }
    let channel = |name: &str, values: Vec<f64>| Channel { name: name.into(), values, sign: Sign::Plus };
    Recording {
        name: "made".into(),
        pieces: std::iter::once(0..rows).collect(),
        inputs: vec![channel("normal_force", vec![5.0; rows]), channel("position.x", place)],
        compared: vec![channel("wrench.fx", vec![0.0; rows])],
        time,
        ..Recording::default()
    }
}

/// The fit file of one bristle under a law, with `unknowns` as a table of TOML.
pub fn file(law: &str, unknowns: &str, more: &str) -> FitFile {
    let text = format!(
        "[patch]\nshape = \"square\"\ncells = 1\nsize = 0.001\n[friction]\nlaw = \"{law}\"\nmu_c = 0.5\n\
         mu_s_over_mu_c = 1.0\nsigma0 = 1e4\nsigma1 = 0\nsigma2 = 0\n[body]\nkind = \"prescribed\"\n\
         [inputs]\nnormal_force = 5.0\n[fit]\nshare = 1.0\n\
         starts = 4\n{more}\n[fit.unknowns]\n{unknowns}\n"
    );
    FitFile::parse(&text, ".".as_ref(), "fit.toml").unwrap_or_else(|e| panic!("{e}"))
}

/// The recording with the force of a contact with the numbers `truth`, in steps of an eightieth of a
/// sample, which are shorter than those of the fit, an `offset` \[N\], and noise.
pub fn with_force(
    file: &FitFile,
    mut recording: Recording,
    truth: &[(&str, f64)],
    offset: f64,
    noise: &[f64],
) -> Recording {
    let changes: Vec<String> = truth.iter().map(|(path, value)| format!("{path}={value:?}")).collect();
    let duration = recording.time[recording.time.len() - 1];
    let needed = [("duration", duration), ("inputs.normal_force", 1.0), ("inputs.twist.vx", 0.0)];
    let scenario = file.scenario(&needed, &changes).unwrap_or_else(|e| panic!("{e}"));
    let step = (recording.time[1] - recording.time[0]) / 80.0;
    let repeated = vec![Repeated::new(recording.clone(), 1.0, 0.0).unwrap()];
    let problem = Problem { scenario: &scenario, repeated, unknowns: Vec::new(), step, central: false };
    let force = problem.predict(&[], 0, Reach::All).unwrap().unwrap().remove(0);
    recording.compared[0].values = force.iter().zip(noise).map(|(f, n)| f + offset + n).collect();
    recording
}

/// A fit that goes to its end.
pub fn fitted(file: &FitFile, recording: &Recording) -> Fit {
    fit(file, std::slice::from_ref(recording), &[], &|_| true).unwrap_or_else(|e| panic!("{e}"))
}

/// A path, and the range of its truth.
type Ranged = (&'static str, [f64; 2]);

/// Laws with what can be told of them from such strokes: their unknowns, and the range of the truth of each.
pub const LAWS: [(&str, &[Ranged]); 4] = [
    (
        "elasto-plastic",
        &[
            ("friction.mu_c", [0.2, 1.0]),
            ("friction.sigma0", [2e3, 1e4]),
            ("friction.s_ba", [0.3, 0.8]),
            ("friction.sigma2", [1.0, 5.0]),
        ],
    ),
    (
        "viscoelasto-plastic",
        &[("friction.mu_c", [0.2, 1.0]), ("friction.sigma0", [2e3, 1e4]), ("friction.sigma2", [1.0, 5.0])],
    ),
    (
        "lugre",
        &[
            ("friction.mu_c", [0.2, 1.0]),
            ("friction.mu_s_over_mu_c", [1.2, 1.8]),
            ("friction.v_s", [2e-3, 6e-3]),
            ("friction.sigma0", [2e3, 1e4]),
        ],
    ),
    ("dahl", &[("friction.mu_c", [0.2, 1.0]), ("friction.sigma0", [2e3, 1e4])]),
];

/// Whether the interval of each unknown, and of the offset, has the truth: of a recording of 40 s with noise
/// of a hundredth of the normal force, correlated over `correlated` \[s\]. None of an unknown that was held.
pub fn covered(law: usize, seed: u64, correlated: f64) -> Vec<(String, Option<bool>)> {
    const STEP: f64 = 0.02;
    let (name, unknowns) = LAWS[law];
    let draw = Draw::new(seed, law as u64);
    let rows = 2000;
    let truth: Vec<(&str, f64)> =
        unknowns.iter().map(|(path, [low, high])| (*path, low * (high / low).powf(draw.uniform(path)))).collect();
    let table: String = unknowns.iter().map(|(path, _)| format!("\"{path}\" = {{}}\n")).collect();
    let file = file(name, &table, &format!("seed = {seed}"));
    let offset = 0.1 * draw.normal("offset");
    let noise: Vec<f64> = noise(&draw, rows, STEP, correlated).iter().map(|n| 0.05 * n).collect();
    let recording = with_force(&file, strokes(&draw, rows, STEP), &truth, offset, &noise);
    let found = fitted(&file, &recording);
    let all = truth.iter().copied().chain([("wrench.fx.offset", offset)]);
    all.map(|(path, value)| {
        let estimate = found.estimates.iter().find(|e| e.name == path).unwrap_or_else(|| panic!("{path}"));
        let is_in = (estimate.low..=estimate.high).contains(&value);
        (path.to_owned(), (!estimate.held).then_some(is_in))
    })
    .collect()
}
