use pollster::block_on;

use super::*;
use crate::contact::{Form, Model};
use crate::fixtures::{disc, held};
use crate::gpu::limit_surface::SurfacePipelines;
use crate::gpu::{Choice, Gpu};
use crate::patch::{Exponent, Grid, Hertz};
use crate::schedule::{Signal, Sine};

/// Samples after the first.
const SAMPLES: usize = 6;

fn samples() -> Vec<f64> {
    (0..=SAMPLES).map(|k| k as f64 * 1e-3).collect()
}

/// Inputs with and without break points between samples, sinusoids, and maps that are made anew.
fn contacts() -> Vec<Contact> {
    let steps = Signal::steps(&[(0.0, 1.0), (4e-4, 2.0), (2e-3, 1.5), (4.7e-3, 3.0)]).unwrap();
    let wave = |omega| Signal::sines(1.5, vec![Sine { amplitude: 0.5, omega, phase: 0.2 }]);
    let rule = Hertz { radius: 2.0, exponent: Exponent::Fixed(2.0) };
    let follows = Arc::new(Patch::hertz(Grid::new(7, 7, 0.02, 0.02).unwrap(), rule, 1.0).unwrap());
    let with = |model, patch: &Arc<Patch>, normal_force, remap_every| {
        let mut contact = held(model, patch, 1.0);
        (contact.inputs.normal_force, contact.inputs.remap_every) = (normal_force, remap_every);
        contact
    };
    let ellipsoid = || Model::Ellipsoid(Form::Consistent);
    vec![
        held(Model::Distributed, &disc(5), 0.9),
        with(Model::Distributed, &disc(5), steps.clone(), None),
        with(Model::Distributed, &disc(5), wave(300.0), None),
        with(Model::Distributed, &follows, wave(900.0), Some(7e-4)),
        with(ellipsoid(), &follows, steps, None),
        with(ellipsoid(), &follows, wave(700.0), Some(4e-3)),
    ]
}

/// Contacts in their first span, after others with so many intervals and samples.
fn prepared(of: &[Contact], before: [u32; 2]) -> (Vec<BatchContact>, Inputs) {
    let timeline = |contact: &Contact| contact.timeline(&samples());
    let contact =
        |(i, contact): (usize, &Contact)| BatchContact::new(i, contact, timeline(contact), contact.cells_ever_active());
    let contacts: Vec<BatchContact> = of.iter().enumerate().map(contact).collect();
    let start = Start::of(&contacts, of, Stepping::default(), &StopWhen::NEVER);
    let mut inputs = Inputs::new(start.tables, start.patch_states, start.first_cells);
    for place in &mut inputs.places {
        [place.intervals_before, place.samples_before] = before;
    }
    (contacts, inputs)
}

/// An interval with its sinusoids, without the place of these in a window.
fn own(upload: &Upload, at: u32) -> (Vec<u8>, Vec<u8>) {
    let interval = upload.intervals[at as usize];
    let terms = &upload.terms[interval.term_first as usize..][..interval.term_count as usize];
    let interval = layout::Interval { term_first: 0, ..interval };
    (bytemuck::bytes_of(&interval).to_vec(), bytemuck::cast_slice(terms).to_vec())
}

#[test]
fn windows_follow_each_other_without_a_gap_and_have_the_intervals_of_one() {
    let gpu = Gpu::new(Choice::Any).unwrap();
    let pipelines = SurfacePipelines::default();
    let surfaces = Surfaces { device: gpu.device(), pipelines: &pipelines };
    let of = contacts();
    let (contacts, mut inputs) = prepared(&of, [0; 2]);
    let whole = block_on(inputs.upload(&contacts, &of, surfaces, &(0..SAMPLES), SAMPLES)).unwrap();
    let (before, frames) = ([11, 5], 3);
    let (contacts, mut inputs) = prepared(&of, before);
    let first_maps = inputs.patch_states.clone();
    let mut sent: Vec<Vec<(Vec<u8>, Vec<u8>)>> = vec![Vec::new(); of.len()];
    let mut last: Vec<Option<layout::Interval>> = vec![None; of.len()];
    for window in [0..2, 2..3, 3..SAMPLES] {
        let upload = block_on(inputs.upload(&contacts, &of, surfaces, &window, frames)).unwrap();
        for (i, own_window) in upload.windows.iter().enumerate() {
            let place = format!("contact {i}, window {window:?}");
            let layout::Window { interval_first, begin, end, record_first, sample_from, .. } = *own_window;
            assert_eq!(begin, before[0] + sent[i].len() as u32, "{place}");
            assert_eq!([record_first, sample_from], [(i * frames) as u32, before[1] + window.start as u32], "{place}");
            let intervals = interval_first..interval_first + (end - begin);
            // The interval before holds the map before, and nothing happens in it.
            let map = upload.intervals[interval_first as usize - 1];
            let held = last[i].map_or_else(
                || [first_maps[i].radius as f32, first_maps[i].arm2 as f32, 0.0],
                |last| [last.map_radius, last.map_arm2, last.map_f_n],
            );
            assert_eq!([map.map_radius, map.map_arm2, map.map_f_n], held, "{place}");
            assert_eq!((map.flags, map.length, map.term_count), (0, 0.0, 0), "{place}");
            let records = |at: u32| upload.intervals[at as usize].flags & flag::RECORD != 0;
            assert_eq!(intervals.clone().filter(|at| records(*at)).count(), window.len(), "{place}");
            assert!(records(intervals.end - 1), "{place}: it ends with a sample");
            sent[i].extend(intervals.clone().map(|at| own(&upload, at)));
            last[i] = Some(upload.intervals[intervals.end as usize - 1]);
        }
    }
    for (i, contact) in contacts.iter().enumerate() {
        assert_eq!(sent[i].len(), contact.timeline.len(), "contact {i}");
        let first = whole.windows[i].interval_first;
        let wanted: Vec<_> = (0..contact.timeline.len() as u32).map(|k| own(&whole, first + k)).collect();
        assert_eq!(sent[i], wanted, "contact {i}");
        let end = contact.timeline.len() - 1;
        let interval = of[i].interval(&contact.timeline, end);
        assert_eq!(inputs.places[i].inputs, interval.inputs(interval.length), "contact {i}");
    }
    let remaps = |i: usize| {
        (0..sent[i].len() as u32)
            .filter(|k| whole.intervals[(whole.windows[i].interval_first + k) as usize].flags & flag::REMAP != 0)
            .count()
    };
    assert!((3..6).all(|i| remaps(i) > 1) && (0..3).all(|i| remaps(i) == 0), "maps are made anew on the way");
    let none = block_on(inputs.upload(&contacts, &of, surfaces, &(SAMPLES..SAMPLES), frames)).unwrap();
    assert!(none.windows.is_empty() && none.intervals.is_empty());
}

#[test]
fn a_sample_that_is_asked_for_counts_as_an_interval_of_its_contact_alone() {
    let of = contacts();
    let (contacts, mut inputs) = prepared(&of, [11, 5]);
    let asked = |i: usize| {
        let interval = Interval { record: true, c: [[1.0, 0.0, 0.0]; slot::COUNT], ..Interval::default() };
        (i % 2 == 1).then(|| (interval, RemapTransfer::new(false, [1.0; 2], [1.0; 2])))
    };
    let frames = 2;
    let upload = inputs.upload_samples(&contacts, (0..of.len()).map(asked).collect(), frames);
    for (i, window) in upload.windows.iter().enumerate() {
        let is_asked = i % 2 == 1;
        let one = u32::from(is_asked);
        assert_eq!([window.begin, window.end], [11, 11 + one], "contact {i}");
        assert_eq!([window.sample_from, window.record_first], [5, (i * frames) as u32], "contact {i}");
        let place = &inputs.places[i];
        assert_eq!([place.intervals_before, place.samples_before], [11 + one, 5 + one], "contact {i}");
        if is_asked {
            let interval = &upload.intervals[window.interval_first as usize];
            assert_eq!((interval.flags, interval.length), (flag::RECORD | flag::AT_END, 0.0), "contact {i}");
        }
    }
}
