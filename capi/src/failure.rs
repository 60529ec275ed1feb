//! Turns errors and panics into a code for the caller and a sentence for `bristle_last_error`.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bristle::EngineError;
use bristle::batch::SnapshotError;
use bristle::error::MemoryError;
use bristle_scenario::ScenarioError;

/// How a call went.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BristleStatus {
    /// All is done.
    Ok = 0,
    /// A pointer is NULL that may not be, or one to numbers is not aligned.
    Null = 1,
    /// A number, an index, a length or a name is out of range; the message has the range.
    Argument = 2,
    /// The scenario is wrong; the message has the line.
    Scenario = 3,
    /// There is no such device, or the library was built without it.
    NoDevice = 4,
    /// The device failed, is lost, has not enough memory, or was opened before this process was forked. After
    /// that the batch says so at every call; a snapshot saved before can be restored in a new batch.
    Device = 5,
    /// The bytes are no snapshot, or one of another version, or damaged.
    Snapshot = 6,
    /// A defect of the library, of which more is on stderr. The handle refuses all further calls, and can
    /// only be freed.
    Defect = 7,
    /// The machine has not the memory for what was asked; the message has what it takes and what is free.
    /// Nothing has changed.
    Memory = 8,
}

/// Why a call cannot do what was asked.
#[derive(Debug)]
pub struct Failure {
    status: BristleStatus,
    message: String,
}

impl Failure {
    pub fn new(status: BristleStatus, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, message: bristle::quote::message(&message).into_owned() }
    }

    pub fn null(name: &str) -> Self {
        Self::new(BristleStatus::Null, format!("{name} = NULL: expected a pointer"))
    }

    /// The failure of a call on a handle on which an earlier call has panicked.
    pub fn broken() -> Self {
        Self::new(BristleStatus::Defect, "an earlier call on this handle met a defect of the library: free it")
    }

    fn panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().copied();
        let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        Self::new(BristleStatus::Defect, format!("a defect of the library: {text}"))
    }
}

impl From<EngineError> for Failure {
    fn from(e: EngineError) -> Self {
        let status = match &e {
            EngineError::NoAdapter { .. } | EngineError::NoGpu => BristleStatus::NoDevice,
            EngineError::Device(_) | EngineError::Limit { .. } => BristleStatus::Device,
            EngineError::Memory(_) => BristleStatus::Memory,
            EngineError::Parameter { .. } | EngineError::Frame { .. } | EngineError::Argument(_) => {
                BristleStatus::Argument
            }
            EngineError::Stopped => BristleStatus::Defect,
        };
        Self::new(status, e.to_string())
    }
}

impl From<ScenarioError> for Failure {
    fn from(e: ScenarioError) -> Self {
        Self::new(BristleStatus::Scenario, e.to_string())
    }
}

impl From<MemoryError> for Failure {
    fn from(e: MemoryError) -> Self {
        EngineError::from(e).into()
    }
}

impl From<SnapshotError> for Failure {
    fn from(e: SnapshotError) -> Self {
        Self::new(BristleStatus::Snapshot, e.to_string())
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs the body of a C function; errors and panics become codes, as a panic must not unwind into C.
pub fn guard(call: impl FnOnce() -> Result<(), Failure>) -> BristleStatus {
    // What a panic leaves half done is behind a mutex, which refuses it from then on.
    let failure = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => return BristleStatus::Ok,
        Ok(Err(failure)) => failure,
        Err(payload) => Failure::panic(&*payload),
    };
    let message = CString::new(failure.message.replace('\0', "\u{fffd}")).unwrap_or_default();
    // A thread that ends has no place for messages any more.
    let _ = LAST.try_with(|last| last.replace(message));
    failure.status
}

/// Why the last call on this thread that failed did so: one or more lines in UTF-8; empty if none has. The
/// text is valid until the next call on this thread fails.
#[unsafe(no_mangle)]
pub extern "C" fn bristle_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    fn last() -> String {
        let text = bristle_last_error();
        // SAFETY: the text is this thread's, and no call fails before it is copied.
        unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_panic_becomes_a_code_and_a_message() {
        assert_eq!(last(), "");
        assert_eq!(guard(|| panic!("at {}", 7)), BristleStatus::Defect);
        assert_eq!(last(), "a defect of the library: at 7");
        assert_eq!(guard(|| Ok(())), BristleStatus::Ok);
        assert_eq!(last(), "a defect of the library: at 7", "a call that succeeds leaves the message");
        assert_eq!(guard(|| Err(Failure::new(BristleStatus::Scenario, "a\0b"))), BristleStatus::Scenario);
        assert_eq!(last(), "a\u{fffd}b");
    }

    #[test]
    fn threads_have_messages_of_their_own() {
        guard(|| Err(Failure::null("x")));
        assert_eq!(std::thread::spawn(last).join().unwrap(), "");
        assert_eq!(last(), "x = NULL: expected a pointer");
    }
}
