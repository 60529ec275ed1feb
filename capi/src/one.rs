//! The calls on one contact: set its pressure frame, a signal or another initial state, and read its
//! bristles.

use bristle::contact::{Bristles, Initial};
use bristle::shear::OfPart;
use bristle::{Signal, Twist};

use super::{argument, batch, input};
use crate::failure::{BristleStatus, Failure, guard};
use crate::{BristleBatch, raw};

/// How a signal goes from point to point.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BristleSignal {
    /// It keeps the value of a point until the next.
    Steps = 0,
    /// In straight lines.
    Linear = 1,
}

/// Puts another pressure map under a contact at once, such as the next frame of a tactile sensor. The normal
/// force is as before, and bristles are kept. The patch must have `takes_frames = true` in the scenario.
///
/// `pressure`: `count` numbers >= 0 in any unit, one a cell of the patch's grid, bottom row first. Nothing
/// changes if one is out of range, or if none is above 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_set_frame_one(
    batch: *mut BristleBatch,
    contact: usize,
    pressure: *const f64,
    count: usize,
) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says.
        let (mut batch, pressure) = unsafe { (self::batch(batch)?, raw::array("pressure", pressure, count)?) };
        Ok(batch.set_frame(contact, pressure)?)
    })
}

/// From now on an input of a contact follows a signal over the contact's own time, which starts at 0.
///
/// `input`: a BristleInput. `signal`: a BristleSignal. `times`, `values`: `count` points; the times [s]
/// increase, and the first is 0. After the last point the signal keeps its value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_follow_one(
    batch: *mut BristleBatch,
    contact: usize,
    input: u32,
    signal: u32,
    times: *const f64,
    values: *const f64,
    count: usize,
) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says.
        let (mut batch, times, values) =
            unsafe { (self::batch(batch)?, raw::array("times", times, count)?, raw::array("values", values, count)?) };
        let points: Vec<(f64, f64)> = times.iter().copied().zip(values.iter().copied()).collect();
        let made = match signal {
            0 => Signal::steps(&points),
            1 => Signal::linear(&points),
            _ => return Err(argument(format!("signal = {signal}: expected a BristleSignal, 0 or 1"))),
        };
        let made = made.map_err(|e| Failure::new(BristleStatus::Argument, e.to_string()))?;
        Ok(batch.follow(contact, self::input(input)?, made)?)
    })
}

/// bristle_batch_reset() of one contact, to another initial state. Later resets go to this state.
///
/// `pose`: 3, of the centre of mass [m, m, rad]; of the patch, if its motion is prescribed. `twist`: 3, at
/// the centre of mass [m/s, m/s, rad/s], without effect on a prescribed motion. `bristles`: `count` x 2
/// states as bristle_batch_bristles() has them; NULL leaves them unloaded. Nothing changes if one is out of
/// range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_reset_to(
    batch: *mut BristleBatch,
    contact: usize,
    pose: *const f64,
    twist: *const f64,
    bristles: *const f64,
    count: usize,
) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says; rows are numbers without padding.
        let (mut batch, pose, twist, states) = unsafe {
            (
                self::batch(batch)?,
                *raw::reference("pose", pose.cast::<[f64; 3]>())?,
                *raw::reference("twist", twist.cast::<[f64; 3]>())?,
                (!bristles.is_null())
                    .then(|| raw::array("bristles", bristles.cast::<[f64; 2]>(), count))
                    .transpose()?,
            )
        };
        let bristles = states.map_or(Bristles::Unloaded, |states| Bristles::States(states.to_vec()));
        Ok(batch.reset_to(contact, Initial { pose: pose.into(), bristles }, Twist::from(twist))?)
    })
}

/// Tells how many there are, and whether they are wanted: not with a `room` of 0.
///
/// # Safety
/// `count` may be written to.
unsafe fn has_room(there: usize, room: usize, count: *mut usize) -> Result<bool, Failure> {
    // SAFETY: as the caller says.
    unsafe { count.write(there) };
    if (1..there).contains(&room) {
        return Err(argument(format!("room = {room}: expected at least {there}")));
    }
    Ok(room > 0)
}

/// Reads the states of the bristles of a contact [-], docs/model.md: of a grid one for each cell that carries
/// pressure, bottom row first; of a reduced model (zeta_x, zeta_y), (zeta_3, 0).
///
/// `out`: room for `room` x 2. `count`: how many there are. With fewer in `room` nothing is written to `out`,
/// and the call fails; with a `room` of 0, when `out` may be NULL, it tells `count` alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_bristles(
    batch: *mut BristleBatch,
    contact: usize,
    out: *mut f64,
    room: usize,
    count: *mut usize,
) -> BristleStatus {
    guard(|| {
        raw::check_out("count", count)?;
        // SAFETY: pointers are as the header says.
        let mut batch = unsafe { self::batch(batch) }?;
        let states = batch.bristles(contact)?;
        // SAFETY: `count` was checked above.
        if !unsafe { has_room(states.len(), room, count) }? {
            return Ok(());
        }
        // SAFETY: as above; a row is two numbers without padding.
        unsafe { raw::fill("out", out.cast::<[f64; 2]>(), states.into_iter()) }
    })
}

/// Reads the friction of each of the patches of a contact that has several (`[[patches]]` in the scenario),
/// in their order. Their model must be `distributed`.
///
/// `wrench`: `room` x 3, on the body at the origin of the patch, in the axes of all of them [N, N, N m].
/// `normal_force`: `room` [N]. `slip`, `near_limit`: `room`, the shares of that on bristles that slip, and on
/// bristles near their limit. What is NULL is not written. `count`: how many patches there are, 0 of a
/// contact with one. With fewer in `room` nothing else is written, and the call fails; with a `room` of 0 it
/// tells `count` alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_patches(
    batch: *mut BristleBatch,
    contact: usize,
    wrench: *mut f64,
    normal_force: *mut f64,
    slip: *mut f64,
    near_limit: *mut f64,
    room: usize,
    count: *mut usize,
) -> BristleStatus {
    guard(|| {
        raw::check_out("count", count)?;
        // SAFETY: pointers are as the header says.
        let mut batch = unsafe { self::batch(batch) }?;
        let patches = batch.patches(contact)?;
        // SAFETY: `count` was checked above.
        if !unsafe { has_room(patches.len(), room, count) }? {
            return Ok(());
        }
        // SAFETY: as above; a row is three numbers without padding.
        unsafe {
            if !wrench.is_null() {
                raw::fill("wrench", wrench.cast::<[f64; 3]>(), patches.iter().map(|of| of.wrench.into()))?;
            }
            let fill = |name, out: *mut f64, of: fn(&OfPart) -> f64| {
                if out.is_null() { Ok(()) } else { raw::fill(name, out, patches.iter().map(of)) }
            };
            fill("normal_force", normal_force, |of| of.normal_force)?;
            fill("slip", slip, |of| of.slip)?;
            fill("near_limit", near_limit, |of| of.near_limit)?;
        }
        Ok(())
    })
}

/// Reads the normal force and the friction of each cell of the grid of a contact, bottom row first; of
/// several patches those of one patch after the other. The model must be `distributed`.
///
/// `normal_force`: `room`, of the cell [N]. `force`: `room` x 2, friction on the body in the axes of the
/// patch [N]; 0 on cells without pressure. `nearness`: `room`, the length of the bristle over its limit [-],
/// 1 in steady sliding. What is NULL is not written. `count`: how many cells there are. With fewer in `room`
/// nothing else is written, and the call fails; with a `room` of 0 it tells `count` alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_cells(
    batch: *mut BristleBatch,
    contact: usize,
    normal_force: *mut f64,
    force: *mut f64,
    nearness: *mut f64,
    room: usize,
    count: *mut usize,
) -> BristleStatus {
    guard(|| {
        raw::check_out("count", count)?;
        // SAFETY: pointers are as the header says.
        let mut batch = unsafe { self::batch(batch) }?;
        let cells = batch.cells(contact)?;
        // SAFETY: `count` was checked above.
        if !unsafe { has_room(cells.len(), room, count) }? {
            return Ok(());
        }
        // SAFETY: as above; a row is two numbers without padding.
        unsafe {
            if !normal_force.is_null() {
                raw::fill("normal_force", normal_force, cells.iter().map(|of| of.normal_force))?;
            }
            if !force.is_null() {
                raw::fill("force", force.cast::<[f64; 2]>(), cells.iter().map(|of| of.shear.force))?;
            }
            if !nearness.is_null() {
                raw::fill("nearness", nearness, cells.iter().map(|of| of.shear.nearness))?;
            }
        }
        Ok(())
    })
}
