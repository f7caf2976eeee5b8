//! An accelerator, by its datasheet.

use super::error::MachineError;
use super::parse::positive;
use super::{GENERATIONS, Gpu};
use crate::units::{Bytes, BytesPerSecond, FlopsPerSecond};
use crate::{catalog, toml_file};
use serde::Deserialize;

/// A GPU as a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGpu {
    name: String,
    generation: String,
    memory_gib: f64,
    memory_bandwidth_gb_s: f64,
    bf16_tflops: f64,
    fp8_tflops: Option<f64>,
    fp4_tflops: Option<f64>,
    l2_mib: f64,
    source: String,
}

impl Gpu {
    /// A GPU of the catalog.
    pub fn catalog(name: &str) -> Result<Self, MachineError> {
        Self::named(name, "machine")
    }

    /// Every name that [`Gpu::catalog`] knows.
    pub fn names() -> Vec<&'static str> {
        catalog::names("gpus")
    }

    /// The GPU that `file` calls `name`.
    pub(super) fn named(name: &str, file: &str) -> Result<Self, MachineError> {
        let Some(text) = catalog::text("gpus", name, "toml") else {
            let near = toml_file::nearest(name, Self::names().into_iter());
            let (file, gpu) = (file.to_owned(), name.to_owned());
            return Err(MachineError::UnknownGpu { file, gpu, near });
        };
        let gpu_file = format!("gpus/{name}.toml");
        Self::checked(toml_file::parse(text, &gpu_file)?, &gpu_file)
    }

    pub(super) fn checked(raw: RawGpu, file: &str) -> Result<Self, MachineError> {
        if !GENERATIONS.contains(&raw.generation.as_str()) {
            let (file, generation) = (file.to_owned(), raw.generation);
            return Err(MachineError::UnknownGeneration { file, generation });
        }
        let rate =
            |field, tflops| positive(file, field, tflops, 1e6).map(FlopsPerSecond::from_tflops);
        let memory = positive(file, "gpu.memory_gib", raw.memory_gib, 1e6)?;
        let bandwidth =
            positive(file, "gpu.memory_bandwidth_gb_s", raw.memory_bandwidth_gb_s, 1e6)?;
        let l2 = positive(file, "gpu.l2_mib", raw.l2_mib, 1e6)?;
        Ok(Self {
            name: raw.name,
            generation: raw.generation,
            memory: Bytes::from_gib(memory),
            memory_bandwidth: BytesPerSecond::from_gb_s(bandwidth),
            bf16: rate("gpu.bf16_tflops", raw.bf16_tflops)?,
            fp8: raw.fp8_tflops.map(|tflops| rate("gpu.fp8_tflops", tflops)).transpose()?,
            fp4: raw.fp4_tflops.map(|tflops| rate("gpu.fp4_tflops", tflops)).transpose()?,
            l2: Bytes(l2 * f64::from(1 << 20)),
            source: raw.source,
        })
    }
}
