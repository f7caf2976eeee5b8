//! Which expert group holds which experts: consecutive ones, or balanced by their load.
//!
//! The balancer follows DeepSeek's expert-parallelism load balancer in words (deepseek-ai/EPLB,
//! README: hierarchical and global policy): pack groups of experts onto nodes, replicate the heaviest
//! experts inside a node, pack the replicas onto the node's ranks. Ours breaks every tie to the
//! lowest index, so equal loads give equal placements, and afterwards swaps apart replicas of one
//! expert that met on one rank, where they are of no use.

use crate::model::{Mlp, ModelSpec};
use crate::shard::piece;
use serde_json::Value;
use thiserror::Error;

/// Where the experts of every layer that has them are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    ranks: u32,
    layers: Vec<LayerPlacement>,
}

/// Where the experts of one layer are. Slots are numbered over all ranks, each with a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerPlacement {
    ranks: u32,
    /// Logical expert of each slot.
    phy2log: Vec<u32>,
    /// Slots of each logical expert, in the order in which its replicas were made.
    log2phy: Vec<Vec<u32>>,
}

/// What to balance for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Physical slots of a layer over all ranks; what exceeds the experts is redundant.
    pub slots: u32,
    /// Groups of experts that routing keeps together (`n_group`).
    pub groups: u32,
    /// Hosts.
    pub nodes: u32,
    /// Expert groups of the layout (`ep`).
    pub ranks: u32,
}

/// Why no placement can be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlacementError {
    /// One number does not divide another.
    #[error("{count} {what} cannot be shared evenly by {by} {among}")]
    Uneven {
        /// How many there are.
        count: u32,
        /// Of what.
        what: &'static str,
        /// Over how many.
        by: u32,
        /// Of what.
        among: &'static str,
    },
    /// Fewer slots than experts.
    #[error("{slots} slots cannot hold {experts} experts")]
    TooFewSlots {
        /// Slots asked for.
        slots: u32,
        /// Logical experts.
        experts: u32,
    },
}

/// Load of every logical expert of every layer that has them, in any unit (tokens, say).
#[derive(Clone, Debug, PartialEq)]
pub struct ExpertLoad {
    layers: Vec<Vec<f64>>,
}

/// Why a load file cannot be used.
#[derive(Debug, Error)]
pub enum LoadError {
    /// Not JSON.
    #[error("the load file is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Not the expected shape.
    #[error(r#"the load file must read {{"layers": [[load of each expert, ...], ...]}}; {what}"#)]
    Shape {
        /// What is wrong.
        what: String,
    },
    /// A load that is none.
    #[error("layer {layer}, expert {expert}: {value} is not a load: a number, 0 or more")]
    Value {
        /// Index in `layers`.
        layer: usize,
        /// Index in that layer.
        expert: usize,
        /// The value as written.
        value: String,
    },
    /// Layers of different lengths.
    #[error("layer {layer} has {experts} experts, layer 0 has {first}")]
    Ragged {
        /// Index in `layers`.
        layer: usize,
        /// Experts there.
        experts: usize,
        /// Experts in layer 0.
        first: usize,
    },
}

impl ExpertLoad {
    /// Reads `{"layers": [[load per logical expert], ...]}`, an entry for each layer with experts.
    pub fn from_json(text: &str) -> Result<Self, LoadError> {
        let shape = |what: &str| LoadError::Shape { what: what.to_string() };
        let file: Value = serde_json::from_str(text)?;
        let layers = file.get("layers").and_then(Value::as_array);
        let layers = layers.ok_or_else(|| shape("there is no list \"layers\""))?;
        if layers.is_empty() {
            return Err(shape("\"layers\" is empty"));
        }
        let mut loads: Vec<Vec<f64>> = Vec::with_capacity(layers.len());
        for (layer, experts) in layers.iter().enumerate() {
            let experts = experts.as_array().filter(|experts| !experts.is_empty());
            let experts =
                experts.ok_or_else(|| shape(&format!("layer {layer} is no list of loads")))?;
            let first = loads.first().map_or(experts.len(), Vec::len);
            if experts.len() != first {
                return Err(LoadError::Ragged { layer, experts: experts.len(), first });
            }
            let load = |(expert, value): (usize, &Value)| {
                let wrong = || LoadError::Value { layer, expert, value: value.to_string() };
                value.as_f64().filter(|load| 0.0 <= *load && load.is_finite()).ok_or_else(wrong)
            };
            loads.push(experts.iter().enumerate().map(load).collect::<Result<_, _>>()?);
        }
        Ok(Self { layers: loads })
    }

    /// The load of each expert, by layer with experts.
    pub fn layers(&self) -> &[Vec<f64>] {
        &self.layers
    }
}

impl LayerPlacement {
    fn new(ranks: u32, experts: u32, phy2log: Vec<u32>) -> Self {
        let mut log2phy = vec![Vec::new(); experts as usize];
        for (slot, expert) in (0..).zip(&phy2log) {
            log2phy[*expert as usize].push(slot);
        }
        Self { ranks, phy2log, log2phy }
    }

    /// Experts `0..experts` in order over `ranks`; where they do not divide, the first ranks have one
    /// more.
    pub fn contiguous(experts: u32, ranks: u32) -> Self {
        Self::new(ranks, experts, (0..experts).collect())
    }

    /// The logical expert of every slot.
    pub fn phy2log(&self) -> &[u32] {
        &self.phy2log
    }

    /// The slots of every logical expert, ascending; as many as it has replicas.
    pub fn log2phy(&self) -> &[Vec<u32>] {
        &self.log2phy
    }

    /// The logical experts in the slots of `rank`.
    pub fn experts(&self, rank: u32) -> &[u32] {
        let slots = piece(self.phy2log.len() as u64, self.ranks, rank);
        &self.phy2log[slots.start as usize..slots.end as usize]
    }

    /// Load of `rank` when the replicas of an expert share its load evenly.
    fn rank_load(&self, load: &[f64], rank: u32) -> f64 {
        let share = |expert: &u32| {
            let expert = *expert as usize;
            load[expert] / self.log2phy[expert].len() as f64
        };
        self.experts(rank).iter().map(share).sum()
    }
}

impl Placement {
    /// Every layer of `model` with its experts in order.
    pub fn contiguous(model: &ModelSpec, ranks: u32) -> Self {
        let layer = |mlp: Mlp| match mlp {
            Mlp::Dense { .. } => None,
            Mlp::Moe(moe) => Some(LayerPlacement::contiguous(moe.n_routed_experts, ranks)),
        };
        Self { ranks, layers: model.layers.iter().filter_map(|one| layer(one.mlp)).collect() }
    }

    /// Balanced by `load`. Where the nodes divide the groups, a group stays on one node
    /// (hierarchical); otherwise groups and nodes do not matter (global).
    pub fn balanced(load: &ExpertLoad, target: Target) -> Result<Self, PlacementError> {
        let experts = load.layers[0].len() as u32;
        let Target { slots, groups, nodes, ranks } = target;
        assert!(0 < groups && 0 < nodes && 0 < ranks);
        let global = !groups.is_multiple_of(nodes);
        let (groups, nodes) = if global { (1, 1) } else { (groups, nodes) };
        for (count, what, by, among) in [
            (slots, "slots", ranks, "ranks"),
            (ranks, "ranks", nodes, "nodes"),
            (experts, "experts", groups, "groups"),
        ] {
            if !count.is_multiple_of(by) {
                return Err(PlacementError::Uneven { count, what, by, among });
            }
        }
        if slots < experts {
            return Err(PlacementError::TooFewSlots { slots, experts });
        }
        let target = Target { groups, nodes, ..target };
        let layer = |load: &Vec<f64>| balance_layer(load, target);
        Ok(Self { ranks, layers: load.layers.iter().map(layer).collect() })
    }

    /// Expert groups it is for.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// One entry for each layer with experts, in order.
    pub fn layers(&self) -> &[LayerPlacement] {
        &self.layers
    }
}

/// Load of the busiest rank over the mean load: 1 is perfect, and so is no load at all.
pub fn imbalance(load: &[f64], placement: &LayerPlacement) -> f64 {
    let loads: Vec<f64> =
        (0..placement.ranks).map(|rank| placement.rank_load(load, rank)).collect();
    let total: f64 = loads.iter().sum();
    if total == 0.0 {
        return 1.0;
    }
    loads.iter().copied().fold(0.0, f64::max) * loads.len() as f64 / total
}

/// Gives each item, heaviest first, to the lightest pack with room for it. Every pack gets equally
/// many; with one item a pack, they stay in order. Returns the items of each pack as they came.
fn balanced_packing(weights: &[f64], packs: usize) -> Vec<Vec<usize>> {
    let room = weights.len() / packs;
    if room == 1 {
        return (0..packs).map(|item| vec![item]).collect();
    }
    let mut items: Vec<usize> = (0..weights.len()).collect();
    items.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]));
    let mut packed = vec![Vec::with_capacity(room); packs];
    let mut loads = vec![0.0_f64; packs];
    for item in items {
        let open = (0..packs).filter(|pack| packed[*pack].len() < room);
        let Some(lightest) = open.min_by(|a, b| loads[*a].total_cmp(&loads[*b])) else { break };
        packed[lightest].push(item);
        loads[lightest] += weights[item];
    }
    packed
}

/// The item in each of `slots`: every one once, in order, then always another replica of the item
/// with the largest load per replica. Also the load of a replica of each item.
fn replicate(loads: &[f64], slots: usize) -> (Vec<usize>, Vec<f64>) {
    let mut items: Vec<usize> = (0..loads.len()).collect();
    let mut replicas = vec![1.0; loads.len()];
    while items.len() < slots {
        let share = |item: usize| loads[item] / replicas[item];
        // `max_by` takes the last of equals; reversed, the lowest.
        let heaviest = (0..loads.len()).rev().max_by(|a, b| share(*a).total_cmp(&share(*b)));
        let Some(heaviest) = heaviest else { break };
        replicas[heaviest] += 1.0;
        items.push(heaviest);
    }
    (items, loads.iter().zip(&replicas).map(|(load, count)| load / count).collect())
}

fn balance_layer(load: &[f64], target: Target) -> LayerPlacement {
    let [slots, groups, nodes, ranks] =
        [target.slots, target.groups, target.nodes, target.ranks].map(|size| size as usize);
    let group_size = load.len() / groups;
    let group_loads: Vec<f64> = load.chunks(group_size).map(|group| group.iter().sum()).collect();
    let mut phy2log = Vec::with_capacity(slots);
    for node_groups in balanced_packing(&group_loads, nodes) {
        let experts: Vec<usize> = node_groups
            .iter()
            .flat_map(|group| group * group_size..(group + 1) * group_size)
            .collect();
        let loads: Vec<f64> = experts.iter().map(|expert| load[*expert]).collect();
        let (replicas, share) = replicate(&loads, slots / nodes);
        let weights: Vec<f64> = replicas.iter().map(|item| share[*item]).collect();
        let packed = balanced_packing(&weights, ranks / nodes);
        let mut by_rank: Vec<Vec<usize>> = packed
            .iter()
            .map(|pack| pack.iter().map(|replica| replicas[*replica]).collect())
            .collect();
        separate_duplicates(&mut by_rank, &share);
        phy2log.extend(by_rank.concat().into_iter().map(|item| experts[item] as u32));
    }
    LayerPlacement::new(target.ranks, load.len() as u32, phy2log)
}

/// Swaps a second replica of an expert on a rank for an item of another rank that lacks it, the
/// swap that leaves the heavier of the two ranks lightest; until none is left that a swap can mend.
fn separate_duplicates(by_rank: &mut [Vec<usize>], share: &[f64]) {
    let is_duplicate = |rank: &[usize], slot: usize| rank[..slot].contains(&rank[slot]);
    for rank in 0..by_rank.len() {
        for slot in 0..by_rank[rank].len() {
            if is_duplicate(&by_rank[rank], slot)
                && let Some((other, its_slot)) = best_swap(by_rank, share, (rank, slot))
            {
                let item = by_rank[rank][slot];
                by_rank[rank][slot] = std::mem::replace(&mut by_rank[other][its_slot], item);
            }
        }
    }
}

fn best_swap(by_rank: &[Vec<usize>], share: &[f64], at: (usize, usize)) -> Option<(usize, usize)> {
    let (rank, slot) = at;
    let item = by_rank[rank][slot];
    let load = |rank: &Vec<usize>| rank.iter().map(|item| share[*item]).sum::<f64>();
    let here = load(&by_rank[rank]);
    let mut best = None;
    for (other, items) in by_rank.iter().enumerate() {
        if items.contains(&item) {
            continue;
        }
        let there = load(items);
        for (its_slot, candidate) in items.iter().enumerate() {
            if by_rank[rank].contains(candidate) {
                continue;
            }
            let moved = share[item] - share[*candidate];
            let heavier = (here - moved).max(there + moved);
            if best.is_none_or(|(least, _)| heavier < least) {
                best = Some((heavier, (other, its_slot)));
            }
        }
    }
    best.map(|(_, swap)| swap)
}

#[cfg(test)]
mod tests;
