//! `cargo xtask ci`: what must pass before a change lands; the same on a laptop and on a CI machine.

use anyhow::Context as _;
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};

/// One command of the run.
#[derive(Debug)]
struct Step {
    args: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
}

/// Cheapest first. The tests come last, so that the run closes on their result line.
const STEPS: &[Step] = &[
    Step { args: &["fmt", "--all", "--check"], env: &[] },
    Step { args: &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], env: &[] },
    Step { args: &["doc", "--workspace", "--no-deps"], env: &[("RUSTDOCFLAGS", "-D warnings")] },
    Step { args: &["test", "--workspace"], env: &[] },
];

/// Runs every step, up to the first that fails; its exit code is ours.
pub fn run(out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let status = run_steps(STEPS, &crate::cargo(), crate::root(), out)?;
    Ok(exit_code(status).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// The status of the last step that ran.
fn run_steps(
    steps: &[Step],
    program: &OsStr,
    dir: &Path,
    out: &mut impl Write,
) -> anyhow::Result<ExitStatus> {
    let mut last = ExitStatus::default();
    for (number, step) in (1..).zip(steps) {
        let spelled = spell(step);
        writeln!(out, "==> {number}/{}: {spelled}", steps.len())?;
        last = Command::new(program)
            .args(step.args)
            .envs(step.env.iter().copied())
            .current_dir(dir)
            .status()
            .with_context(|| format!("cannot start {}", program.display()))?;
        if !last.success() {
            writeln!(out, "==> failed ({last}): {spelled}")?;
            break;
        }
    }
    Ok(last)
}

/// The step as a person would type it.
fn spell(step: &Step) -> String {
    let env = step.env.iter().map(|(name, value)| format!("{name}='{value}' "));
    format!("{}cargo {}", env.collect::<String>(), step.args.join(" "))
}

/// `None`: a signal ended it.
fn exit_code(status: ExitStatus) -> Option<u8> {
    u8::try_from(status.code()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `steps` with `sh` in place of cargo.
    fn run_in_shell(steps: &[Step]) -> (Option<u8>, String) {
        let mut out = Vec::new();
        let status = run_steps(steps, OsStr::new("sh"), crate::root(), &mut out).unwrap();
        (exit_code(status), String::from_utf8(out).unwrap())
    }

    #[test]
    fn the_first_failure_ends_the_run_with_its_code() {
        let steps = [
            Step { args: &["-c", "exit $CODE"], env: &[("CODE", "0")] },
            Step { args: &["-c", "exit $CODE"], env: &[("CODE", "7")] },
            Step { args: &["-c", "exit 8"], env: &[] },
        ];
        let (code, story) = run_in_shell(&steps);
        assert_eq!(code, Some(7));
        assert!(story.contains("==> 2/3: CODE='7' cargo -c exit $CODE"), "{story}");
        assert!(story.contains("==> failed"), "{story}");
        assert!(!story.contains("3/3"), "{story}");
    }

    #[test]
    fn a_run_without_failure_announces_every_step() {
        let (code, story) = run_in_shell(&[
            Step { args: &["-c", "true"], env: &[] },
            Step { args: &["-c", "exit 0"], env: &[] },
        ]);
        assert_eq!(code, Some(0));
        assert_eq!(story, "==> 1/2: cargo -c true\n==> 2/2: cargo -c exit 0\n");
    }

    #[test]
    fn a_step_ended_by_a_signal_has_no_code() {
        let (code, _) = run_in_shell(&[Step { args: &["-c", "kill -9 $$"], env: &[] }]);
        assert_eq!(code, None);
    }

    #[test]
    fn a_missing_program_is_named() {
        let steps = [Step { args: &[], env: &[] }];
        let program = OsStr::new("no-such-cargo");
        let error = run_steps(&steps, program, crate::root(), &mut Vec::new()).unwrap_err();
        assert_eq!(error.to_string(), "cannot start no-such-cargo");
    }
}
