//! Requests samples, and reads them in a later call.

use bristle::batch::Sample;

use super::{batch, rows};
use crate::failure::{BristleStatus, Failure, guard};
use crate::{BristleBatch, raw};

/// Asks for the present samples and does not wait for them: a GPU goes on computing, and the caller with
/// other work, such as the next bristle_batch_advance(). They take the place of those asked for before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_request(batch: *mut BristleBatch) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says.
        let mut batch = unsafe { self::batch(batch) }?;
        Ok(batch.request_samples()?)
    })
}

/// Reads the samples of the last bristle_batch_request(): those of that moment, whatever was called since.
///
/// `ready`: NULL waits for them. Else nobody waits, and it is set to 1 if they are there and read, or to 0,
/// when nothing is read. `pose`, `twist`, `wrench`: `count` x 3. `normal_force`, `slip`: `count`. All as
/// bristle_batch_pose() and the like have them; NULL for what is not wanted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_requested(
    batch: *mut BristleBatch,
    ready: *mut i32,
    pose: *mut f64,
    twist: *mut f64,
    wrench: *mut f64,
    normal_force: *mut f64,
    slip: *mut f64,
    count: usize,
) -> BristleStatus {
    guard(|| {
        if !ready.is_null() {
            raw::check_out("ready", ready)?;
        }
        // SAFETY: pointers are as the header says.
        let mut batch = unsafe { self::batch(batch) }?;
        rows(count, &batch)?;
        // Nothing is written before it is known that all can be.
        for (name, out) in [("pose", pose), ("twist", twist), ("wrench", wrench)] {
            check_part(name, out.cast::<[f64; 3]>(), count)?;
        }
        for (name, out) in [("normal_force", normal_force), ("slip", slip)] {
            check_part(name, out, count)?;
        }
        let samples = if ready.is_null() { Some(batch.requested_samples()?) } else { batch.poll_samples()? };
        if !ready.is_null() {
            // SAFETY: it was checked above.
            unsafe { ready.write(i32::from(samples.is_some())) };
        }
        let Some(samples) = samples else { return Ok(()) };
        // SAFETY: as above; rows are numbers without padding.
        unsafe {
            part("pose", pose.cast::<[f64; 3]>(), samples, |s| s.pose.into())?;
            part("twist", twist.cast::<[f64; 3]>(), samples, |s| s.twist.into())?;
            part("wrench", wrench.cast::<[f64; 3]>(), samples, |s| s.wrench.into())?;
            part("normal_force", normal_force, samples, |s| s.normal_force)?;
            part("slip", slip, samples, |s| s.slip)?;
        }
        Ok(())
    })
}

/// Refuses a place that is wanted and to which a part cannot be written.
fn check_part<T>(name: &str, out: *mut T, count: usize) -> Result<(), Failure> {
    if out.is_null() { Ok(()) } else { raw::check_room(name, out, count) }
}

/// One part of every sample to where the caller wants it, if that is anywhere.
unsafe fn part<T: Copy>(name: &str, out: *mut T, samples: &[Sample], of: impl Fn(&Sample) -> T) -> Result<(), Failure> {
    if out.is_null() {
        return Ok(());
    }
    // SAFETY: the caller says that there is room for all of them.
    unsafe { raw::fill(name, out, samples.iter().map(of)) }
}
