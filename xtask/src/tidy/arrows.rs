//! Which crate may depend on which, held against the manifests, and which `ARCHITECTURE.md` names.

use super::{File, Finding};
use anyhow::Context as _;

/// The crates of this workspace that a crate may depend on.
#[derive(Clone, Copy, Debug)]
enum May {
    Only(&'static [&'static str]),
    All,
}

/// Who may depend on whom. A new arrow is a change of architecture: it is made here, in the same
/// commit as in `ARCHITECTURE.md`.
///
/// A crate that is not written yet may stand here; a crate that is not here may not be written.
const ARROWS: &[(&str, May)] = &[
    ("junto-spec", May::Only(&[])),
    ("junto-plan", May::Only(&["junto-spec"])),
    ("junto-engine", May::Only(&["junto-spec"])),
    ("junto-cuda", May::Only(&["junto-spec", "junto-engine"])),
    ("junto-openai", May::Only(&[])),
    ("junto-serve", May::Only(&["junto-openai", "junto-engine"])),
    ("junto-load", May::Only(&["junto-spec", "junto-openai"])),
    ("junto-campaign", May::Only(&["junto-spec", "junto-plan", "junto-load"])),
    ("junto", May::All),
    ("xtask", May::All),
];

/// Checks every manifest of a crate, and the map.
pub fn check(files: &[File]) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut names = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        let manifest =
            Manifest::parse(file).with_context(|| format!("cannot read {}", file.path))?;
        findings.extend(unlisted(&manifest, file));
        findings.extend(forbidden_arrows(&manifest, file));
        names.push(manifest.name);
    }
    let map = files.iter().find(|file| file.path == "ARCHITECTURE.md");
    let map = map.context("there is no ARCHITECTURE.md; it lists the crates")?;
    findings.extend(names.iter().filter_map(|name| unmapped(name, map)));
    Ok(findings)
}

/// What the checks want of a `Cargo.toml`.
struct Manifest {
    name: String,
    /// Normal dependencies within the workspace, for any target.
    dependencies: Vec<String>,
}

impl Manifest {
    fn parse(file: &File) -> anyhow::Result<Self> {
        let manifest: toml::Table = file.text.parse()?;
        let name = manifest.get("package").and_then(|package| package.get("name"));
        let name = name.and_then(toml::Value::as_str).context("no package.name")?.to_owned();
        let targets = manifest.get("target").and_then(toml::Value::as_table);
        let targets = targets.into_iter().flat_map(toml::Table::values);
        let tables = manifest
            .get("dependencies")
            .into_iter()
            .chain(targets.filter_map(|target| target.get("dependencies")));
        let mut dependencies: Vec<String> = tables
            .filter_map(toml::Value::as_table)
            .flatten()
            .map(|(key, value)| package_name(key, value).to_owned())
            .filter(|package| is_ours(package))
            .collect();
        dependencies.sort_unstable();
        dependencies.dedup();
        Ok(Self { name, dependencies })
    }
}

/// A dependency's own name, also when the manifest gives it another.
fn package_name<'a>(key: &'a str, value: &'a toml::Value) -> &'a str {
    value.get("package").and_then(toml::Value::as_str).unwrap_or(key)
}

fn is_ours(package: &str) -> bool {
    package == "junto" || package == "xtask" || package.starts_with("junto-")
}

fn arrows_of(name: &str) -> Option<May> {
    ARROWS.iter().find(|(listed, _)| *listed == name).map(|(_, may)| *may)
}

fn unlisted(manifest: &Manifest, file: &File) -> Option<Finding> {
    let name = &manifest.name;
    arrows_of(name).is_none().then(|| Finding {
        path: file.path.clone(),
        line: line_of(&file.text, "name"),
        what: format!("{name} is not in the table of arrows"),
        hint: "add it to ARROWS in xtask/src/tidy/arrows.rs and to ARCHITECTURE.md".to_owned(),
    })
}

fn forbidden_arrows(manifest: &Manifest, file: &File) -> Vec<Finding> {
    let Some(May::Only(allowed)) = arrows_of(&manifest.name) else { return Vec::new() };
    let forbidden = manifest.dependencies.iter().filter(|to| !allowed.contains(&to.as_str()));
    forbidden
        .map(|to| Finding {
            path: file.path.clone(),
            line: line_of(&file.text, to),
            what: format!("{} may not depend on {to}", manifest.name),
            hint: "move the shared part down, or draw the arrow in ARROWS in \
                   xtask/src/tidy/arrows.rs and in ARCHITECTURE.md"
                .to_owned(),
        })
        .collect()
}

/// The map names every crate, as `` `junto-spec` ``.
fn unmapped(name: &str, map: &File) -> Option<Finding> {
    (!map.text.contains(&format!("`{name}`"))).then(|| Finding {
        path: map.path.clone(),
        line: 1,
        what: format!("the map does not name {name}"),
        hint: format!("add a line for `{name}` to the table of crates"),
    })
}

/// The line that sets `key`, or names it; 1 if none does.
fn line_of(text: &str, key: &str) -> usize {
    let sets = |line: &str| {
        let rest = line.trim_start().strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start().starts_with(['=', '.']))
    };
    let line = text.lines().position(sets).or_else(|| text.lines().position(|l| l.contains(key)));
    line.map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a tree of one crate and a map that names `mapped`.
    #[track_caller]
    fn check_one(manifest: &str, mapped: &str, expected: &[&str]) {
        let files = [
            File { path: "crates/a/Cargo.toml".to_owned(), text: manifest.to_owned() },
            File { path: "ARCHITECTURE.md".to_owned(), text: format!("| `{mapped}` |\n") },
        ];
        let findings = check(&files).unwrap();
        let found: Vec<String> =
            findings.iter().map(|f| format!("{}:{}: {}", f.path, f.line, f.what)).collect();
        assert_eq!(found, expected, "{manifest}");
    }

    #[test]
    fn an_arrow_in_the_table_passes() {
        let manifest = "[package]\nname = 'junto-plan'\n[dependencies]\n\
                        junto-spec.workspace = true\nserde = '1'\n";
        check_one(manifest, "junto-plan", &[]);
        check_one("[package]\nname = 'junto-spec'\n", "junto-spec", &[]);
    }

    #[test]
    fn an_arrow_against_the_table_is_found_where_it_is_drawn() {
        let expected = ["crates/a/Cargo.toml:4: junto-spec may not depend on junto-plan"];
        let head = "[package]\nname = 'junto-spec'\n";
        for arrow in [
            "[dependencies]\njunto-plan.workspace = true\n",
            "[dependencies]\njunto-plan = { path = '../junto-plan' }\n",
            "[dependencies]\nplan = { path = '../x', package = 'junto-plan' }\n",
            "[target.'cfg(unix)'.dependencies]\njunto-plan.workspace = true\n",
        ] {
            check_one(&format!("{head}{arrow}"), "junto-spec", &expected);
        }
    }

    #[test]
    fn tests_may_use_any_crate() {
        let manifest = "[package]\nname = 'junto-spec'\n\
                        [dev-dependencies]\njunto-plan.workspace = true\n";
        check_one(manifest, "junto-spec", &[]);
    }

    #[test]
    fn a_crate_outside_the_table_is_found() {
        let expected = ["crates/a/Cargo.toml:2: junto-helpers is not in the table of arrows"];
        check_one("[package]\nname = 'junto-helpers'\n", "junto-helpers", &expected);
    }

    #[test]
    fn a_crate_outside_the_map_is_found() {
        let expected = ["ARCHITECTURE.md:1: the map does not name junto-spec"];
        check_one("[package]\nname = 'junto-spec'\n", "junto-plan", &expected);
    }

    #[test]
    fn the_table_only_points_at_crates_that_it_lists() {
        for (name, may) in ARROWS {
            let May::Only(allowed) = may else { continue };
            for to in *allowed {
                assert!(arrows_of(to).is_some(), "{name} points at {to}");
            }
        }
    }
}
