//! What a collective takes: from a measured table where there is one, else from the link.
//!
//! With `n` ranks, payload `V`, and a link of start cost `s`, hop latency `a` and bandwidth `b`:
//!
//! | | NCCL | custom, over peer memory |
//! |---|---|---|
//! | all-reduce | the less of a ring `s + 2(n-1)·a + 2(n-1)/n·V/b` and a tree `s + 4·log2(n)·a + 2V/b` | the less of one-shot `s + a + (n-1)·V/b` and two-shot `s + 2a + 2(n-1)/n·V/b` |
//! | all-gather, reduce-scatter | `s + (n-1)·a + (n-1)/n·V/b` | `s + a + (n-1)/n·V/b` |
//! | all-to-all | `s + log2(n)·a + (n-1)/n·V/b` | `s + a + (n-1)/n·V/b` |
//! | send | `s + a + V/b` | `s + a + V/b` |
//!
//! A level of the tree costs two hops each way, since a rank waits for two children. The sends of
//! an all-to-all overlap: measured, its start grows as the logarithm of the ranks, not as a ring's.

use super::collective::CollectiveTable;
use super::{Algorithm, Group, Link, LinkKind, MachineSpec, Op};
use crate::source::Source;
use crate::units::{Bytes, Seconds};

impl MachineSpec {
    /// Time of one collective, and how strong the figure is.
    ///
    /// A table of the same operation, algorithm and ranks is taken as it is; one of other ranks, or
    /// of a tighter link, is carried over by the formulas; without a table the formulas alone
    /// serve. A group over several hosts reduces inside each host, then across them, then gathers.
    pub fn collective_time(
        &self,
        op: Op,
        algorithm: Algorithm,
        group: Group,
        payload: Bytes,
    ) -> (Seconds, Source) {
        if group.ranks <= 1 {
            return (Seconds(0.0), Source::Measured);
        }
        let link = self.link(group.span);
        let link = link.or(self.links.last()).expect("a group of two ranks has a link");
        if link.kind == LinkKind::Network {
            return self.over_hosts(op, algorithm, group, payload, link);
        }
        self.in_one_domain(op, algorithm, group.ranks, payload, link)
    }

    /// Inside one domain of `link`.
    fn in_one_domain(
        &self,
        op: Op,
        algorithm: Algorithm,
        ranks: u32,
        payload: Bytes,
        link: &Link,
    ) -> (Seconds, Source) {
        let formula = |ranks, payload, link| formula(op, algorithm, ranks, payload, link);
        let Some(table) = self.nearest_table(op, algorithm, ranks) else {
            return (formula(ranks, payload, link), link.source.max(Source::Fitted));
        };
        // Tables are measured on neighbours: over the tightest link that holds so many.
        let measured = self.links.iter().find(|link| table.ranks <= link.width()).unwrap_or(link);
        let time = table.time(payload);
        if table.ranks == ranks && link.width() <= measured.width() {
            return (time, table.source);
        }
        let zero = Bytes(0.0);
        let starts = formula(ranks, zero, link) / formula(table.ranks, zero, measured);
        let flows = flow(op, ranks, link) / flow(op, table.ranks, measured);
        let carried = table.floor() * starts + (time - table.floor()) * flows;
        (carried, table.source.max(link.source).max(Source::Fitted))
    }

    /// Over several hosts, each rank through its own network port.
    fn over_hosts(
        &self,
        op: Op,
        algorithm: Algorithm,
        group: Group,
        payload: Bytes,
        network: &Link,
    ) -> (Seconds, Source) {
        let inside = group.per_host.min(group.ranks);
        let hosts = group.ranks.div_ceil(inside.max(1));
        let across = |op, payload| formula(op, Algorithm::Nccl, hosts, payload, network);
        let weakest = network.source.max(Source::Fitted);
        let local = self.links.iter().find(|link| inside <= link.width());
        let (Some(local), 2..) = (local.filter(|link| link.kind != LinkKind::Network), inside)
        else {
            return (across(op, payload), weakest);
        };
        let in_host = |op, payload| self.in_one_domain(op, algorithm, inside, payload, local);
        // The phases are one operation: started once, and large payloads flow through all at once.
        let nothing = Bytes(0.0);
        let pipelined = |inside: (Seconds, Seconds), across: (Seconds, Seconds)| {
            let flowing = (inside.0 - inside.1).max(across.0 - across.1);
            across.1 + (inside.1 - local.launch).max(Seconds(0.0)) + flowing
        };
        let part = payload * (1.0 / f64::from(inside));
        let (time, source) = match op {
            Op::AllReduce => {
                let (scatter, its_source) = in_host(Op::ReduceScatter, payload);
                let (gather, source) = in_host(Op::AllGather, payload);
                let (scatter_0, _) = in_host(Op::ReduceScatter, nothing);
                let (gather_0, _) = in_host(Op::AllGather, nothing);
                let inside = (scatter + gather, scatter_0 + gather_0 - local.launch);
                (pipelined(inside, (across(op, part), across(op, nothing))), its_source.max(source))
            }
            Op::AllGather | Op::ReduceScatter => {
                let (time, source) = in_host(op, payload);
                let inside = (time, in_host(op, nothing).0);
                (pipelined(inside, (across(op, part), across(op, nothing))), source)
            }
            Op::AllToAll => {
                // Both at once: what stays in the host, and what leaves it.
                let (time, source) = in_host(op, payload * (1.0 / f64::from(hosts)));
                (time.max(across(op, payload)), source)
            }
            Op::SendRecv => (across(op, payload), weakest),
        };
        (time, source.max(weakest))
    }

    /// The first table of the operation with these ranks, else the one with the nearest count.
    fn nearest_table(&self, op: Op, algorithm: Algorithm, ranks: u32) -> Option<&CollectiveTable> {
        let apart = |table: &&CollectiveTable| {
            let (low, high) = (table.ranks.min(ranks), table.ranks.max(ranks));
            u64::from(high) * 1000 / u64::from(low)
        };
        let tables = self.collectives.iter();
        tables.filter(|table| table.op == op && table.algorithm == algorithm).min_by_key(apart)
    }
}

/// Time by the link alone; see the top of this file.
fn formula(op: Op, algorithm: Algorithm, ranks: u32, payload: Bytes, link: &Link) -> Seconds {
    let n = f64::from(ranks);
    let levels = f64::from(ranks.next_power_of_two().trailing_zeros());
    let whole = payload / link.bandwidth;
    let steps = |hops: f64, payloads: f64| link.launch + link.latency * hops + whole * payloads;
    match (op, algorithm) {
        (Op::SendRecv, _) => steps(1.0, 1.0),
        (Op::AllReduce, Algorithm::Nccl) => {
            steps(2.0 * (n - 1.0), 2.0 * (n - 1.0) / n).min(steps(4.0 * levels, 2.0))
        }
        (Op::AllToAll, Algorithm::Nccl) => steps(levels, (n - 1.0) / n),
        (Op::AllReduce, Algorithm::Custom) => {
            steps(1.0, n - 1.0).min(steps(2.0, 2.0 * (n - 1.0) / n))
        }
        (_, Algorithm::Nccl) => steps(n - 1.0, (n - 1.0) / n),
        (_, Algorithm::Custom) => steps(1.0, (n - 1.0) / n),
    }
}

/// Seconds a byte of payload takes once it flows, up to a factor that is the same for all ranks.
fn flow(op: Op, ranks: u32, link: &Link) -> f64 {
    let share = if op == Op::SendRecv { 1.0 } else { 1.0 - 1.0 / f64::from(ranks) };
    share / link.bandwidth.0
}
