//! How many distinct experts a batch touches, and how many the busiest rank holds of them.
//!
//! Expert popularity is Zipf with exponent `skew` (0: uniform), scaled so that the expected experts
//! per token is `k`. With inclusion probability `p_e`, a batch of `T` tokens touches expert `e` with
//! probability `q_e = 1 - (1 - p_e)^T`, so `D(T) = Σ q_e`. The busiest of `R` ranks is estimated from
//! the normal maximum with a skewness correction (Cornish-Fisher), because for one token the counts
//! are nearly Poisson with mean `k / R`; within 2 % of simulation (tests).

/// Popularity statistics of one router, tabulated over batch sizes.
#[derive(Clone, Debug)]
pub struct Routing {
    experts: f64,
    top_k: f64,
    /// By `GRID` point: mean of `q_e`, and its standard deviation over experts.
    table: Vec<(f64, f64)>,
    /// Standard deviation of `p_e` over its mean.
    popularity_spread: f64,
}

/// Grid points per factor of two in tokens.
const PER_OCTAVE: f64 = 2.0;
/// Largest tabulated batch: 2^17 tokens.
const OCTAVES: f64 = 17.0;

/// What a batch does to the experts of the busiest rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Distinct experts touched over all ranks.
    pub distinct: f64,
    /// Distinct experts touched on the busiest rank.
    pub busiest: f64,
    /// Token-expert pairs computed on the busiest rank.
    pub busiest_pairs: f64,
}

impl Routing {
    /// Tabulates a router of `experts` experts, `top_k` per token, popularity Zipf `skew`.
    pub fn new(experts: u32, top_k: u32, skew: f64) -> Self {
        let (experts_f, top_k_f) = (f64::from(experts), f64::from(top_k));
        let popularity = inclusion(experts, top_k, skew);
        let points = (OCTAVES * PER_OCTAVE) as usize + 1;
        let moments = |values: &[f64]| {
            let mean = values.iter().sum::<f64>() / experts_f;
            let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / experts_f;
            (mean, square.sqrt())
        };
        // (1-p)^T along the grid: T doubles every PER_OCTAVE points, so square instead of powf.
        let mut table = vec![(0.0, 0.0); points];
        let mut missed: Vec<f64>;
        let step = PER_OCTAVE as usize;
        for offset in 0..step {
            let first = 2f64.powf(offset as f64 / PER_OCTAVE);
            missed = popularity.iter().map(|p| (1.0 - p).powf(first)).collect();
            let mut point = offset;
            while point < points {
                let hit: Vec<f64> = missed.iter().map(|q| 1.0 - q).collect();
                table[point] = moments(&hit);
                for q in &mut missed {
                    *q *= *q;
                }
                point += step;
            }
        }
        let (mean, spread) = moments(&popularity);
        Self { experts: experts_f, top_k: top_k_f, table, popularity_spread: spread / mean }
    }

    /// The experts hit by `tokens` tokens over `ranks` expert-parallel ranks.
    pub fn hit(&self, tokens: f64, ranks: u32, balanced: bool) -> Hit {
        let (mean, spread) = self.at(tokens);
        let ranks_f = f64::from(ranks);
        let per_rank = self.experts / ranks_f;
        let distinct = self.experts * mean;
        let share = distinct / ranks_f;
        let pairs = tokens * self.top_k / ranks_f;
        if ranks == 1 {
            return Hit { distinct, busiest: distinct, busiest_pairs: pairs };
        }
        let others = 1.0 - 1.0 / ranks_f;
        // Popular experts are spread by EPLB; otherwise they sit where their number puts them.
        let uneven = if balanced { 0.0 } else { per_rank * others };
        let sampling = share * others * (1.0 - mean);
        let deviation = (sampling + uneven * spread * spread).sqrt();
        let skewness = if share > 0.0 {
            (1.0 - 2.0 * mean) * (1.0 - 2.0 / ranks_f).max(0.0) / share.sqrt()
        } else {
            0.0
        };
        let maximum = normal_maximum(ranks);
        let correction = (maximum * maximum - 1.0).max(0.0) * skewness.max(0.0) / 6.0;
        // Counts that sum to a constant are anti-correlated: sqrt(R / (R-1)).
        let reach = (maximum + correction) * (ranks_f / (ranks_f - 1.0)).sqrt();
        let busiest = (share + reach * deviation).min(per_rank).min(distinct).max(share);
        let pair_sampling = pairs * others;
        let pair_uneven = uneven * (self.popularity_spread * pairs / per_rank).powi(2);
        let busiest_pairs = pairs + reach * (pair_sampling + pair_uneven).sqrt();
        Hit { distinct, busiest, busiest_pairs: busiest_pairs.min(tokens * self.top_k) }
    }

    fn at(&self, tokens: f64) -> (f64, f64) {
        let position = (tokens.max(1.0).log2() * PER_OCTAVE).min((self.table.len() - 1) as f64);
        let below = (position as usize).min(self.table.len() - 2);
        let weight = position - below as f64;
        let ((mean_a, spread_a), (mean_b, spread_b)) = (self.table[below], self.table[below + 1]);
        // q is nearly proportional to T while small: interpolate its logarithm.
        let mean = if mean_b > 0.0 { mean_a.powf(1.0 - weight) * mean_b.powf(weight) } else { 0.0 };
        (mean, spread_a + (spread_b - spread_a) * weight)
    }
}

/// Inclusion probabilities `p_e` with `Σ p_e = k`, `p_e <= 1`, from Zipf weights.
fn inclusion(experts: u32, top_k: u32, skew: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=experts).map(|rank| f64::from(rank).powf(-skew)).collect();
    let mut certain = 0;
    loop {
        let rest: f64 = weights[certain..].iter().sum();
        let scale = (f64::from(top_k) - certain as f64) / rest;
        if certain < weights.len() && weights[certain] * scale > 1.0 {
            certain += 1;
            continue;
        }
        let fill =
            |(index, weight): (usize, &f64)| if index < certain { 1.0 } else { weight * scale };
        return weights.iter().enumerate().map(fill).collect();
    }
}

/// Expected maximum of `n` standard normal variables (Blom's approximation, exact to 1 % from 2 on).
fn normal_maximum(n: u32) -> f64 {
    const SMALL: [f64; 9] = [0.0, 0.0, 0.5642, 0.8463, 1.0294, 1.1630, 1.2672, 1.3522, 1.4236];
    if let Some(value) = SMALL.get(n as usize) {
        *value
    } else {
        let ln = (f64::from(n)).ln();
        let root = (2.0 * ln).sqrt();
        root - (ln.ln() + (4.0 * std::f64::consts::PI).ln()) / (2.0 * root) + 0.5772 / root
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Busiest rank's experts over the even share, K2.6 on 8 GPUs (Monte Carlo in the facts).
    #[test]
    fn the_busiest_rank_of_one_token_matches_simulation() {
        let routing = Routing::new(384, 8, 0.0);
        for (ranks, expected) in [(2, 1.27), (4, 1.75), (8, 2.58)] {
            let hit = routing.hit(1.0, ranks, false);
            let excess = hit.busiest / (8.0 / f64::from(ranks));
            assert!((excess / expected - 1.0).abs() < 0.02, "ep{ranks}: {excess} {expected}");
        }
    }

    #[test]
    fn distinct_experts_of_a_batch_match_the_closed_form() {
        let routing = Routing::new(384, 8, 0.0);
        for (tokens, expected) in [(8.0, 59.5), (32.0, 188.0), (64.0, 284.0), (128.0, 358.0)] {
            let distinct = routing.hit(tokens, 1, false).distinct;
            assert!((distinct / expected - 1.0).abs() < 0.01, "{tokens}: {distinct} {expected}");
        }
        // Between grid points as well.
        let between = routing.hit(48.0, 1, false).distinct;
        let exact = 384.0 * (1.0 - (1.0f64 - 8.0 / 384.0).powi(48));
        assert!((between / exact - 1.0).abs() < 0.02, "{between} {exact}");
    }

    #[test]
    fn the_imbalance_fades_with_the_batch() {
        let routing = Routing::new(384, 8, 0.0);
        for (tokens, expected) in [(8.0, 1.50), (32.0, 1.21), (64.0, 1.12), (256.0, 1.00)] {
            let hit = routing.hit(tokens, 8, false);
            let excess = hit.busiest * 8.0 / hit.distinct;
            assert!((excess - expected).abs() < 0.03, "{tokens}: {excess} {expected}");
        }
    }

    #[test]
    fn popularity_lowers_the_distinct_count_and_sums_to_k() {
        let uniform = Routing::new(384, 8, 0.0).hit(32.0, 1, false).distinct;
        let skewed = Routing::new(384, 8, 0.6).hit(32.0, 1, false).distinct;
        assert!((0.84..0.93).contains(&(skewed / uniform)), "{}", skewed / uniform);
        for skew in [0.0, 0.6, 2.0] {
            let sum: f64 = inclusion(384, 8, skew).iter().sum();
            assert!((sum - 8.0).abs() < 1e-9, "{sum}");
        }
    }
}
