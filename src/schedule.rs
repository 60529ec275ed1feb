//! Inputs over time: constants, straight lines through points, polynomials and sums of sinusoids, sampled and
//! held if a signal says so.
//!
//! An engine never evaluates a [`Signal`] at large absolute times: a contact's inputs are cut into
//! [`Interval`]s between break points, each with its own local time, which keeps single precision
//! exact at the end of a long run.
//!
//! Steps end at the ends of intervals, where recorded wrenches take the limit from the left.

mod interval;
mod range;
mod signal;
mod timeline;

pub use interval::{Interval, MapKey, Term, slot};
pub use range::within_run;
pub use signal::{SAME_TIME, Segment, Signal, Sine};
pub(crate) use timeline::GRADED_UNTIL;
pub use timeline::{Feed, Remap, Span, Timeline};

/// Most break points of a contact's inputs, and most samples of a run: a timeline keeps all of them in
/// memory.
pub const MOST_POINTS: f64 = 1e7;

#[cfg(test)]
mod tests {
    use super::*;
    use approx::assert_relative_eq;

    fn feed(signal: &Signal, slot: usize) -> Feed<'_> {
        Feed { signal, scale: 1.0, slot }
    }

    #[test]
    fn intervals_reproduce_their_signals_from_the_left_at_their_ends() {
        let wave = vec![Sine { amplitude: 0.4, omega: 18.8, phase: 0.3 }];
        let load = Signal::segments(vec![
            Segment { from: 0.0, c: [0.0, 5.0, 0.0], sines: vec![] },
            Segment { from: 0.2, c: [1.0, 0.0, 2.0], sines: wave },
        ])
        .unwrap();
        let grip = load.clone().held(0.03).unwrap();
        let samples = [0.1, 0.2, 0.35];
        let feeds = [feed(&load, slot::LOAD), feed(&grip, slot::F_N)];
        let mut timeline = Timeline::default();
        timeline.cut(feeds.iter().copied(), Span::run(0.35), &samples, None);
        let interval = |i| {
            let mut interval = Interval::default();
            timeline.interval(feeds.iter().copied(), i, &mut interval);
            interval
        };
        let (mut t, mut recorded) = (0.0, Vec::new());
        for i in 0..timeline.len() {
            let interval = interval(i);
            for share in [1e-3, 0.4, 0.999] {
                let tau = share * interval.length;
                let v = interval.inputs(tau);
                assert_relative_eq!(v[slot::LOAD], load.value(t + tau), epsilon = 1e-12);
                assert_relative_eq!(v[slot::F_N], grip.value(t + tau), epsilon = 1e-12);
            }
            t += interval.length;
            if interval.record {
                recorded.push(t);
            }
        }
        assert_relative_eq!(t, 0.35, epsilon = 1e-15);
        for (a, b) in recorded.iter().zip(samples) {
            assert_relative_eq!(*a, b, epsilon = 1e-15);
        }
        // At 0.2 the linear segment has the limit 1 from the left, while the next segment starts at another
        // value.
        let before: Vec<Interval> = (0..timeline.len()).map(interval).collect();
        let ends_at_02 = before.iter().filter(|i| i.record).nth(1).unwrap();
        assert_relative_eq!(ends_at_02.inputs(ends_at_02.length)[slot::LOAD], 1.0, epsilon = 1e-12);
    }

    #[test]
    fn break_points_that_coincide_up_to_rounding_are_one() {
        let grip = Signal::sines(2.0, vec![Sine { amplitude: 1.0, omega: 6.0, phase: 0.0 }]).held(0.01).unwrap();
        let samples: Vec<f64> = (0..=200).map(|k| f64::from(k) * 2.0 / 200.0).collect();
        let feeds = [feed(&grip, slot::F_N)];
        let mut timeline = Timeline::default();
        timeline.cut(feeds.iter().copied(), Span::run(2.0), &samples, Some(Remap::With(&grip)));
        assert_eq!(timeline.len(), 200);
        for i in 0..200 {
            let mut interval = Interval::default();
            timeline.interval(feeds.iter().copied(), i, &mut interval);
            assert!(interval.record && interval.jump);
            let Some(MapKey::Force(f_n)) = interval.remap else { panic!("{:?}", interval.remap) };
            assert_relative_eq!(f_n, grip.value(f64::from(i as u32) * 0.01), epsilon = 1e-12);
        }
    }

    #[test]
    fn a_span_in_the_middle_has_the_intervals_of_the_whole() {
        let load = Signal::linear(&[(0.0, 0.0), (0.25, 1.0), (0.5, 0.0), (0.625, 3.0)]).unwrap();
        let grip = Signal::sines(2.0, vec![Sine { amplitude: 1.0, omega: 6.0, phase: 0.0 }]).held(0.0625).unwrap();
        let feeds = [feed(&load, slot::LOAD), feed(&grip, slot::F_N)];
        let intervals = |span, samples: &[f64]| {
            let mut timeline = Timeline::default();
            timeline.cut(feeds.iter().copied(), span, samples, Some(Remap::With(&grip)));
            let interval = |i| {
                let mut interval = Interval::default();
                timeline.interval(feeds.iter().copied(), i, &mut interval);
                interval
            };
            (0..timeline.len()).map(interval).collect::<Vec<_>>()
        };
        let whole = intervals(Span::run(1.0), &[0.125, 0.1875, 0.75]);
        let mut parts = Vec::new();
        for (start, end) in [(0.0, 0.125), (0.125, 0.1875), (0.1875, 0.75), (0.75, 1.0)] {
            let span = Span { start, end, jump: start == 0.0, remap: start == 0.0 };
            parts.extend(intervals(span, if end < 1.0 { &[0.125, 0.1875, 0.75] } else { &[] }));
        }
        assert_eq!(whole, parts);
        assert_eq!(whole.len(), 16);
    }

    #[test]
    fn a_held_signal_that_never_changes_is_a_number_and_a_slope_is_held_as_its_signals() {
        let held = Signal::constant(1.5).held(0.1).unwrap();
        assert_eq!((held.memory(), held), (0, Signal::constant(1.5)));
        let line = |slope: f64, hold: f64| {
            let segment = Segment { from: 0.0, c: [1.0, slope, 0.0], sines: vec![] };
            Signal::segments(vec![segment]).unwrap().held(hold).unwrap()
        };
        // That without a slope is a number.
        for (high, low) in [(3.0, 1.0), (2.0, 0.0), (0.0, -2.0)] {
            let slope = line(high, 0.25).slope(&line(low, 0.25), 2.0).unwrap();
            assert_eq!([0.2, 0.3, 0.6].map(|t| slope.value(t)), [0.0, 0.25, 0.5], "{high} and {low}");
        }
        assert!(line(3.0, 0.25).slope(&line(1.0, 0.2), 2.0).is_none());
    }

    #[test]
    fn impossible_signals_are_refused() {
        assert!(Signal::steps(&[]).is_err());
        assert!(Signal::linear(&[(0.0, 1.0), (0.0, 2.0)]).is_err());
        assert!(Signal::steps(&[(0.0, f64::NAN)]).is_err());
        assert!(Signal::constant(1.0).held(0.0).is_err());
    }

    #[test]
    fn a_linear_signal_is_constant_outside_its_points() {
        let s = Signal::linear(&[(0.5, 1.0), (1.0, 3.0)]).unwrap();
        for (t, v) in [(0.0, 1.0), (0.5, 1.0), (0.75, 2.0), (1.0, 3.0), (9.0, 3.0)] {
            assert_relative_eq!(s.value(t), v, epsilon = 1e-14);
        }
    }
}
