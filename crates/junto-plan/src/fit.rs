//! Maximum a posteriori fit of the constants to measured points: Gauss-Newton in log space with
//! log-normal priors and Student-t weights, so that one broken row does not bend the rest.

use crate::constants::{Constants, Entry, Key};

/// Which value of a constant a parameter stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The base value.
    Base,
    /// The factor of a GPU generation.
    Gpu(String),
    /// The factor of an engine.
    Engine(String),
    /// The factor of a kernel family.
    Family(String),
}

/// One number to fit: its logarithm is normal with this mean and width before any data is seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The constant.
    pub key: Key,
    /// Which value of it.
    pub scope: Scope,
    /// Prior mean of the logarithm.
    pub mean: f64,
    /// Prior standard deviation of the logarithm.
    pub width: f64,
}

impl Parameter {
    /// Its value in a set of constants (a factor that is not listed is 1).
    pub fn read(&self, constants: &Constants) -> f64 {
        let Entry { base, gpu, engine, family, .. } = constants.entry(self.key);
        let factor = match &self.scope {
            Scope::Base => return *base,
            Scope::Gpu(name) => gpu.get(name),
            Scope::Engine(name) => engine.get(name),
            Scope::Family(name) => family.get(name),
        };
        factor.copied().unwrap_or(1.0)
    }

    /// Puts a value into a set of constants.
    pub fn write(&self, constants: &mut Constants, value: f64) {
        let entry = constants.entry_mut(self.key);
        let (map, name) = match &self.scope {
            Scope::Base => {
                entry.base = value;
                return;
            }
            Scope::Gpu(name) => (&mut entry.gpu, name),
            Scope::Engine(name) => (&mut entry.engine, name),
            Scope::Family(name) => (&mut entry.family, name),
        };
        map.insert(name.clone(), value);
    }
}

/// How a fit is run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    /// Most Gauss-Newton steps.
    pub steps: u32,
    /// Expected error of a good point, in ln: the scale of the Student-t weights.
    pub noise: f64,
}

/// Degrees of freedom of the Student-t weights: 4 forgives an outlier but hears two.
const FREEDOM: f64 = 4.0;
/// Step of the forward difference, in ln.
const DIFFERENCE: f64 = 1e-4;

/// `ln(predicted / measured)` of every point, in a fixed order, times the square root of the point's
/// weight. With a parameter that alone has moved, and the residuals before it did, points that it
/// cannot touch may be copied from there.
pub type Residuals<'a> = &'a dyn Fn(&Constants, Option<(&Parameter, &[f64])>) -> Vec<f64>;

/// Fits `parameters`, starting from their values in `start`.
pub fn fit(
    start: &Constants,
    parameters: &[Parameter],
    effort: Effort,
    residuals: Residuals<'_>,
) -> Constants {
    let mut theta: Vec<f64> =
        parameters.iter().map(|parameter| parameter.read(start).ln()).collect();
    let build = |theta: &[f64]| {
        let mut constants = start.clone();
        for (parameter, value) in parameters.iter().zip(theta) {
            parameter.write(&mut constants, value.exp());
        }
        constants
    };
    let cost = |theta: &[f64], residual: &[f64]| {
        let data: f64 = residual.iter().map(|r| robust_cost(r / effort.noise)).sum();
        let prior = parameters.iter().zip(theta);
        data + prior.map(|(p, value)| ((value - p.mean) / p.width).powi(2)).sum::<f64>()
    };
    let mut residual = residuals(&build(&theta), None);
    let mut current = cost(&theta, &residual);
    let mut damping = 1e-2;
    for _ in 0..effort.steps {
        let columns: Vec<Vec<f64>> = (0..theta.len())
            .map(|index| {
                let mut moved = theta.clone();
                moved[index] += DIFFERENCE;
                let only = Some((&parameters[index], residual.as_slice()));
                let ahead = residuals(&build(&moved), only);
                ahead.iter().zip(&residual).map(|(a, b)| (a - b) / DIFFERENCE).collect()
            })
            .collect();
        let mut improved = false;
        for _ in 0..6 {
            let step = newton_step(&columns, &residual, &theta, parameters, effort.noise, damping);
            let moved: Vec<f64> =
                theta.iter().zip(&step).map(|(a, b)| a + b.clamp(-0.7, 0.7)).collect();
            let ahead = residuals(&build(&moved), None);
            let next = cost(&moved, &ahead);
            if next < current {
                improved = (current - next) / current > 1e-5;
                (theta, residual, current) = (moved, ahead, next);
                damping = (damping / 4.0).max(1e-6);
                break;
            }
            damping *= 6.0;
        }
        if !improved {
            break;
        }
    }
    build(&theta)
}

fn robust_cost(z: f64) -> f64 {
    (FREEDOM + 1.0) * (1.0 + z * z / FREEDOM).ln()
}

/// Solves `(JᵀWJ + P + λ diag) d = -(JᵀWr + P(θ - μ))`.
fn newton_step(
    columns: &[Vec<f64>],
    residual: &[f64],
    theta: &[f64],
    parameters: &[Parameter],
    noise: f64,
    damping: f64,
) -> Vec<f64> {
    let n = columns.len();
    let weights: Vec<f64> = residual
        .iter()
        .map(|r| (FREEDOM + 1.0) / (FREEDOM + (r / noise).powi(2)) / (noise * noise))
        .collect();
    let mut matrix = vec![vec![0.0; n]; n];
    let mut right = vec![0.0; n];
    for i in 0..n {
        let weighted: Vec<f64> = columns[i].iter().zip(&weights).map(|(j, w)| j * w).collect();
        for (j, column) in columns.iter().enumerate().take(i + 1) {
            let value = weighted.iter().zip(column).map(|(a, b)| a * b).sum();
            matrix[i][j] = value;
            matrix[j][i] = value;
        }
        let pull = 1.0 / parameters[i].width.powi(2);
        let gradient: f64 = weighted.iter().zip(residual).map(|(a, r)| a * r).sum();
        right[i] = -(gradient + pull * (theta[i] - parameters[i].mean));
        matrix[i][i] += pull;
        matrix[i][i] *= 1.0 + damping;
    }
    solve(matrix, right)
}

/// Cholesky solution of a symmetric positive definite system.
fn solve(mut matrix: Vec<Vec<f64>>, mut right: Vec<f64>) -> Vec<f64> {
    let n = right.len();
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| matrix[i][k] * matrix[j][k]).sum();
            let value = matrix[i][j] - dot;
            matrix[i][j] = if i == j { value.max(1e-12).sqrt() } else { value / matrix[j][j] };
        }
    }
    for i in 0..n {
        let dot: f64 = (0..i).map(|k| matrix[i][k] * right[k]).sum();
        right[i] = (right[i] - dot) / matrix[i][i];
    }
    for i in (0..n).rev() {
        let dot: f64 = (i + 1..n).map(|k| matrix[k][i] * right[k]).sum();
        right[i] = (right[i] - dot) / matrix[i][i];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_recovers_what_the_data_say_and_keeps_the_prior_elsewhere() {
        let parameter = |key, mean: f64| Parameter { key, scope: Scope::Base, mean, width: 1.0 };
        let parameters = [parameter(Key::KernelUs, 3f64.ln()), parameter(Key::StepUs, 500f64.ln())];
        // Ten points say kernel_us = 6; one outlier says ten times that; none speaks of step_us.
        let residuals = |constants: &Constants, _: Option<(&Parameter, &[f64])>| {
            let predicted = constants.entry(Key::KernelUs).base;
            let mut points = vec![(predicted / 6.0).ln(); 10];
            points.push((predicted / 60.0).ln());
            points
        };
        let effort = Effort { steps: 20, noise: 0.1 };
        let fitted = fit(&Constants::priors(), &parameters, effort, &residuals);
        assert!((fitted.entry(Key::KernelUs).base / 6.0 - 1.0).abs() < 0.05);
        assert!((fitted.entry(Key::StepUs).base / 500.0 - 1.0).abs() < 0.01);
    }
}
