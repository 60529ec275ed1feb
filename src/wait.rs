//! Waiting for a device.

use std::pin::Pin;

use crate::error::{DeviceError, EngineError};

/// Work that is done when it is polled. It is in a box, since each crate that polls an `async` function
/// compiles all of it once more.
pub(crate) type Work<'a, T> = Pin<Box<dyn Future<Output = Result<T, EngineError>> + 'a>>;

/// The result of `work`, for which the thread waits.
///
/// # Errors
/// What the work says. In a browser no thread may wait: there nothing is done, and the error says what to
/// call.
pub(crate) fn wait_for<T, E: From<DeviceError>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    #[cfg(all(feature = "gpu", not(target_family = "wasm")))]
    return pollster::block_on(work);
    #[cfg(any(not(feature = "gpu"), target_family = "wasm"))]
    {
        drop(work);
        let reason =
            "no thread may wait in a browser: expected the call of this name with `_async`, in JavaScript `Async`";
        Err(DeviceError::Failed { reason: reason.to_owned() }.into())
    }
}
