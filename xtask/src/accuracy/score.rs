//! Errors of a set of predictions: per metric, per group, overall.

use serde::Serialize;

/// One prediction beside its measurement.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// Predicted value.
    pub predicted: f64,
    /// Measured value.
    pub measured: f64,
}

impl Pair {
    /// Relative error, signed.
    pub(super) fn error(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }

    /// `ln(predicted / measured)`.
    pub(super) fn log_error(&self) -> f64 {
        (self.predicted / self.measured).ln()
    }
}

/// The predictions of a case beside its measurements.
#[derive(Clone, Debug)]
pub(super) struct Scored {
    /// Output tokens a second.
    pub output_tok_s: Option<Pair>,
    /// Time per output token, ms.
    pub tpot_ms: Option<Pair>,
    /// Time to first token, ms.
    pub ttft_ms: Option<Pair>,
}

impl Scored {
    /// Errors of throughput and TPOT in ln, those that there are.
    pub(super) fn log_errors(&self) -> impl Iterator<Item = f64> + '_ {
        [&self.output_tok_s, &self.tpot_ms].into_iter().flatten().map(Pair::log_error)
    }
}

/// Errors of one metric, as fractions of the measured value.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Errors {
    /// Points.
    pub n: usize,
    /// Mean of |error|.
    pub mape_mean: f64,
    /// Median of |error|.
    pub mape_median: f64,
    /// 90th percentile of |error|.
    pub p90: f64,
    /// Mean signed error.
    pub bias: f64,
}

impl Errors {
    /// The errors of some pairs.
    pub(super) fn of<'a>(pairs: impl Iterator<Item = &'a Pair>) -> Self {
        let signed: Vec<f64> = pairs.map(Pair::error).collect();
        if signed.is_empty() {
            return Self::default();
        }
        let mut absolute: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
        absolute.sort_by(f64::total_cmp);
        let n = absolute.len();
        Self {
            n,
            mape_mean: absolute.iter().sum::<f64>() / n as f64,
            mape_median: quantile(&absolute, 0.5),
            p90: quantile(&absolute, 0.9),
            bias: signed.iter().sum::<f64>() / n as f64,
        }
    }
}

/// Quantile of ascending values, linear between ranks.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = share * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (sorted[above] - sorted[below]) * (position - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_to_the_measurement() {
        let pair = |predicted, measured| Pair { predicted, measured };
        let pairs = [pair(110.0, 100.0), pair(80.0, 100.0), pair(100.0, 100.0)];
        let errors = Errors::of(pairs.iter());
        assert_eq!(errors.n, 3);
        assert!((errors.mape_mean - 0.1).abs() < 1e-12);
        assert!((errors.mape_median - 0.1).abs() < 1e-12);
        assert!((errors.bias + 1.0 / 30.0).abs() < 1e-12);
    }
}
