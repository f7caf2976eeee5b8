//! Where a figure comes from.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a figure comes from; strongest first, and with no default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Measured on this machine, or on a machine of this kind, by a named source.
    Measured,
    /// Fitted from published or own runs.
    Fitted,
    /// Taken from a datasheet, or computed from one.
    Datasheet,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Measured => "measured",
            Self::Fitted => "fitted",
            Self::Datasheet => "datasheet",
        })
    }
}
