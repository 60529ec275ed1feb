//! The recording of a tribometer.

use std::path::Path;

use bristle_fit::FitFile;
use bristle_fit::fit::{Fit, fit};
use bristle_fit::recording::{Channel, Recording, Sign};

/// The whole recording, which is not in the repository, from 11 to 206 s, every `every`th row.
fn whole(every: usize) -> Option<Recording> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/recordings/tribometer.tsv");
    let text = std::fs::read_to_string(path).ok()?;
    let rows: Vec<Vec<f64>> =
        text.lines().skip(1).map(|line| line.split('\t').map(|x| x.trim().parse().unwrap()).collect()).collect();
    let rows: Vec<&Vec<f64>> = rows.iter().filter(|row| (11.0..206.0).contains(&row[0])).step_by(every).collect();
    let column = |i: usize, unit: f64| rows.iter().map(|row| row[i] * unit).collect::<Vec<f64>>();
    let start = rows[0][0];
    let channel = |name: &str, values: Vec<f64>, sign| Channel { name: name.into(), values, sign };
    Some(Recording {
        name: "tribometer.tsv".into(),
        time: column(0, 1.0).iter().map(|t| t - start).collect(),
        start,
        pieces: vec![0..rows.len()],
        inputs: vec![
            channel("normal_force", column(1, 1e-6), Sign::Plus),
            channel("position.x", column(2, 1e-3), Sign::Plus),
        ],
        compared: vec![channel("wrench.fx", column(3, 1e-6), Sign::Auto)],
        notes: Vec::new(),
    })
}

fn show(fit: &Fit) {
    println!("== {} in {:.2} s, converged {}, effective {:.0}", fit.law, fit.seconds, fit.converged, fit.effective);
    for e in &fit.estimates {
        println!(
            "{:28} {:12.5} [{:12.5}, {:12.5}] {:?} identifiable {} held {} profile {} {}",
            e.name, e.value, e.low, e.high, e.closed, e.identifiable, e.held, e.profile, e.note
        );
    }
    for c in &fit.channels {
        let n = c.normal_force.unwrap_or(1.0);
        println!(
            "{}: sensor {:.5} repeat {:?} residual {:.5} held out {:?} correlated {:.3} s",
            c.name,
            c.sensor / n,
            c.repeatability.map(|r| r / n),
            c.residual / n,
            c.held_out.map(|r| r / n),
            c.correlated
        );
    }
    fit.before.iter().for_each(|b| println!("before: {b}"));
    fit.directions.iter().for_each(|b| println!("null: {}", b.sentence));
    fit.misfit.iter().for_each(|b| println!("misfit: {}", b.sentence));
    fit.notes.iter().for_each(|b| println!("note: {b}"));
}

#[test]
fn look() {
    let Some(recording) = whole(4) else { return };
    let file =
        FitFile::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/tribometer.toml"), &[]).unwrap();
    for law in ["elasto-plastic", "viscoelasto-plastic", "lugre", "dahl"] {
        let changes = [format!("friction.law={law}")];
        let fitted =
            fit(&file, std::slice::from_ref(&recording), &changes, &|_| true).unwrap_or_else(|e| panic!("{e}"));
        show(&fitted);
    }
}
