//! Everything that one run measures.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::load::{hold_sessions, hold_streams};
use crate::process::HttpServer;
use crate::report::{ClientLevel, CostLevel, HeldMemory, LoadLevel};
use crate::throughput::{Sample, Schedule};
use crate::valgrind::Valgrind;
use crate::variant::{Series, Variant};
use crate::workload::{Era, Shape, Transport, Workload};

/// Number of open sessions or streams whose memory is measured.
pub const HELD: usize = 1000;

/// Programs under valgrind at the same time: counts do not depend on the speed of the machine.
const PARALLEL: usize = 2;

/// Counts the cost of one request at the servers: every shape in both revisions, one at a time, and
/// 16 in flight over stdio.
pub async fn servers(valgrind: &Valgrind, programs: &Path) -> Result<Vec<CostLevel>> {
    let mut workloads = Vec::new();
    for era in Era::ALL {
        for transport in Transport::ALL {
            workloads.extend(Shape::ALL.map(|shape| Workload {
                transport,
                era,
                shape,
                concurrency: 1,
            }));
        }
    }
    workloads.push(Workload {
        transport: Transport::Stdio,
        era: Era::Stateless,
        shape: Shape::Echo,
        concurrency: 16,
    });
    let command = |variant: Variant, workload: &Workload| {
        variant.server(workload.transport, workload.era, programs)
    };
    costs(valgrind, &workloads, command, |shape| shape == Shape::Echo).await
}

/// Counts the cost of one request at the relays, whose upstream is the floor.
pub async fn relays(valgrind: &Valgrind, programs: &Path) -> Result<Vec<CostLevel>> {
    let upstream = Variant::Bare.server(Transport::Http, Era::Stateless, programs);
    let upstream = HttpServer::start(&upstream).await?;
    let workloads = Shape::ALL.map(|shape| Workload {
        transport: Transport::Http,
        era: Era::Stateless,
        shape,
        concurrency: 1,
    });
    let command = |variant: Variant, _: &Workload| {
        vec![variant.program("relay", programs), upstream.url().into()]
    };
    let counts_heap = |shape| shape == Shape::Result(100 << 10);
    costs(valgrind, &workloads, command, counts_heap).await
}

async fn costs(
    valgrind: &Valgrind,
    workloads: &[Workload],
    command: impl Fn(Variant, &Workload) -> Vec<OsString>,
    counts_heap: fn(Shape) -> bool,
) -> Result<Vec<CostLevel>> {
    let command = &command;
    let level = async |workload: Workload| {
        let cost = async |variant| {
            let command = command(variant, &workload);
            let mut cost = valgrind.server_cost(&command, &workload).await?;
            if counts_heap(workload.shape) {
                cost.heap = Some(valgrind.server_heap(&command, &workload).await?);
            }
            anyhow::Ok(cost)
        };
        let costs = Series {
            bare: cost(Variant::Bare).await?,
            ours: cost(Variant::Ours).await?,
            rmcp: cost(Variant::Rmcp).await?,
        };
        let level = CostLevel { workload, costs };
        let instructions = level.instructions();
        eprintln!("{workload}: instructions {instructions:.0?}");
        anyhow::Ok(level)
    };
    let levels = stream::iter(workloads.iter().copied().map(level));
    levels.buffered(PARALLEL).try_collect().await
}

/// Counts the cost of one call of the clients; their server is the floor.
pub async fn clients(valgrind: &Valgrind, programs: &Path) -> Result<Vec<ClientLevel>> {
    let mut levels = Vec::new();
    for era in Era::ALL {
        let server = Variant::Bare.server(Transport::Http, era, programs);
        let server = HttpServer::start(&server).await?;
        for transport in Transport::ALL {
            for shape in [Shape::Echo, Shape::Result(100 << 10)] {
                let target: Vec<OsString> = match transport {
                    Transport::Http | Transport::Hub => vec![server.url().into()],
                    Transport::Stdio => Variant::Bare.server(transport, era, programs),
                };
                let cost = async |variant: Variant, kind: &str| {
                    let mut command = vec![variant.program("client", programs), kind.into()];
                    command.extend([era.version().into(), shape.argument().into()]);
                    command.extend_from_slice(&target);
                    valgrind.client_cost(&command, shape).await
                };
                let (floor, users, modern) = match transport {
                    Transport::Http | Transport::Hub => ("http", "remote", "modern_http"),
                    Transport::Stdio => ("stdio", "process", "modern_child"),
                };
                let level = ClientLevel {
                    transport,
                    era,
                    shape,
                    instructions: Series {
                        bare: cost(Variant::Bare, floor).await?,
                        ours: cost(Variant::Ours, users).await?,
                        rmcp: cost(Variant::Rmcp, floor).await?,
                    },
                    modern: match era {
                        Era::Stateless => Some(cost(Variant::Ours, modern).await?),
                        Era::Session => None,
                    },
                };
                eprintln!("client: {level:.0?}");
                levels.push(level);
            }
        }
    }
    Ok(levels)
}

/// Measures the servers under load.
pub async fn loads(schedule: &Schedule, programs: &Path) -> Result<Vec<LoadLevel>> {
    let echo = |transport, era, concurrency| Workload {
        transport,
        era,
        shape: Shape::Echo,
        concurrency,
    };
    let large = |shape, era| Workload {
        transport: Transport::Http,
        era,
        shape,
        concurrency: 16,
    };
    let mut workloads = Vec::new();
    for transport in Transport::ALL {
        workloads.extend([1, 16, 64].map(|count| echo(transport, Era::Stateless, count)));
        workloads.extend([1, 16].map(|count| echo(transport, Era::Session, count)));
    }
    workloads.push(echo(Transport::Http, Era::Session, 64));
    workloads.push(large(Shape::Argument(100 << 10), Era::Stateless));
    workloads.push(large(Shape::Result(100 << 10), Era::Stateless));
    workloads.push(large(Shape::Result(100 << 10), Era::Session));
    let mut levels = Vec::new();
    for workload in workloads {
        let mut rounds: Series<Vec<Sample>> = Series::default();
        for round in 1..=schedule.rounds {
            for variant in Variant::ALL {
                let command = variant.server(workload.transport, workload.era, programs);
                let sample = schedule.sample(&command, &workload).await?;
                let speed = sample.requests_per_second;
                eprintln!("{workload}, round {round}: {variant} {speed:.0}/s");
                rounds.get_mut(variant).push(sample);
            }
        }
        let samples = rounds.map(|rounds| Sample::median(rounds));
        levels.push(LoadLevel { workload, samples });
    }
    Ok(levels)
}

/// Measures the memory of open sessions and of open streams.
pub async fn held(programs: &Path) -> Result<Vec<HeldMemory>> {
    let mut sessions = HeldMemory {
        what: "1,000 sessions of 2025-11-25",
        each: Series::default(),
        peak: Series::default(),
    };
    let mut streams = HeldMemory {
        what: "1,000 streams of `subscriptions/listen`",
        ..sessions.clone()
    };
    for variant in Variant::ALL {
        let server = variant.server(Transport::Http, Era::Session, programs);
        let server = HttpServer::start(&server).await?;
        drop(hold_sessions(server.address, 1).await?);
        let before = server.memory()?.anonymous;
        let open = hold_sessions(server.address, HELD).await?;
        sessions.record(variant, &server, before)?;
        drop(open);
        let server = variant.server(Transport::Http, Era::Stateless, programs);
        let server = HttpServer::start(&server).await?;
        drop(hold_streams(server.address, 1).await?);
        let before = server.memory()?.anonymous;
        let open = hold_streams(server.address, HELD).await?;
        streams.record(variant, &server, before)?;
        drop(open);
    }
    Ok(vec![sessions, streams])
}

impl HeldMemory {
    fn record(&mut self, variant: Variant, server: &HttpServer, before: u64) -> Result<()> {
        let memory = server.memory()?;
        let growth = memory.anonymous.saturating_sub(before);
        *self.each.get_mut(variant) = growth as f64 / HELD as f64;
        *self.peak.get_mut(variant) = memory.peak as f64;
        Ok(())
    }
}
