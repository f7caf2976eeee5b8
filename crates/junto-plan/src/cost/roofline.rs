//! Time of a kernel from its bytes and its operations.

use crate::cost::term::Bound;
use junto_spec::machine::Gpu;
use junto_spec::units::{Bytes, BytesPerSecond, Flops, FlopsPerSecond, Seconds};

/// Rows of one tile of the matrix units: fewer cost as much.
pub(crate) const TILE_ROWS: f64 = 16.0;

/// Time of a kernel that moves `bytes` and computes `flops`: `(m^p + c^p)^(1/p)` with `p = 3/2`.
///
/// Kernels overlap the two imperfectly: measured grouped GEMMs lie between the sum (`p = 1`) and the
/// maximum (`p = ∞`), closest to `p` = 1 to 1.6 (docs/cost-model.md, "Roofline").
pub(crate) fn roofline(
    bytes: Bytes,
    bandwidth: BytesPerSecond,
    flops: Flops,
    rate: FlopsPerSecond,
) -> (Seconds, Bound) {
    let memory = (bytes / bandwidth).0;
    let compute = (flops / rate).0;
    let sum = memory * memory.sqrt() + compute * compute.sqrt();
    let bound = if memory < compute { Bound::Compute } else { Bound::Memory };
    (Seconds((sum * sum).cbrt()), bound)
}

/// The matrix rate that a kernel family (index into `constants::FAMILIES`) runs at.
///
/// Weight-only formats (int4, GGUF, and fp4 where there are no fp4 units) compute in bf16; MXFP4 on
/// GPUs with fp4 units multiplies by 8-bit activations at the fp8 rate.
pub(crate) fn rate(gpu: &Gpu, family: usize) -> FlopsPerSecond {
    let bf16 = gpu.bf16;
    match family {
        1 | 3 => gpu.fp8.unwrap_or(bf16),
        4 if gpu.fp4.is_some() => gpu.fp8.unwrap_or(bf16),
        5 => gpu.fp4.unwrap_or(bf16),
        _ => bf16,
    }
}
