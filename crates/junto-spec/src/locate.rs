//! Finds and reads the `config.json` that a person means by a path or a Hugging Face repo id.

use crate::units::Bytes;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A config is a few KiB; what is larger is another file (weights, most likely).
const LARGEST: u64 = 64 << 20;

/// Why no config could be found or read.
#[derive(Debug, Error)]
pub enum LocateError {
    /// Neither a file, nor a directory with a config, nor a repo in the cache.
    #[error("no model config at {wanted:?}; looked for {}", listed(looked_for))]
    NotFound {
        /// The path or repo id as given.
        wanted: String,
        /// Every place that was tried.
        looked_for: Vec<PathBuf>,
    },
    /// Too large to be a config.
    #[error("a config.json is a few KiB; {} has {size}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        size: Bytes,
    },
    /// Not a text.
    #[error("{} is not a text file: its byte {at} is no UTF-8", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Bytes before the first that is not UTF-8.
        at: usize,
    },
    /// The operating system refused.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What it said.
        error: std::io::Error,
    },
}

fn listed(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}

impl LocateError {
    /// What to do next, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotFound { wanted, .. } if is_repo_id(wanted) => {
                Some(format!("`hf download {wanted} config.json` fetches it into the cache"))
            }
            Self::NotFound { .. } => Some(
                "give a config.json, the directory it is in, or a repo id org/name".to_string(),
            ),
            Self::TooLarge { .. } | Self::NotUtf8 { .. } => {
                Some("give the config.json beside the weights, or its directory".to_string())
            }
            Self::Unreadable { .. } => None,
        }
    }
}

/// The Hugging Face cache: `$HF_HOME/hub`, or `~/.cache/huggingface/hub`.
pub fn hub(hf_home: Option<&Path>, home: Option<&Path>) -> Option<PathBuf> {
    let base = match (hf_home, home) {
        (Some(hf_home), _) => hf_home.to_path_buf(),
        (None, Some(home)) => home.join(".cache/huggingface"),
        (None, None) => return None,
    };
    Some(base.join("hub"))
}

/// The config file that `wanted` means: itself, the one in that directory, or the one that the
/// cache `hub` has of that repo at its `main`.
pub fn config(wanted: &str, hub: Option<&Path>) -> Result<PathBuf, LocateError> {
    let path = Path::new(wanted);
    if path.is_file() {
        return Ok(path.to_path_buf());
    }
    let mut looked_for = vec![path.to_path_buf(), path.join("config.json")];
    if looked_for[1].is_file() {
        return Ok(looked_for.swap_remove(1));
    }
    if let Some(hub) = hub.filter(|_| is_repo_id(wanted)) {
        let repo = hub.join(format!("models--{}", wanted.replace('/', "--")));
        let main = repo.join("refs/main");
        match fs::read_to_string(&main) {
            Ok(revision) if is_revision(revision.trim()) => {
                let file = repo.join("snapshots").join(revision.trim()).join("config.json");
                if file.is_file() {
                    return Ok(file);
                }
                looked_for.push(file);
            }
            _ => looked_for.push(main),
        }
    }
    Err(LocateError::NotFound { wanted: wanted.to_string(), looked_for })
}

/// The text of a config file, unless it is too large or no text.
pub fn read(path: &Path) -> Result<String, LocateError> {
    let unreadable = |error| LocateError::Unreadable { path: path.to_path_buf(), error };
    let too_large =
        |size: u64| LocateError::TooLarge { path: path.to_path_buf(), size: Bytes(size as f64) };
    let file = fs::File::open(path).map_err(unreadable)?;
    let size = file.metadata().map_err(unreadable)?.len();
    if LARGEST < size {
        return Err(too_large(size));
    }
    // A pipe or a device has no size to go by, so the limit holds while reading too.
    let mut bytes = Vec::new();
    let read = file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)? as u64;
    if LARGEST < read {
        return Err(too_large(read));
    }
    String::from_utf8(bytes).map_err(|error| LocateError::NotUtf8 {
        path: path.to_path_buf(),
        at: error.utf8_error().valid_up_to(),
    })
}

/// `org/name` in the letters that Hugging Face allows.
fn is_repo_id(text: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    text.split_once('/').is_some_and(|(org, name)| part(org) && part(name))
}

/// A revision names one directory; it must not lead elsewhere.
fn is_revision(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of its own for each test, removed at the end of it.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("junto-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn write(&self, file: &str, text: &[u8]) -> PathBuf {
            let path = self.0.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_a_directory_and_a_repo_in_the_cache_are_found() {
        let scratch = Scratch::new("found");
        let file = scratch.write("model/config.json", b"{}");
        assert_eq!(config(file.to_str().unwrap(), None).unwrap(), file);
        assert_eq!(config(scratch.0.join("model").to_str().unwrap(), None).unwrap(), file);
        scratch.write("hub/models--org--name/refs/main", b"0a1b\n");
        let cached = scratch.write("hub/models--org--name/snapshots/0a1b/config.json", b"{}");
        assert_eq!(config("org/name", Some(&scratch.0.join("hub"))).unwrap(), cached);
    }

    #[test]
    fn what_was_looked_for_is_said() {
        let refusal = config("org/name", Some(Path::new("/hub"))).unwrap_err();
        insta::assert_snapshot!(refusal, @r#"no model config at "org/name"; looked for org/name, org/name/config.json, /hub/models--org--name/refs/main"#);
        insta::assert_snapshot!(refusal.hint().unwrap(), @"`hf download org/name config.json` fetches it into the cache");
    }

    #[test]
    fn a_revision_cannot_lead_out_of_the_cache() {
        let scratch = Scratch::new("escape");
        scratch.write("hub/models--org--name/refs/main", b"../../../secret");
        scratch.write("secret/config.json", b"{}");
        assert!(config("org/name", Some(&scratch.0.join("hub"))).is_err());
    }

    #[test]
    fn weights_and_bytes_are_not_taken_for_a_config() {
        let scratch = Scratch::new("large");
        let path = scratch.write("model.safetensors", b"");
        fs::File::options().write(true).open(&path).unwrap().set_len(2 << 30).unwrap();
        let refusal = read(&path).unwrap_err().to_string();
        assert!(refusal.starts_with("a config.json is a few KiB; "), "{refusal}");
        assert!(refusal.ends_with("model.safetensors has 2.0 GiB"), "{refusal}");
        let path = scratch.write("bytes", b"{\"a\": \xff}");
        let refusal = read(&path).unwrap_err().to_string();
        assert!(refusal.ends_with("is not a text file: its byte 6 is no UTF-8"), "{refusal}");
    }

    #[test]
    fn the_cache_is_where_hugging_face_puts_it() {
        let (hf, home) = (Path::new("/hf"), Path::new("/users/me"));
        assert_eq!(hub(Some(hf), Some(home)).unwrap(), Path::new("/hf/hub"));
        let default = Path::new("/users/me/.cache/huggingface/hub");
        assert_eq!(hub(None, Some(home)).unwrap(), default);
        assert_eq!(hub(None, None), None);
    }
}
