//! `cargo xtask`: arguments in, one chore done.

use clap::{Parser, Subcommand};
use std::io;
use std::process::ExitCode;

/// Chores of the junto workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Everything that must pass before a change lands: fmt, clippy, doc, test
    Ci,
    /// Only the checks of the tree: arrows, file lengths, examples and the like
    Tidy {
        /// First write the real output of its examples into the README
        #[arg(long)]
        bless: bool,
    },
    /// Predict every row of a file of published measurements and report the errors
    Accuracy(xtask::accuracy::Args),
    /// Fit the constants to a file of measurements and write them into the catalog
    Fit {
        /// Measurements, one JSON object a line
        file: std::path::PathBuf,
    },
}

fn main() -> anyhow::Result<ExitCode> {
    match run() {
        // Who reads only the first lines has what they want.
        Err(error) if error.downcast_ref().is_some_and(is_broken_pipe) => Ok(ExitCode::SUCCESS),
        done => done,
    }
}

fn is_broken_pipe(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

fn run() -> anyhow::Result<ExitCode> {
    match Args::parse().chore {
        Chore::Ci => xtask::ci::run(&mut io::stderr()),
        Chore::Tidy { bless } => {
            if bless {
                xtask::tidy::readme::bless(xtask::root())?;
            }
            xtask::tidy::run(&mut io::stdout())
        }
        Chore::Accuracy(args) => xtask::accuracy::run(&args, &mut io::stdout()),
        Chore::Fit { file } => xtask::accuracy::fit(&file, &mut io::stdout()),
    }
}
