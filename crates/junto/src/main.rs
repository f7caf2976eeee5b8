//! The `junto` binary: arguments in, text out.
//!
//! What was asked for goes to stdout, the story to stderr. Exit codes are in `exit.rs`.

mod args;
mod bars;
mod basis;
mod calibration;
mod detect;
mod exit;
mod given;
mod json;
mod machines;
mod models;
mod number;
mod plan;
mod question;
mod table;
mod why;

use crate::args::{Command, Typed};
use crate::exit::{Exit, Misuse};
use clap::Parser;
use std::any::Any;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

fn main() -> ExitCode {
    let typed = match Typed::try_parse() {
        Ok(typed) => typed,
        Err(usage) => {
            // Whoever closed the pipe does not want to read it.
            let _ = usage.print();
            return if usage.use_stderr() { Exit::Misuse } else { Exit::Done }.into();
        }
    };
    let mut story = anstream::stderr();
    guarded(&mut story, |story| {
        let mut out = BufWriter::new(anstream::stdout());
        let exit = run(&typed.command, &mut out, story)?;
        out.flush()?;
        Ok(exit)
    })
    .into()
}

fn run(command: &Command, out: &mut dyn Write, story: &mut dyn Write) -> anyhow::Result<Exit> {
    match command {
        Command::Plan(args) => plan::run(args, out, story),
        Command::Models(args) => models::list(args, out),
        Command::Machines(args) => machines::list(args, out),
        Command::Machine(command) => machines::run(command, out, story),
        Command::Why(args) => why::run(args, out, story),
    }
}

/// Runs `work`, and says how it ended where that was not as it should be.
fn guarded(
    story: &mut dyn Write,
    work: impl FnOnce(&mut dyn Write) -> anyhow::Result<Exit>,
) -> Exit {
    panic::set_hook(Box::new(|_| {}));
    let ended = panic::catch_unwind(AssertUnwindSafe(|| work(story)));
    // Nobody is left to tell when stderr is closed as well.
    let mut say = |text: String| drop(writeln!(story, "{text}"));
    match ended {
        Ok(Ok(exit)) => exit,
        Ok(Err(error)) if is_closed_pipe(&error) => Exit::Done,
        Ok(Err(error)) => {
            say(format!("error: {error}"));
            if let Some(hint) = error.downcast_ref::<Misuse>().and_then(|it| it.hint.as_ref()) {
                say(format!("hint: {hint}"));
            }
            Exit::Misuse
        }
        Err(panic) => {
            say(format!("error: this is a bug in junto: {}", message(panic.as_ref())));
            say("hint: please report it with the command that you ran".to_owned());
            Exit::Bug
        }
    }
}

/// Whether the reader of our output went away: `junto plan | head -1`.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::misuse;

    fn ending(work: impl FnOnce() -> anyhow::Result<Exit>) -> (Exit, String) {
        let mut story = Vec::new();
        let exit = guarded(&mut story, |_| work());
        (exit, String::from_utf8(story).unwrap())
    }

    #[test]
    fn every_end_has_its_code_and_says_what_to_do() {
        let (exit, story) = ending(|| panic!("{} is no index", 7));
        assert_eq!(exit, Exit::Bug);
        insta::assert_snapshot!(story, @"
        error: this is a bug in junto: 7 is no index
        hint: please report it with the command that you ran
        ");
        let (exit, story) = ending(|| Err(misuse("no such thing").hint("take another").into()));
        assert_eq!(exit, Exit::Misuse);
        insta::assert_snapshot!(story, @"
        error: no such thing
        hint: take another
        ");
        let closed = || Err(io::Error::from(ErrorKind::BrokenPipe).into());
        assert_eq!(ending(closed), (Exit::Done, String::new()));
        assert_eq!(ending(|| Ok(Exit::No)), (Exit::No, String::new()));
    }
}
