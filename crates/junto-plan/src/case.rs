//! A layout in all that decides whether it runs and what it holds.

use crate::memory::model_bytes::ModelBytes;
use crate::options::{Exchange, Options};
use junto_spec::comm_rules::{CommForm, CommRules, DenseRule};
use junto_spec::engine::{EngineProfile, Family};
use junto_spec::layout::Layout;
use junto_spec::machine::MachineSpec;
use junto_spec::model::ModelSpec;

/// A layout of a model on a machine, by an engine, with options.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The model.
    pub model: &'a ModelSpec,
    /// Its weights, prepared for this engine.
    pub bytes: &'a ModelBytes,
    /// The machine.
    pub machine: &'a MachineSpec,
    /// The engine.
    pub engine: &'a EngineProfile,
    /// The layout.
    pub layout: &'a Layout,
    /// The options of the run.
    pub options: &'a Options,
}

impl Case<'_> {
    /// How ranks exchange tokens in decode.
    pub fn comm_rules(&self) -> CommRules {
        let family = self.engine.family;
        match self.options.exchange {
            Exchange::AllToAll => CommRules {
                form: CommForm::Dispatch,
                ..CommRules::default_for(family, self.layout)
            },
            Exchange::GatherScatter if family == Family::Native => CommRules::invariant(),
            Exchange::GatherScatter => CommRules::default_for(family, self.layout),
        }
    }

    /// How the dense parts of the model are cut.
    pub fn dense(&self) -> DenseRule {
        DenseRule::of(&self.comm_rules(), self.layout)
    }

    /// The memory fraction: as asked, or the engine's default.
    pub fn memory_fraction(&self) -> f64 {
        self.options.memory_fraction.unwrap_or(self.engine.defaults.memory_fraction)
    }

    /// Most tokens of a prefill pass of one scheduler: as asked, or the engine's default.
    pub fn chunked_prefill(&self) -> u32 {
        self.options.chunked_prefill.unwrap_or(self.engine.defaults.chunked_prefill)
    }

    /// Most tokens of one request, prompt and output together.
    pub fn max_context(&self) -> u64 {
        self.options.max_context.map_or(self.model.max_position_embeddings, u64::from)
    }
}
