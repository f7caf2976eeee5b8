//! How a run ends: exit codes, and mistakes in the input that the user can mend.

use std::fmt;
use std::process::ExitCode;

/// The exit codes. They are an interface: a number never changes its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done.
    Done = 0,
    /// Done, and the answer is no: nothing fits, a service level is missed.
    No = 1,
    /// Bad usage or bad input.
    Misuse = 2,
    /// Our bug.
    Bug = 70,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// A mistake in the arguments or in a file, in one sentence, with what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misuse {
    /// What is wrong: the file or flag, the field, the value.
    pub(crate) what: String,
    /// What to do instead, where something would do.
    pub(crate) hint: Option<String>,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Misuse {}

/// A mistake without a hint.
pub(crate) fn misuse(what: impl fmt::Display) -> Misuse {
    Misuse { what: what.to_string(), hint: None }
}

impl Misuse {
    /// With what to do about it.
    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// With what to do about it, if anything.
    pub(crate) fn maybe_hint(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }
}
