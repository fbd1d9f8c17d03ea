//! Figures of an imagined run, for the tests of the page.

use std::time::Duration;

use super::{ClientLevel, CommandTime, CostLevel, Figures, HeldMemory, LoadLevel};
use crate::machine::Machine;
use crate::throughput::{Sample, Schedule};
use crate::valgrind::{Cost, Heap};
use crate::variant::Series;
use crate::workload::{Era, Shape, Transport, Workload};

pub(super) fn figures() -> Figures {
    let large = Shape::Result(100 << 10);
    Figures {
        machine: Machine {
            processor: "2 × Some CPU".to_owned(),
            memory_gib: 24,
            kernel: "Linux 6.1".to_owned(),
            compiler: "rustc 1.95.0".to_owned(),
            packages: vec!["rmcp 3.8.0".to_owned(), "hyper 1.12.0".to_owned()],
        },
        valgrind: "valgrind-3.19.0".to_owned(),
        schedule: Schedule {
            warm_up: Duration::from_millis(500),
            duration: Duration::from_secs(3),
            rounds: 3,
        },
        loads: vec![LoadLevel {
            workload: http(Era::Stateless, Shape::Echo, 64),
            samples: Series {
                bare: sample(80_000.0, 4000.0),
                ours: sample(60_000.0, 5000.0),
                rmcp: sample(15_000.0, 10_000.0),
            },
        }],
        servers: vec![
            costs(http(Era::Stateless, Shape::Echo, 1), 10_878.2),
            costs(http(Era::Session, large, 1), 200_000.0),
        ],
        relays: vec![costs(http(Era::Stateless, large, 1), 153_600.0)],
        clients: vec![ClientLevel {
            transport: Transport::Http,
            era: Era::Stateless,
            shape: Shape::Echo,
            instructions: Series {
                bare: 50_000.0,
                ours: 100_000.0,
                rmcp: 200_000.0,
            },
            modern: Some(80_000.0),
        }],
        held: vec![HeldMemory {
            what: "1,000 sessions",
            each: Series {
                bare: 0.1,
                ours: 2.0,
                rmcp: 4.0,
            },
            peak: Series {
                bare: 4000.0,
                ours: 6000.0,
                rmcp: 8000.0,
            },
        }],
        commands: [("callgate", 10), ("mcporter", 500)]
            .map(|(program, millis)| CommandTime {
                command: "call",
                program,
                wall: Duration::from_millis(millis),
                cpu: Duration::from_millis(millis / 2),
            })
            .to_vec(),
    }
}

fn http(era: Era, shape: Shape, concurrency: usize) -> Workload {
    Workload {
        transport: Transport::Http,
        era,
        shape,
        concurrency,
    }
}

fn costs(workload: Workload, bytes: f64) -> CostLevel {
    let cost = |instructions| Cost {
        instructions,
        heap: Some(Heap {
            blocks: 14.0,
            bytes,
        }),
    };
    CostLevel {
        workload,
        costs: Series {
            bare: cost(30_000.0),
            ours: cost(45_000.0),
            rmcp: cost(180_000.0),
        },
    }
}

fn sample(requests_per_second: f64, memory: f64) -> Sample {
    Sample {
        requests_per_second,
        p50: 20.0,
        p99: 90.25,
        cpu: 12.5,
        memory,
        anonymous: 600.0,
    }
}
