//! Changes to the options of a run, as a person writes them: `cuda_graphs=off`, `kv_dtype=fp8`.

use crate::options::{AllReduce, Exchange, Graphs, Options, Placement, Speculation};
use junto_spec::format::KvFormat;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// One option with the value that it gets.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is the field of Options of that name")]
pub enum Change {
    Graphs(Graphs),
    AllReduce(AllReduce),
    Exchange(Exchange),
    Placement(Placement),
    Kv(KvFormat),
    MemoryFraction(Option<f64>),
    MaxRunning(Option<u32>),
    MaxContext(Option<u32>),
    ChunkedPrefill(Option<u32>),
    MicroBatch(Option<u32>),
    Speculation(Option<Speculation>),
}

/// Every key, with the values that it takes.
pub const KEYS: [(&str, &str); 11] = [
    ("cuda_graphs", "on or off"),
    ("all_reduce", "auto, nccl or one-shot"),
    ("exchange", "gather-scatter or all-to-all"),
    ("eplb", "on or off"),
    ("kv_dtype", "bf16 or fp8"),
    ("memory_fraction", "a number above 0 and at most 1, or default"),
    ("max_running", "a number of requests from 1 to 1000000, or default"),
    ("context_length", "a number of tokens from 1 to 100000000, or default"),
    ("chunked_prefill", "a number of tokens from 1 to 10000000, or default"),
    ("micro_batch", "a number of requests from 1 to 1000000, or even"),
    ("speculation", "off, or draft tokens and mean accepted length as in 3:2.4"),
];

/// Why a change was not understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChangeError {
    /// No `=`.
    #[error("{text:?} is no change of an option: it has no `=`")]
    NoValue {
        /// As written.
        text: String,
    },
    /// No such option.
    #[error("there is no option {key:?} to change")]
    UnknownKey {
        /// As written.
        key: String,
    },
    /// A value that it cannot have.
    #[error("{key} is {value:?}; it must be {expected}")]
    BadValue {
        /// The option.
        key: &'static str,
        /// As written.
        value: String,
        /// What would do.
        expected: &'static str,
    },
}

impl ChangeError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let keys = || KEYS.map(|(key, _)| key).join(", ");
        match self {
            Self::NoValue { .. } => Some(format!("write KEY=VALUE with one of {}", keys())),
            Self::UnknownKey { .. } => Some(format!("the options are {}", keys())),
            Self::BadValue { .. } => None,
        }
    }
}

impl FromStr for Change {
    type Err = ChangeError;

    fn from_str(text: &str) -> Result<Self, ChangeError> {
        let no_value = || ChangeError::NoValue { text: text.to_owned() };
        let (written, value) = text.split_once('=').ok_or_else(no_value)?;
        let wanted = written.trim().to_ascii_lowercase().replace('-', "_");
        let (value, lower) = (value.trim(), value.trim().to_ascii_lowercase());
        let known = KEYS.iter().find(|(key, _)| *key == wanted);
        let Some((key, expected)) = known else {
            return Err(ChangeError::UnknownKey { key: written.trim().to_owned() });
        };
        let bad = || ChangeError::BadValue { key, value: value.to_owned(), expected };
        read(key, &lower).ok_or_else(bad)
    }
}

/// The change that `key=value` is; `None`: the value does not do.
fn read(key: &str, value: &str) -> Option<Change> {
    let number = |most: u32| -> Option<Option<u32>> {
        match value {
            "default" => Some(None),
            _ => value.parse().ok().filter(|number| (1..=most).contains(number)).map(Some),
        }
    };
    let on = || match value {
        "on" | "true" => Some(true),
        "off" | "false" => Some(false),
        _ => None,
    };
    Some(match key {
        "cuda_graphs" => Change::Graphs(if on()? { Graphs::On } else { Graphs::Off }),
        "all_reduce" => Change::AllReduce(match value {
            "auto" => AllReduce::Auto,
            "nccl" => AllReduce::Nccl,
            "one-shot" | "one_shot" | "oneshot" | "custom" => AllReduce::OneShot,
            _ => return None,
        }),
        "exchange" => Change::Exchange(match value {
            "gather-scatter" | "gather_scatter" => Exchange::GatherScatter,
            "all-to-all" | "all_to_all" | "deepep" => Exchange::AllToAll,
            _ => return None,
        }),
        "eplb" => {
            Change::Placement(if on()? { Placement::Balanced } else { Placement::Contiguous })
        }
        "kv_dtype" => Change::Kv(match value {
            "bf16" => KvFormat::Bf16,
            "fp8" => KvFormat::Fp8,
            _ => return None,
        }),
        "memory_fraction" if value == "default" => Change::MemoryFraction(None),
        "memory_fraction" => {
            let fraction: f64 = value.parse().ok()?;
            let fits = 0.0 < fraction && fraction <= 1.0;
            Change::MemoryFraction(fits.then_some(Some(fraction))?)
        }
        "max_running" => Change::MaxRunning(number(1_000_000)?),
        "context_length" => Change::MaxContext(number(100_000_000)?),
        "chunked_prefill" => Change::ChunkedPrefill(number(10_000_000)?),
        "micro_batch" if value == "even" => Change::MicroBatch(None),
        "micro_batch" => Change::MicroBatch(number(1_000_000)?),
        "speculation" if value == "off" => Change::Speculation(None),
        "speculation" => Change::Speculation(Some(speculation(value)?)),
        _ => return None,
    })
}

/// `3:2.4`: three draft tokens, of which (the bonus token included) 2.4 a step are accepted.
fn speculation(value: &str) -> Option<Speculation> {
    let (draft, accepted) = value.split_once(':')?;
    let draft_tokens: u32 = draft.parse().ok().filter(|draft| (1..=64).contains(draft))?;
    let acceptance_length: f64 = accepted.parse().ok()?;
    let most = f64::from(draft_tokens + 1);
    let possible = (1.0..=most).contains(&acceptance_length);
    possible.then_some(Speculation { draft_tokens, acceptance_length })
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key();
        let number = |f: &mut fmt::Formatter<'_>, number: Option<u32>, otherwise: &str| match number
        {
            Some(number) => write!(f, "{key}={number}"),
            None => write!(f, "{key}={otherwise}"),
        };
        match *self {
            Self::Graphs(Graphs::On) | Self::Placement(Placement::Balanced) => {
                write!(f, "{key}=on")
            }
            Self::Graphs(Graphs::Off)
            | Self::Placement(Placement::Contiguous)
            | Self::Speculation(None) => write!(f, "{key}=off"),
            Self::AllReduce(AllReduce::Auto) => write!(f, "{key}=auto"),
            Self::AllReduce(AllReduce::Nccl) => write!(f, "{key}=nccl"),
            Self::AllReduce(AllReduce::OneShot) => write!(f, "{key}=one-shot"),
            Self::Exchange(Exchange::GatherScatter) => write!(f, "{key}=gather-scatter"),
            Self::Exchange(Exchange::AllToAll) => write!(f, "{key}=all-to-all"),
            Self::Kv(KvFormat::Bf16) => write!(f, "{key}=bf16"),
            Self::Kv(KvFormat::Fp8) => write!(f, "{key}=fp8"),
            Self::MemoryFraction(Some(fraction)) => write!(f, "{key}={fraction}"),
            Self::MemoryFraction(None) => write!(f, "{key}=default"),
            Self::MaxRunning(most) | Self::MaxContext(most) | Self::ChunkedPrefill(most) => {
                number(f, most, "default")
            }
            Self::MicroBatch(most) => number(f, most, "even"),
            Self::Speculation(Some(Speculation { draft_tokens, acceptance_length })) => {
                write!(f, "{key}={draft_tokens}:{acceptance_length}")
            }
        }
    }
}

impl Change {
    /// Its key, one of [`KEYS`].
    pub fn key(&self) -> &'static str {
        match self {
            Self::Graphs(_) => "cuda_graphs",
            Self::AllReduce(_) => "all_reduce",
            Self::Exchange(_) => "exchange",
            Self::Placement(_) => "eplb",
            Self::Kv(_) => "kv_dtype",
            Self::MemoryFraction(_) => "memory_fraction",
            Self::MaxRunning(_) => "max_running",
            Self::MaxContext(_) => "context_length",
            Self::ChunkedPrefill(_) => "chunked_prefill",
            Self::MicroBatch(_) => "micro_batch",
            Self::Speculation(_) => "speculation",
        }
    }

    /// What it is about, inside a sentence.
    pub fn subject(&self) -> &'static str {
        match self {
            Self::Graphs(_) => "CUDA graphs",
            Self::AllReduce(_) => "the all-reduce kernel",
            Self::Exchange(_) => "the expert exchange",
            Self::Placement(_) => "the placement of experts",
            Self::Kv(_) => "the KV cache format",
            Self::MemoryFraction(_) => "the memory fraction",
            Self::MaxRunning(_) => "the limit of running requests",
            Self::MaxContext(_) => "the context length",
            Self::ChunkedPrefill(_) => "the prefill chunk",
            Self::MicroBatch(_) => "the micro-batch",
            Self::Speculation(_) => "speculative decoding",
        }
    }

    /// Makes the change.
    pub fn apply(self, options: &mut Options) {
        match self {
            Self::Graphs(graphs) => options.graphs = graphs,
            Self::AllReduce(all_reduce) => options.all_reduce = all_reduce,
            Self::Exchange(exchange) => options.exchange = exchange,
            Self::Placement(placement) => options.placement = placement,
            Self::Kv(kv) => options.kv = kv,
            Self::MemoryFraction(fraction) => options.memory_fraction = fraction,
            Self::MaxRunning(most) => options.max_running = most,
            Self::MaxContext(most) => options.max_context = most,
            Self::ChunkedPrefill(most) => options.chunked_prefill = most,
            Self::MicroBatch(most) => options.micro_batch = most,
            Self::Speculation(speculation) => options.speculation = speculation,
        }
    }
}

/// Every option of a run, as the changes that would set it.
pub fn settings(options: &Options) -> [Change; 11] {
    let Options {
        kv,
        graphs,
        all_reduce,
        exchange,
        placement,
        memory_fraction,
        max_running,
        max_context,
        chunked_prefill,
        micro_batch,
        speculation,
    } = *options;
    [
        Change::Graphs(graphs),
        Change::AllReduce(all_reduce),
        Change::Exchange(exchange),
        Change::Placement(placement),
        Change::Kv(kv),
        Change::MemoryFraction(memory_fraction),
        Change::MaxRunning(max_running),
        Change::MaxContext(max_context),
        Change::ChunkedPrefill(chunked_prefill),
        Change::MicroBatch(micro_batch),
        Change::Speculation(speculation),
    ]
}

/// The changes that turn `from` into `to`.
pub fn changes(from: &Options, to: &Options) -> Vec<Change> {
    let pairs = settings(from).into_iter().zip(settings(to));
    pairs.filter(|(from, to)| from != to).map(|(_, to)| to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_reads_back_as_it_prints() {
        let texts = "cuda_graphs=off all_reduce=one-shot exchange=all-to-all eplb=on kv_dtype=fp8 \
                     memory_fraction=0.92 max_running=64 context_length=32768 chunked_prefill=4096 \
                     micro_batch=8 speculation=3:2.4";
        let mut options = Options::default();
        for (text, (key, _)) in texts.split_whitespace().zip(KEYS) {
            let change: Change = text.parse().unwrap();
            assert_eq!((change.to_string().as_str(), change.key()), (text, key));
            change.apply(&mut options);
        }
        let back = changes(&options, &Options::default());
        assert_eq!(back.len(), KEYS.len());
        for change in back {
            assert_eq!(change.to_string().parse::<Change>().unwrap(), change);
            change.apply(&mut options);
        }
        assert_eq!(options, Options::default());
    }

    #[test]
    fn what_was_not_understood_is_named() {
        let refusal = |text: &str| {
            let error = text.parse::<Change>().unwrap_err();
            error.to_string() + &error.hint().map_or(String::new(), |hint| format!("; {hint}"))
        };
        insta::assert_snapshot!(refusal("cuda_graphs=perhaps"), @r#"cuda_graphs is "perhaps"; it must be on or off"#);
        insta::assert_snapshot!(refusal("eplb"), @r#""eplb" is no change of an option: it has no `=`; write KEY=VALUE with one of cuda_graphs, all_reduce, exchange, eplb, kv_dtype, memory_fraction, max_running, context_length, chunked_prefill, micro_batch, speculation"#);
        insta::assert_snapshot!(refusal("graph=off"), @r#"there is no option "graph" to change; the options are cuda_graphs, all_reduce, exchange, eplb, kv_dtype, memory_fraction, max_running, context_length, chunked_prefill, micro_batch, speculation"#);
        insta::assert_snapshot!(refusal("memory_fraction=NaN"), @r#"memory_fraction is "NaN"; it must be a number above 0 and at most 1, or default"#);
        insta::assert_snapshot!(refusal("speculation=3:9"), @r#"speculation is "3:9"; it must be off, or draft tokens and mean accepted length as in 3:2.4"#);
    }
}
