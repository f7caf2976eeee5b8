//! `cargo xtask tidy`: the rules of the tree that neither rustc nor clippy knows.
//!
//! A check is a pure function from text to findings. `STYLE.md` gives the reason of each rule.

pub mod arrows;
pub mod readme;
pub mod text;

use anyhow::{Context as _, ensure};
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

/// A text file of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Path from the root, with `/`.
    pub path: String,
    /// All of it.
    pub text: String,
}

impl File {
    /// Whether the name ends in `.{extension}`.
    pub fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }
}

/// One place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Path from the root.
    pub path: String,
    /// Counted from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub hint: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, what, hint } = self;
        write!(f, "{path}:{line}: {what}\n    hint: {hint}")
    }
}

/// Runs every check; exit code 1 when something was found.
pub fn run(out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let files = tracked_files(crate::root())?;
    let mut findings: Vec<Finding> = files.iter().flat_map(text::check).collect();
    findings.extend(arrows::check(&files)?);
    findings.extend(readme::check(crate::root())?);
    for finding in &findings {
        writeln!(out, "{finding}")?;
    }
    writeln!(out, "tidy: {} files, {} findings", files.len(), findings.len())?;
    Ok(if findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The text files that git knows; what is not text is left out.
pub fn tracked_files(root: &Path) -> anyhow::Result<Vec<File>> {
    let listing = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output()
        .context("cannot start git, which knows the files of the tree")?;
    let complaint = String::from_utf8_lossy(&listing.stderr);
    ensure!(listing.status.success(), "git ls-files failed: {}", complaint.trim());
    let paths = String::from_utf8(listing.stdout).context("a file name is not UTF-8")?;
    let files: Vec<File> = paths
        .split_terminator('\0')
        .filter_map(|path| {
            let text = std::fs::read_to_string(root.join(path)).ok()?;
            Some(File { path: path.to_owned(), text })
        })
        .collect();
    ensure!(!files.is_empty(), "git lists no file in {}", root.display());
    Ok(files)
}
