//! Which modules a quantization leaves out: names, regular expressions and globs.

use regex_lite::{Regex, RegexBuilder};

/// A list of modules that stay unquantized.
pub(crate) struct Ignore(Vec<Pattern>);

/// One entry of such a list.
pub(crate) enum Pattern {
    /// The whole name.
    Exact(String),
    /// A regular expression, matched from the start of the name (Python's `re.match`).
    Regex(Regex),
    /// Consecutive parts of the name, each with `*` for any letters.
    Parts(Vec<String>),
}

impl Ignore {
    /// compressed-tensors: exact names and `re:` expressions.
    pub(crate) fn exact_or_regex(entries: Vec<&str>) -> Self {
        Self(entries.into_iter().map(Pattern::exact_or_regex).collect())
    }

    /// `modules_to_not_convert` and `ModelOpt`'s lists: parts of names, with globs.
    pub(crate) fn parts(entries: Vec<&str>) -> Self {
        Self(entries.into_iter().map(Pattern::parts).collect())
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        self.0.iter().any(|pattern| pattern.matches(name))
    }
}

impl Pattern {
    pub(crate) fn exact_or_regex(entry: &str) -> Self {
        // An expression that cannot be read matches nothing but itself.
        let regex = entry.strip_prefix("re:").and_then(|expression| {
            RegexBuilder::new(&format!("^(?:{expression})")).size_limit(1 << 20).build().ok()
        });
        regex.map_or_else(|| Self::Exact(entry.to_string()), Self::Regex)
    }

    fn parts(entry: &str) -> Self {
        let parts = entry.split('.').filter(|part| !part.is_empty());
        Self::Parts(parts.map(str::to_string).collect())
    }

    /// Whether this names the module `name`, which starts with `model.` or is `lm_head`, with or
    /// without the prefix that a multimodal model puts before it.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let stem = name.strip_prefix("model.").unwrap_or(name);
        let names = [
            name.to_string(),
            format!("language_model.{name}"),
            format!("model.language_model.{stem}"),
        ];
        names.iter().any(|name| match self {
            Self::Exact(exact) => exact == name,
            Self::Regex(regex) => regex.is_match(name),
            Self::Parts(parts) => contains(parts, name),
        })
    }
}

fn contains(parts: &[String], name: &str) -> bool {
    let name: Vec<&str> = name.split('.').collect();
    let run = |run: &[&str]| run.iter().zip(parts).all(|(part, pattern)| glob(pattern, part));
    !parts.is_empty() && name.windows(parts.len()).any(run)
}

/// `*` stands for any letters; everything else for itself.
fn glob(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}
