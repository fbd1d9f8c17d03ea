//! Figures of one run of the benchmark.

use std::time::Duration;

use crate::machine::Machine;
use crate::throughput::{Sample, Schedule};
use crate::valgrind::Cost;
use crate::variant::Series;
use crate::workload::{Era, Shape, Transport, Workload};

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
    /// The costs of one request at a server.
    pub servers: Vec<CostLevel>,
    /// The costs of one request at a relay.
    pub relays: Vec<CostLevel>,
    /// The costs of one call of a client.
    pub clients: Vec<ClientLevel>,
    /// Memory of many open sessions and streams.
    pub held: Vec<HeldMemory>,
    /// Times of commands; none where Node.js is missing.
    pub commands: Vec<CommandTime>,
}

/// Samples of all variants under one load.
#[derive(Debug, Clone)]
pub struct LoadLevel {
    /// Requests of the load.
    pub workload: Workload,
    /// The medians of the rounds.
    pub samples: Series<Sample>,
}

/// Cost of one request for each variant.
#[derive(Debug, Clone)]
pub struct CostLevel {
    /// The requests.
    pub workload: Workload,
    /// The cost of one request.
    pub costs: Series<Cost>,
}

/// Instructions of one call for each client.
#[derive(Debug, Clone)]
pub struct ClientLevel {
    /// Transport of the calls.
    pub transport: Transport,
    /// Revision of the calls.
    pub era: Era,
    /// Tool and size of the calls.
    pub shape: Shape,
    /// The floor, `Client` over `Remote` or `Process`, and the official SDK.
    pub instructions: Series<f64>,
    /// `Client` over the transport of the newest revision alone.
    pub modern: Option<f64>,
}

/// Memory of many open sessions or streams.
#[derive(Debug, Clone)]
pub struct HeldMemory {
    /// Name of the open things.
    pub what: &'static str,
    /// Growth of the memory for each of them, in KiB.
    pub each: Series<f64>,
    /// Peak memory with all of them, in KiB.
    pub peak: Series<f64>,
}

/// Time of one command.
#[derive(Debug, Clone)]
pub struct CommandTime {
    /// Command, for example `call`.
    pub command: &'static str,
    /// Program that ran it.
    pub program: &'static str,
    /// Time from start to exit.
    pub wall: Duration,
    /// Processor time of the program.
    pub cpu: Duration,
}

impl CostLevel {
    /// Returns the instructions of one request for all variants.
    #[must_use]
    pub fn instructions(&self) -> Series<f64> {
        self.costs.map(|cost| cost.instructions)
    }
}

impl Figures {
    /// Returns one figure of all variants under a load of the echo tool in the newest revision.
    pub(crate) fn load(
        &self,
        transport: Transport,
        concurrency: usize,
        figure: fn(&Sample) -> f64,
    ) -> Option<Series<f64>> {
        let workload = Workload {
            transport,
            era: Era::Stateless,
            shape: Shape::Echo,
            concurrency,
        };
        let level = self.loads.iter().find(|level| level.workload == workload)?;
        Some(level.samples.map(figure))
    }

    /// Returns the highest ratio of the instructions of a server, among requests of at least
    /// `size` bytes, one at a time.
    pub(crate) fn highest_cost(
        &self,
        transport: Transport,
        era: Era,
        sizes: impl Fn(usize) -> bool,
        ratio: fn(&Series<f64>) -> f64,
    ) -> Option<f64> {
        let ratios = self.servers.iter().filter_map(|level| {
            let Workload {
                transport: own_transport,
                era: own_era,
                shape,
                ..
            } = level.workload;
            let counts = (own_transport, own_era) == (transport, era) && sizes(shape.size());
            counts.then(|| ratio(&level.instructions()))
        });
        ratios.max_by(f64::total_cmp)
    }
}
