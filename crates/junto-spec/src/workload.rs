//! What is asked of the server.

/// Mean lengths of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// Mean prompt tokens of a request.
    pub input_len: f64,
    /// Mean generated tokens of a request.
    pub output_len: f64,
}
