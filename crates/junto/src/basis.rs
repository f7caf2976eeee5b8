//! What the figures rest on, and so how far they may be off.

use crate::number::{count, short};
use crate::table::{WIDTH, wrapped};
use junto_plan::band::{Bands, campaign_key};
use junto_plan::constants::engine_key;
use junto_plan::search::{Candidate, Plan, Question, Uncertainty};
use std::io::{self, Write};

/// The mark of a layout that only a measurement tells from the best.
pub(crate) const TIED: &str = "~";
/// Layouts that are named as tied.
const NAMED: usize = 3;

/// Where the constants come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The catalog, fitted to so many campaigns of this engine on this GPU generation.
    Campaigns(usize),
    /// So many points that the user measured.
    Points(usize),
    /// A file, about which nothing is known.
    File,
}

impl Basis {
    /// Of the constants of the catalog.
    pub(crate) fn catalog(question: &Question) -> Self {
        let key = campaign_key(question.engine.family, &question.machine.gpu.generation);
        Self::Campaigns(Bands::catalog().campaigns.get(&key).copied().unwrap_or(0))
    }

    /// How far the uncertainty reaches with these constants.
    pub(crate) fn uncertainty(self, question: &Question) -> Uncertainty {
        match self {
            Self::Points(_) => Uncertainty::calibrated(question.machine, question.engine),
            Self::Campaigns(_) | Self::File => question.uncertainty,
        }
    }

    /// Inside a sentence.
    fn text(self, question: &Question) -> String {
        let on = format!(
            "of {} on {}",
            engine_key(question.engine.family),
            question.machine.gpu.generation
        );
        match self {
            Self::Campaigns(0) => format!("no campaign {on} was there to learn from"),
            Self::Campaigns(seen) => format!("learned from {} {on}", count(seen, "campaign")),
            Self::Points(points) => format!("calibrated with {}", count(points, "point")),
            Self::File => "as for the constants of the catalog".to_owned(),
        }
    }
}

/// Writes how far the table's figures may be off, and what its marks mean.
pub(crate) fn write(
    out: &mut dyn Write,
    question: &Question,
    plan: &Plan,
    basis: Basis,
) -> io::Result<()> {
    let Uncertainty { speed, ratio } = question.uncertainty;
    let mut sentences = vec![format!(
        "90 % of measured speeds lie within {} of these figures ({}).",
        factor(speed),
        basis.text(question)
    )];
    if is_tied(plan) {
        sentences.push(format!(
            "Layouts marked {TIED} are nearer to the first than the model can tell ({}): measure \
             them.",
            factor(ratio)
        ));
    }
    writeln!(out, "{}", wrapped("", &sentences.join(" "), WIDTH))
}

/// Whether the first layout is not alone at the top.
pub(crate) fn is_tied(plan: &Plan) -> bool {
    plan.ranked.first().is_some_and(|best| best.tied)
}

/// The layouts that are tied with the first: `tp8+ep2, tp8+ep4 and 3 more`.
pub(crate) fn tied_with_first(plan: &Plan) -> Option<String> {
    let tied = plan.ranked.iter().skip(1).filter(|candidate| candidate.tied);
    let all: Vec<String> = tied.map(|candidate| candidate.layout.to_string()).collect();
    named(&all)
}

/// The first few of some names; `None`: there are none.
pub(crate) fn named(all: &[String]) -> Option<String> {
    match all {
        [] => None,
        [one] => Some(one.clone()),
        [first @ .., last] if all.len() <= NAMED => {
            Some(format!("{} and {last}", first.join(", ")))
        }
        _ => Some(format!("{} and {} more", all[..NAMED].join(", "), all.len() - NAMED)),
    }
}

/// Whether a layout stands apart from the tied ones.
pub(crate) fn is_apart(plan: &Plan, candidate: &Candidate) -> bool {
    !(is_tied(plan) && candidate.tied)
}

/// A half-width in ln as a person reads it: `x1.22`.
pub(crate) fn factor(width: f64) -> String {
    format!("x{}", short(width.exp()))
}
