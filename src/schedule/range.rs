//! Checks the times of recordings against the run, which begins at 0: a recording may have the times of
//! another clock.

use super::SAME_TIME;
use crate::error::ParameterError;

/// Refuses the times \[s\] of a recording, called `field`, if none, or none but the first, lies in a run of
/// `duration` \[s\] or less than `slack` \[s\] outside: it would stand still all the time. Each time is given
/// by the least and the greatest that it can be; they increase. What is recorded moves along straight lines
/// between them, or jumps.
///
/// # Errors
/// Both ranges.
pub fn within_run(
    field: &str,
    times: &[[f64; 2]],
    duration: f64,
    slack: f64,
    straight: bool,
) -> Result<(), ParameterError> {
    let (start, end) = (-slack - SAME_TIME, duration + slack + SAME_TIME);
    let (Some([first, first_end]), Some([last, last_end])) = (times.first(), times.last()) else { return Ok(()) };
    let is_inside = |[low, high]: &[f64; 2]| *high >= start && *low <= end;
    let is_moving = match times {
        [one] => is_inside(one),
        // A ramp may lead beyond both ends of the run.
        [_, _] if straight => *last_end >= start && *first <= end,
        [_, rest @ ..] => rest.iter().any(is_inside) || straight && *first_end < start && *last_end >= start,
        [] => true,
    };
    if is_moving {
        return Ok(());
    }
    let found = if times.len() == 1 { format!("{first} s") } else { format!("{first} to {last} s") };
    let more = if times.len() == 1 { "a time" } else { "several times" };
    Err(ParameterError::new(field, found, format!("{more} [s] in the run, 0 to {duration} s")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_that_would_stand_still_are_refused_with_both_ranges() {
        let of = |times: &[f64], straight| {
            let times: Vec<[f64; 2]> = times.iter().map(|t| [*t; 2]).collect();
            within_run("times", &times, 0.5, 0.0, straight).map_err(|e| e.to_string())
        };
        let epoch = [1764093600.0, 1764093600.1, 1764093600.4];
        let refused = "times = 1764093600 to 1764093600.4 s: expected several times [s] in the run, 0 to 0.5 s";
        for straight in [false, true] {
            assert_eq!(of(&epoch, straight).unwrap_err(), refused);
            // Nanoseconds, milliseconds, and times that are over.
            assert!(of(&[0.0, 1e8, 2e8], straight).is_err());
            assert!(of(&[0.0, 10.0, 20.0], straight).is_err());
            assert!(of(&[-3.0, -2.0, -1.0], straight).is_err());
            assert!(of(&[0.6], straight).is_err());
            for times in [&[0.0, 0.1, 0.2][..], &[-1.0, 0.2, 3.0], &[0.0, 0.5, 1.0], &[0.1], &[0.4, 0.45, 2.0], &[]] {
                assert_eq!(of(times, straight), Ok(()), "{times:?}");
            }
        }
        // A ramp moves between two times that are outside.
        for times in [&[0.0, 2.0][..], &[-1.0, 2.0], &[-2.0, -1.0, 2.0]] {
            assert_eq!(of(times, true), Ok(()));
            assert!(of(times, false).is_err(), "{times:?}");
        }
        assert!(of(&[1.0, 2.0], true).is_err() && of(&[-2.0, -1.0], true).is_err());
        // Times that are drawn are inside if they may be.
        let drawn = |low, slack| within_run("times", &[[0.0; 2], [low, 1.5]], 0.5, slack, false);
        assert!(drawn(0.2, 0.0).is_ok() && drawn(0.7, 0.0).is_err() && drawn(0.7, 0.3).is_ok());
    }
}
