//! Makes references and slices of the pointers of callers, who promise that the pointers are valid.

use std::ffi::{CStr, c_char};

use crate::failure::{BristleStatus, Failure};

/// Refuses a pointer that is NULL or not aligned, and more elements than memory can hold.
fn check<T>(name: &str, pointer: *const T, count: usize) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(Failure::null(name));
    }
    if !pointer.is_aligned() {
        return Err(Failure::new(BristleStatus::Null, format!("{name}: expected a pointer aligned to its numbers")));
    }
    if count > isize::MAX as usize / size_of::<T>().max(1) {
        let message = format!("{name}: {count} elements: expected no more than memory has");
        return Err(Failure::new(BristleStatus::Argument, message));
    }
    Ok(())
}

/// What is behind a pointer.
pub unsafe fn reference<'a, T>(name: &str, pointer: *const T) -> Result<&'a T, Failure> {
    check(name, pointer, 1)?;
    // SAFETY: the caller says that the pointer is valid; it is neither null nor unaligned.
    Ok(unsafe { &*pointer })
}

/// An array; that of no elements may be NULL.
pub unsafe fn array<'a, T>(name: &str, pointer: *const T, count: usize) -> Result<&'a [T], Failure> {
    if count == 0 {
        return Ok(&[]);
    }
    check(name, pointer, count)?;
    // SAFETY: the caller says that there are `count` elements; the pointer is neither null nor unaligned.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// Copies values to where the caller wants them, whose memory may be uninitialised.
pub unsafe fn fill<T: Copy>(name: &str, out: *mut T, values: impl ExactSizeIterator<Item = T>) -> Result<(), Failure> {
    if values.len() == 0 {
        return Ok(());
    }
    check(name, out, values.len())?;
    for (k, value) in values.enumerate() {
        // SAFETY: the caller says that there is space for all of them; the pointer is neither null nor
        // unaligned.
        unsafe { out.add(k).write(value) };
    }
    Ok(())
}

/// Refuses a pointer to which so many results cannot be written.
pub fn check_room<T>(name: &str, out: *mut T, count: usize) -> Result<(), Failure> {
    if count == 0 { Ok(()) } else { check(name, out, count) }
}

/// Refuses a pointer to which no result can be written.
pub fn check_out<T>(name: &str, out: *mut T) -> Result<(), Failure> {
    check(name, out, 1)
}

/// Text in UTF-8.
pub unsafe fn text<'a>(name: &str, pointer: *const c_char) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::null(name));
    }
    // SAFETY: the caller says that it ends in a zero byte.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|e| Failure::new(BristleStatus::Argument, format!("{name}: {e}: expected UTF-8")))
}

/// Frees what [`Box::into_raw`] gave; nothing of NULL.
pub unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: the caller says that it is a handle of ours, and not freed yet.
        drop(unsafe { Box::from_raw(handle) });
    }
}
