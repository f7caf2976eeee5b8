//! How far a prediction may be from the truth: bands from the errors on campaigns that the constants
//! never saw.
//!
//! A 90 % band is `value / e^w .. value * e^w`, where `w` is the 90th percentile of
//! |ln(predicted / measured)| over left-out campaigns with as much support as this case has.

use crate::constants::engine_key;
use junto_spec::catalog;
use junto_spec::engine::Family;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How much the fit has seen of an engine on a GPU generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Support {
    /// No campaign.
    Unseen,
    /// One or two campaigns.
    Few,
    /// Three campaigns or more.
    Many,
}

impl Support {
    /// By the number of campaigns.
    pub fn of(campaigns: usize) -> Self {
        match campaigns {
            0 => Self::Unseen,
            1 | 2 => Self::Few,
            _ => Self::Many,
        }
    }
}

/// Half-widths of the 90 % bands, in ln.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bands {
    /// Speed, where the fit saw no campaign of this engine on this GPU generation.
    pub unseen: f64,
    /// Where it saw one or two.
    pub few: f64,
    /// Where it saw three or more.
    pub many: f64,
    /// Speed after calibration with points of the case itself.
    pub calibrated: f64,
    /// Separation of two layouts at the same load, nothing else changed, below which nine in ten of the
    /// wrongly predicted orders lie.
    pub ratio: f64,
    /// Where the figures come from.
    pub source: String,
    /// Campaigns seen, by `engine/generation`.
    pub campaigns: BTreeMap<String, usize>,
}

/// The key of [`Bands::campaigns`].
pub fn campaign_key(family: Family, generation: &str) -> String {
    format!("{}/{generation}", engine_key(family))
}

impl Bands {
    /// The bands that ship with junto.
    pub fn catalog() -> Self {
        let text = catalog::file("bands.toml").unwrap_or_default();
        match toml::from_str(text) {
            Ok(bands) => bands,
            Err(error) => panic!("the built-in bands are broken: {error}"),
        }
    }

    /// The half-width of a support class.
    pub fn of(&self, support: Support) -> f64 {
        match support {
            Support::Unseen => self.unseen,
            Support::Few => self.few,
            Support::Many => self.many,
        }
    }

    /// The half-width for an engine on a GPU generation.
    pub fn width(&self, family: Family, generation: &str) -> f64 {
        let campaigns = self.campaigns.get(&campaign_key(family, generation)).copied();
        self.of(Support::of(campaigns.unwrap_or(0)))
    }
}
