//! Runs the real binary.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

/// The binary, without anything of this machine that it would notice.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_junto"));
    command.args(args).env_remove("HF_HOME").env("HOME", "nowhere");
    command.env("CUDA_VISIBLE_DEVICES", "");
    command
}

/// What it prints and how it ends.
pub(crate) fn output(args: &[&str]) -> Output {
    command(args).output().unwrap()
}

/// What it prints to stdout; it must end with this exit code.
#[track_caller]
pub(crate) fn stdout(args: &[&str], exit: i32) -> String {
    let output = output(args);
    let story = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(exit), "{args:?}\n{story}");
    String::from_utf8(output.stdout).unwrap()
}

/// Exit code, stdout and stderr in one block.
pub(crate) fn block(args: &[&str]) -> String {
    let output = output(args);
    let mut block = format!("exit {}\n", output.status.code().unwrap());
    for (name, bytes) in [("stdout", output.stdout), ("stderr", output.stderr)] {
        let text = String::from_utf8(bytes).unwrap();
        if !text.is_empty() {
            write!(block, "--- {name}\n{text}").unwrap();
        }
    }
    block
}

/// The text with every figure that a fit moves replaced by `#`, and spaces run together.
pub(crate) fn without_figures(text: &str) -> String {
    let is_figure = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let number = word.strip_suffix(['k', 'M', 'x']).unwrap_or(word);
        number.parse::<f64>().is_ok()
            || word.strip_prefix('x').is_some_and(|n| n.parse::<f64>().is_ok())
    };
    let line = |line: &str| {
        let words = line.split_whitespace();
        let words: Vec<&str> = words.map(|word| if is_figure(word) { "#" } else { word }).collect();
        words.join(" ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A file of a test, removed at its end.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str, bytes: &[u8]) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("junto-it-{process}-{number}-{name}"));
        fs::write(&path, bytes).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// The block of a run with `args` and this file, its path written `FILE`.
    pub(crate) fn block(&self, args: &[&str]) -> String {
        let args: Vec<&str> = args.iter().copied().chain([self.path()]).collect();
        block(&args).replace(self.path(), "FILE")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
