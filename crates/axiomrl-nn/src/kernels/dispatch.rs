//! Choosing the instruction set at run time.
//!
//! `simd!` compiles one loop several times, with different CPU features enabled, and calls the best the machine can run. Every
//! version performs the same operations in the same order with fused multiply-add, so all of them give the same bits; on an x86
//! machine without FMA (before 2013) the portable version is correct but slow.

use std::sync::atomic::{AtomicU8, Ordering};

/// Instruction sets in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum SimdLevel {
    /// Whatever the binary was compiled for.
    Portable = 1,
    /// AVX2 and FMA.
    Avx2 = 2,
    /// AVX-512 (F, BW, DQ, VL).
    Avx512 = 3,
}

/// 0 means "not looked at yet".
static LEVEL: AtomicU8 = AtomicU8::new(0);

/// The best instruction set this machine has, or the limit set by [`limit_simd`].
#[inline(always)]
pub fn level() -> SimdLevel {
    match LEVEL.load(Ordering::Relaxed) {
        3 => SimdLevel::Avx512,
        2 => SimdLevel::Avx2,
        1 => SimdLevel::Portable,
        _ => set_level(detect()),
    }
}

/// Uses at most `limit` in this process: for comparing the versions, never needed otherwise.
pub fn limit_simd(limit: SimdLevel) -> SimdLevel {
    set_level(detect().min(limit))
}

#[cold]
fn set_level(level: SimdLevel) -> SimdLevel {
    LEVEL.store(level as u8, Ordering::Relaxed);
    level
}

fn detect() -> SimdLevel {
    #[cfg(target_arch = "x86_64")]
    {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if avx2 && avx512 {
            return SimdLevel::Avx512;
        }
        if avx2 {
            return SimdLevel::Avx2;
        }
    }
    SimdLevel::Portable
}

/// Compiles a function for each instruction set and dispatches at run time.
macro_rules! simd {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block)*) => {$(
        $(#[$meta])*
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn portable($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl")]
                fn avx512($($arg: $ty),*) $(-> $ret)? {
                    portable($($arg),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $ty),*) $(-> $ret)? {
                    portable($($arg),*)
                }
                match $crate::kernels::dispatch::level() {
                    // SAFETY: `level` names an instruction set only after detecting all of these features.
                    $crate::kernels::dispatch::SimdLevel::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::kernels::dispatch::SimdLevel::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::kernels::dispatch::SimdLevel::Portable => {}
                }
            }
            portable($($arg),*)
        }
    )*};
}
pub(crate) use simd;
