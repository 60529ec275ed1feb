//! [`bristle::Batch`] for programs in C: handles, arrays, codes. `include/bristle.h` is written from this
//! crate's comments by the test `header`.
//!
//! Every function runs in `failure::guard`: pointers, lengths and indices are checked, and an error or a
//! panic becomes a code. Pointers of callers become references and slices in `raw` alone. A handle has a
//! mutex, so that calls on it are refused after a panic.

mod failure;
mod one;
mod raw;
mod request;

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use bristle::batch::Sample;
use bristle::quote::quoted;
use bristle::{Batch, Contact, Cpu, Engine, EngineError, Input, Snapshot, Stepping, Twist};
use bristle_scenario::Scenario;

pub use failure::{BristleStatus, bristle_last_error};
use failure::{Failure, guard};
pub use one::{
    BristleSignal, bristle_batch_bristles, bristle_batch_cells, bristle_batch_follow_one, bristle_batch_patches,
    bristle_batch_reset_to, bristle_batch_set_frame_one,
};
pub use request::{bristle_batch_request, bristle_batch_requested};

/// An input of a contact.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BristleInput {
    /// Normal force of one pad [N], at most 1e12; negative is no contact.
    NormalForce = 0,
    /// Load force along x [N] of a free body, up to 1e12 in size, as the next four.
    Fx = 1,
    /// Load force along y [N].
    Fy = 2,
    /// Load torque [N m], up to 1e12 in size.
    Tau = 3,
    /// Gravity along x [m/s^2], up to 1e9 in size.
    GravityX = 4,
    /// Gravity along y [m/s^2].
    GravityY = 5,
    /// Velocity along x [m/s] of a prescribed motion, up to 1e9 in size, as the next two.
    Vx = 6,
    /// Velocity along y [m/s].
    Vy = 7,
    /// Angular velocity [rad/s].
    W = 8,
    /// Coulomb coefficient [-], 1e-9 to 1e6 and no more than the static one.
    MuC = 9,
    /// Static coefficient [-], at most 1e6.
    MuS = 10,
    /// Where the spring of a point contact is held along x [m], up to 1e9 in size.
    AnchorX = 11,
    /// Where it is held along y [m].
    AnchorY = 12,
    /// Velocity along x [m/s] of a moving surface, up to 1e9 in size, as the next two.
    SurfaceVx = 13,
    /// Its velocity along y [m/s].
    SurfaceVy = 14,
    /// Its angular velocity [rad/s].
    SurfaceW = 15,
    /// Normal force of one pad [N] of the first of several patches with normal forces of their own; negative
    /// is no contact. Plus 4 k it is that of the patch with number k, as are the next three.
    PatchNormalForce = 16,
    /// Velocity along x [m/s] of the surface of the first of several patches with surfaces of their own, up
    /// to 1e9 in size, as the next two.
    PatchVx = 17,
    /// Its velocity along y [m/s].
    PatchVy = 18,
    /// Its angular velocity [rad/s].
    PatchW = 19,
}

/// Bits of a contact's status word, which is 0 if all is well. After one of the first three its numbers are
/// NaN until it is reset, restored or copied to.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BristleFault {
    /// Its velocity is not finite.
    Twist = 1,
    /// Its friction is not finite.
    Wrench = 2,
    /// It took as many steps as it may in one call.
    Steps = 8,
    /// Some of its steps are less exact than they should be.
    Unconverged = 4,
}

/// Contacts that live on an engine.
pub struct BristleBatch {
    len: usize,
    batch: Mutex<Batch>,
}

/// Everything that the contacts of a batch take along: states, bristles, times and inputs.
pub struct BristleSnapshot(Mutex<Saved>);

#[derive(Default)]
struct Saved {
    snapshot: Snapshot,
    /// What [`bristle_snapshot_bytes`] has given.
    bytes: Vec<u8>,
}

/// What is behind a handle, for one call at a time.
unsafe fn batch<'a>(handle: *const BristleBatch) -> Result<MutexGuard<'a, Batch>, Failure> {
    // SAFETY: the caller says that it is a handle of ours, or NULL.
    let handle = unsafe { raw::reference("batch", handle) }?;
    handle.batch.lock().map_err(|_| Failure::broken())
}

/// As [`batch()`].
unsafe fn saved<'a>(handle: *const BristleSnapshot) -> Result<MutexGuard<'a, Saved>, Failure> {
    // SAFETY: the caller says that it is a handle of ours, or NULL.
    let handle = unsafe { raw::reference("snapshot", handle) }?;
    handle.0.lock().map_err(|_| Failure::broken())
}

fn input(value: u32) -> Result<Input, Failure> {
    // The order of `Input::all` is that of `BristleInput`, as a test checks.
    let found = Input::all().nth(value as usize);
    let expected = || format!("input = {value}: expected a BristleInput, 0 to {}", Input::all().count() - 1);
    found.ok_or_else(|| Failure::new(BristleStatus::Argument, expected()))
}

fn argument(message: String) -> Failure {
    Failure::new(BristleStatus::Argument, message)
}

/// Refuses an array that has not one row a contact.
fn rows(count: usize, batch: &Batch) -> Result<(), Failure> {
    if count == batch.len() {
        return Ok(());
    }
    Err(argument(format!("count = {count}: expected {}, a row for each contact of the batch", batch.len())))
}

/// The version of the library, as "1.2.3".
#[unsafe(no_mangle)]
pub extern "C" fn bristle_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the version has a zero byte"),
    };
    VERSION.as_ptr()
}

/// Draws contacts from a scenario and puts them on a device, at their start.
///
/// - `scenario`: the text of a scenario file, in UTF-8.
/// - `base_dir`: where its map files are; NULL is the working directory.
/// - `contacts`: which contacts of the scenario, `count` indices from 0 that may repeat: copies of one
///   contact are what one state can be branched into. NULL takes the first `count`, and all if `count` is 0.
/// - `device`: "cpu" in double precision, "cpu-f32", or "gpu", any adapter in single precision.
/// - `step`: length of a step [s], 1e-7 to 0.1; with a tolerance the longest. 0 takes step and tolerance of
///   the scenario.
/// - `tolerance`: error of the velocity by which each contact chooses its steps [m/s], 1e-9 to 1. 0 for fixed
///   steps, and where `step` is 0.
/// - `out`: the new handle, to be freed by bristle_batch_free(); NULL after a failure.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "C has no defaults, and a struct of options would need a version")]
pub unsafe extern "C" fn bristle_batch_new(
    scenario: *const c_char,
    base_dir: *const c_char,
    contacts: *const u64,
    count: usize,
    device: *const c_char,
    step: f64,
    tolerance: f64,
    out: *mut *mut BristleBatch,
) -> BristleStatus {
    guard(|| {
        raw::check_out("out", out)?;
        bristle::cpu::check_threads().map_err(EngineError::from)?;
        // SAFETY: pointers are as the header says.
        let (text, base, contacts, device) = unsafe {
            out.write(std::ptr::null_mut());
            let text = raw::text("scenario", scenario)?;
            let base = if base_dir.is_null() { "" } else { raw::text("base_dir", base_dir)? };
            let contacts = (!contacts.is_null()).then(|| raw::array("contacts", contacts, count)).transpose()?;
            (text, base, contacts, raw::text("device", device)?)
        };
        let scenario = Scenario::parse(text, Path::new(base), "scenario")?;
        let stepping = match (step, tolerance) {
            (0.0, 0.0) => scenario.plan().stepping(),
            (0.0, _) => return Err(argument(format!("tolerance = {tolerance}: expected 0, as step is 0"))),
            _ => Stepping {
                step,
                tolerance: (tolerance != 0.0).then_some(tolerance),
                most_steps: scenario.plan().most_steps,
            },
        };
        stepping.validate().map_err(EngineError::from)?;
        // A device that is not there is told before contacts are drawn.
        let engine = engine(device)?;
        let batch = engine.batch(drawn(&scenario, contacts, count)?, stepping)?;
        let handle = BristleBatch { len: batch.len(), batch: Mutex::new(batch) };
        // SAFETY: `out` has been looked at above.
        unsafe { out.write(Box::into_raw(Box::new(handle))) };
        Ok(())
    })
}

fn engine(device: &str) -> Result<Box<dyn Engine>, Failure> {
    match device {
        "cpu" => Ok(Box::new(Cpu::new())),
        "cpu-f32" => Ok(Box::new(Cpu::single())),
        #[cfg(feature = "gpu")]
        "gpu" => Ok(Box::new(bristle::Gpu::new(bristle::Choice::Any)?)),
        #[cfg(not(feature = "gpu"))]
        "gpu" => Err(EngineError::NoGpu.into()),
        _ => Err(argument(format!("device = \"{}\": expected \"cpu\", \"cpu-f32\" or \"gpu\"", quoted(device)))),
    }
}

/// Number of contacts from which the memory of many is estimated.
const FEW: u64 = 4;

/// The contacts of a batch. One that is asked for again is not drawn again.
fn drawn(scenario: &Scenario, contacts: Option<&[u64]>, count: usize) -> Result<Vec<Contact>, Failure> {
    let all = scenario.contacts();
    let Some(contacts) = contacts else {
        let count = if count == 0 { all } else { count as u64 };
        if count > all {
            return Err(argument(format!("count = {count}: expected at most {all}, as the scenario has")));
        }
        if count > FEW {
            bristle::batch::check_memory(&scenario.block(0..FEW)?, usize::try_from(count).unwrap_or(usize::MAX), 1)?;
        }
        return Ok(scenario.block(0..count)?);
    };
    if contacts.is_empty() {
        return Err(argument("count = 0: expected at least one contact, or NULL for all".to_owned()));
    }
    if let Some(k) = contacts.iter().find(|k| **k >= all) {
        return Err(argument(format!("contacts: {k}: expected an index below {all}, as the scenario has")));
    }
    if contacts.len() as u64 > FEW {
        bristle::batch::check_memory(&[scenario.contact(contacts[0])?], contacts.len(), 1)?;
    }
    let mut first = HashMap::new();
    let mut out: Vec<Contact> = Vec::with_capacity(contacts.len());
    for &k in contacts {
        let place = *first.entry(k).or_insert(out.len());
        let contact = if place < out.len() { out[place].clone() } else { scenario.contact(k)? };
        out.push(contact);
    }
    Ok(out)
}

/// Frees a batch; nothing if it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_free(batch: *mut BristleBatch) {
    // SAFETY: pointers are as the header says.
    guard(|| unsafe {
        raw::free(batch);
        Ok(())
    });
}

/// Number of contacts; 0 if `batch` is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_len(batch: *const BristleBatch) -> usize {
    // SAFETY: pointers are as the header says.
    unsafe { batch.as_ref() }.map_or(0, |batch| batch.len)
}

/// From now on an input of every contact is its value.
///
/// `input`: a BristleInput. `values`: `count` numbers in the input's unit. If one is out of range, none is
/// set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_set(
    batch: *mut BristleBatch,
    input: u32,
    values: *const f64,
    count: usize,
) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says.
        let (mut batch, values) = unsafe { (self::batch(batch)?, raw::array("values", values, count)?) };
        rows(count, &batch)?;
        Ok(batch.set_each(self::input(input)?, values)?)
    })
}

/// From now on several inputs of every contact are their values, which are set together: the two coefficients
/// of friction are checked as the pair that they will be, whatever the present ones are.
///
/// `inputs`: `kinds` BristleInputs. `values`: `kinds` x `count` numbers, a row of one for each contact for
/// every input. If one is out of range, none is set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_set_together(
    batch: *mut BristleBatch,
    inputs: *const u32,
    kinds: usize,
    values: *const f64,
    count: usize,
) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says.
        let (mut batch, inputs) = unsafe { (self::batch(batch)?, raw::array("inputs", inputs, kinds)?) };
        rows(count, &batch)?;
        let all = kinds.checked_mul(count).ok_or_else(|| argument(format!("kinds = {kinds}: expected fewer")))?;
        // SAFETY: as above.
        let values = unsafe { raw::array("values", values, all) }?;
        let inputs = inputs.iter().map(|i| input(*i)).collect::<Result<Vec<_>, _>>()?;
        let inputs: Vec<(Input, &[f64])> = inputs.into_iter().zip(values.chunks(count.max(1))).collect();
        let contacts: Vec<usize> = (0..count).collect();
        Ok(batch.set_some(&contacts, &inputs)?)
    })
}

/// From now on an input of a contact is `value`, in the input's unit. Nothing changes if it is out of range,
/// or none of the contact's kind of body.
///
/// `input`: a BristleInput.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_set_one(
    batch: *mut BristleBatch,
    contact: usize,
    input: u32,
    value: f64,
) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says.
        let mut batch = unsafe { self::batch(batch) }?;
        Ok(batch.set(contact, self::input(input)?, value)?)
    })
}

/// From now on an input of a contact goes in a straight line from its present value to `to` in `over` [s],
/// and stays there.
///
/// `input`: a BristleInput. `over`: at least 1e-9 s.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_ramp_one(
    batch: *mut BristleBatch,
    contact: usize,
    input: u32,
    to: f64,
    over: f64,
) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says.
        let mut batch = unsafe { self::batch(batch) }?;
        Ok(batch.ramp(contact, self::input(input)?, to, over)?)
    })
}

/// Lets `dt` [s] pass for all contacts, 1e-9 to 1e6. A contact that fails is no failure of the call: its
/// numbers become NaN, and bristle_batch_status() says why.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_advance(batch: *mut BristleBatch, dt: f64) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says.
        let mut batch = unsafe { self::batch(batch) }?;
        Ok(batch.advance(dt)?)
    })
}

/// bristle_batch_advance() of some contacts.
///
/// `contacts`: `count` indices; one that is there twice advances once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_advance_some(
    batch: *mut BristleBatch,
    contacts: *const usize,
    count: usize,
    dt: f64,
) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says.
        let (mut batch, contacts) = unsafe { (self::batch(batch)?, raw::array("contacts", contacts, count)?) };
        Ok(batch.advance_some(contacts, dt)?)
    })
}

/// Time of a contact since its start [s].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_time(
    batch: *const BristleBatch,
    contact: usize,
    time: *mut f64,
) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says.
        let batch = unsafe { self::batch(batch) }?;
        if contact >= batch.len() {
            return Err(argument(format!("contact = {contact}: expected an index below {}", batch.len())));
        }
        // SAFETY: as above.
        unsafe { raw::fill("time", time, [batch.time(contact)].into_iter()) }
    })
}

/// One part of every sample to where the caller wants it.
unsafe fn read<T: Copy>(
    batch: *mut BristleBatch,
    out: *mut T,
    count: usize,
    part: impl Fn(&Sample) -> T,
) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says.
        let mut batch = unsafe { self::batch(batch) }?;
        rows(count, &batch)?;
        // A sample that is read ends a step, so that one that cannot be written is not read.
        raw::check_room("out", out, count)?;
        // SAFETY: as above.
        unsafe { raw::fill("out", out, batch.samples()?.iter().map(part)) }
    })
}

/// Reads poses of the centres of mass [m, m, rad]; of the patch, if its motion is prescribed.
///
/// `out`: `count` x 3.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_pose(batch: *mut BristleBatch, out: *mut f64, count: usize) -> BristleStatus {
    // SAFETY: pointers are as the header says; a row is three numbers without padding.
    unsafe { read(batch, out.cast::<[f64; 3]>(), count, |sample| sample.pose.into()) }
}

/// Reads twists of the centres of mass [m/s, m/s, rad/s]; of the patch origin, if the motion is prescribed.
///
/// `out`: `count` x 3.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_twist(batch: *mut BristleBatch, out: *mut f64, count: usize) -> BristleStatus {
    // SAFETY: as in `bristle_batch_pose`.
    unsafe { read(batch, out.cast::<[f64; 3]>(), count, |sample| sample.twist.into()) }
}

/// Reads friction wrenches of one pad on the body [N, N, N m], at the patch origin in the patch frame, under
/// the inputs at the end of the last call.
///
/// `out`: `count` x 3.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_wrench(batch: *mut BristleBatch, out: *mut f64, count: usize) -> BristleStatus {
    // SAFETY: as in `bristle_batch_pose`.
    unsafe { read(batch, out.cast::<[f64; 3]>(), count, |sample| sample.wrench.into()) }
}

/// Reads normal forces of one pad [N].
///
/// `out`: `count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_normal_force(
    batch: *mut BristleBatch,
    out: *mut f64,
    count: usize,
) -> BristleStatus {
    // SAFETY: pointers are as the header says.
    unsafe { read(batch, out, count, |sample| sample.normal_force) }
}

/// Reads which share of the normal force is on bristles that slip, each faster than 1e-5 m/s: 0 sticks, 1
/// slides everywhere.
///
/// `out`: `count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_slip(batch: *mut BristleBatch, out: *mut f64, count: usize) -> BristleStatus {
    // SAFETY: pointers are as the header says.
    unsafe { read(batch, out, count, |sample| sample.slip) }
}

/// Reads which share of the normal force is on bristles near their limit, whether they slip or not: longer
/// than the share `s_ba` of it, 0 to 1.
///
/// `out`: `count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_near_limit(
    batch: *mut BristleBatch,
    out: *mut f64,
    count: usize,
) -> BristleStatus {
    // SAFETY: pointers are as the header says.
    unsafe { read(batch, out, count, |sample| sample.near_limit) }
}

/// Reads status words: 0, or bits of BristleFault.
///
/// `out`: `count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_status(batch: *mut BristleBatch, out: *mut u32, count: usize) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says.
        let mut batch = unsafe { self::batch(batch) }?;
        rows(count, &batch)?;
        // SAFETY: as above.
        unsafe { raw::fill("out", out, batch.statuses()?.iter().map(bristle::Status::word)) }
    })
}

/// The friction wrench if the patch of a contact moved with `twist` for `dt` [s], under the inputs at
/// the end of the last call; nothing moves. It is that of one implicit stage over the whole time: a
/// host that integrates the body itself takes a step of Newton with `gain`, sets the velocities that come
/// out, and advances.
///
/// `twist`: 3, at the patch origin in the patch frame [m/s, m/s, rad/s]. `wrench`: 3, on the moving side, in
/// the same frame [N, N, N m]. `gain`: 3 x 3, its derivative over the twist, a row a component of the wrench.
/// A contact that has failed gives BRISTLE_STATUS_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_respond(
    batch: *mut BristleBatch,
    contact: usize,
    twist: *const f64,
    dt: f64,
    wrench: *mut f64,
    gain: *mut f64,
) -> BristleStatus {
    guard(|| {
        raw::check_out("wrench", wrench)?;
        raw::check_out("gain", gain)?;
        // SAFETY: pointers are as the header says.
        let (mut batch, twist) = unsafe { (self::batch(batch)?, *raw::reference("twist", twist.cast::<[f64; 3]>())?) };
        let answer = batch.respond(contact, Twist::from(twist), dt)?;
        // SAFETY: as above.
        unsafe {
            raw::fill("wrench", wrench.cast(), [<[f64; 3]>::from(answer.wrench)].into_iter())?;
            raw::fill("gain", gain.cast(), answer.gain.into_iter())
        }
    })
}

/// Puts contacts back to their start: time 0, with the inputs of the scenario. One that has failed is clean
/// again.
///
/// `contacts`: `count` indices. None is reset if one is out of range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_reset(
    batch: *mut BristleBatch,
    contacts: *const usize,
    count: usize,
) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says.
        let (mut batch, contacts) = unsafe { (self::batch(batch)?, raw::array("contacts", contacts, count)?) };
        Ok(batch.reset(contacts)?)
    })
}

/// Gives the state of contact `from`, its time and its inputs to others, which keep their own patches and
/// parameters.
///
/// `to`: `count` indices of contacts of the same model, kind of body and number of cells. None is changed if
/// one is out of range or of another kind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_copy(
    batch: *mut BristleBatch,
    from: usize,
    to: *const usize,
    count: usize,
) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says.
        let (mut batch, to) = unsafe { (self::batch(batch)?, raw::array("to", to, count)?) };
        Ok(batch.copy(from, to)?)
    })
}

/// Saves all contacts in place of what is in `snapshot`. The batch is not changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_save(batch: *mut BristleBatch, snapshot: *mut BristleSnapshot) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says.
        let (mut batch, mut saved) = unsafe { (self::batch(batch)?, saved(snapshot)?) };
        saved.bytes.clear();
        let done = batch.save_into(&mut saved.snapshot);
        if done.is_err() {
            // Half a snapshot is none.
            saved.snapshot = Snapshot::default();
        }
        Ok(done?)
    })
}

/// Puts all contacts to what they were when they were saved, in this batch or in one with the same contacts.
/// On the device that saved them they go on with the same bits, on another within its rounding.
///
/// `snapshot`: not changed. BRISTLE_STATUS_ARGUMENT if it is of another number or another kind of contacts;
/// then the batch has not changed either.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_batch_restore(
    batch: *mut BristleBatch,
    snapshot: *const BristleSnapshot,
) -> BristleStatus {
    guard(|| {
        // SAFETY: pointers are as the header says.
        let (mut batch, saved) = unsafe { (self::batch(batch)?, saved(snapshot)?) };
        Ok(batch.restore(&saved.snapshot)?)
    })
}

/// A snapshot of no contacts, for bristle_batch_save(). To be freed by bristle_snapshot_free().
#[unsafe(no_mangle)]
pub extern "C" fn bristle_snapshot_new() -> *mut BristleSnapshot {
    Box::into_raw(Box::new(BristleSnapshot(Mutex::default())))
}

/// Frees a snapshot; nothing if it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_snapshot_free(snapshot: *mut BristleSnapshot) {
    // SAFETY: pointers are as the header says.
    guard(|| unsafe {
        raw::free(snapshot);
        Ok(())
    });
}

/// A snapshot as bytes, for a file or another process of the same version.
///
/// `bytes`, `count`: the bytes and how many there are. They are the snapshot's, and valid until it is saved
/// to, asked for bytes again, or freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_snapshot_bytes(
    snapshot: *mut BristleSnapshot,
    bytes: *mut *const u8,
    count: *mut usize,
) -> BristleStatus {
    guard(|| {
        raw::check_out("bytes", bytes)?;
        raw::check_out("count", count)?;
        // SAFETY: pointers are as the header says.
        let mut saved = unsafe { saved(snapshot) }?;
        saved.bytes = saved.snapshot.to_bytes()?;
        // SAFETY: both have been looked at above.
        unsafe {
            bytes.write(saved.bytes.as_ptr());
            count.write(saved.bytes.len());
        }
        Ok(())
    })
}

/// The snapshot of bristle_snapshot_bytes().
///
/// `bytes`: `count` of them, which are copied. `out`: the new handle, to be freed by bristle_snapshot_free();
/// NULL after a failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bristle_snapshot_from_bytes(
    bytes: *const u8,
    count: usize,
    out: *mut *mut BristleSnapshot,
) -> BristleStatus {
    guard(|| {
        raw::check_out("out", out)?;
        // SAFETY: pointers are as the header says; `out` has been looked at.
        let bytes = unsafe {
            out.write(std::ptr::null_mut());
            raw::array("bytes", bytes, count)?
        };
        let saved = Saved { snapshot: Snapshot::from_bytes(bytes)?, bytes: Vec::new() };
        // SAFETY: as above.
        unsafe { out.write(Box::into_raw(Box::new(BristleSnapshot(Mutex::new(saved))))) };
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_have_the_numbers_of_the_header() {
        use BristleInput as C;
        let pairs = [
            (C::NormalForce, Input::NormalForce),
            (C::Fx, Input::Fx),
            (C::Fy, Input::Fy),
            (C::Tau, Input::Tau),
            (C::GravityX, Input::GravityX),
            (C::GravityY, Input::GravityY),
            (C::Vx, Input::Vx),
            (C::Vy, Input::Vy),
            (C::W, Input::W),
            (C::MuC, Input::MuC),
            (C::MuS, Input::MuS),
            (C::AnchorX, Input::AnchorX),
            (C::AnchorY, Input::AnchorY),
            (C::SurfaceVx, Input::SurfaceVx),
            (C::SurfaceVy, Input::SurfaceVy),
            (C::SurfaceW, Input::SurfaceW),
            (C::PatchNormalForce, Input::PatchNormalForce(0)),
            (C::PatchVx, Input::PatchVx(0)),
            (C::PatchVy, Input::PatchVy(0)),
            (C::PatchW, Input::PatchW(0)),
        ];
        assert_eq!(pairs.len(), Input::ALL.len() + 4);
        pairs.iter().for_each(|(c, rust)| assert_eq!(input(*c as u32).unwrap(), *rust));
        for k in 0..bristle::patch::MAX_PATCHES as u8 {
            for (c, rust) in Input::of_patch(k).into_iter().enumerate() {
                assert_eq!(input(C::PatchNormalForce as u32 + 4 * u32::from(k) + c as u32).unwrap(), rust);
            }
        }
        assert!(input(Input::all().count() as u32).is_err());
        let (_, header) = include_str!("../include/bristle.h").split_once(" * An input of a contact.").unwrap();
        for (input, comment) in Input::all().take(pairs.len()).zip(header.split("/**").skip(1)) {
            let bristle::range::Range { most, unit, .. } = input.range();
            assert!(comment.contains(&format!("[{}]", if unit.is_empty() { "-" } else { unit })), "{comment}");
            assert!(!comment.contains(" 1e") || comment.contains(&format!("{most:e}")), "{comment}");
        }
    }

    #[test]
    fn faults_have_the_bits_of_status_words() {
        use bristle::Reason;
        let bits = [(BristleFault::Twist, Reason::Twist), (BristleFault::Wrench, Reason::Wrench)];
        bits.into_iter().chain([(BristleFault::Steps, Reason::Steps)]).for_each(|(c, rust)| {
            assert_eq!(c as u32, rust as u32);
        });
        assert_eq!(BristleFault::Unconverged as u32, bristle::engine::UNCONVERGED);
    }

    #[test]
    fn a_handle_that_met_a_panic_refuses_further_calls() {
        let snapshot = bristle_snapshot_new();
        // SAFETY: the handle is new, and freed last.
        unsafe {
            let met = guard(|| {
                let _saved = saved(snapshot)?;
                panic!("on purpose")
            });
            assert_eq!(met, BristleStatus::Defect);
            let (mut bytes, mut count) = (std::ptr::null(), 0);
            assert_eq!(bristle_snapshot_bytes(snapshot, &raw mut bytes, &raw mut count), BristleStatus::Defect);
            bristle_snapshot_free(snapshot);
        }
    }

    #[test]
    fn the_version_is_that_of_the_library() {
        let manifest = include_str!("../../Cargo.toml");
        // SAFETY: it is a constant.
        let version = unsafe { CStr::from_ptr(bristle_version()) }.to_str().unwrap();
        assert!(manifest.contains(&format!("\nversion = \"{version}\"\n")), "{version}");
    }
}
