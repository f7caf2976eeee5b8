//! Why one run is faster than another: the terms that differ, and how much of the difference is the
//! layout's and how much is the options'.

use crate::cost::term::{Part, Term};
use crate::options::Options;
use crate::refusal::Refusal;
use crate::search::{self, Candidate, Question};
use crate::steady::Steady;
use crate::whatif::{self, Change};
use junto_spec::layout::Layout;
use junto_spec::units::Seconds;

/// One term of two runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delta {
    /// The term.
    pub term: Term,
    /// In the first run.
    pub a: Part,
    /// In the second run.
    pub b: Part,
}

impl Delta {
    /// What the second takes more than the first; below 0, less.
    pub fn time(&self) -> Seconds {
        self.b.time - self.a.time
    }
}

/// The terms that take time in either run, largest difference first.
pub fn deltas(a: &Steady, b: &Steady) -> Vec<Delta> {
    let delta = |term| Delta { term, a: a.terms.part(term), b: b.terms.part(term) };
    let takes_time = |delta: &Delta| delta.a.time.0 > 0.0 || delta.b.time.0 > 0.0;
    let mut deltas: Vec<Delta> = Term::ALL.map(delta).into_iter().filter(takes_time).collect();
    deltas.sort_by(|x, y| y.time().0.abs().total_cmp(&x.time().0.abs()));
    deltas
}

/// A layout with the options that it runs with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// The layout.
    pub layout: Layout,
    /// The options.
    pub options: Options,
}

/// What a side gives at the first concurrency of the question; or why it does not run.
pub fn run(question: &Question, side: &Side) -> Result<Candidate, Refusal> {
    let plan =
        search::plan(&Question { options: side.options, ..question.clone() }, &[side.layout]);
    let refused = || plan.refused.into_iter().next();
    match plan.ranked.into_iter().next() {
        Some(candidate) => Ok(candidate),
        None => Err(refused().expect("a layout is ranked or refused")),
    }
}

/// What differs between two runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cause {
    /// An option: the second run has this one.
    Option(Change),
    /// The layout.
    Layout,
}

/// A part of the difference in time per token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// What makes it.
    pub cause: Cause,
    /// Time that it adds from the first run to the second; below 0, that it saves.
    pub time: Seconds,
}

/// The difference in time per token, cause by cause: from `a`, the options change one after the
/// other into those of `b`, and at last the layout; in the reverse order where a run between would
/// be refused. The shares sum to the difference. `None`: no order runs.
pub fn shares(question: &Question, a: &Side, b: &Side) -> Option<Vec<Share>> {
    let options = whatif::changes(&a.options, &b.options).into_iter().map(Cause::Option);
    let layout = (a.layout != b.layout).then_some(Cause::Layout);
    let causes: Vec<Cause> = options.chain(layout).collect();
    let reversed: Vec<Cause> = causes.iter().rev().copied().collect();
    walk(question, a, b, &causes).or_else(|| walk(question, a, b, &reversed))
}

fn walk(question: &Question, a: &Side, b: &Side, causes: &[Cause]) -> Option<Vec<Share>> {
    let tpot = |side: &Side| Some(run(question, side).ok()?.points.first()?.tpot);
    let mut side = *a;
    let mut before = tpot(&side)?;
    let mut shares = Vec::new();
    for cause in causes {
        match cause {
            Cause::Option(change) => change.apply(&mut side.options),
            Cause::Layout => side.layout = b.layout,
        }
        let after = tpot(&side)?;
        shares.push(Share { cause: *cause, time: after - before });
        before = after;
    }
    Some(shares)
}
