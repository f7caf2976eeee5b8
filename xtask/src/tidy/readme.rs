//! The examples in the README are real: each `$ junto ...` line is run and its output compared.

use super::Finding;
use anyhow::{Context as _, ensure};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command in a `console` block, with what the README says it prints.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Example {
    /// Line of the command, counted from 1.
    line: usize,
    /// Without the prompt; a shell reads it, so it may hold a pipe.
    command: String,
    /// Line at which its output begins.
    first: usize,
    /// Lines that follow it, without spaces at their ends.
    output: Vec<String>,
}

/// Builds `junto` and runs every example; nothing to do without one.
pub fn check(root: &Path) -> anyhow::Result<Vec<Finding>> {
    let path = root.join("README.md");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let readme = std::fs::read_to_string(path).context("cannot read README.md")?;
    let examples = examples(&readme);
    if examples.is_empty() {
        return Ok(Vec::new());
    }
    let junto = build(root)?;
    let mut findings = Vec::new();
    for example in &examples {
        let actual = run(&example.command, &junto, root)?;
        findings.extend(compare(example, &actual));
    }
    Ok(findings)
}

/// Runs every example and writes what it really prints into the README.
pub fn bless(root: &Path) -> anyhow::Result<()> {
    let path = root.join("README.md");
    let readme = std::fs::read_to_string(&path).context("cannot read README.md")?;
    let examples = examples(&readme);
    let junto = build(root)?;
    let outputs: Vec<String> = examples
        .iter()
        .map(|example| run(&example.command, &junto, root))
        .collect::<anyhow::Result<_>>()?;
    std::fs::write(path, blessed(&readme, &examples, &outputs)).context("cannot write README.md")
}

/// The Markdown with the output of each example in its place.
fn blessed(markdown: &str, examples: &[Example], outputs: &[String]) -> String {
    let mut lines: Vec<&str> = markdown.lines().collect();
    for (example, output) in examples.iter().zip(outputs).rev() {
        let old = example.first - 1..example.first - 1 + example.output.len();
        lines.splice(old, output.trim_end().lines().map(str::trim_end));
    }
    lines.join("\n") + "\n"
}

/// The examples of a Markdown text: in blocks opened by three backticks and `console`, each line
/// `$ junto ...`, continued after a `\`, and what follows up to the next `$` or the block's end.
///
/// Other commands (`$ cargo install ...`) are for reading only.
fn examples(markdown: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut block = Block::None;
    let mut lines = (1..).zip(markdown.lines());
    while let Some((line, text)) = lines.next() {
        let text = text.trim_end();
        if text.starts_with("```") {
            block = if text == "```console" { Block::Console } else { Block::None };
        } else if block != Block::None
            && let Some(command) = text.strip_prefix("$ ")
        {
            let mut command = command.to_owned();
            let mut last = line;
            while command.ends_with('\\') {
                command.pop();
                let (number, rest) = lines.next().unwrap_or((last, ""));
                command.push_str(rest.trim());
                last = number;
            }
            let is_junto = command == "junto" || command.starts_with("junto ");
            block = if is_junto { Block::Output } else { Block::Console };
            if is_junto {
                examples.push(Example { line, command, first: last + 1, output: Vec::new() });
            }
        } else if block == Block::Output
            && let Some(example) = examples.last_mut()
        {
            example.output.push(text.to_owned());
        }
    }
    examples
}

/// Where in the Markdown a line stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    /// Outside any console block.
    None,
    /// In a console block, but not after a `junto` command.
    Console,
    /// After a `junto` command.
    Output,
}

/// The first line at which the README and the program part, if they do. Spaces at the end of a line
/// and empty lines at the end of the output do not count.
fn compare(example: &Example, actual: &str) -> Option<Finding> {
    let expected = example.output.join("\n");
    let mut expected = expected.trim_end().lines();
    let mut actual = actual.trim_end().lines().map(str::trim_end);
    for line in example.first.. {
        let (said, printed) = (expected.next(), actual.next());
        if said.is_none() && printed.is_none() {
            return None;
        }
        if said != printed {
            let quote = |text: Option<&str>| text.map_or("nothing".into(), |t| format!("`{t}`"));
            return Some(Finding {
                path: "README.md".to_owned(),
                line,
                what: format!(
                    "`{}` prints {} where the README has {}",
                    example.command,
                    quote(printed),
                    quote(said)
                ),
                hint: "`cargo xtask tidy --bless` writes the real output, unless the program is \
                       wrong; an output that cannot repeat belongs in a ```text block"
                    .to_owned(),
            });
        }
    }
    None
}

/// The program under test, as cargo says where it put it.
fn build(root: &Path) -> anyhow::Result<PathBuf> {
    let output = Command::new(crate::cargo())
        .args(["build", "--workspace", "--bin", "junto", "--message-format", "json"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    ensure!(output.status.success(), "junto does not build");
    let messages = String::from_utf8(output.stdout).context("cargo's messages are not UTF-8")?;
    let executable = messages.lines().rev().find_map(executable_in);
    executable.context("cargo built no junto")
}

/// The executable that one line of cargo's JSON speaks of.
fn executable_in(message: &str) -> Option<PathBuf> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    message.get("executable")?.as_str().map(PathBuf::from)
}

/// What a person sees after typing `command` at the root of a checkout: the data, then the story.
fn run(command: &str, junto: &Path, root: &Path) -> anyhow::Result<String> {
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(root)
        .env("PATH", path_with(junto)?)
        .env("NO_COLOR", "1")
        // The same with a GPU and without.
        .env("CUDA_VISIBLE_DEVICES", "")
        .stdin(Stdio::null())
        .output()
        .context("cannot start sh")?;
    let data = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(data + &String::from_utf8_lossy(&output.stderr))
}

/// `PATH` with the folder of `program` in front.
fn path_with(program: &Path) -> anyhow::Result<OsString> {
    let folder = program.parent().context("a program lies in a folder")?;
    let old = env::var_os("PATH").unwrap_or_default();
    let folders = [folder.to_owned()].into_iter().chain(env::split_paths(&old));
    Ok(env::join_paths(folders)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str = "\
# junto
```text
$ junto not-run
```
```console
$ cargo install junto
Installed
$ junto plan kimi-k2 \\
    --machine pcie8
tp8   1.0  

tp4   2.0
$ junto
usage
```
tail
";

    #[track_caller]
    fn check_example(output: &[&str], actual: &str, expected_line: Option<usize>) {
        let output = output.iter().map(|&line| line.to_owned()).collect();
        let example = Example { line: 10, command: "junto x".to_owned(), first: 11, output };
        let finding = compare(&example, actual);
        assert_eq!(finding.as_ref().map(|f| f.line), expected_line, "{finding:?}");
    }

    #[test]
    fn examples_are_junto_commands_in_console_blocks() {
        let found = examples(README);
        let [plan, bare] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((plan.line, plan.command.as_str()), (8, "junto plan kimi-k2 --machine pcie8"));
        assert_eq!(plan.output, ["tp8   1.0", "", "tp4   2.0"]);
        assert_eq!((bare.line, bare.command.as_str()), (13, "junto"));
        assert_eq!(bare.output, ["usage"]);
    }

    #[test]
    fn what_is_printed_takes_the_place_of_what_was_written() {
        let outputs = ["tp8 3.0\n\n", "one\ntwo\n"].map(str::to_owned);
        let text = blessed(README, &examples(README), &outputs);
        assert!(
            text.contains("--machine pcie8\ntp8 3.0\n$ junto\none\ntwo\n```\ntail\n"),
            "{text}"
        );
        assert_eq!(blessed(&text, &examples(&text), &outputs), text);
    }

    #[test]
    fn a_text_without_console_blocks_has_no_example() {
        assert_eq!(examples("# junto\n```sh\n$ junto plan\n```\n"), []);
    }

    #[test]
    fn spaces_at_line_ends_do_not_count() {
        check_example(&["a", "b", ""], "a  \nb\n", None);
        check_example(&[], "\n", None);
    }

    #[test]
    fn an_output_that_differs_is_found_at_its_line() {
        check_example(&["a", "b"], "a\nc\n", Some(12));
        check_example(&["a"], "a\nb\n", Some(12));
        check_example(&["a", "b"], "a\n", Some(12));
        check_example(&["a"], " a\n", Some(11));
    }

    #[test]
    fn a_difference_is_told_with_both_sides() {
        let example = Example {
            line: 1,
            command: "junto x".to_owned(),
            first: 2,
            output: vec!["a".to_owned()],
        };
        let finding = compare(&example, "").unwrap();
        assert_eq!(finding.what, "`junto x` prints nothing where the README has `a`");
    }

    #[test]
    fn the_executable_is_where_cargo_says() {
        let line = r#"{"reason":"compiler-artifact","executable":"/t/debug/junto"}"#;
        assert_eq!(executable_in(line), Some(PathBuf::from("/t/debug/junto")));
        assert_eq!(executable_in(r#"{"executable":null}"#), None);
        assert_eq!(executable_in("Compiling"), None);
    }

    #[test]
    fn a_command_is_run_by_a_shell_that_finds_the_program_first() {
        let shell = Path::new("/nowhere/junto");
        let output = run("echo ${PATH%%:*} | tr a-z A-Z; echo why >&2", shell, crate::root());
        assert_eq!(output.unwrap(), "/NOWHERE\nwhy\n");
    }
}
