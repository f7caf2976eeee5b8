//! Service levels: the highest concurrency at which a layout meets them.

use crate::search::{self, Candidate, Question};
use crate::steady::Steady;
use junto_spec::layout::Layout;
use junto_spec::units::Seconds;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// What is promised, on the mean over requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slo {
    /// Time to first token.
    pub ttft: Option<Seconds>,
    /// Time per output token after the first.
    pub tpot: Option<Seconds>,
    /// Time of the whole request.
    pub e2el: Option<Seconds>,
}

/// Why a promise was not understood.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SloError {
    /// No such metric.
    #[error("{text:?} names none of ttft, tpot and e2el")]
    UnknownMetric {
        /// As written.
        text: String,
    },
    /// No time.
    #[error("{metric} is {value:?}, which is no time above 0")]
    NoTime {
        /// The metric.
        metric: &'static str,
        /// As written.
        value: String,
    },
    /// Promised twice.
    #[error("{metric} is given twice")]
    Twice {
        /// The metric.
        metric: &'static str,
    },
}

impl FromStr for Slo {
    type Err = SloError;

    fn from_str(text: &str) -> Result<Self, SloError> {
        let mut slo = Self::default();
        for part in text.split(',') {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (metric, slot) = match name.trim().to_ascii_lowercase().as_str() {
                "ttft" => ("ttft", &mut slo.ttft),
                "tpot" | "itl" => ("tpot", &mut slo.tpot),
                "e2el" => ("e2el", &mut slo.e2el),
                _ => return Err(SloError::UnknownMetric { text: part.trim().to_owned() }),
            };
            let value = value.trim();
            let no_time = || SloError::NoTime { metric, value: value.to_owned() };
            if slot.replace(time(value).ok_or_else(no_time)?).is_some() {
                return Err(SloError::Twice { metric });
            }
        }
        Ok(slo)
    }
}

/// `2s`, `50ms`, `800us`.
fn time(text: &str) -> Option<Seconds> {
    let unit = text.find(|c: char| c.is_alphabetic() && c != 'e').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit);
    let scale = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        _ => return None,
    };
    let seconds = number.trim().parse::<f64>().ok()? * scale;
    (0.0 < seconds && seconds.is_finite()).then_some(Seconds(seconds))
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [("TTFT", self.ttft), ("TPOT", self.tpot), ("E2EL", self.e2el)];
        let parts = parts.iter().filter_map(|(name, most)| Some(format!("{name} <= {}", (*most)?)));
        f.write_str(&parts.collect::<Vec<_>>().join(", "))
    }
}

impl Slo {
    /// Time of a whole request of `output_len` tokens.
    pub fn e2el(point: &Steady, output_len: f64) -> Seconds {
        point.ttft + point.tpot * (output_len - 1.0).max(0.0)
    }

    /// How far a point is from the promise: its worst ratio of time to promised time. At most 1
    /// keeps it.
    pub fn strain(&self, point: &Steady, output_len: f64) -> f64 {
        let whole = Self::e2el(point, output_len);
        [(self.ttft, point.ttft), (self.tpot, point.tpot), (self.e2el, whole)]
            .into_iter()
            .filter_map(|(most, time)| Some(time / most?))
            .fold(0.0, f64::max)
    }
}

/// A layout with the load that it carries within the promise.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The layout.
    pub layout: Layout,
    /// What it gives at the highest concurrency that keeps the promise; where none does, at the
    /// concurrency that comes nearest.
    pub point: Steady,
    /// [`Slo::strain`] there.
    pub strain: f64,
}

/// The largest concurrency that is tried.
const MOST: f64 = 65_536.0;

/// Every layout that runs, with the highest concurrency at which it keeps the promise; those that
/// keep it first, the one with the highest output throughput at the top; then the others, nearest
/// first.
pub fn carried(question: &Question, slo: &Slo, layouts: &[Layout]) -> Vec<Carried> {
    let mut coarse = vec![1.0];
    while coarse.last().is_some_and(|last| *last < MOST) {
        let last = coarse[coarse.len() - 1];
        coarse.push((last * 1.5_f64).floor().max(last + 1.0).min(MOST));
    }
    let plan = search::plan(&Question { concurrency: coarse, ..question.clone() }, layouts);
    let mut all: Vec<Carried> =
        plan.ranked.iter().map(|candidate| within(question, slo, candidate)).collect();
    let keeps = |carried: &Carried| carried.strain <= 1.0;
    all.sort_by(|a, b| match (keeps(a), keeps(b)) {
        (true, true) => b.point.output_tok_s.total_cmp(&a.point.output_tok_s),
        (false, false) => a.strain.total_cmp(&b.strain),
        (a, b) => b.cmp(&a),
    });
    all
}

/// The highest concurrency within the promise, first among the points that were computed, then
/// between two of them. More requests than can run would only wait.
fn within(question: &Question, slo: &Slo, candidate: &Candidate) -> Carried {
    let layout = candidate.layout;
    let most = candidate.slots.floor().max(1.0);
    let strain = |point: &Steady| slo.strain(point, question.workload.output_len);
    let carried = |point: &Steady| Carried { layout, strain: strain(point), point: *point };
    let running = candidate.points.iter().filter(|point| point.concurrency <= most);
    let Some(mut best) = running.clone().rfind(|point| strain(point) <= 1.0).copied() else {
        let nearest = running.min_by(|a, b| strain(a).total_cmp(&strain(b)));
        return carried(nearest.unwrap_or(&candidate.points[0]));
    };
    let later = |point: &&Steady| best.concurrency < point.concurrency;
    let next = candidate.points.iter().find(later).map_or(MOST, |point| point.concurrency);
    let mut beyond = next.min(most + 1.0);
    while best.concurrency + 1.0 < beyond {
        let step = ((beyond - best.concurrency) / 8.0).floor().max(1.0);
        let tried = (1..9).map(|number| best.concurrency + step * f64::from(number));
        let concurrency: Vec<f64> = tried.take_while(|tried| *tried < beyond).collect();
        let plan = search::plan(&Question { concurrency, ..question.clone() }, &[layout]);
        let Some(candidate) = plan.ranked.first() else { break };
        for point in &candidate.points {
            if 1.0 < strain(point) {
                beyond = point.concurrency;
                break;
            }
            best = *point;
        }
    }
    carried(&best)
}
