//! Requests of one client and of several, with time limits.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use callgate_mcp::client::{CallOptions, Client, ClientBuilder, ClientLimits};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{timeout, timeout_at};

use super::limited::{Rate, Time};
use crate::statistics::percentile;

/// Number of clients that call at the same time.
pub const CLIENTS: usize = 10;

/// Timeout of one request, longer than the limit of every measurement.
const REQUEST_LIMIT: Duration = Duration::from_secs(120);

/// Time of one kind of request; a few are made however long they take, up to the limit.
const REQUESTS_TIME: Duration = Duration::from_secs(3);
const REQUESTS_LIMIT: Duration = Duration::from_secs(30);
const MIN_REQUESTS: usize = 3;
const MAX_REQUESTS: usize = 1000;

/// Time in which several clients begin calls, and time limit of the last one.
const LOAD_TIME: Duration = Duration::from_secs(5);
const LOAD_LIMIT: Duration = Duration::from_secs(60);

/// A client that calls one tool, with the same arguments each time.
#[derive(Clone)]
pub(super) struct ToolClient {
    pub(super) client: Client,
    /// Name of the tool as this client sees it.
    pub(super) tool: String,
    pub(super) arguments: Value,
}

/// Calls of several clients.
pub(super) struct Loaded {
    /// Number of calls that ended, those before the measurement not counted.
    pub(super) calls: u32,
    time: Duration,
}

impl Loaded {
    pub(super) fn rate(&self) -> Rate {
        Rate::of(self.calls, self.time)
    }
}

/// Settings of every measuring client: nothing is cached or checked.
pub(super) fn measuring(client: ClientBuilder) -> Client {
    let limits = ClientLimits::default()
        .with_cache_entries(0)
        .with_output_schemas(0);
    let options = CallOptions::default()
        .idle(REQUEST_LIMIT)
        .maximum(REQUEST_LIMIT);
    client.limits(limits).options(options).build()
}

impl ToolClient {
    pub(super) async fn call(&self) -> Result<()> {
        let result = self.client.call_tool(&self.tool, &self.arguments).await?;
        let is_error = result.is_error == Some(true);
        ensure!(!is_error, "{} failed: {result:?}", self.tool);
        Ok(())
    }
}

/// Median time of one request after the other.
pub(super) async fn median_time<T>(request: impl AsyncFn() -> Result<T>) -> Result<Time> {
    let mut times = Vec::new();
    let start = tokio::time::Instant::now();
    loop {
        let sent = Instant::now();
        match timeout_at(start + REQUESTS_LIMIT, request()).await {
            Ok(outcome) => drop(outcome?),
            Err(_) if times.is_empty() => return Ok(Time::MoreThan(REQUESTS_LIMIT)),
            Err(_) => break,
        }
        times.push(sent.elapsed());
        let is_long = start.elapsed() > REQUESTS_TIME && times.len() >= MIN_REQUESTS;
        if is_long || times.len() >= MAX_REQUESTS {
            break;
        }
    }
    times.sort_unstable();
    Ok(Time::Took(percentile(&times, 50)))
}

/// One call of each client, which is no part of a [`load`].
pub(super) async fn warm_up(clients: &[ToolClient], usual: Time) -> Result<()> {
    for client in clients {
        // A call of seconds is no faster after another one.
        if usual.seconds() < 1.0 {
            timeout(REQUESTS_LIMIT, client.call()).await??;
        }
    }
    Ok(())
}

/// Calls of clients that call at the same time.
pub(super) async fn load(clients: Vec<ToolClient>) -> Result<Loaded> {
    ensure!(clients.len() == CLIENTS, "too few servers answer calls");
    let mut tasks = JoinSet::new();
    let start = Instant::now();
    let deadline = tokio::time::Instant::now() + LOAD_LIMIT;
    for client in clients {
        tasks.spawn(async move {
            let mut calls = 0_u32;
            while start.elapsed() < LOAD_TIME {
                match timeout_at(deadline, client.call()).await {
                    Ok(outcome) => outcome?,
                    Err(_) => break,
                }
                calls += 1;
            }
            anyhow::Ok(calls)
        });
    }
    let mut calls = 0;
    while let Some(finished) = tasks.join_next().await {
        calls += finished??;
    }
    let time = start.elapsed();
    Ok(Loaded { calls, time })
}
