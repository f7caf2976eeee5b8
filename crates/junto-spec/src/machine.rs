//! A machine: its GPUs, how they are linked, and how long its collectives take.

use crate::source::Source;
use crate::units::{Bytes, BytesPerSecond, FlopsPerSecond, Seconds};

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
    /// Links, from the tightest domain to the widest.
    pub links: Vec<Link>,
    /// Measured collective latencies.
    pub collectives: Vec<CollectiveTable>,
}

/// An accelerator as its datasheet has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// Name as vendors and tools print it.
    pub name: String,
    /// Architecture generation, the key of the efficiency constants: `sm80`, `sm86`, `sm89`, `sm90`,
    /// `sm100`, `sm120`, `sm121`, `gfx942`, `gfx950`, `x86`.
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

/// The kind of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

/// What joins a set of GPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// What it is.
    pub kind: LinkKind,
    /// The sets of GPUs that it joins, by global index.
    pub domains: Vec<Vec<u32>>,
    /// Bandwidth of one GPU into the link, one way.
    pub bandwidth: BytesPerSecond,
    /// Latency of one hop.
    pub latency: Seconds,
    /// Whether GPUs reach each other's memory directly.
    pub p2p: bool,
    /// How strong the figures are.
    pub source: Source,
    /// Where they come from.
    pub reference: String,
}

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// NCCL (or RCCL, gloo), choosing its own protocol.
    Nccl,
    /// The engine's own kernel over NVLink or P2P PCIe (custom, one-shot, PCIe-IPC all-reduce).
    Custom,
}

/// Latency of one operation over one number of ranks by size; between points log-log linear,
/// beyond the last at its bandwidth.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectiveTable {
    /// The operation.
    pub op: Op,
    /// How it is carried out.
    pub algorithm: Algorithm,
    /// Ranks that take part.
    pub ranks: u32,
    /// Payload of the operation in bytes (all-reduce: the tensor; all-gather and reduce-scatter:
    /// the whole, not the part), ascending.
    pub bytes: Vec<f64>,
    /// Latency in microseconds for each size.
    pub us: Vec<f64>,
    /// How strong the figures are.
    pub source: Source,
    /// Where they come from.
    pub reference: String,
}
