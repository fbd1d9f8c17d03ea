//! Everything that one run of the benchmark found.

use crate::machine::Machine;
use crate::throughput::{Sample, Schedule};
use crate::valgrind::Cost;
use crate::variant::{Series, Transport};

/// Everything that one run of the benchmark found.
#[derive(Debug, Clone)]
pub struct Figures {
    /// Where the figures were taken.
    pub machine: Machine,
    /// The name and version of valgrind.
    pub valgrind: String,
    /// How the load was applied.
    pub schedule: Schedule,
    /// The figures under load.
    pub loads: Vec<LoadLevel>,
    /// The costs of one request.
    pub costs: Vec<CostLevel>,
    /// What relaying a large result allocates.
    pub relay: RelayCost,
}

/// What all variants did under one load.
#[derive(Debug, Clone)]
pub struct LoadLevel {
    /// How requests reached the server.
    pub transport: Transport,
    /// How many requests were in flight.
    pub concurrency: usize,
    /// The medians of the rounds.
    pub samples: Series<Sample>,
}

/// What one request costs each variant.
#[derive(Debug, Clone)]
pub struct CostLevel {
    /// How requests reached the server.
    pub transport: Transport,
    /// How many requests were in flight.
    pub concurrency: usize,
    /// The cost of one request.
    pub costs: Series<Cost>,
}

/// What relaying one large result allocates.
#[derive(Debug, Clone, Copy)]
pub struct RelayCost {
    /// The size of the result in bytes.
    pub payload: usize,
    /// What the relay allocates for one call.
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
