//! Why a machine could not be had.

use super::GENERATIONS;
use crate::toml_file::TomlError;

/// Why a machine could not be had.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its fields are")]
pub enum MachineError {
    #[error(transparent)]
    Toml(#[from] TomlError),
    #[error("no machine of the catalog is called `{name}`")]
    UnknownMachine { name: String, near: Option<String> },
    #[error("`{kind}` is a kind of machine and needs a count of GPUs")]
    NeedsCount { kind: String, counts: Vec<u32> },
    #[error("`{kind}` does not come with {count} GPUs")]
    NoSuchCount { kind: String, count: u32, counts: Vec<u32> },
    #[error("{file}: gpu is `{gpu}`, which the catalog does not have")]
    UnknownGpu { file: String, gpu: String, near: Option<String> },
    #[error("{file}: gpu is neither a name nor a table")]
    GpuIsNoNameOrTable { file: String },
    #[error("{file}: gpu.generation is `{generation}`, for which there are no constants")]
    UnknownGeneration { file: String, generation: String },
    #[error("{file}: collectives names `{name}`, which the catalog does not have")]
    UnknownCollectives { file: String, name: String, near: Option<String> },
    #[error("{file}: {field} is {value}, but must be above 0 and at most {most}")]
    OutOfRange { file: String, field: String, value: f64, most: f64 },
    #[error("{file}: {field} is {value}, but must be a whole number from {least} to {most}")]
    CountOutOfRange { file: String, field: String, value: i64, least: u32, most: u32 },
    #[error("{file}: link {link} joins GPU {gpu}, but the machine has GPUs 0 to {last}")]
    NoSuchGpu { file: String, link: usize, gpu: i64, last: u32 },
    #[error("{file}: link {link} joins GPU {gpu} twice")]
    JoinedTwice { file: String, link: usize, gpu: u32 },
    #[error("{file}: link {link} needs either domain or domains")]
    Domains { file: String, link: usize },
    #[error("{file}: two links are of kind {kind}")]
    SameKind { file: String, kind: String },
    #[error("{file}: no link joins all {gpus} GPUs, the widest joins {widest}")]
    NotJoined { file: String, gpus: u32, widest: u32 },
    #[error("{file}: counts and hosts exclude each other")]
    CountsAndHosts { file: String },
    #[error(
        "{file}: counts has {count}, which is not a whole number of hosts of {gpus_per_host} GPUs"
    )]
    PartOfAHost { file: String, count: u32, gpus_per_host: u32 },
    #[error("{file}: collective {table} has {bytes} sizes in bytes and {us} times in us")]
    Lengths { file: String, table: usize, bytes: usize, us: usize },
    #[error("{file}: collective {table} has {sizes} sizes, but a line needs two points")]
    TooFewSizes { file: String, table: usize, sizes: usize },
    #[error("{file}: collective {table}: {field} must ascend, but {value} follows {before}")]
    NotAscending { file: String, table: usize, field: &'static str, before: f64, value: f64 },
}

impl MachineError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Toml(error) => error.hint(),
            Self::UnknownMachine { near: Some(near), .. }
            | Self::UnknownGpu { near: Some(near), .. }
            | Self::UnknownCollectives { near: Some(near), .. } => {
                Some(format!("did you mean `{near}`?"))
            }
            Self::UnknownMachine { .. } => Some(
                "`junto machines` lists the catalog; a path to a TOML file works too".to_owned(),
            ),
            Self::UnknownGpu { .. } => {
                Some("give a [gpu] table with the figures of its datasheet".to_owned())
            }
            Self::UnknownGeneration { .. } => {
                Some(format!("the nearest of: {}", GENERATIONS.join(", ")))
            }
            Self::NeedsCount { kind, counts } | Self::NoSuchCount { kind, counts, .. } => {
                let names: Vec<_> = counts.iter().map(|count| format!("{count}x-{kind}")).collect();
                Some(format!("there are {}", names.join(", ")))
            }
            Self::Domains { .. } => Some(
                "domain = 4 makes sets of four neighbours, domains = [[0, 1], [2, 3]] names them"
                    .to_owned(),
            ),
            Self::NotJoined { .. } => {
                Some("add a link of kind \"host\" or \"network\" over all of them".to_owned())
            }
            Self::NotAscending { field: "us", .. } => Some(
                "a larger payload is never faster: give the larger figure, or leave the point out"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}
