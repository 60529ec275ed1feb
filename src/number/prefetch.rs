//! Loads memory into the caches before it is needed.

/// Bytes of a line of the caches.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// Asks the processor to bring `values` into its caches while it goes on. It does so on x86-64; elsewhere
/// nothing happens.
pub fn prefetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let first = values.as_ptr().cast::<i8>();
        for at in (0..size_of_val(values)).step_by(LINE) {
            // SAFETY: the address is within `values`; a prefetch changes nothing but the time of later
            // accesses.
            #[expect(unsafe_code, reason = "an intrinsic")]
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(first.add(at));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}
