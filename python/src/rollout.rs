//! Rollouts. On the CPU no contact waits for another where that can be, as in rollouts of the command line:
//! controls become signals. One thread steps the contacts and records samples, and the calling thread lets
//! Python handle signals. A rollout that is interrupted goes back to its last samples.

use std::time::Instant;

use crate::batch::{Contacts, Parts};
use crate::core;
use crate::drive::{Control, Told, can_undo};
use crate::errors::Failure;
use crate::signals::interruptible;

/// Samples that are recorded at once; signals of so many intervals take little memory.
const SAMPLES: usize = 64;

/// Lets `nstep` intervals of `dt` [s] pass with a sample `every` so many, which go to `rows`: quantities,
/// their widths and arrays. `tell` is called with the number of intervals that have passed.
pub fn pass(
    contacts: &mut Contacts,
    told: &Told<'_>,
    (dt, nstep, every): (f64, usize, usize),
    rows: &mut [(usize, usize, &mut [f64])],
    tell: &dyn Fn(usize) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if told.frames.is_none() && contacts.go_their_own_way(&told.controls) {
        return record(contacts, &told.controls, (dt, nstep, every), rows, tell);
    }
    let all = contacts.all.clone();
    core::record(contacts, rows, 0, nstep / every + 1)?;
    for interval in 0..nstep {
        let began = Instant::now();
        let done = contacts.step(told, [&all, &all], dt, interval);
        contacts.busy += began.elapsed();
        done?;
        if (interval + 1) % every == 0 {
            core::record(contacts, rows, (interval + 1) / every, nstep / every + 1)?;
            tell(interval + 1)?;
        }
    }
    Ok(())
}

/// [`pass`] where each contact goes its own way.
fn record(
    contacts: &mut Contacts,
    controls: &[Control<'_>],
    (dt, nstep, every): (f64, usize, usize),
    rows: &mut [(usize, usize, &mut [f64])],
    tell: &dyn Fn(usize) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let samples = nstep / every + 1;
    let (mut now, mut done) = (contacts.time(0), 0);
    while done < nstep {
        let began = Instant::now();
        let intervals = (SAMPLES * every).min(nstep - done);
        // As calls of `step` add them up.
        let mut starts = Vec::with_capacity(intervals);
        for _ in 0..intervals {
            starts.push(now);
            now += dt;
        }
        let mut times: Vec<f64> = starts.iter().copied().skip(every).step_by(every).collect();
        times.push(now);
        let Parts { batch, undo, .. } = contacts.parts()?;
        // The sample at the start is under the inputs before.
        let before = if done == 0 { Some(batch.record(&[], &|_| true)?) } else { None };
        let can_stop = can_undo(batch, undo)?;
        let told = controls.iter().try_for_each(|control| control.follow(batch, done, &starts));
        let recorded = told.and_then(|()| {
            let record = |goes_on: &(dyn Fn() -> bool + Sync)| {
                batch.record_or_restore(&times, &|_| !can_stop || goes_on(), undo)
            };
            Ok(interruptible(record)??)
        });
        if can_stop && recorded.as_ref().is_err_and(Failure::is_refusal) {
            batch.restore(undo)?;
        }
        let recorded = recorded?;
        contacts.busy += began.elapsed();
        before.iter().for_each(|before| contacts.see_all(before, 0, &starts[..1]));
        contacts.see_all(&recorded, 1, &times);
        for (q, width, out) in rows.iter_mut() {
            let (q, width) = (*q, *width);
            for k in 0..contacts.len() {
                if let Some(before) = &before {
                    core::write(q, &before.sample(k, 0), starts[0], &mut out[k * samples * width..][..width]);
                }
                for (i, time) in times.iter().enumerate() {
                    let at = k * samples + done / every + i + 1;
                    core::write(q, &recorded.sample(k, i + 1), *time, &mut out[at * width..][..width]);
                }
            }
        }
        done += intervals;
        tell(done)?;
        contacts.pace.ask()?;
    }
    Ok(())
}
