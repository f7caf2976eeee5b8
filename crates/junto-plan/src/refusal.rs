//! Why a layout will not run: who says so, when, in a sentence a person would say, and what to do
//! instead.

use junto_spec::layout::Layout;
use junto_spec::units::Bytes;
use std::fmt;

/// A layout that an engine would not run, or not as asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// What was asked for.
    pub layout: Layout,
    /// The rule that it breaks, as listed in [`crate::rules`].
    pub rule: &'static str,
    /// When the engine would fail.
    pub when: When,
    /// The reason, with its numbers; it reads on after "`{layout}`: ".
    pub reason: String,
    /// What to do instead, where something would do.
    pub hint: Option<String>,
    /// Memory that every GPU falls short by, where memory is the reason.
    pub lacking: Option<Bytes>,
}

/// When an engine fails: in the order in which it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum When {
    /// While it reads its arguments, before any process starts.
    Arguments,
    /// While it computes each process's ranks.
    RankComputation,
    /// While its processes form their groups.
    GroupInit,
    /// While it builds the model and loads weights.
    Load,
    /// While it sizes its KV cache.
    KvSizing,
    /// While it captures CUDA graphs.
    GraphCapture,
    /// When a request comes.
    FirstRequest,
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Arguments => "at argument parsing",
            Self::RankComputation => "while computing ranks",
            Self::GroupInit => "while forming process groups",
            Self::Load => "while loading",
            Self::KvSizing => "while sizing the KV cache",
            Self::GraphCapture => "while capturing CUDA graphs",
            Self::FirstRequest => "at the first request",
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.layout, self.reason)
    }
}

/// The refusal closest to a layout that runs: the one that lacks the least memory; where none lacks
/// memory, the one that gets farthest.
pub fn nearest_miss(refusals: &[Refusal]) -> Option<&Refusal> {
    let lacking = |refusal: &&Refusal| refusal.lacking.is_some();
    let short = |refusal: &Refusal| refusal.lacking.map_or(f64::INFINITY, |lacking| lacking.0);
    refusals
        .iter()
        .filter(lacking)
        .min_by(|a, b| short(a).total_cmp(&short(b)))
        .or_else(|| refusals.iter().max_by_key(|refusal| refusal.when))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(layout: &str, when: When, lacking: Option<f64>) -> Refusal {
        Refusal {
            layout: layout.parse().unwrap(),
            rule: "M1",
            when,
            reason: String::new(),
            hint: None,
            lacking: lacking.map(Bytes::from_gib),
        }
    }

    #[test]
    fn the_nearest_miss_lacks_the_least_memory_or_gets_farthest() {
        let nearest =
            |refusals: &[Refusal]| nearest_miss(refusals).map(|miss| miss.layout.to_string());
        let early = refusal("tp3", When::Arguments, None);
        let late = refusal("tp5", When::Load, None);
        let short = refusal("tp4", When::Load, Some(46.0));
        let nearly = refusal("dp8+ep8", When::KvSizing, Some(2.8));
        assert_eq!(nearest(&[]), None);
        assert_eq!(nearest(&[early.clone(), late.clone()]).unwrap(), "tp5");
        assert_eq!(nearest(&[early, short, nearly, late]).unwrap(), "dp8+ep8");
    }
}
