//! TOML files of the catalog and of the user: read into plain structs, with errors that name the
//! file, the line and the key.

use serde::de::DeserializeOwned;

/// Why a TOML file could not be read at all.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TomlError {
    /// Not TOML, or a value of the wrong type.
    #[error("{file}, line {line}: {message}")]
    Malformed {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// What the parser says.
        message: String,
    },
    /// A key that the format does not have.
    #[error("{file}, line {line}: unknown key `{key}`")]
    UnknownKey {
        /// The file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// The key.
        key: String,
        /// The key that was probably meant.
        near: Option<String>,
        /// Every key that may stand here.
        expected: Vec<String>,
    },
}

impl TomlError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let Self::UnknownKey { near, expected, .. } = self else { return None };
        Some(match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("keys that may stand here: {}", expected.join(", ")),
        })
    }
}

/// Reads `text`, which came from `file`.
pub(crate) fn parse<T: DeserializeOwned>(text: &str, file: &str) -> Result<T, TomlError> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text.as_bytes()[..start].split(|&byte| byte == b'\n').count();
        explain(file, line, error.message())
    })
}

/// Reads a table that stands inside a file.
pub(crate) fn parse_table<T: DeserializeOwned>(
    table: toml::Table,
    text: &str,
    file: &str,
    key: &str,
) -> Result<T, TomlError> {
    let opens = |line: &str| {
        let head = line.trim_start().trim_start_matches('[').strip_prefix(key);
        head.is_some_and(|rest| rest.trim_start().starts_with(['=', ']']))
    };
    let line = 1 + text.lines().position(opens).unwrap_or(0);
    table.try_into().map_err(|error: toml::de::Error| explain(file, line, error.message()))
}

/// serde reports an unknown key as a sentence; takes it apart again to suggest the right one.
fn explain(file: &str, line: usize, message: &str) -> TomlError {
    let mut quoted = message.split('`').skip(1).step_by(2).map(str::to_owned);
    if message.starts_with("unknown field")
        && let Some(key) = quoted.next()
    {
        let expected: Vec<String> = quoted.collect();
        let near = nearest(&key, expected.iter().map(String::as_str));
        return TomlError::UnknownKey { file: file.to_owned(), line, key, near, expected };
    }
    let message = message.lines().collect::<Vec<_>>().join(", ");
    TomlError::Malformed { file: file.to_owned(), line, message }
}

/// The name that `word` was probably meant to be, if any is near.
pub(crate) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let near = |name: &str| if same_parts(word, name) { 0 } else { edits(word, name) };
    let best = names.min_by_key(|name| near(name))?;
    (near(best) <= 1 + word.len().max(best.len()) / 4).then(|| best.to_owned())
}

/// Whether two names have the same parts in another order, as `rtx-6000-pro` and `rtx-pro-6000`.
fn same_parts(a: &str, b: &str) -> bool {
    let parts = |name: &str| {
        let mut parts: Vec<String> = name.split(['-', '_']).map(str::to_lowercase).collect();
        parts.sort_unstable();
        parts
    };
    parts(a) == parts(b)
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_recognised() {
        assert_eq!(edits("kitten", "sitting"), 3);
        let names = ["gpus_per_host", "hosts", "link"];
        assert_eq!(nearest("gpu_per_hosts", names.into_iter()).as_deref(), Some("gpus_per_host"));
        assert_eq!(nearest("colour", names.into_iter()), None);
    }
}
