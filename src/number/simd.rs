//! Chooses the vector instructions of the CPU engine.

/// Vector instructions of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Simd {
    /// What every processor of the architecture has: SSE2 on x86-64, NEON on aarch64, SIMD128 on wasm32.
    Baseline,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 (F, DQ).
    Avx512,
}

impl Simd {
    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// The widest that this processor has.
    pub fn widest() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            // Every processor with AVX2 has POPCNT, which counts the lanes of a mask.
            let counts = is_x86_feature_detected!("popcnt") && is_x86_feature_detected!("fma");
            if counts && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
                return Self::Avx512;
            }
            if counts && is_x86_feature_detected!("avx2") {
                return Self::Avx2;
            }
        }
        Self::Baseline
    }
}

/// Compiles a function once for each kind of vector instructions, as the compiler uses instructions that only
/// some processors have in functions with `#[target_feature]` alone. A function that is generic over the
/// number type `<R>` calls the copy for the instructions of that type; the caller chooses the type, see
/// [`widest`]. A function without `<R>`, whose plain loops the compiler vectorises, calls the widest copy
/// that the processor runs.
#[doc(hidden)]
#[macro_export]
macro_rules! copies {
    (
        $(#[$doc:meta])*
        $vis:vis fn $name:ident<$r:ident $(, $t:ident: $bound:path)?>($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty
        $body:block
    ) => {
        $(#[$doc])*
        $vis fn $name<$r: $crate::number::real::Real $(, $t: $bound)?>($($arg: $ty),*) -> $ret {
            // The conditions are constants of the number type, so that only one copy is compiled for each
            // type.
            $crate::number::simd::copies! {
                @ [<$r: $crate::number::real::Real $(, $t: $bound)?>] [::<$r $(, $t)?>]
                if const { matches!($r::SIMD, $crate::number::simd::Simd::Avx512) },
                const { matches!($r::SIMD, $crate::number::simd::Simd::Avx2) },
                const { matches!($r::SIMD, $crate::number::simd::Simd::Baseline) };
                ($($arg: $ty),*) -> $ret $body
            }
        }
    };
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty $body:block) => {
        $(#[$doc])*
        $vis fn $name($($arg: $ty),*) -> $ret {
            let widest = $crate::number::simd::Simd::widest();
            $crate::number::simd::copies! {
                @ [] []
                if widest == $crate::number::simd::Simd::Avx512,
                widest == $crate::number::simd::Simd::Avx2,
                widest == $crate::number::simd::Simd::Baseline;
                ($($arg: $ty),*) -> $ret $body
            }
        }
    };
    (
        @ [$($generic:tt)*] [$($numbers:tt)*] if $avx512:expr, $avx2:expr, $baseline:expr;
        ($($arg:ident: $ty:ty),*) -> $ret:ty $body:block
    ) => {
        #[inline(always)]
        fn body $($generic)* ($($arg: $ty),*) -> $ret $body
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512dq,fma,popcnt")]
        fn avx512 $($generic)* ($($arg: $ty),*) -> $ret {
            body $($numbers)* ($($arg),*)
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,popcnt")]
        fn avx2 $($generic)* ($($arg: $ty),*) -> $ret {
            body $($numbers)* ($($arg),*)
        }
        #[cfg(target_arch = "x86_64")]
        if $avx512 {
            // SAFETY: values of a number type exist only where its instructions do ([`crate::number::x86`]),
            // and `Simd::widest` has asked the processor.
            #[expect(unsafe_code, reason = "calling a copy compiled for instructions that the processor has")]
            return unsafe { avx512 $($numbers)* ($($arg),*) };
        }
        #[cfg(target_arch = "x86_64")]
        if $avx2 {
            // SAFETY: as above.
            #[expect(unsafe_code, reason = "calling a copy compiled for instructions that the processor has")]
            return unsafe { avx2 $($numbers)* ($($arg),*) };
        }
        if $baseline {
            return body $($numbers)* ($($arg),*);
        }
        unreachable!("all kinds of instructions are above")
    };
}
pub use copies;

/// A call of one of [`copies`] in the widest vectors of this processor, of numbers of this precision.
#[doc(hidden)]
#[macro_export]
macro_rules! widest {
    ($name:ident::<f32>($($arg:expr),* $(,)?)) => {
        $crate::number::simd::widest!(@ $name, Avx512F32, Avx2F32, F32, $($arg),*)
    };
    ($name:ident::<f64>($($arg:expr),* $(,)?)) => {
        $crate::number::simd::widest!(@ $name, Avx512F64, Avx2F64, F64, $($arg),*)
    };
    (@ $name:ident, $avx512:ident, $avx2:ident, $number:ident, $($arg:expr),*) => {
        match $crate::number::simd::Simd::widest() {
            #[cfg(target_arch = "x86_64")]
            $crate::number::simd::Simd::Avx512 => $name::<$crate::number::x86::$avx512>($($arg),*),
            #[cfg(target_arch = "x86_64")]
            $crate::number::simd::Simd::Avx2 => $name::<$crate::number::x86::$avx2>($($arg),*),
            _ => $name::<$crate::number::baseline::$number>($($arg),*),
        }
    };
}
pub use widest;
