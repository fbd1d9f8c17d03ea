//! Processes that share a login.

use std::io::{BufRead, Write, stderr, stdin};
use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::client::{CallOptions, Client};
use callgate_mcp::transport::http::client::{self, ModernHttpClient};
use callgate_mcp::{Error, Retry};
use callgate_oauth::fetch::{self, Fetcher};
use callgate_oauth::token_source::{Config, TokenSource};
use futures_util::future::join_all;
use tokio::runtime::Builder;

use crate::store_fixture::store_at;

/// A busy machine with hundreds of processes may take this long for anything.
const MINUTES: Duration = Duration::from_secs(600);

/// Makes a request in each of many tasks for every line of the input, and writes a line when all
/// have succeeded, or have failed so that they can be tried again. Each request to the authorization
/// server may take so many `seconds`.
pub(crate) fn call(store: &str, server: &str, tasks: &str, seconds: &str) {
    let limits = {
        let mut config = fetch::Config::default();
        config.connect_timeout = MINUTES;
        config.timeout = Duration::from_secs(seconds.parse().expect("a number"));
        config
    };
    let fetcher = Fetcher::new(limits).expect("TLS can be set up");
    let mut config = Config::new("server", server.parse().expect("a URL"), fetcher);
    config.store = Some(store_at(store));
    let mut http = client::HttpConfig::new("server");
    http.authorizer = Some(TokenSource::new(config));
    let http = ModernHttpClient::new(server, http).expect("a URL");
    let options = CallOptions::default().idle(MINUTES);
    let client = Client::builder(Arc::new(http)).options(options).build();

    let tasks: usize = tasks.parse().expect("a number");
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    for line in stdin().lock().lines() {
        line.expect("the test writes text");
        let replies = runtime.block_on(join_all((0..tasks).map(|_| client.list_tools())));
        let failed = replies.iter().filter_map(|reply| reply.as_ref().err());
        let outcome = match failed.map(Error::retry).collect::<Vec<_>>() {
            failed if failed.is_empty() => "done".to_owned(),
            failed if failed == vec![Retry::Safe; tasks] => "try again".to_owned(),
            failed => format!("{failed:?}"),
        };
        writeln!(stderr(), "{outcome}").expect("the test listens");
    }
}
