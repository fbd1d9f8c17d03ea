use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::client::{Client, ClientBuilder};
use callgate_mcp::{Error, Service};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::edge::{EDGES, Edge, Hop};
use super::server::Server;
use super::user::User;

/// A client and a server with a relay between them.
pub(crate) struct Pair {
    pub(crate) client: Client,
    pub(crate) user: User,
    pub(crate) server: Server,
    near: Hop,
    _far: Hop,
}

/// How long one feature may take for one pair.
const PATIENCE: Duration = Duration::from_secs(100);

impl Pair {
    pub(crate) async fn connect(client: Edge, server: Edge) -> Self {
        let router = Server::new();
        let far = server.reach(router.service()).await;
        let near = client.reach(far.service.clone()).await;
        let user = User::default();
        Self {
            client: user.client(near.service.clone()).build(),
            user,
            server: router,
            near,
            _far: far,
        }
    }

    /// What the client talks to.
    pub(crate) fn service(&self) -> &Arc<dyn Service> {
        &self.near.service
    }

    /// Another client of the same user, yet to be built.
    pub(crate) fn client_builder(&self) -> ClientBuilder {
        self.user.client(self.near.service.clone())
    }
}

/// Tries a feature with every pair, and compares what becomes of it with what `expect` says of
/// this client and this server.
pub(crate) async fn check<F, R>(feature: F, expect: impl Fn(Edge, Edge) -> Value)
where
    F: Fn(Pair) -> R + Copy + Send + Sync + 'static,
    R: Future<Output = Result<Value, Error>> + Send + 'static,
{
    let pairs = EDGES.map(|client| EDGES.map(|server| (client, server)));
    check_pairs(pairs.as_flattened(), feature, expect).await;
}

/// Tries a feature with some pairs.
pub(crate) async fn check_pairs<F, R>(
    pairs: &[(Edge, Edge)],
    feature: F,
    expect: impl Fn(Edge, Edge) -> Value,
) where
    F: Fn(Pair) -> R + Copy + Send + Sync + 'static,
    R: Future<Output = Result<Value, Error>> + Send + 'static,
{
    let mut trials = Vec::new();
    for &(client, server) in pairs {
        let trial = async move {
            let pair = Pair::connect(client, server).await;
            feature(pair).await
        };
        let trial = tokio::spawn(timeout(PATIENCE, trial));
        trials.push((client, server, trial));
    }
    let mut wrong = Vec::new();
    for (client, server, trial) in trials {
        let seen = match trial.await {
            Ok(Ok(outcome)) => outcome.unwrap_or_else(|error| failure(&error)),
            Ok(Err(_)) => json!("nothing, for too long"),
            Err(panic) => json!(panic.to_string()),
        };
        let expected = expect(client, server);
        if seen != expected {
            wrong.push(format!(
                "{client} to {server}:\n  seen     {seen}\n  expected {expected}\n"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

/// An error as a table has it.
pub(crate) fn failure(error: &Error) -> Value {
    json!({"code": error.code(), "message": error.to_string()})
}
