//! Processes that share a login.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callgate_mcp::client::{CallOptions, Client};
use callgate_mcp::transport::http::client::{self, HttpClient};
use callgate_oauth::fetch::{self, Fetcher};
use callgate_oauth::keeper::{Config, Keeper};
use callgate_oauth::store::{Limits, Store};
use tokio::runtime::Builder;
use tokio::task::JoinSet;

/// Makes requests in many tasks for a time, all of which have to succeed.
pub(crate) fn call(store: &str, server: &str, tasks: &str, seconds: &str) {
    let fetcher = Fetcher::new(fetch::Config::default()).expect("TLS can be set up");
    let mut config = Config::new("server", server.parse().expect("a URL"), fetcher);
    config.store = Some(Store::new(store, Limits::default()));
    let mut http = client::Config::new("server");
    http.authorizer = Some(Keeper::new(config));
    let http = HttpClient::new(server, http).expect("a URL");
    // Hundreds of requests at once may take their time.
    let options = CallOptions::default().idle(Duration::from_secs(300));
    let client = Client::builder(Arc::new(http)).options(options).build();

    let end = Instant::now() + Duration::from_secs(seconds.parse().expect("a number"));
    let tasks: usize = tasks.parse().expect("a number");
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let mut running = JoinSet::new();
        for _ in 0..tasks {
            running.spawn(call_until(client.clone(), end));
        }
        while let Some(done) = running.join_next().await {
            done.expect("no task fails");
        }
    });
}

async fn call_until(client: Client, end: Instant) {
    loop {
        client.list_tools().await.expect("the login is there");
        if Instant::now() >= end {
            return;
        }
        // The machine has other things to do as well.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
