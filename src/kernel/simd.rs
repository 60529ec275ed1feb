//! Which vector instructions the CPU engine uses.

/// Vector instructions of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Simd {
    /// What every processor of the architecture has: SSE2 on x86-64, NEON on aarch64.
    Baseline,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 (F, DQ).
    Avx512,
}

impl Simd {
    /// The widest that this processor has.
    #[must_use]
    pub fn widest() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                return Self::Avx2;
            }
        }
        Self::Baseline
    }
}
