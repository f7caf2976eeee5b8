//! Measured latency of a collective by payload.

use super::error::MachineError;
use super::parse::{counted, positive};
use super::{Algorithm, Op};
use crate::source::Source;
use crate::units::{Bytes, Seconds};
use serde::Deserialize;

/// Latency of one operation over one number of ranks by payload.
///
/// The payload of an all-reduce is the tensor; of an all-gather and a reduce-scatter the whole,
/// not the part; of an all-to-all all that one rank holds; of a send what is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectiveTable {
    /// The operation.
    pub op: Op,
    /// How it is carried out.
    pub algorithm: Algorithm,
    /// Ranks that take part.
    pub ranks: u32,
    /// How strong the figures are.
    pub source: Source,
    /// Where they come from.
    pub reference: String,
    /// Two or more, payload and time ascending.
    points: Vec<Point>,
}

/// A point with its logarithms, which a search would else take hundreds of thousands of times.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    payload: f64,
    seconds: f64,
    ln_payload: f64,
    ln_seconds: f64,
}

/// A table as a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTable {
    op: Op,
    algorithm: Algorithm,
    ranks: i64,
    bytes: Vec<f64>,
    us: Vec<f64>,
    source: Source,
    reference: String,
}

impl RawTable {
    /// The table, which is the `number`-th of `file`.
    pub(super) fn checked(
        self,
        file: &str,
        number: usize,
    ) -> Result<CollectiveTable, MachineError> {
        let named = || (file.to_owned(), number);
        let field = |field| format!("collective {number}, {field}");
        if self.bytes.len() != self.us.len() {
            let ((file, table), bytes, us) = (named(), self.bytes.len(), self.us.len());
            return Err(MachineError::Lengths { file, table, bytes, us });
        }
        if self.bytes.len() < 2 {
            let ((file, table), sizes) = (named(), self.bytes.len());
            return Err(MachineError::TooFewSizes { file, table, sizes });
        }
        let ranks = counted(file, &field("ranks"), self.ranks, 2, 1 << 16)?;
        let mut points: Vec<Point> = Vec::with_capacity(self.us.len());
        for (&bytes, &us) in self.bytes.iter().zip(&self.us) {
            positive(file, &field("bytes"), bytes, 1e15)?;
            positive(file, &field("us"), us, 1e9)?;
            let seconds = us * 1e-6;
            if let Some(before) = points.last() {
                let fall = |field, before, value| {
                    let (file, table) = named();
                    Err(MachineError::NotAscending { file, table, field, before, value })
                };
                if bytes <= before.payload {
                    return fall("bytes", before.payload, bytes);
                }
                if seconds < before.seconds {
                    return fall("us", before.seconds * 1e6, us);
                }
            }
            let (ln_payload, ln_seconds) = (bytes.ln(), seconds.ln());
            points.push(Point { payload: bytes, seconds, ln_payload, ln_seconds });
        }
        let Self { op, algorithm, source, reference, .. } = self;
        Ok(CollectiveTable { op, algorithm, ranks, source, reference, points })
    }
}

impl CollectiveTable {
    /// The points, payload ascending.
    pub fn points(&self) -> impl ExactSizeIterator<Item = (Bytes, Seconds)> {
        self.points.iter().map(|point| (Bytes(point.payload), Seconds(point.seconds)))
    }

    /// Time of the smallest payload: what does not depend on size.
    pub fn floor(&self) -> Seconds {
        Seconds(self.points[0].seconds)
    }

    /// Time for a payload: below the first point its time, between points log-log linear, beyond
    /// the last at the bandwidth of the last segment.
    pub fn time(&self, payload: Bytes) -> Seconds {
        let points = &self.points;
        let after = points.partition_point(|point| point.payload < payload.0);
        if after == 0 {
            return self.floor();
        }
        let Some(right) = points.get(after) else {
            let [.., left, last] = points.as_slice() else { return self.floor() };
            let per_byte = (last.seconds - left.seconds) / (last.payload - left.payload);
            return Seconds(last.seconds + (payload.0 - last.payload) * per_byte);
        };
        let left = &points[after - 1];
        let share = (payload.0.ln() - left.ln_payload) / (right.ln_payload - left.ln_payload);
        Seconds((left.ln_seconds + share * (right.ln_seconds - left.ln_seconds)).exp())
    }
}
