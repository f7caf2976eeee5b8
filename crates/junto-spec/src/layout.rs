//! How a model is cut over ranks: `Layout`, its text form, and its one constructor.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// The sizes of a layout, before they are checked. `Sizes::default()` is one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sizes {
    /// Pipeline stages.
    pub pp: u32,
    /// Width of the attention's tensor parallelism.
    pub tp: u32,
    /// Attention data-parallel groups inside a stage.
    pub dp: u32,
    /// Expert-parallel groups inside a stage; must divide `tp * dp`.
    pub ep: u32,
    /// Decode context parallelism: KV cache sharded over `dcp` of the `tp` ranks.
    pub dcp: u32,
    /// Independent copies of the whole.
    pub replicas: u32,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { pp: 1, tp: 1, dp: 1, ep: 1, dcp: 1, replicas: 1 }
    }
}

/// A legal parallel layout.
///
/// A stage has `W = tp * dp` ranks; `ep` divides `W`; `moe_tp = W / ep`.
/// Text form: `tp8`, `pp8`, `tp8+ep4`, `dp8+ep8`, `pp2+tp4+ep4`, `tp8+dcp4`, `2x tp4`.
///
/// ```
/// use junto_spec::layout::Layout;
///
/// let hybrid: Layout = "tp8+ep4".parse()?;
/// assert_eq!((hybrid.gpus(), hybrid.moe_tp()), (8, 2));
///
/// let refusal = "tp2+ep4".parse::<Layout>().unwrap_err();
/// assert_eq!(refusal.to_string(), "ep4 does not divide the 2 ranks of a stage");
/// # Ok::<(), junto_spec::layout::LayoutError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    sizes: Sizes,
}

/// Why a layout cannot exist.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// A size of zero.
    #[error("{axis}0 is no layout: every size is at least 1")]
    Zero {
        /// The axis with the zero.
        axis: &'static str,
    },
    /// `ep` does not divide the ranks of a stage.
    #[error("ep{ep} does not divide the {ranks} {} of a stage", ranks_noun(*ranks))]
    EpDoesNotDivide {
        /// Expert-parallel groups asked for.
        ep: u32,
        /// Ranks of a stage, `tp * dp`.
        ranks: u32,
    },
    /// `dcp` does not divide `tp`.
    #[error("dcp{dcp} does not divide tp{tp}")]
    DcpDoesNotDivide {
        /// Decode-context-parallel width asked for.
        dcp: u32,
        /// Attention tensor-parallel width.
        tp: u32,
    },
    /// More ranks than a `u32` holds.
    #[error("the product of the sizes of {text:?} is absurdly large")]
    TooLarge {
        /// The layout as written.
        text: String,
    },
    /// A part that is no `axis` + number.
    #[error("{part:?} in layout {text:?} is not one of pp, tp, dp, ep, dcp followed by a number")]
    BadPart {
        /// The part that was not understood.
        part: String,
        /// The whole text.
        text: String,
    },
    /// An axis named twice.
    #[error("{axis} is given twice in layout {text:?}")]
    Twice {
        /// The axis.
        axis: String,
        /// The whole text.
        text: String,
    },
}

fn ranks_noun(ranks: u32) -> &'static str {
    if ranks == 1 { "rank" } else { "ranks" }
}

impl Layout {
    /// The one constructor: every size at least 1, `ep` divides `tp * dp`, `dcp` divides `tp`.
    pub fn new(sizes: Sizes) -> Result<Self, LayoutError> {
        let Sizes { pp, tp, dp, ep, dcp, replicas } = sizes;
        for (axis, size) in
            [("pp", pp), ("tp", tp), ("dp", dp), ("ep", ep), ("dcp", dcp), ("replicas ", replicas)]
        {
            if size == 0 {
                return Err(LayoutError::Zero { axis });
            }
        }
        let too_large = || LayoutError::TooLarge { text: Self { sizes }.to_string() };
        let ranks = tp.checked_mul(dp).ok_or_else(too_large)?;
        pp.checked_mul(ranks).and_then(|n| n.checked_mul(replicas)).ok_or_else(too_large)?;
        if !ranks.is_multiple_of(ep) {
            return Err(LayoutError::EpDoesNotDivide { ep, ranks });
        }
        if !tp.is_multiple_of(dcp) {
            return Err(LayoutError::DcpDoesNotDivide { dcp, tp });
        }
        Ok(Self { sizes })
    }

    /// All sizes.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Pipeline stages.
    pub fn pp(&self) -> u32 {
        self.sizes.pp
    }

    /// Attention tensor-parallel width.
    pub fn tp(&self) -> u32 {
        self.sizes.tp
    }

    /// Attention data-parallel groups.
    pub fn dp(&self) -> u32 {
        self.sizes.dp
    }

    /// Expert-parallel groups.
    pub fn ep(&self) -> u32 {
        self.sizes.ep
    }

    /// Decode-context-parallel width.
    pub fn dcp(&self) -> u32 {
        self.sizes.dcp
    }

    /// Independent replicas.
    pub fn replicas(&self) -> u32 {
        self.sizes.replicas
    }

    /// Ranks of one pipeline stage, `tp * dp`.
    pub fn stage_ranks(&self) -> u32 {
        self.sizes.tp * self.sizes.dp
    }

    /// Tensor-parallel width inside an expert, `tp * dp / ep`.
    pub fn moe_tp(&self) -> u32 {
        self.stage_ranks() / self.sizes.ep
    }

    /// Ranks of one replica.
    pub fn ranks(&self) -> u32 {
        self.sizes.pp * self.stage_ranks()
    }

    /// GPUs of all replicas.
    pub fn gpus(&self) -> u32 {
        self.ranks() * self.sizes.replicas
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sizes { pp, tp, dp, ep, dcp, replicas } = self.sizes;
        let axes = [("pp", pp), ("tp", tp), ("dp", dp), ("ep", ep), ("dcp", dcp)];
        let mut parts: Vec<String> = axes
            .iter()
            .filter(|(_, size)| *size != 1)
            .map(|(axis, size)| format!("{axis}{size}"))
            .collect();
        if parts.is_empty() {
            parts.push("tp1".to_string());
        }
        let text = parts.join("+");
        if replicas == 1 { f.pad(&text) } else { f.pad(&format!("{replicas}x {text}")) }
    }
}

impl FromStr for Layout {
    type Err = LayoutError;

    fn from_str(text: &str) -> Result<Self, LayoutError> {
        let mut sizes = Sizes::default();
        let mut parts = text.trim();
        if let Some((count, rest)) = parts.split_once('x')
            && let Ok(replicas) = count.trim().parse()
        {
            sizes.replicas = replicas;
            parts = rest.trim();
        }
        let mut seen = Vec::new();
        for part in parts.split('+') {
            let part = part.trim().to_ascii_lowercase();
            let bad = || LayoutError::BadPart { part: part.clone(), text: text.to_string() };
            let digits = part.find(|c: char| c.is_ascii_digit()).ok_or_else(bad)?;
            let (axis, number) = part.split_at(digits);
            let slot = match axis {
                "pp" => &mut sizes.pp,
                "tp" => &mut sizes.tp,
                "dp" => &mut sizes.dp,
                "ep" => &mut sizes.ep,
                "dcp" => &mut sizes.dcp,
                _ => return Err(bad()),
            };
            if seen.contains(&axis.to_string()) {
                return Err(LayoutError::Twice { axis: axis.to_string(), text: text.to_string() });
            }
            seen.push(axis.to_string());
            *slot = number.parse().map_err(|_| bad())?;
        }
        Self::new(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, ranks: u32, moe_tp: u32) {
        let layout: Layout = text.parse().unwrap();
        assert_eq!((layout.ranks(), layout.moe_tp()), (ranks, moe_tp), "{text}");
        assert_eq!(layout.to_string(), text);
    }

    #[test]
    fn the_layouts_of_the_kimi_campaign() {
        check("tp8", 8, 8);
        check("pp8", 8, 1);
        check("tp8+ep8", 8, 1);
        check("tp8+ep4", 8, 2);
        check("dp8+ep8", 8, 1);
        check("tp4+dp2+ep8", 8, 1);
        check("pp2+tp4+ep4", 8, 1);
        check("tp8+dcp4", 8, 8);
        check("2x tp4", 4, 4);
    }

    #[test]
    fn a_layout_that_cannot_work_says_why() {
        let refusal = |text: &str| text.parse::<Layout>().unwrap_err().to_string();
        insta::assert_snapshot!(refusal("tp2+ep4"), @"ep4 does not divide the 2 ranks of a stage");
        insta::assert_snapshot!(refusal("tp1+ep4"), @"ep4 does not divide the 1 rank of a stage");
        insta::assert_snapshot!(refusal("tp0"), @"tp0 is no layout: every size is at least 1");
        insta::assert_snapshot!(refusal("tp8+dcp3"), @"dcp3 does not divide tp8");
        insta::assert_snapshot!(refusal("xp3"), @r#""xp3" in layout "xp3" is not one of pp, tp, dp, ep, dcp followed by a number"#);
        insta::assert_snapshot!(refusal("tp8+tp4"), @r#"tp is given twice in layout "tp8+tp4""#);
        insta::assert_snapshot!(refusal("tp65536+dp65536"), @r#"the product of the sizes of "tp65536+dp65536" is absurdly large"#);
    }

    proptest! {
        #[test]
        fn any_layout_reads_back_as_it_prints(pp in 1u32..20, tp in 1u32..20, dp in 1u32..20,
                ep in 1u32..400, dcp in 1u32..20, replicas in 1u32..9) {
            if let Ok(layout) = Layout::new(Sizes { pp, tp, dp, ep, dcp, replicas }) {
                prop_assert_eq!(layout.to_string().parse::<Layout>().unwrap(), layout);
                prop_assert_eq!(layout.ep() * layout.moe_tp(), layout.stage_ranks());
            }
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in ".*") {
            let _ = text.parse::<Layout>();
        }
    }
}
