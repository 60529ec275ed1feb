//! Numbers in vector registers, for sums over cells.
//!
//! Numbers come in blocks of sixteen. Functions that only add and multiply are plain loops over the numbers
//! of a block, which the compiler vectorises; sums with a logarithm in every term are written over
//! [`Vector`]. Multiplications and additions are fused where the code says `mul_add`, with or without
//! hardware for it, and the order of summation is fixed. Results are therefore the same bits on every
//! machine, except for those of functions over [`Vector`], whose roots and logarithms depend on the
//! instructions.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod block;
mod vector;

#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
pub use block::{Block, LANES, blocks, rsqrt, total};
pub use vector::{Number, Portable, Vector};

/// Compiles a function for AVX-512, for AVX2 and for any processor, and calls the widest copy that the
/// processor runs. `<V>` is the [`Vector`] of that copy.
macro_rules! vectorised {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty $body:block) => {
        vectorised! { @copies [] [] [] $(#[$doc])* $vis fn $name($($arg: $ty),*) -> $ret $body }
    };
    ($(#[$doc:meta])* $vis:vis fn $name:ident<$v:ident>($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty $body:block) => {
        vectorised! {
            @copies [<$v: $crate::limit_surface::simd::Vector>] [::<$crate::limit_surface::simd::Portable>]
            [::<$crate::limit_surface::simd::Avx512>] $(#[$doc])* $vis fn $name($($arg: $ty),*) -> $ret $body
        }
    };
    (
        @copies [$($generic:tt)*] [$($portable:tt)*] [$($wide:tt)*]
        $(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty $body:block
    ) => {
        $(#[$doc])*
        $vis fn $name($($arg: $ty),*) -> $ret {
            #[inline(always)]
            fn body $($generic)* ($($arg: $ty),*) -> $ret $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,fma")]
                fn avx512($($arg: $ty),*) -> $ret {
                    body $($wide)* ($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $ty),*) -> $ret {
                    body $($portable)* ($($arg),*)
                }
                if is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512bw")
                {
                    // SAFETY: the processor has the features, as just asked.
                    #[expect(unsafe_code, reason = "calling a copy compiled for features that were just detected")]
                    return unsafe { avx512($($arg),*) };
                }
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                    // SAFETY: as above.
                    #[expect(unsafe_code, reason = "calling a copy compiled for features that were just detected")]
                    return unsafe { avx2($($arg),*) };
                }
            }
            body $($portable)* ($($arg),*)
        }
    };
}
pub(super) use vectorised;
