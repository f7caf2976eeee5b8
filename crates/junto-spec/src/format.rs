//! Number formats of weights and of the KV cache, and the bytes that a matrix takes in each.

use crate::units::Bytes;
use std::fmt;

/// The format in which a weight matrix is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// IEEE single precision.
    F32,
    /// bfloat16 (or IEEE half: the same size).
    Bf16,
    /// FP8 with one f32 scale per `block x block` tile (DeepSeek: 128).
    Fp8Block {
        /// Edge of a scaling tile.
        block: u32,
    },
    /// FP8 with one scale per tensor or per output channel.
    Fp8,
    /// Weight-only INT4, symmetric, one bf16 scale per `group` inputs (compressed-tensors
    /// `pack-quantized`), or with a 4-bit zero point per group as well (AWQ, GPTQ asymmetric).
    Int4 {
        /// Inputs per scale.
        group: u32,
        /// Whether a zero point is stored per group.
        zero_points: bool,
    },
    /// Weight-only or dynamic INT8 with one scale per output channel.
    Int8,
    /// OCP MXFP4: E2M1 with an E8M0 scale per 32 inputs.
    Mxfp4,
    /// NVFP4: E2M1 with an FP8 scale per 16 inputs and one f32 per tensor.
    Nvfp4,
    /// A GGUF mixture known only by its mean bits per weight, in thousandths.
    Mixed {
        /// Mean bits per weight times 1000.
        millibits: u32,
    },
}

impl Format {
    /// Bytes of a `rows x cols` (output x input) matrix, scales and zero points included.
    pub fn bytes(self, rows: u64, cols: u64) -> Bytes {
        let (rows_f, cols_f) = (rows as f64, cols as f64);
        let elements = rows_f * cols_f;
        let groups = |size: u32| rows_f * cols.div_ceil(u64::from(size)) as f64;
        Bytes(match self {
            Self::F32 => elements * 4.0,
            Self::Bf16 => elements * 2.0,
            Self::Fp8Block { block } => {
                let tiles = rows.div_ceil(u64::from(block)) * cols.div_ceil(u64::from(block));
                elements + 4.0 * tiles as f64
            }
            Self::Fp8 | Self::Int8 => elements + 4.0 * rows_f,
            Self::Int4 { group, zero_points } => {
                elements * 0.5 + groups(group) * if zero_points { 2.5 } else { 2.0 }
            }
            Self::Mxfp4 => elements * 0.5 + groups(32),
            Self::Nvfp4 => elements * 0.5 + groups(16) + 4.0,
            Self::Mixed { millibits } => elements * f64::from(millibits) / 8000.0,
        })
    }

    /// The kernel family that multiplies by such a matrix: the key of the efficiency constants.
    pub fn family(self) -> &'static str {
        match self {
            Self::F32 | Self::Bf16 => "bf16",
            Self::Fp8Block { .. } | Self::Fp8 => "fp8",
            Self::Int4 { .. } => "int4",
            Self::Int8 => "int8",
            Self::Mxfp4 => "mxfp4",
            Self::Nvfp4 => "nvfp4",
            Self::Mixed { .. } => "gguf",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::F32 => write!(f, "f32"),
            Self::Bf16 => write!(f, "bf16"),
            Self::Fp8Block { block } => write!(f, "fp8 block {block}"),
            Self::Fp8 => write!(f, "fp8"),
            Self::Int4 { group, zero_points: false } => write!(f, "int4 group {group}"),
            Self::Int4 { group, zero_points: true } => write!(f, "int4 group {group} zero-point"),
            Self::Int8 => write!(f, "int8"),
            Self::Mxfp4 => write!(f, "mxfp4"),
            Self::Nvfp4 => write!(f, "nvfp4"),
            Self::Mixed { millibits } => write!(f, "gguf {:.2} bit", f64::from(*millibits) / 1e3),
        }
    }
}

/// The format of the KV cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KvFormat {
    /// Two bytes a number.
    Bf16,
    /// One byte a number.
    Fp8,
}

impl KvFormat {
    /// Bytes of one number.
    pub fn bytes(self) -> f64 {
        match self {
            Self::Bf16 => 2.0,
            Self::Fp8 => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_kimi_expert_is_24_77_mb() {
        // facts: 44,040,192 parameters, 22.02 MB of nibbles and 2.75 MB of bf16 scales.
        let int4 = Format::Int4 { group: 32, zero_points: false };
        let expert = int4.bytes(2048, 7168) * 2.0 + int4.bytes(7168, 2048);
        assert!((expert.0 - 24_772_608.0).abs() < 0.5, "{expert:?}");
    }
}
