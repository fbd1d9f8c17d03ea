//! A server that can be stopped, refused and changed: a real [`Router`] behind a switch.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_hub::{Connector, Hub, HubConfig, ServerConfig, ServerName, ServerState, Upstream};
use callgate_mcp::wire::subscription::{
    SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenResult,
};
use callgate_mcp::wire::{Method, Notification, method};
use callgate_mcp::{
    BoxFuture, Call, Client, Error, Implementation, Kind, RawJson, Reply, Router, Service, Version,
};
use serde_json::json;
use tokio::sync::watch;

/// A server of the tests. Clones are the same server.
#[derive(Clone)]
pub(crate) struct FakeServer {
    pub(crate) router: Router,
    state: Arc<FakeState>,
}

struct FakeState {
    /// Number of the running process; `None` if connecting fails.
    running: watch::Sender<Running>,
    connects: AtomicU64,
    calls: AtomicU64,
    closed: AtomicU64,
    /// Milliseconds that each connection takes.
    delay: AtomicU64,
    /// Methods that are answered with an error: its code, and how often that was so.
    refused: Mutex<HashMap<String, (i64, u64)>>,
    /// Number of requests by method.
    requests: Mutex<HashMap<String, u64>>,
    /// Number of tool calls by the tool and the argument `id`.
    executions: Mutex<HashMap<(String, u64), u64>>,
    /// True while subscriptions are not accepted.
    holds_listens: watch::Sender<bool>,
    /// True if the process exits as soon as it has said what it is.
    is_exiting: AtomicBool,
    /// Milliseconds that the end of a connection takes.
    close_delay: AtomicU64,
    /// Number of connections that are being closed.
    closing: AtomicU64,
    /// Number of connections that were made before an earlier one was closed.
    overlaps: AtomicU64,
    /// True if requests are not answered.
    is_mute: AtomicBool,
    /// True if subscriptions end as soon as they are accepted.
    ends_listens: AtomicBool,
    /// Number of tool calls whose stream is cut after the server has got them.
    cuts: AtomicU64,
    /// True while a connection that is dropped would lose something.
    is_unsettled: watch::Sender<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Running {
    /// Connections live while the number stays the same.
    Process(u64),
    /// Connections cannot be made.
    Down,
    /// Connections are refused until a login.
    Locked,
    /// Attempts to connect never end.
    Hanging,
    /// Connections live as far as they know, and every call and attempt is refused: a server at a URL.
    Unreachable,
}

impl FakeServer {
    pub(crate) fn new(router: Router) -> Self {
        Self {
            router,
            state: Arc::new(FakeState {
                running: watch::Sender::new(Running::Process(1)),
                connects: AtomicU64::new(0),
                calls: AtomicU64::new(0),
                closed: AtomicU64::new(0),
                delay: AtomicU64::new(0),
                refused: Mutex::default(),
                requests: Mutex::default(),
                executions: Mutex::default(),
                holds_listens: watch::Sender::new(false),
                is_exiting: AtomicBool::new(false),
                close_delay: AtomicU64::new(0),
                closing: AtomicU64::new(0),
                overlaps: AtomicU64::new(0),
                is_mute: AtomicBool::new(false),
                ends_listens: AtomicBool::new(false),
                cuts: AtomicU64::new(0),
                is_unsettled: watch::Sender::new(false),
            }),
        }
    }

    /// Ends all connections; new ones can be made at once.
    pub(crate) fn crash(&self) {
        static NEXT: AtomicU64 = AtomicU64::new(2);
        let next = NEXT.fetch_add(1, Ordering::SeqCst);
        self.state.running.send_replace(Running::Process(next));
    }

    /// Ends all connections; no new ones can be made until [`FakeServer::crash`].
    pub(crate) fn go_down(&self) {
        self.state.running.send_replace(Running::Down);
    }

    /// Ends all connections; new ones are refused until [`FakeServer::crash`].
    pub(crate) fn lock(&self) {
        self.state.running.send_replace(Running::Locked);
    }

    /// Ends all connections; attempts to make new ones do not end until [`FakeServer::crash`].
    pub(crate) fn hang(&self) {
        self.state.running.send_replace(Running::Hanging);
    }

    /// Refuses calls and connections, without an end of the connections that live.
    pub(crate) fn become_unreachable(&self) {
        self.state.running.send_replace(Running::Unreachable);
    }

    /// Cuts the stream of the next tool call; the connection stays.
    pub(crate) fn cut_next_call(&self) {
        self.state.cuts.fetch_add(1, Ordering::SeqCst);
    }

    /// Accepts subscriptions and ends them at once, those that there are too, as a server does that is about to exit.
    pub(crate) fn end_subscriptions(&self) {
        self.state.ends_listens.store(true, Ordering::SeqCst);
        self.router.close_subscriptions();
    }

    /// Leaves requests without an answer; connections are made.
    pub(crate) fn become_mute(&self) {
        self.state.is_mute.store(true, Ordering::SeqCst);
    }

    /// Decides whether a connection that is dropped would lose something.
    pub(crate) fn set_unsettled(&self, is_unsettled: bool) {
        self.state.is_unsettled.send_replace(is_unsettled);
    }

    /// Number of subscriptions that the server received.
    pub(crate) fn listens(&self) -> u64 {
        self.requests(method::SUBSCRIPTIONS_LISTEN)
    }

    /// Number of requests of a method that the server received.
    pub(crate) fn requests(&self, method: &str) -> u64 {
        let requests = self.state.requests.lock().unwrap();
        requests.get(method).copied().unwrap_or_default()
    }

    /// Number of times that each tool call with an argument `id` was received, by tool and id.
    pub(crate) fn executions(&self) -> HashMap<(String, u64), u64> {
        self.state.executions.lock().unwrap().clone()
    }

    /// Accepts no subscription until it is decided otherwise.
    pub(crate) fn hold_subscriptions(&self, holds: bool) {
        self.state.holds_listens.send_replace(holds);
    }

    /// Exits each time as soon as it has said what it is, from the next start on.
    pub(crate) fn exit_after_handshake(&self, exits: bool) {
        self.state.is_exiting.store(exits, Ordering::SeqCst);
    }

    /// Makes the end of each connection take this time.
    pub(crate) fn close_after(&self, delay: Duration) {
        let delay = u64::try_from(delay.as_millis()).unwrap();
        self.state.close_delay.store(delay, Ordering::SeqCst);
    }

    /// Number of connections that were made before an earlier one was closed.
    pub(crate) fn overlaps(&self) -> u64 {
        self.state.overlaps.load(Ordering::SeqCst)
    }

    /// Records a request, and the execution of a tool call that has an id.
    fn record(&self, call: &Call) {
        let method = call.method.as_str();
        let mut requests = self.state.requests.lock().unwrap();
        *requests.entry(method.to_owned()).or_default() += 1;
        let id = call.params().at(&["arguments", "id"]);
        if let Some(id) = id.filter(|_| method == method::TOOLS_CALL) {
            let tool = call.params().get("name").unwrap();
            let tool = tool.text().unwrap().into_owned();
            let id = id.as_str().parse().unwrap();
            let mut executions = self.state.executions.lock().unwrap();
            *executions.entry((tool, id)).or_default() += 1;
        }
    }

    /// Makes each attempt to connect take this time.
    pub(crate) fn answer_after(&self, delay: Duration) {
        let delay = u64::try_from(delay.as_millis()).unwrap();
        self.state.delay.store(delay, Ordering::SeqCst);
    }

    /// Answers requests of this method with an error that has this code.
    pub(crate) fn refuse(&self, method: &str, code: i64) {
        let mut refused = self.state.refused.lock().unwrap();
        refused.insert(method.to_owned(), (code, 0));
    }

    /// Answers requests of a method again. Returns how often it was refused.
    pub(crate) fn accept(&self, method: &str) -> u64 {
        let mut refused = self.state.refused.lock().unwrap();
        refused.remove(method).map_or(0, |(_, count)| count)
    }

    /// The error of a method that is refused.
    fn refusal(&self, method: &str) -> Option<Error> {
        let mut refused = self.state.refused.lock().unwrap();
        let (code, count) = refused.get_mut(method)?;
        *count += 1;
        let error = json!({ "code": code, "message": "refused" }).to_string();
        let error: RawJson = serde_json::from_str(&error).unwrap();
        Some(Error::rpc(&Arc::from("fake"), error))
    }

    /// Number of connections that were closed in good order.
    pub(crate) fn closed(&self) -> u64 {
        self.state.closed.load(Ordering::SeqCst)
    }

    /// Number of attempts to connect.
    pub(crate) fn connects(&self) -> u64 {
        self.state.connects.load(Ordering::SeqCst)
    }

    /// Number of tool calls that the server received.
    pub(crate) fn calls(&self) -> u64 {
        self.state.calls.load(Ordering::SeqCst)
    }

    pub(crate) fn config(&self, name: &str) -> ServerConfig {
        ServerConfig::new(server_name(name), Arc::new(self.clone()))
    }
}

impl Connector for FakeServer {
    fn connect(&self) -> BoxFuture<'_, Result<Arc<dyn Upstream>, Error>> {
        Box::pin(async {
            self.state.connects.fetch_add(1, Ordering::SeqCst);
            let delay = self.state.delay.load(Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(delay)).await;
            let running = *self.state.running.borrow();
            match running {
                Running::Process(_) => {
                    let is_closing = self.state.closing.load(Ordering::SeqCst) > 0;
                    let overlaps = u64::from(is_closing);
                    self.state.overlaps.fetch_add(overlaps, Ordering::SeqCst);
                    let upstream = FakeUpstream {
                        server: self.clone(),
                        process: running,
                    };
                    Ok(Arc::new(upstream) as Arc<dyn Upstream>)
                }
                Running::Down | Running::Unreachable => Err(refused()),
                Running::Hanging => std::future::pending().await,
                Running::Locked => Err(Error::new(Kind::Unauthorized, "login required")),
            }
        })
    }
}

/// Error of a connection that cannot be made.
fn refused() -> Error {
    Error::new(Kind::Connect, "connection refused").retry_safe()
}

/// Accepts a subscription and ends it.
async fn end_at_once(call: &Call) -> Result<Reply, Error> {
    let cx = &call.cx;
    let accepted = SubscriptionFilter::default().with_tools();
    let acknowledged = SubscriptionsAcknowledgedParams::new(&cx.id, accepted);
    let acknowledged = Notification {
        method: Method::new(method::NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED),
        params: RawJson::encode(&acknowledged).unwrap(),
    };
    cx.notify.send(acknowledged).await;
    let end = RawJson::encode(&SubscriptionsListenResult::new(&cx.id));
    Ok(Reply::Complete(end.unwrap()))
}

struct FakeUpstream {
    server: FakeServer,
    process: Running,
}

impl FakeUpstream {
    async fn ended(&self) {
        let mut running = self.server.state.running.subscribe();
        let is_ended = |running: &Running| ![self.process, Running::Unreachable].contains(running);
        let _ = running.wait_for(is_ended).await;
    }
}

impl Service for FakeUpstream {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(async move {
            let running = *self.server.state.running.borrow();
            if running == Running::Unreachable {
                return Err(refused());
            }
            if running != self.process {
                return Err(Error::new(Kind::Closed, "the server has exited").retry_safe());
            }
            if self.server.state.is_mute.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            if let Some(error) = self.server.refusal(call.method.as_str()) {
                return Err(error);
            }
            self.server.record(&call);
            if call.method.as_str() == "tools/call" {
                self.server.state.calls.fetch_add(1, Ordering::SeqCst);
                let cut = |cuts: u64| cuts.checked_sub(1);
                let cuts = &self.server.state.cuts;
                if cuts
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, cut)
                    .is_ok()
                {
                    return Err(Error::new(Kind::Closed, "the stream was cut"));
                }
            }
            let ends_listens = self.server.state.ends_listens.load(Ordering::SeqCst);
            if call.method.is_subscription() && ends_listens {
                return end_at_once(&call).await;
            }
            let is_discover = call.method.as_str() == method::SERVER_DISCOVER;
            let answer = async {
                if call.method.is_subscription() {
                    let mut holds = self.server.state.holds_listens.subscribe();
                    let _ = holds.wait_for(|holds| !holds).await;
                }
                self.server.router.call(call).await
            };
            let reply = tokio::select! {
                biased;
                () = self.ended() => Err(Error::new(Kind::Closed, "the server exited")),
                reply = answer => reply,
            };
            if is_discover && self.server.state.is_exiting.load(Ordering::SeqCst) {
                self.server.crash();
            }
            reply
        })
    }
}

impl Upstream for FakeUpstream {
    fn version(&self) -> Option<Version> {
        Some(Version::LATEST)
    }

    fn process_id(&self) -> Option<u32> {
        match self.process {
            Running::Process(number) => u32::try_from(number).ok(),
            _ => None,
        }
    }

    fn closed(&self) -> BoxFuture<'_, Error> {
        Box::pin(async {
            self.ended().await;
            Error::new(Kind::Closed, "the server exited")
        })
    }

    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut is_unsettled = self.server.state.is_unsettled.subscribe();
            let _ = is_unsettled.wait_for(|is_unsettled| !is_unsettled).await;
        })
    }

    fn check(&self) -> BoxFuture<'_, Result<(), Error>> {
        let running = *self.server.state.running.borrow();
        let outcome = match running {
            Running::Unreachable => Err(refused()),
            _ => Ok(()),
        };
        Box::pin(std::future::ready(outcome))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let state = &self.server.state;
            state.closing.fetch_add(1, Ordering::SeqCst);
            let delay = state.close_delay.load(Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(delay)).await;
            state.closing.fetch_sub(1, Ordering::SeqCst);
            state.closed.fetch_add(1, Ordering::SeqCst);
        })
    }
}

pub(crate) fn server_name(name: &str) -> ServerName {
    ServerName::new(name).unwrap()
}

pub(crate) fn router(name: &str) -> Router {
    Router::new(Implementation::new(name, "1.0"))
}

/// A hub over these servers, with a client of it.
pub(crate) fn hub(servers: &[(&str, &FakeServer)]) -> (Arc<Hub>, Client) {
    let hub = Arc::new(Hub::new(HubConfig::new(Implementation::new("hub", "1.0"))));
    for (name, server) in servers {
        hub.add(server.config(name)).unwrap();
    }
    let client = Client::builder(hub.clone()).build();
    (hub, client)
}

/// Waits until a server is in a state and has this number of tools.
pub(crate) async fn wait_for(hub: &Hub, name: &str, state: &str, tools: usize) {
    let name = server_name(name);
    loop {
        let status = hub.status(&name).unwrap();
        if status.state.as_str() == state && status.tools == tools {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// State of a server, by name.
pub(crate) fn state_of(hub: &Hub, name: &str) -> ServerState {
    hub.status(&server_name(name)).unwrap().state
}
