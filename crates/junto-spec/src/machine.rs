//! A machine: its GPUs, how they are linked, and how long its collectives take.
//!
//! The catalog holds kinds of machine (`h200.toml`); `8x-h200` is a kind with a count of GPUs. A
//! user's file is read by the same rules and is one machine.

pub mod collective;
pub mod error;
mod gpu;
pub mod kinds;
mod parse;
mod price;
#[cfg(test)]
mod tests;

use crate::source::Source;
use crate::units::{Bytes, BytesPerSecond, FlopsPerSecond, Seconds};
use collective::CollectiveTable;
use error::MachineError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A set of equal GPUs on one or more hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct MachineSpec {
    /// Name in the catalog, or the file it was read from.
    pub name: String,
    /// One line for a person.
    pub description: String,
    /// The GPU, or a CPU in its place.
    pub gpu: Gpu,
    /// GPUs of one host.
    pub gpus_per_host: u32,
    /// Hosts.
    pub hosts: u32,
    /// Links, from the tightest domain to the widest, at most one of each kind. The widest joins
    /// all GPUs; a machine of one GPU has none.
    pub links: Vec<Link>,
    /// Measured collective latencies. Of two for the same operation the first counts.
    pub collectives: Vec<CollectiveTable>,
}

/// An accelerator as its datasheet has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// Name as vendors and tools print it.
    pub name: String,
    /// Architecture generation, the key of the efficiency constants; one of [`GENERATIONS`].
    pub generation: String,
    /// Device memory that a process can allocate before it loads anything.
    pub memory: Bytes,
    /// Device memory bandwidth.
    pub memory_bandwidth: BytesPerSecond,
    /// Dense matrix rate in bf16.
    pub bf16: FlopsPerSecond,
    /// Dense matrix rate in fp8; `None`: no such units.
    pub fp8: Option<FlopsPerSecond>,
    /// Dense matrix rate in fp4; `None`: no such units.
    pub fp4: Option<FlopsPerSecond>,
    /// Last-level cache.
    pub l2: Bytes,
    /// Where these figures come from.
    pub source: String,
}

/// The generations that efficiency constants are kept for. GB300 and B300 run the kernels of
/// `sm100`.
pub const GENERATIONS: [&str; 10] =
    ["sm80", "sm86", "sm89", "sm90", "sm100", "sm120", "sm121", "gfx942", "gfx950", "x86"];

/// The kind of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// An NVLink or Infinity Fabric domain with all-to-all bandwidth.
    Nvlink,
    /// GPUs under one PCIe switch or root port.
    PcieSwitch,
    /// GPUs of one CPU socket.
    Socket,
    /// GPUs of one host, across sockets.
    Host,
    /// GPUs of several hosts.
    Network,
}

impl fmt::Display for LinkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nvlink => "nvlink",
            Self::PcieSwitch => "pcie_switch",
            Self::Socket => "socket",
            Self::Host => "host",
            Self::Network => "network",
        })
    }
}

/// What joins a set of GPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// What it is.
    pub kind: LinkKind,
    /// The sets of GPUs that it joins, by global index, each ascending.
    pub domains: Vec<Vec<u32>>,
    /// Bandwidth of one GPU into the link, one way.
    pub bandwidth: BytesPerSecond,
    /// Latency of one hop.
    pub latency: Seconds,
    /// What starting an operation costs, whatever its size and number of hops.
    pub launch: Seconds,
    /// Whether GPUs reach each other's memory directly.
    pub p2p: bool,
    /// How strong the figures are.
    pub source: Source,
    /// Where they come from.
    pub reference: String,
}

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Every rank gets the sum.
    AllReduce,
    /// Every rank gets every part.
    AllGather,
    /// Every rank gets its part of the sum.
    ReduceScatter,
    /// Every rank sends a part to every other.
    AllToAll,
    /// One rank to the next.
    SendRecv,
}

/// How a collective is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// NCCL (or RCCL, gloo), choosing its own protocol.
    Nccl,
    /// The engine's own kernel over NVLink or P2P PCIe (custom, one-shot, PCIe-IPC all-reduce).
    Custom,
}

/// The ranks of one collective, as far as its price depends on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Group {
    /// Ranks that take part.
    pub ranks: u32,
    /// Most of them on one host.
    pub per_host: u32,
    /// The tightest link that joins them all.
    pub span: LinkKind,
}

impl MachineSpec {
    /// A machine of the catalog: `8x-h200`, `cpu`.
    pub fn catalog(name: &str) -> Result<Self, MachineError> {
        kinds::resolve(name)
    }

    /// A machine from the text of a file called `name`.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, MachineError> {
        parse::machine(text, name, None)
    }

    /// GPUs of all hosts.
    pub fn gpus(&self) -> u32 {
        self.gpus_per_host * self.hosts
    }

    /// The link of a kind, if the machine has one.
    pub fn link(&self, kind: LinkKind) -> Option<&Link> {
        self.links.iter().find(|link| link.kind == kind)
    }

    /// The group of the GPUs `members`.
    ///
    /// Panics if one of them is not there.
    pub fn group(&self, members: &[u32]) -> Group {
        assert!(members.iter().all(|&gpu| gpu < self.gpus()), "{members:?} on {}", self.name);
        let on_host =
            |host| members.iter().filter(|&&gpu| gpu / self.gpus_per_host == host).count();
        let per_host = members.iter().map(|gpu| on_host(gpu / self.gpus_per_host)).max();
        let link = self.links.iter().find(|link| link.joins(members));
        // A rank alone crosses nothing; a machine of one GPU has no link to name.
        let span = link.map_or(LinkKind::Nvlink, |link| link.kind);
        Group { ranks: members.len() as u32, per_host: per_host.unwrap_or(0) as u32, span }
    }
}

impl Link {
    /// Whether one domain of this link holds all of `members`.
    pub fn joins(&self, members: &[u32]) -> bool {
        let holds = |domain: &Vec<u32>, gpu: &u32| domain.binary_search(gpu).is_ok();
        let Some(first) = members.first() else { return true };
        let home = self.domains.iter().find(|domain| holds(domain, first));
        home.is_some_and(|domain| members.iter().all(|gpu| holds(domain, gpu)))
    }

    /// GPUs of the largest domain.
    pub fn width(&self) -> u32 {
        self.domains.iter().map(Vec::len).max().unwrap_or(0) as u32
    }
}
