//! Why a model cannot be read, with what to do about it.

use crate::catalog;
use crate::model::parse;
use crate::model::quantization::METHODS;
use thiserror::Error;

/// Why a `config.json` is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ModelError {
    /// The text is no JSON.
    #[error("{file} is not JSON: {message}")]
    NotJson {
        /// The file, or the name in the catalog.
        file: String,
        /// What the parser says.
        message: String,
    },
    /// JSON, but not an object.
    #[error("{file} holds {found} where a model's config is an object")]
    NotAnObject {
        /// The file.
        file: String,
        /// What it holds.
        found: String,
    },
    /// A required field is not there.
    #[error("{file} has no {field}")]
    Missing {
        /// The file.
        file: String,
        /// The field, with the object it belongs to.
        field: String,
    },
    /// A field has a value that cannot be.
    #[error("{file}: {field} is {value}; it must be {expected}")]
    Bad {
        /// The file.
        file: String,
        /// The field, with the object it belongs to.
        field: String,
        /// The value as written.
        value: String,
        /// What would be accepted.
        expected: String,
    },
    /// An architecture that is not known here.
    #[error("{file}: model_type {model_type:?} (architecture {architecture:?}) is not supported")]
    UnknownArchitecture {
        /// The file.
        file: String,
        /// First of `architectures`.
        architecture: String,
        /// `model_type` of the text model.
        model_type: String,
    },
    /// A quantization that is not known here.
    #[error("{file}: quantization {method:?} is not supported")]
    UnknownQuantization {
        /// The file.
        file: String,
        /// `quant_method`, with what about it is unknown.
        method: String,
    },
    /// No such format to choose with `--quant`.
    #[error("{name:?} is no quantization to choose")]
    UnknownFormat {
        /// The name as given.
        name: String,
    },
    /// No such model in the catalog.
    #[error("no model {name:?} in the catalog")]
    UnknownName {
        /// The name as given.
        name: String,
        /// Names that are close to it.
        close: Vec<&'static str>,
    },
}

impl ModelError {
    /// What to do next, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotJson { .. } | Self::NotAnObject { .. } => {
                Some("give the config.json of a Hugging Face model".to_string())
            }
            Self::Missing { field, .. }
                if matches!(field.as_str(), "architectures" | "model_type") =>
            {
                Some(
                    "is this the model's config.json, not its generation or tokenizer config?"
                        .to_string(),
                )
            }
            Self::Missing { field, .. } => {
                let field = field.rsplit('.').next().unwrap_or(field);
                Some(format!("add {field} with the value that the model's publisher gives"))
            }
            Self::Bad { .. } => None,
            Self::UnknownArchitecture { .. } => Some(format!("supported: {}", parse::supported())),
            Self::UnknownQuantization { .. } => {
                Some(format!("supported: {}; or state the format with --quant", METHODS.join(", ")))
            }
            Self::UnknownFormat { .. } => {
                Some("choose bf16, fp8, int4, awq, mxfp4 or nvfp4".to_string())
            }
            Self::UnknownName { close, .. } if close.is_empty() => Some(
                "`junto models` lists the catalog; a path to a config.json works too".to_string(),
            ),
            Self::UnknownName { close, .. } => {
                Some(format!("did you mean {}? `junto models` lists all", close.join(" or ")))
            }
        }
    }

    pub(crate) fn unknown_name(name: &str) -> Self {
        let wanted: String = name.to_ascii_lowercase().chars().take(64).collect();
        let mut scored: Vec<(usize, &'static str)> = catalog::names("models")
            .into_iter()
            .map(|known| (distance(&wanted, known), known))
            .filter(|(edits, known)| *edits <= 3 || (2 < wanted.len() && known.contains(&wanted)))
            .collect();
        scored.sort_unstable();
        let close = scored.into_iter().take(3).map(|(_, known)| known).collect();
        Self::UnknownName { name: name.to_string(), close }
    }
}

/// Edits (insert, delete, replace) that turn one text into the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}
