//! Checks that need one file alone: its length, its first line, its words.

use super::{File, Finding};

/// Lines of the longest `.rs` file: what one sitting reads.
const MOST_LINES: usize = 400;

/// Words that promise work. Spelled in two parts, so that this file keeps its own rule.
const PROMISES: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
];

/// Beginnings of paths that exist on one person's machine only; split for the same reason.
const PRIVATE_ROOTS: &[&str] =
    &[concat!("/", "home/"), concat!("/", "Users/"), concat!("/", "root/"), concat!("/", "work/")];

/// A path inside the container images that the engines publish, so the same for everybody.
const CONTAINER_CACHE: &str = concat!("/", "root/.cache/huggingface");

/// Every check of this module that fits the file's kind.
pub fn check(file: &File) -> Vec<Finding> {
    let mut findings = private_paths(file);
    if file.has_extension("rs") {
        findings.extend(length(file));
        findings.extend(opening(file));
        findings.extend(reexports(file));
    }
    if ["rs", "toml", "cu", "cuh", "sh"].iter().any(|code| file.has_extension(code)) {
        findings.extend(promises(file));
    }
    findings
}

/// No file longer than `MOST_LINES`.
fn length(file: &File) -> Option<Finding> {
    let lines = file.text.lines().count();
    (MOST_LINES < lines).then(|| Finding {
        path: file.path.clone(),
        line: MOST_LINES + 1,
        what: format!("{lines} lines, and {MOST_LINES} are the most"),
        hint: "split it by noun; tests past 80 lines go to foo/tests.rs".to_owned(),
    })
}

/// A file opens with what it is.
fn opening(file: &File) -> Option<Finding> {
    (!file.text.starts_with("//! ")).then(|| Finding {
        path: file.path.clone(),
        line: 1,
        what: "the file does not say what it is".to_owned(),
        hint: "open it with a line `//! ...`, above everything else".to_owned(),
    })
}

/// One path to each item.
fn reexports(file: &File) -> Vec<Finding> {
    find_lines(file, is_reexport, |line| Finding {
        path: file.path.clone(),
        line,
        what: "a re-export gives an item a second path".to_owned(),
        hint: "make the module public, and let callers name the item where it lives".to_owned(),
    })
}

/// `pub use`, `pub(crate) use` and the like.
fn is_reexport(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix("pub") else { return false };
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    };
    rest.starts_with(char::is_whitespace) && rest.trim_start().starts_with("use ")
}

/// Work that is promised in the code is filed as an issue.
fn promises(file: &File) -> Vec<Finding> {
    find_lines(file, is_open_promise, |line| Finding {
        path: file.path.clone(),
        line,
        what: "a promise without an issue number".to_owned(),
        hint: "do it now, or file an issue and write its number, as in `(#12)`".to_owned(),
    })
}

fn is_open_promise(line: &str) -> bool {
    let promised = PROMISES.iter().any(|promise| contains_word(line, promise));
    promised && !names_an_issue(line)
}

/// Whether `word` stands in the line and is not the tail of a longer one.
fn contains_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

fn names_an_issue(line: &str) -> bool {
    line.split('#').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Nothing in the tree points into one person's machine.
fn private_paths(file: &File) -> Vec<Finding> {
    find_lines(file, has_private_path, |line| Finding {
        path: file.path.clone(),
        line,
        what: "an absolute path of one machine".to_owned(),
        hint: "write it relative to the repository or the home folder (`~/...`), or pass it in"
            .to_owned(),
    })
}

fn has_private_path(line: &str) -> bool {
    PRIVATE_ROOTS.iter().any(|root| {
        line.match_indices(root).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let starts = !before.is_some_and(|c| c.is_alphanumeric() || ".-_~})".contains(c));
            starts && !line[at..].starts_with(CONTAINER_CACHE)
        })
    })
}

/// A finding for each line for which `is_bad`.
fn find_lines(
    file: &File,
    is_bad: impl Fn(&str) -> bool,
    finding: impl Fn(usize) -> Finding,
) -> Vec<Finding> {
    let numbered = (1..).zip(file.text.lines());
    numbered.filter(|(_, line)| is_bad(line)).map(|(number, _)| finding(number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of `path` that the checks complain about.
    #[track_caller]
    fn check_lines(path: &str, text: &str, expected: &[usize]) {
        let findings = check(&File { path: path.to_owned(), text: text.to_owned() });
        let lines: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, expected, "{text}");
    }

    #[test]
    fn a_long_file_is_found_at_its_first_line_too_many() {
        let with_lines = |lines: usize| "//! Long.\n".to_owned() + &"\n".repeat(lines - 1);
        check_lines("crates/a/src/lib.rs", &with_lines(400), &[]);
        check_lines("crates/a/src/lib.rs", &with_lines(401), &[401]);
        check_lines("docs/long.md", &with_lines(401), &[]);
    }

    #[test]
    fn a_file_opens_with_what_it_is() {
        check_lines("a.rs", "//! Units.\n", &[]);
        check_lines("a.rs", "use std::fmt;\n//! Units.\n", &[1]);
        check_lines("a.rs", "", &[1]);
        check_lines("a.md", "Units.\n", &[]);
    }

    #[test]
    fn reexports_are_found() {
        let bad = ["pub use a::B;", "    pub(crate) use a::*;", "pub(in crate::a) use b;"];
        for line in bad {
            check_lines("a.rs", &format!("//! A.\n{line}\n"), &[2]);
        }
        let good = ["use a::B;", "pub fn user() {}", "// a `pub use` hides", "pub used: u32,"];
        for line in good {
            check_lines("a.rs", &format!("//! A.\n{line}\n"), &[]);
        }
    }

    #[test]
    fn a_promise_needs_an_issue_number() {
        for promise in PROMISES {
            check_lines("a.rs", &format!("//! A.\n// {promise} later\n"), &[2]);
            check_lines("a.toml", &format!("# {promise} later\n"), &[1]);
            check_lines("a.rs", &format!("//! A.\n// {promise} later (#12)\n"), &[]);
            check_lines("a.md", &format!("{promise}\n"), &[]);
            check_lines("a.rs", &format!("//! A.\n// not_{promise}\n"), &[]);
        }
    }

    #[test]
    fn paths_of_one_machine_are_found_in_any_file() {
        for root in PRIVATE_ROOTS {
            check_lines("a.md", &format!("see\n`{root}x/y`\n"), &[2]);
            check_lines("a.json", &format!(r#"{{"path":"{root}x"}}"#), &[1]);
            check_lines("a.sh", &format!("cd {root}x"), &[1]);
            check_lines("a.md", &format!("file://{root}x"), &[1]);
            check_lines("a.md", &format!("~{root}x, .{root}x, a{root}x, ${{B}}{root}x"), &[]);
        }
        check_lines("compose.yaml", &format!("- ~/.cache/huggingface:{CONTAINER_CACHE}"), &[]);
    }

    #[test]
    fn a_finding_says_where_and_what_to_do() {
        let file = File { path: "a.rs".to_owned(), text: "mod b;\n".to_owned() };
        let finding = check(&file).remove(0).to_string();
        assert!(finding.starts_with("a.rs:1: the file does not say what it is\n"), "{finding}");
        assert!(finding.contains("hint: open it with"), "{finding}");
    }
}
