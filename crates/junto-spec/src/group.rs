//! Where a rank sits in a layout, and which ranks talk to each other.
//!
//! The order of ranks is SGLang's (`distributed/parallel_state.py`, `runtime_context.py`):
//!
//! ```text
//! rank       = pp_rank * W + stage_rank          W = tp * dp = ep * moe_tp
//! stage_rank = dp_rank * tp     + tp_rank        tp innermost
//!            = ep_rank * moe_tp + moe_tp_rank    moe_tp innermost
//! tp_rank    = dcp_block * dcp  + dcp_rank       dcp innermost
//! ```
//!
//! so the ranks that exchange most are adjacent, and adjacent GPUs share a switch or a socket.

use crate::layout::Layout;

/// The coordinates of one rank of one replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Coordinates {
    /// Pipeline stage, `0..pp`.
    pub pp_rank: u32,
    /// Rank inside the stage, `0..tp * dp`.
    pub stage_rank: u32,
    /// Attention data-parallel group, `0..dp`.
    pub dp_rank: u32,
    /// Rank inside that group, `0..tp`.
    pub tp_rank: u32,
    /// Rank inside the decode-context-parallel group, `0..dcp`.
    pub dcp_rank: u32,
    /// Expert group, `0..ep`.
    pub ep_rank: u32,
    /// Rank inside the expert group, `0..moe_tp`.
    pub moe_tp_rank: u32,
}

impl Coordinates {
    /// The coordinates of `rank`, `0..layout.ranks()`.
    pub fn of(layout: &Layout, rank: u32) -> Self {
        assert!(rank < layout.ranks(), "rank {rank} of {}", layout.ranks());
        let stage_rank = rank % layout.stage_ranks();
        let tp_rank = stage_rank % layout.tp();
        Self {
            pp_rank: rank / layout.stage_ranks(),
            stage_rank,
            dp_rank: stage_rank / layout.tp(),
            tp_rank,
            dcp_rank: tp_rank % layout.dcp(),
            ep_rank: stage_rank / layout.moe_tp(),
            moe_tp_rank: stage_rank % layout.moe_tp(),
        }
    }

    /// The rank with these coordinates: the inverse of [`Coordinates::of`].
    pub fn rank(&self, layout: &Layout) -> u32 {
        self.pp_rank * layout.stage_ranks() + self.dp_rank * layout.tp() + self.tp_rank
    }
}

/// A communicator of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupKind {
    /// All ranks of a pipeline stage, a block of `W = tp * dp`.
    Stage,
    /// The ranks that cut one attention, a block of `tp`.
    Tp,
    /// Ranks of equal `tp_rank` in every attention group of a stage, stride `tp`.
    Dp,
    /// Ranks of equal `moe_tp_rank` in every expert group of a stage, stride `moe_tp`.
    Ep,
    /// The ranks that cut one expert, a block of `moe_tp`.
    MoeTp,
    /// The ranks that share one KV cache, a block of `dcp` inside `tp`.
    Dcp,
    /// Ranks of equal `stage_rank` in every stage, stride `W`; only neighbors exchange.
    Pp,
}

impl GroupKind {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::Stage, Self::Tp, Self::Dp, Self::Ep, Self::MoeTp, Self::Dcp, Self::Pp];

    /// Ranks of one group.
    pub fn size(self, layout: &Layout) -> u32 {
        match self {
            Self::Stage => layout.stage_ranks(),
            Self::Tp => layout.tp(),
            Self::Dp => layout.dp(),
            Self::Ep => layout.ep(),
            Self::MoeTp => layout.moe_tp(),
            Self::Dcp => layout.dcp(),
            Self::Pp => layout.pp(),
        }
    }

    /// Distance between consecutive members.
    fn stride(self, layout: &Layout) -> u32 {
        match self {
            Self::Stage | Self::Tp | Self::MoeTp | Self::Dcp => 1,
            Self::Dp => layout.tp(),
            Self::Ep => layout.moe_tp(),
            Self::Pp => layout.stage_ranks(),
        }
    }

    /// The group of this kind that `rank` is in, ascending.
    pub fn members(self, layout: &Layout, rank: u32) -> Vec<u32> {
        assert!(rank < layout.ranks(), "rank {rank} of {}", layout.ranks());
        let (size, stride) = (self.size(layout), self.stride(layout));
        let first = rank - rank / stride % size * stride;
        (0..size).map(|member| first + member * stride).collect()
    }

    /// All groups of this kind in one replica, by their first member; they partition its ranks.
    pub fn groups(self, layout: &Layout) -> Vec<Vec<u32>> {
        (0..layout.ranks())
            .map(|rank| (rank, self.members(layout, rank)))
            .filter(|(rank, members)| members[0] == *rank)
            .map(|(_, members)| members)
            .collect()
    }
}

/// The ranks before and after `rank` in the pipeline.
pub fn pp_neighbors(layout: &Layout, rank: u32) -> (Option<u32>, Option<u32>) {
    let stage = layout.stage_ranks();
    (rank.checked_sub(stage), Some(rank + stage).filter(|next| *next < layout.ranks()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_models::any_layout;
    use proptest::prelude::*;

    fn groups(kind: GroupKind, layout: &str) -> Vec<Vec<u32>> {
        kind.groups(&layout.parse().unwrap())
    }

    #[test]
    fn tp8_ep4_pairs_adjacent_ranks() {
        assert_eq!(groups(GroupKind::MoeTp, "tp8+ep4"), [[0, 1], [2, 3], [4, 5], [6, 7]]);
        assert_eq!(groups(GroupKind::Ep, "tp8+ep4"), [[0, 2, 4, 6], [1, 3, 5, 7]]);
        assert_eq!(groups(GroupKind::Stage, "tp8+ep4"), [[0, 1, 2, 3, 4, 5, 6, 7]]);
        assert_eq!(groups(GroupKind::Dcp, "tp4+dcp2"), [[0, 1], [2, 3]]);
    }

    #[test]
    fn stages_are_blocks_and_pipelines_are_strided() {
        assert_eq!(groups(GroupKind::Tp, "pp2+tp2+dp2"), [[0, 1], [2, 3], [4, 5], [6, 7]]);
        assert_eq!(groups(GroupKind::Dp, "pp2+tp2+dp2"), [[0, 2], [1, 3], [4, 6], [5, 7]]);
        assert_eq!(groups(GroupKind::Pp, "pp2+tp2+dp2"), [[0, 4], [1, 5], [2, 6], [3, 7]]);
        let layout = "pp3+tp2".parse().unwrap();
        assert_eq!(pp_neighbors(&layout, 1), (None, Some(3)));
        assert_eq!(pp_neighbors(&layout, 3), (Some(1), Some(5)));
        assert_eq!(pp_neighbors(&layout, 5), (Some(3), None));
    }

    proptest! {
        #[test]
        fn coordinates_round_trip_and_agree(layout in any_layout()) {
            for rank in 0..layout.ranks() {
                let at = Coordinates::of(&layout, rank);
                prop_assert_eq!(at.rank(&layout), rank);
                prop_assert_eq!(at.ep_rank * layout.moe_tp() + at.moe_tp_rank, at.stage_rank);
                for kind in GroupKind::ALL {
                    prop_assert!(kind.members(&layout, rank).contains(&rank));
                }
            }
        }

        #[test]
        fn groups_of_a_kind_partition_the_ranks(layout in any_layout()) {
            for kind in GroupKind::ALL {
                let mut ranks: Vec<u32> = kind.groups(&layout).concat();
                ranks.sort_unstable();
                prop_assert_eq!(ranks, (0..layout.ranks()).collect::<Vec<_>>());
            }
        }
    }
}
