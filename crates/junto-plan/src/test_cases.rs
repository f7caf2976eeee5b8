//! Cases for tests, from the catalog.

use crate::case::Case;
use crate::memory::model_bytes::ModelBytes;
use crate::options::Options;
use junto_spec::engine::EngineProfile;
use junto_spec::format::Format;
use junto_spec::layout::Layout;
use junto_spec::machine::MachineSpec;
use junto_spec::model::ModelSpec;

/// Everything that a [`Case`] borrows.
pub(crate) struct Owned {
    pub(crate) model: ModelSpec,
    pub(crate) bytes: ModelBytes,
    pub(crate) machine: MachineSpec,
    pub(crate) engine: EngineProfile,
    pub(crate) options: Options,
}

impl Owned {
    pub(crate) fn new(model: &str, machine: &str, engine: &str) -> Self {
        let model = self::model(model);
        let engine = EngineProfile::catalog(engine).unwrap();
        Self {
            bytes: ModelBytes::new(&model, engine.family),
            model,
            machine: MachineSpec::catalog(machine).unwrap(),
            engine,
            options: Options::default(),
        }
    }

    /// Kimi K2.6 on eight RTX PRO 6000 of 94.9 GiB, the case of the facts.
    pub(crate) fn kimi(engine: &str) -> Self {
        Self::new("kimi-k2.6", "8x-rtx-pro-6000", engine)
    }

    pub(crate) fn case<'a>(&'a self, layout: &'a Layout) -> Case<'a> {
        let Self { model, bytes, machine, engine, options } = self;
        Case { model, bytes, machine, engine, layout, options }
    }
}

/// A model of the catalog; `name:fp8` and `name:awq` in the usual formats of such checkpoints.
fn model(name: &str) -> ModelSpec {
    let (name, format) = name.split_once(':').unwrap_or((name, ""));
    let mut model = ModelSpec::catalog(name).unwrap();
    let format = match format {
        "fp8" => Format::Fp8Block { block: 128 },
        "awq" => Format::Int4 { group: 128, zero_points: true },
        _ => return model,
    };
    let formats = &mut model.quantization;
    for part in [
        &mut formats.attention,
        &mut formats.attention_output,
        &mut formats.routed_experts,
        &mut formats.shared_experts,
        &mut formats.dense_mlp,
    ] {
        *part = format;
    }
    model
}
