//! The kinds of machine in the catalog, and their names: `8x-h200` is eight GPUs of kind `h200`.

use super::MachineSpec;
use super::error::MachineError;
use super::parse;
use crate::{catalog, toml_file};

/// A kind of machine in the catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Its name, without a count.
    pub name: &'static str,
    /// One line for a person.
    pub description: String,
    /// The counts of GPUs it comes with; empty: it is one machine, named without a count.
    pub counts: Vec<u32>,
}

impl Kind {
    /// The names of its machines, as [`MachineSpec::catalog`] takes them.
    pub fn machines(&self) -> Vec<String> {
        if self.counts.is_empty() {
            return vec![self.name.to_owned()];
        }
        self.counts.iter().map(|count| format!("{count}x-{}", self.name)).collect()
    }
}

/// Every kind of machine in the catalog, by name.
pub fn all() -> Vec<Kind> {
    let kind = |name| {
        let text = catalog::text("machines", name, "toml")?;
        let (description, counts) = parse::heading(text, name).ok()?;
        Some(Kind { name, description, counts })
    };
    catalog::names("machines").into_iter().filter_map(kind).collect()
}

/// The machine of the catalog called `name`.
pub(super) fn resolve(name: &str) -> Result<MachineSpec, MachineError> {
    let (count, kind) = split(name);
    let Some(text) = catalog::text("machines", kind, "toml") else {
        let all: Vec<String> = all().iter().flat_map(Kind::machines).collect();
        let near = toml_file::nearest(name, all.iter().map(String::as_str));
        return Err(MachineError::UnknownMachine { name: name.to_owned(), near });
    };
    let (_, counts) = parse::heading(text, kind)?;
    let kind = kind.to_owned();
    match count {
        None if !counts.is_empty() => Err(MachineError::NeedsCount { kind, counts }),
        Some(count) if !counts.contains(&count) => {
            Err(MachineError::NoSuchCount { kind, count, counts })
        }
        count => parse::machine(text, name, count),
    }
}

/// `8x-h200` is 8 of `h200`; a name without a count is a kind.
fn split(name: &str) -> (Option<u32>, &str) {
    let counted = name.split_once("x-").and_then(|(count, kind)| Some((count.parse().ok()?, kind)));
    counted.map_or((None, name), |(count, kind)| (Some(count), kind))
}
