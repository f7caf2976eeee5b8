//! The terms of a step: what takes time, why it takes that long, and where the figure comes from.

use junto_spec::source::Source;
use junto_spec::units::Seconds;

/// What takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum Term {
    /// q, k, v, o and latent projections.
    AttentionProjections,
    /// Attention over the KV cache, or the state of linear attention.
    AttentionKv,
    /// Router GEMM.
    Router,
    /// Routed experts.
    RoutedExperts,
    /// Shared experts.
    SharedExperts,
    /// Dense MLPs.
    DenseMlp,
    /// Norms, rope, top-k and other small kernels; launch gaps inside a graph.
    SmallKernels,
    /// Processor time to issue kernels, where no graph replays them.
    Launch,
    /// All-reduces.
    AllReduce,
    /// Gathers, scatters and all-to-alls of data-parallel attention and expert dispatch.
    Exchange,
    /// Collectives of decode context parallelism.
    ContextParallel,
    /// Hand-over between pipeline stages.
    PipelineHops,
    /// Waiting of pipeline stages for the slowest.
    PipelineBubble,
    /// Output head and its gather.
    Head,
    /// Host, scheduler and sampling.
    Host,
    /// Draft tokens of speculative decoding.
    Draft,
    /// Prefill of other requests between two tokens of one.
    PrefillInterference,
}

/// Number of terms.
pub const TERMS: usize = 17;

impl Term {
    /// All terms, in the order of a step.
    pub const ALL: [Self; TERMS] = [
        Self::AttentionProjections,
        Self::AttentionKv,
        Self::Router,
        Self::RoutedExperts,
        Self::SharedExperts,
        Self::DenseMlp,
        Self::SmallKernels,
        Self::Launch,
        Self::AllReduce,
        Self::Exchange,
        Self::ContextParallel,
        Self::PipelineHops,
        Self::PipelineBubble,
        Self::Head,
        Self::Host,
        Self::Draft,
        Self::PrefillInterference,
    ];

    /// Name for people and for JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::AttentionProjections => "attention projections",
            Self::AttentionKv => "attention over KV",
            Self::Router => "router",
            Self::RoutedExperts => "routed experts",
            Self::SharedExperts => "shared experts",
            Self::DenseMlp => "dense MLP",
            Self::SmallKernels => "small kernels",
            Self::Launch => "kernel launch (no graph)",
            Self::AllReduce => "all-reduce",
            Self::Exchange => "gather/scatter/all-to-all",
            Self::ContextParallel => "context-parallel exchange",
            Self::PipelineHops => "pipeline hops",
            Self::PipelineBubble => "pipeline bubble",
            Self::Head => "output head",
            Self::Host => "host and sampling",
            Self::Draft => "draft model",
            Self::PrefillInterference => "prefill of others",
        }
    }
}

/// What bounds a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// Memory bandwidth.
    Memory,
    /// Matrix rate.
    Compute,
    /// A fixed latency.
    Latency,
    /// A link's bandwidth.
    Link,
    /// The host processor.
    Host,
}

impl Bound {
    /// Name for people and for JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Compute => "compute",
            Self::Latency => "latency",
            Self::Link => "link",
            Self::Host => "host",
        }
    }
}

/// Time of one term, with what bounds most of it and its weakest source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Time in the step.
    pub time: Seconds,
    /// What bounds the larger share of it.
    pub bound: Bound,
    /// The weakest source of any figure in it.
    pub source: Source,
}

/// The terms of a step. The total is computed, never stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepCost {
    parts: [Part; TERMS],
}

impl Default for StepCost {
    fn default() -> Self {
        let nothing = Part { time: Seconds(0.0), bound: Bound::Latency, source: Source::Measured };
        Self { parts: [nothing; TERMS] }
    }
}

impl StepCost {
    /// Adds time to a term. The bound of the larger addition stands; the weakest source stands.
    pub(crate) fn add(&mut self, term: Term, time: Seconds, bound: Bound, source: Source) {
        let part = &mut self.parts[term as usize];
        if part.time.0 < time.0 {
            part.bound = bound;
        }
        if time.0 > 0.0 {
            part.source = part.source.max(source);
        }
        part.time += time;
    }

    /// Adds `times` times another cost.
    pub(crate) fn add_scaled(&mut self, other: &Self, times: f64) {
        for term in Term::ALL {
            let part = other.part(term);
            if part.time.0 > 0.0 {
                self.add(term, part.time * times, part.bound, part.source);
            }
        }
    }

    /// One term.
    pub fn part(&self, term: Term) -> Part {
        self.parts[term as usize]
    }

    /// Time of one term.
    pub fn time(&self, term: Term) -> Seconds {
        self.parts[term as usize].time
    }

    /// Time of the whole step.
    pub fn total(&self) -> Seconds {
        self.parts.iter().map(|part| part.time).sum()
    }

    /// The weakest source of any term: what the total may claim to be.
    pub fn source(&self) -> Option<Source> {
        self.parts.iter().filter(|part| part.time.0 > 0.0).map(|part| part.source).max()
    }

    /// The terms that take time, in the order of a step.
    pub fn terms(&self) -> impl Iterator<Item = (Term, Part)> + '_ {
        Term::ALL
            .into_iter()
            .map(|term| (term, self.part(term)))
            .filter(|(_, part)| part.time.0 > 0.0)
    }
}
