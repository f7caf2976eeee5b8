//! Placement against the published example.

use super::*;
use crate::test_models::kimi;
use proptest::prelude::*;

/// The example of deepseek-ai/EPLB's README: two layers of 12 experts.
const README: [[u32; 12]; 2] = [
    [90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86],
    [20, 107, 104, 64, 19, 197, 187, 157, 172, 86, 16, 27],
];

fn load(layers: &[[u32; 12]]) -> ExpertLoad {
    let layers: Vec<Vec<u32>> = layers.iter().map(|layer| layer.to_vec()).collect();
    ExpertLoad::from_json(&serde_json::json!({ "layers": layers }).to_string()).unwrap()
}

#[test]
fn the_example_of_the_eplb_readme() {
    let target = Target { slots: 16, groups: 4, nodes: 2, ranks: 8 };
    let placement = Placement::balanced(&load(&README), target).unwrap();
    let phy2log: Vec<_> = placement.layers().iter().map(LayerPlacement::phy2log).collect();
    assert_eq!(phy2log[0], [5, 6, 5, 7, 8, 4, 3, 4, 10, 9, 10, 2, 0, 1, 11, 1]);
    assert_eq!(phy2log[1], [7, 10, 6, 8, 6, 11, 8, 9, 2, 4, 5, 1, 5, 0, 3, 1]);
    assert_eq!(placement.layers()[0].log2phy()[5], [0, 2]);
    assert_eq!(placement.layers()[0].log2phy()[9], [9]);
    assert_eq!(placement.layers()[0].experts(3), [3, 4]);
}

#[test]
fn groups_of_the_readme_on_nodes() {
    assert_eq!(balanced_packing(&[262.0, 330.0, 116.0, 325.0], 2), [[1, 2], [3, 0]]);
    assert_eq!(balanced_packing(&[231.0, 280.0, 516.0, 129.0], 2), [[2, 3], [1, 0]]);
}

#[test]
fn ties_go_to_the_lowest_index() {
    assert_eq!(balanced_packing(&[1.0; 4], 2), [[0, 2], [1, 3]]);
    assert_eq!(replicate(&[2.0, 2.0, 1.0], 6).0, [0, 1, 2, 0, 1, 0]);
}

#[test]
fn one_group_over_two_nodes_is_global() {
    let of = |groups, nodes| {
        let target = Target { slots: 16, groups, nodes, ranks: 8 };
        Placement::balanced(&load(&README), target).unwrap()
    };
    assert_eq!(of(1, 2), of(1, 1));
    assert_ne!(of(4, 2), of(1, 1));
}

#[test]
fn two_replicas_on_a_rank_are_swapped_apart() {
    let mut by_rank = vec![vec![0, 0], vec![1, 2], vec![3, 4]];
    separate_duplicates(&mut by_rank, &[5.0, 4.0, 3.0, 2.0, 1.0]);
    // For 3 or 4 the heavier of the two ranks is left with 7, for 1 or 2 with 9.
    assert_eq!(by_rank, [[0, 3], [1, 2], [0, 4]]);
    let mut hopeless = vec![vec![0, 0], vec![0, 1]];
    separate_duplicates(&mut hopeless, &[1.0, 1.0]);
    assert_eq!(hopeless, [[0, 0], [0, 1]]);
}

#[test]
fn balance_needs_no_redundant_experts_at_48_a_rank() {
    // A load as skewed as a cube, spread over the numbers by a stride prime to 384.
    let layer: Vec<f64> = (0..384_u32).map(|e| f64::from((e * 5) % 384 + 1).powi(3)).collect();
    let contiguous = LayerPlacement::contiguous(384, 8);
    let load = ExpertLoad { layers: vec![layer] };
    let target = Target { slots: 384, groups: 1, nodes: 1, ranks: 8 };
    let balanced = Placement::balanced(&load, target).unwrap();
    assert!(imbalance(&load.layers()[0], &balanced.layers()[0]) < 1.001);
    assert!(1.001 < imbalance(&load.layers()[0], &contiguous));
}

#[test]
fn imbalance_is_the_busiest_over_the_mean() {
    let placement = LayerPlacement::contiguous(4, 2);
    let close = |load: &[f64], expected: f64| {
        assert!((imbalance(load, &placement) - expected).abs() < 1e-12, "{load:?}");
    };
    close(&[3.0, 3.0, 1.0, 1.0], 1.5);
    close(&[1.0; 4], 1.0);
    close(&[0.0; 4], 1.0);
}

#[test]
fn contiguous_experts_need_not_divide() {
    let placement = LayerPlacement::contiguous(10, 4);
    let sizes: Vec<_> = (0..4).map(|rank| placement.experts(rank).len()).collect();
    assert_eq!(sizes, [3, 3, 2, 2]);
    assert_eq!(Placement::contiguous(&kimi(), 8).layers().len(), 60);
}

#[test]
fn a_load_file_that_cannot_be_used_says_where() {
    let error = |text: &str| ExpertLoad::from_json(text).unwrap_err().to_string();
    insta::assert_snapshot!(error(r#"{"layers": [[1, 2], [3, -4.5]]}"#), @"layer 1, expert 1: -4.5 is not a load: a number, 0 or more");
    insta::assert_snapshot!(error(r#"{"layers": [["x", 2]]}"#), @r#"layer 0, expert 0: "x" is not a load: a number, 0 or more"#);
    insta::assert_snapshot!(error(r#"{"layers": [[1, 2], [3]]}"#), @"layer 1 has 1 experts, layer 0 has 2");
    insta::assert_snapshot!(error(r#"{"layers": [[1], 2]}"#), @r#"the load file must read {"layers": [[load of each expert, ...], ...]}; layer 1 is no list of loads"#);
    insta::assert_snapshot!(error(r#"{"layers": []}"#), @r#"the load file must read {"layers": [[load of each expert, ...], ...]}; "layers" is empty"#);
    insta::assert_snapshot!(error("[]"), @r#"the load file must read {"layers": [[load of each expert, ...], ...]}; there is no list "layers""#);
    insta::assert_snapshot!(error("{"), @"the load file is not JSON: EOF while parsing an object at line 1 column 1");
}

#[test]
fn a_target_that_cannot_be_met_says_why() {
    let error = |slots, groups, nodes, ranks| {
        let target = Target { slots, groups, nodes, ranks };
        Placement::balanced(&load(&README), target).unwrap_err().to_string()
    };
    insta::assert_snapshot!(error(13, 1, 1, 8), @"13 slots cannot be shared evenly by 8 ranks");
    insta::assert_snapshot!(error(8, 1, 1, 8), @"8 slots cannot hold 12 experts");
    insta::assert_snapshot!(error(12, 2, 2, 3), @"3 ranks cannot be shared evenly by 2 nodes");
    insta::assert_snapshot!(error(16, 5, 1, 8), @"12 experts cannot be shared evenly by 5 groups");
}

proptest! {
    #[test]
    fn every_expert_has_a_slot_and_no_rank_has_two_of_one(
            loads in prop::collection::vec(0u32..1000, 24), redundant in 0u32..4, nodes in 1u32..3) {
        let load = ExpertLoad { layers: vec![loads.into_iter().map(f64::from).collect()] };
        let target = Target { slots: 24 + redundant * 8, groups: 4, nodes, ranks: 8 };
        let placement = Placement::balanced(&load, target).unwrap();
        let layer = &placement.layers()[0];
        prop_assert_eq!(layer.phy2log().len() as u32, target.slots);
        for (expert, slots) in (0..).zip(layer.log2phy()) {
            prop_assert!(!slots.is_empty());
            prop_assert!(slots.iter().all(|slot| layer.phy2log()[*slot as usize] == expert));
        }
        // Apart unless an expert has more replicas than its node has ranks.
        let most = layer.log2phy().iter().map(Vec::len).max().unwrap_or_default();
        for rank in 0..8 {
            let mut experts = layer.experts(rank).to_vec();
            experts.sort_unstable();
            experts.dedup();
            let full = experts.len() == layer.experts(rank).len();
            prop_assert!(full || (8 / nodes as usize) < most, "{layer:?}");
        }
    }
}
