//! The catalog that ships inside the binary: models, machines, engines, constants.

use include_dir::{Dir, include_dir};

static CATALOG: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../catalog");

/// The text of `catalog/{folder}/{name}.{extension}`, if it is there.
pub fn text(folder: &str, name: &str, extension: &str) -> Option<&'static str> {
    CATALOG.get_file(format!("{folder}/{name}.{extension}"))?.contents_utf8()
}

/// The text of `catalog/{file}`, if it is there.
pub fn file(file: &str) -> Option<&'static str> {
    CATALOG.get_file(file)?.contents_utf8()
}

/// The names in a folder of the catalog, sorted, without extension.
pub fn names(folder: &str) -> Vec<&'static str> {
    let Some(dir) = CATALOG.get_dir(folder) else { return Vec::new() };
    let mut names: Vec<_> =
        dir.files().filter_map(|file| file.path().file_stem()?.to_str()).collect();
    names.sort_unstable();
    names
}
