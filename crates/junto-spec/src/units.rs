//! Units as types, so that a formula reads as in the paper and bytes never mix with seconds.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// Bytes. Held as `f64`: exact for whole numbers below 2^53 (8 PiB).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
pub struct Bytes(pub f64);

/// Seconds.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
pub struct Seconds(pub f64);

/// Floating-point operations (a multiply-add is two).
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
pub struct Flops(pub f64);

/// Bytes per second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
pub struct BytesPerSecond(pub f64);

/// Floating-point operations per second.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
pub struct FlopsPerSecond(pub f64);

macro_rules! quantity {
    ($($name:ident),*) => {$(
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self { Self(self.0 + other.0) }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) { self.0 += other.0; }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self { Self(self.0 - other.0) }
        }
        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self { Self(self.0 * factor) }
        }
        impl Div<f64> for $name {
            type Output = Self;
            fn div(self, divisor: f64) -> Self { Self(self.0 / divisor) }
        }
        impl Div for $name {
            type Output = f64;
            fn div(self, other: Self) -> f64 { self.0 / other.0 }
        }
        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(parts: I) -> Self { Self(parts.map(|part| part.0).sum()) }
        }
    )*};
}
quantity!(Bytes, Seconds, Flops, BytesPerSecond, FlopsPerSecond);

impl Div<BytesPerSecond> for Bytes {
    type Output = Seconds;
    fn div(self, rate: BytesPerSecond) -> Seconds {
        Seconds(self.0 / rate.0)
    }
}

impl Div<FlopsPerSecond> for Flops {
    type Output = Seconds;
    fn div(self, rate: FlopsPerSecond) -> Seconds {
        Seconds(self.0 / rate.0)
    }
}

impl Bytes {
    /// From GiB (2^30 bytes).
    pub fn from_gib(gib: f64) -> Self {
        Self(gib * f64::from(1 << 30))
    }

    /// In GiB (2^30 bytes).
    pub fn gib(self) -> f64 {
        self.0 / f64::from(1 << 30)
    }
}

impl Seconds {
    /// From milliseconds.
    pub fn from_ms(ms: f64) -> Self {
        Self(ms * 1e-3)
    }

    /// From microseconds.
    pub fn from_us(us: f64) -> Self {
        Self(us * 1e-6)
    }

    /// In milliseconds.
    pub fn ms(self) -> f64 {
        self.0 * 1e3
    }

    /// In microseconds.
    pub fn us(self) -> f64 {
        self.0 * 1e6
    }

    /// The larger of the two.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// The smaller of the two.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }
}

impl BytesPerSecond {
    /// From GB/s (10^9 bytes a second), as datasheets have it.
    pub fn from_gb_s(gb_s: f64) -> Self {
        Self(gb_s * 1e9)
    }
}

impl FlopsPerSecond {
    /// From TFLOP/s (10^12), as datasheets have it.
    pub fn from_tflops(tflops: f64) -> Self {
        Self(tflops * 1e12)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kib, mib, gib) = (1024.0, 1024.0 * 1024.0, 1024.0 * 1024.0 * 1024.0);
        match self.0.abs() {
            size if size < kib => write!(f, "{} B", self.0),
            size if size < mib => write!(f, "{:.1} KiB", self.0 / kib),
            size if size < gib => write!(f, "{:.1} MiB", self.0 / mib),
            _ => write!(f, "{:.1} GiB", self.0 / gib),
        }
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.abs() {
            time if time < 1e-3 => write!(f, "{:.1} µs", self.us()),
            time if time < 1.0 => write!(f, "{:.2} ms", self.ms()),
            _ => write!(f, "{:.2} s", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quotient_has_the_unit_of_a_quotient() {
        let time = Bytes(1.79e9) / BytesPerSecond::from_gb_s(1790.0);
        assert!((time.ms() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn units_print_as_a_person_reads_them() {
        assert_eq!(Bytes(14336.0).to_string(), "14.0 KiB");
        assert_eq!(Bytes::from_gib(71.94).to_string(), "71.9 GiB");
        assert_eq!(Seconds::from_us(8.7).to_string(), "8.7 µs");
        assert_eq!(Seconds::from_ms(10.82).to_string(), "10.82 ms");
    }
}
