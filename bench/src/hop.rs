//! Way of a call through a hub, compared with a relay.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::process::HttpServer;
use crate::valgrind::Valgrind;
use crate::variant::Variant;
use crate::workload::{Era, Shape, Transport, Workload};

/// Programs under valgrind at the same time.
const PARALLEL: usize = 2;

/// Instructions of a call through a hub and through a relay.
#[derive(Debug, Clone, Default)]
pub struct HopFigures {
    /// Calls through a hub of one server, and through a relay.
    pub compared: Vec<HopCost>,
    /// Calls of 32 bytes through hubs of several sizes.
    pub sizes: Vec<HubSize>,
}

/// Instructions of one call through a hub of one server, and through a relay.
#[derive(Debug, Clone, Copy)]
pub struct HopCost {
    /// Tool and size of the call.
    pub shape: Shape,
    /// Instructions at the relay.
    pub relay: f64,
    /// Instructions at the hub.
    pub hub: f64,
}

/// Instructions of one call through a hub.
#[derive(Debug, Clone, Copy)]
pub struct HubSize {
    /// Number of servers of the hub.
    pub servers: usize,
    /// Number of tools of all servers that are not called.
    pub tools: usize,
    /// Instructions of a call.
    pub instructions: f64,
}

/// Servers and further tools of the hubs that are compared with each other.
const SIZES: [(usize, usize); 7] = [
    (1, 0),
    (10, 10),
    (10, 100),
    (10, 1_000),
    (10, 5_000),
    (100, 100),
    (100, 5_000),
];

/// Counts the instructions; the server behind hub and relay is the floor.
pub async fn measure(valgrind: &Valgrind, programs: &Path) -> Result<HopFigures> {
    let upstream = Variant::Bare.server(Transport::Http, Era::Stateless, programs);
    let upstream = HttpServer::start(&upstream).await?;
    let relay: Vec<OsString> = vec![
        Variant::Ours.program("relay", programs),
        upstream.url().into(),
    ];
    let hub = |servers: usize, tools: usize| -> Vec<OsString> {
        vec![
            Variant::Ours.program("hub", programs),
            upstream.url().into(),
            servers.to_string().into(),
            tools.to_string().into(),
        ]
    };
    let count = async |command: Vec<OsString>, transport, shape| {
        let workload = Workload {
            transport,
            era: Era::Stateless,
            shape,
            concurrency: 1,
        };
        let cost = valgrind.server_cost(&command, &workload).await?;
        anyhow::Ok(cost.instructions)
    };
    let shapes = [
        Shape::Echo,
        Shape::Argument(100 << 10),
        Shape::Result(100 << 10),
    ];
    let compare = async |shape| {
        let cost = HopCost {
            shape,
            relay: count(relay.clone(), Transport::Http, shape).await?,
            hub: count(hub(1, 0), Transport::Hub, shape).await?,
        };
        eprintln!("{cost:.0?}");
        anyhow::Ok(cost)
    };
    let compared = stream::iter(shapes.map(compare));
    let compared = compared.buffered(PARALLEL).try_collect().await?;
    let size = async |servers, tools| {
        let size = HubSize {
            servers,
            tools,
            instructions: count(hub(servers, tools), Transport::Hub, Shape::Echo).await?,
        };
        eprintln!("{size:.0?}");
        anyhow::Ok(size)
    };
    let mut sizes = Vec::new();
    // One after the other: their profiles have the same name.
    for (servers, tools) in SIZES {
        sizes.push(size(servers, tools).await?);
    }
    Ok(HopFigures { compared, sizes })
}
