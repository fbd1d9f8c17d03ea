//! Figures of one run of the benchmark.

use crate::machine::Machine;
use crate::throughput::{Sample, Schedule};
use crate::valgrind::Cost;
use crate::variant::{Series, Transport};

/// Figures of one run of the benchmark.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Machine of the run.
    pub machine: Machine,
    /// The name and version of valgrind.
    pub valgrind: String,
    /// Schedule of the load.
    pub schedule: Schedule,
    /// The figures under load.
    pub loads: Vec<LoadLevel>,
    /// The costs of one request.
    pub costs: Vec<CostLevel>,
    /// Cost of relaying a large result.
    pub relay: RelayCost,
}

/// Samples of all variants under one load.
#[derive(Debug, Clone)]
pub struct LoadLevel {
    /// Transport of the requests.
    pub transport: Transport,
    /// Number of requests in flight.
    pub concurrency: usize,
    /// The medians of the rounds.
    pub samples: Series<Sample>,
}

/// Cost of one request for each variant.
#[derive(Debug, Clone)]
pub struct CostLevel {
    /// Transport of the requests.
    pub transport: Transport,
    /// Number of requests in flight.
    pub concurrency: usize,
    /// The cost of one request.
    pub costs: Series<Cost>,
}

/// Cost of relaying one large result.
#[derive(Debug, Clone, Copy)]
pub struct RelayCost {
    /// The size of the result in bytes.
    pub payload: usize,
    /// Cost of one call at the relay.
    pub cost: Cost,
}

impl Figures {
    /// Returns one figure of all variants under one load.
    pub(crate) fn load(
        &self,
        transport: Transport,
        concurrency: usize,
        figure: fn(&Sample) -> f64,
    ) -> Option<Series<f64>> {
        let level = self
            .loads
            .iter()
            .find(|level| level.transport == transport && level.concurrency == concurrency)?;
        Some(level.samples.map(figure))
    }

    /// Returns the instructions of one request for all variants.
    pub(crate) fn instructions(
        &self,
        transport: Transport,
        concurrency: usize,
    ) -> Option<Series<f64>> {
        let level = self
            .costs
            .iter()
            .find(|level| level.transport == transport && level.concurrency == concurrency)?;
        Some(level.costs.map(|cost| cost.instructions))
    }
}
