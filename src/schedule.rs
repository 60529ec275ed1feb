//! Inputs over time: constants, piecewise points, polynomials and sums of sinusoids, sampled and
//! held if wanted.
//!
//! An engine never evaluates a [`Signal`] at large absolute times: a contact's inputs are cut into
//! [`Interval`]s between break points, each with its own local time, which keeps single precision
//! exact at the end of a long run.

mod interval;
mod signal;
mod timeline;

pub use interval::{Interval, Term, slot};
pub use signal::{Segment, Signal, Sine};
pub use timeline::{Feed, Remap, Timeline};

/// Most break points of a contact's inputs, and most samples of a run: a timeline keeps them all.
pub(crate) const MOST_POINTS: f64 = 1e7;

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
        let timeline = Timeline::new(vec![feed(&load, slot::LOAD), feed(&grip, slot::F_N)], &samples, None);
        let (mut t, mut recorded) = (0.0, Vec::new());
        for i in 0..timeline.len() {
            let interval = timeline.interval(i);
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
        // At 0.2 the ramp has reached 1 from the left while the next segment starts elsewhere.
        let before: Vec<Interval> = (0..timeline.len()).map(|i| timeline.interval(i)).collect();
        let ends_at_02 = before.iter().filter(|i| i.record).nth(1).unwrap();
        assert_relative_eq!(ends_at_02.inputs(ends_at_02.length)[slot::LOAD], 1.0, epsilon = 1e-12);
    }

    #[test]
    fn break_points_that_coincide_up_to_rounding_are_one() {
        let grip = Signal::sines(2.0, vec![Sine { amplitude: 1.0, omega: 6.0, phase: 0.0 }]).held(0.01).unwrap();
        let samples: Vec<f64> = (0..=200).map(|k| f64::from(k) * 2.0 / 200.0).collect();
        let timeline = Timeline::new(vec![feed(&grip, slot::F_N)], &samples, Some(&Remap::with(&grip, 2.0)));
        assert_eq!(timeline.len(), 200);
        for i in 0..200 {
            let interval = timeline.interval(i);
            assert!(interval.record && interval.jump);
            assert_relative_eq!(interval.remap.unwrap(), grip.value(f64::from(i as u32) * 0.01), epsilon = 1e-12);
        }
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
