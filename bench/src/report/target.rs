//! Targets of the benchmark.

use super::Figures;
use crate::variant::Series;
use crate::workload::{Era, Shape, Transport};

/// One figure that has to stay within a bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Description of the figure.
    pub what: String,
    /// Bound that it has to meet.
    pub bound: Bound,
    /// Measured figure; `None` if this run did not measure it.
    pub measured: Option<f64>,
    /// Best figure that is possible, shown where the bound is not met; `None` where none is known.
    pub floor: Option<Floor>,
}

/// Best figure that any program in our place could reach in this run.
#[derive(Debug, Clone, PartialEq)]
pub struct Floor {
    /// The figure.
    pub best: f64,
    /// Measurement that it follows from.
    pub because: String,
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
        let mut targets = servers(figures);
        targets.extend(under_load(figures));
        targets.extend(clients(figures));
        targets
    }

    /// Returns whether the figure meets its bound.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.measured
            .is_some_and(|measured| self.bound.allows(measured))
    }

    pub(super) fn new(what: impl Into<String>, bound: Bound, measured: Option<f64>) -> Self {
        let what = what.into();
        Self {
            what,
            bound,
            measured,
            floor: None,
        }
    }

    /// The target with the best figure that is possible.
    pub(super) fn with_floor(mut self, floor: Option<Floor>) -> Self {
        self.floor = floor;
        self
    }
}

impl Bound {
    /// Returns whether a figure is within the bound.
    #[must_use]
    pub fn allows(self, figure: f64) -> bool {
        match self {
            Self::AtMost(limit) => figure <= limit,
            Self::AtLeast(limit) => figure >= limit,
            Self::Below(limit) => figure < limit,
        }
    }
}

/// Instructions of servers and relays.
fn servers(figures: &Figures) -> Vec<Target> {
    let mut targets = Vec::new();
    let small = |size| size == Shape::Echo.size();
    for (transport, era, limit) in [
        (Transport::Http, Era::Stateless, 1.3),
        (Transport::Http, Era::Session, 1.6),
        (Transport::Stdio, Era::Stateless, 3.0),
        (Transport::Stdio, Era::Session, 3.0),
    ] {
        let to_bare = |sizes: &dyn Fn(usize) -> bool| {
            figures.highest_cost(transport, era, sizes, Series::to_bare)
        };
        targets.push(Target::new(
            format!("{transport}, {era}, 32 B: instructions ÷ bare"),
            Bound::AtMost(limit),
            to_bare(&small),
        ));
        targets.push(Target::new(
            format!("{transport}, {era}, 100 KB and more: highest instructions ÷ bare"),
            Bound::AtMost(1.25),
            to_bare(&|size| size >= 100 << 10),
        ));
        targets.push(Target::new(
            format!("{transport}, {era}, every size: highest instructions ÷ rmcp"),
            Bound::Below(1.0),
            figures.highest_cost(transport, era, |_| true, Series::to_rmcp),
        ));
    }
    let relays = figures.relays.iter();
    targets.push(Target::new(
        "relay, every size: highest instructions ÷ bare",
        Bound::AtMost(1.15),
        highest(relays.map(|level| level.instructions().to_bare())),
    ));
    let allocated = figures.relays.iter().filter_map(|level| {
        let bytes = level.costs.ours.heap?.bytes;
        Some(bytes / level.workload.shape.size() as f64)
    });
    targets.push(Target::new(
        "relay, 100 KB result: bytes allocated ÷ size of the result",
        Bound::AtMost(2.0),
        highest(allocated),
    ));
    targets
}

/// Throughput and memory.
fn under_load(figures: &Figures) -> Vec<Target> {
    let throughput = |transport, concurrency| {
        figures.load(transport, concurrency, |sample| sample.requests_per_second)
    };
    let http = throughput(Transport::Http, 64);
    let stdio = throughput(Transport::Stdio, 16);
    let loads = figures.loads.iter();
    let peaks = loads.map(|level| level.samples.map(|sample| sample.memory));
    // The floor is that of the load at which the figure is highest.
    let peak = peaks.max_by(|a, b| a.to_rmcp().total_cmp(&b.to_rmcp()));
    let peak_of_bare = peak.as_ref().map(|peak| Floor {
        best: peak.bare / peak.rmcp,
        because: "the peak of bare under that load".to_owned(),
    });
    let mut targets = vec![
        Target::new(
            "HTTP, 64 connections: throughput ÷ bare",
            Bound::AtLeast(0.8),
            http.as_ref().map(Series::to_bare),
        ),
        Target::new(
            "HTTP, 64 connections: throughput ÷ rmcp",
            Bound::AtLeast(1.8),
            http.as_ref().map(Series::to_rmcp),
        )
        .with_floor(http.as_ref().map(bare_to_rmcp)),
        Target::new(
            "stdio, 16 in flight: throughput ÷ rmcp",
            Bound::AtLeast(4.0),
            stdio.as_ref().map(Series::to_rmcp),
        )
        .with_floor(stdio.as_ref().map(bare_to_rmcp)),
        Target::new(
            "every load: highest peak memory ÷ rmcp",
            Bound::Below(1.0),
            peak.as_ref().map(Series::to_rmcp),
        )
        .with_floor(peak_of_bare),
    ];
    for held in &figures.held {
        targets.push(Target::new(
            format!("{}: memory of each ÷ rmcp", held.what),
            Bound::Below(1.0),
            Some(held.each.to_rmcp()),
        ));
    }
    targets
}

/// Instructions of clients, and times of commands.
fn clients(figures: &Figures) -> Vec<Target> {
    let levels = || figures.clients.iter();
    let mut targets = vec![
        Target::new(
            "client, `Remote` or `Process`: highest instructions ÷ transport of the newest revision",
            Bound::AtMost(1.05),
            highest(levels().filter_map(|level| Some(level.instructions.ours / level.modern?))),
        ),
        Target::new(
            "client, `Remote` or `Process`: highest instructions ÷ rmcp",
            Bound::Below(1.0),
            highest(levels().map(|level| level.instructions.to_rmcp())),
        ),
    ];
    for command in ["call", "list"] {
        let times = || {
            figures
                .commands
                .iter()
                .filter(|time| time.command == command)
        };
        let ours = times().find(|time| time.program == "callgate");
        let others = times().filter(|time| time.program != "callgate");
        let fastest = others.map(|time| time.wall).min();
        if let (Some(ours), Some(fastest)) = (ours, fastest) {
            targets.push(Target::new(
                format!("`callgate {command}`: time ÷ fastest other client"),
                Bound::Below(1.0),
                Some(ours.wall.as_secs_f64() / fastest.as_secs_f64()),
            ));
        }
    }
    targets
}

/// The best throughput relative to rmcp: that of the floor.
fn bare_to_rmcp(throughput: &Series<f64>) -> Floor {
    Floor {
        best: throughput.bare / throughput.rmcp,
        because: "the throughput of bare".to_owned(),
    }
}

fn highest(ratios: impl Iterator<Item = f64>) -> Option<f64> {
    ratios.max_by(f64::total_cmp)
}
