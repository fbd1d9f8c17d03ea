//! Targets of the benchmark.

use super::Figures;
use crate::variant::{Series, Transport};

/// One figure that has to stay within a bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Description of the figure.
    pub what: &'static str,
    /// Bound that it has to meet.
    pub bound: Bound,
    /// Measured figure; `None` if this run did not measure it.
    pub measured: Option<f64>,
}

/// Bound of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// Not above this.
    AtMost(f64),
    /// Not below this.
    AtLeast(f64),
    /// Less than this.
    Below(f64),
}

impl Target {
    /// Returns every target with its measured figure.
    #[must_use]
    pub fn all(figures: &Figures) -> Vec<Self> {
        let instructions = |transport| figures.instructions(transport, 1);
        let throughput = |transport, concurrency| {
            figures.load(transport, concurrency, |sample| sample.requests_per_second)
        };
        let target = |what, bound, measured| Self {
            what,
            bound,
            measured,
        };
        vec![
            target(
                "HTTP: instructions per request, relative to bare",
                Bound::AtMost(1.6),
                instructions(Transport::Http).as_ref().map(Series::to_bare),
            ),
            target(
                "stdio: instructions per request, relative to bare",
                Bound::AtMost(3.0),
                instructions(Transport::Stdio).as_ref().map(Series::to_bare),
            ),
            target(
                "HTTP: throughput at 64 connections, relative to bare",
                Bound::AtLeast(0.8),
                throughput(Transport::Http, 64)
                    .as_ref()
                    .map(Series::to_bare),
            ),
            target(
                "HTTP: throughput at 64 connections, relative to rmcp",
                Bound::AtLeast(1.8),
                throughput(Transport::Http, 64)
                    .as_ref()
                    .map(Series::to_rmcp),
            ),
            target(
                "stdio: throughput with 16 in flight, relative to rmcp",
                Bound::AtLeast(4.0),
                throughput(Transport::Stdio, 16)
                    .as_ref()
                    .map(Series::to_rmcp),
            ),
            target(
                "peak memory, relative to rmcp, at the load where it is highest",
                Bound::Below(1.0),
                highest_memory(figures),
            ),
            target(
                "bytes allocated for relaying a 64 KiB result, relative to its size",
                Bound::AtMost(2.0),
                Some(figures.relay.cost.bytes / figures.relay.payload as f64),
            ),
        ]
    }

    /// Returns whether the figure meets its bound.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.measured.is_some_and(|measured| match self.bound {
            Bound::AtMost(limit) => measured <= limit,
            Bound::AtLeast(limit) => measured >= limit,
            Bound::Below(limit) => measured < limit,
        })
    }
}

fn highest_memory(figures: &Figures) -> Option<f64> {
    let ratios = figures
        .loads
        .iter()
        .map(|level| level.samples.map(|s| s.memory).to_rmcp());
    ratios.max_by(f64::total_cmp)
}
