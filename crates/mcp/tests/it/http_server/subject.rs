//! A server under test.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use callgate_mcp::transport::http::server::{HttpServerConfig, Listener, ShutdownHandle};
use callgate_mcp::wire::{Limits, Method, Notification, RawJson};
use callgate_mcp::{BoxFuture, Call, Caller, Error, Reply, Service};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::peer::{Answer, Peer};
use super::post::Post;

/// A running server and what its service has seen.
pub(crate) struct Subject {
    pub(super) address: SocketAddr,
    pub(super) seen: Arc<Seen>,
    pub(super) shutdown: ShutdownHandle,
    pub(super) running: JoinHandle<()>,
}

/// What the service has seen, and what it waits for.
pub(super) struct Seen {
    calls: watch::Sender<usize>,
    cancelled: watch::Sender<usize>,
    notifications: AtomicUsize,
    pub(super) release: Notify,
}

impl Subject {
    pub(crate) async fn start(config: HttpServerConfig) -> Self {
        let seen = Arc::new(Seen {
            calls: watch::Sender::new(0),
            cancelled: watch::Sender::new(0),
            notifications: AtomicUsize::new(0),
            release: Notify::new(),
        });
        let service = Arc::new(Probe(seen.clone()));
        let server = Listener::bind(([127, 0, 0, 1], 0).into(), service, config)
            .await
            .unwrap();
        Self {
            address: server.local_addr().unwrap(),
            seen,
            shutdown: server.shutdown_handle(),
            running: tokio::spawn(server.run()),
        }
    }

    pub(super) async fn connect(&self) -> Peer {
        Peer::connect(self.address).await
    }

    /// Waits until a call has begun.
    pub(super) async fn called(&self) {
        reached(&self.seen.calls).await;
    }

    /// Waits until a call has been dropped before its end.
    pub(super) async fn cancelled(&self) {
        reached(&self.seen.cancelled).await;
    }

    /// Sends one request on a connection of its own.
    pub(crate) async fn ask(&self, request: &Post) -> Answer {
        let mut peer = self.connect().await;
        peer.send(request.bytes(self.address)).await;
        peer.answer().await
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl Seen {
    /// How many calls have begun.
    pub(super) fn calls(&self) -> usize {
        *self.calls.borrow()
    }

    /// How many notifications a flood has sent.
    pub(super) fn notifications(&self) -> usize {
        self.notifications.load(Ordering::Relaxed)
    }
}

/// Does what the name of the tool says.
struct Probe(Arc<Seen>);

impl Service for Probe {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        self.0.calls.send_modify(|calls| *calls += 1);
        Box::pin(async move {
            match call.method.as_str() {
                "tools/call" => self.0.tool(&call).await,
                "subscriptions/listen" => {
                    call.cx.notify.send(progress(0)).await;
                    self.0.wait().await;
                    complete("{}")
                }
                "prompts/get" | "resources/read" | "tasks/get" | "tools/list" => complete("{}"),
                _ => Err(Error::method_not_found(&call.method)),
            }
        })
    }
}

impl Seen {
    async fn tool(&self, call: &Call) -> Result<Reply, Error> {
        let notify = &call.cx.notify;
        let name = call.params().get("name");
        match name.as_ref().and_then(RawJson::text).as_deref() {
            Some("panic") => panic!("on demand"),
            Some("notify") => {
                notify.send(progress(1)).await;
                notify.send(progress(2)).await;
            }
            Some("notify, wait") => {
                notify.send(progress(1)).await;
                self.wait().await;
                notify.send(progress(2)).await;
            }
            Some("wait") => self.wait().await,
            Some("flood") => {
                let _waiting = Waiting(Some(&self.cancelled));
                for number in 0.. {
                    notify.send(progress(number)).await;
                    self.notifications.fetch_add(1, Ordering::Relaxed);
                }
            }
            Some("large") => return complete(&format!("{:?}", "x".repeat(LARGE))),
            Some("huge") => return huge(),
            Some("wait, huge") => {
                self.wait().await;
                return huge();
            }
            Some("lines") => return complete("{\n\"a\":\r\n1}"),
            Some("caller") => return complete(&format!("{:?}", shown(&call.cx.caller))),
            Some("input") => return Ok(Reply::InputRequired(raw("{\"input\":1}"))),
            Some("unknown") => return Err(Error::invalid_params("unknown tool")),
            Some("capability") => return Err(Error::missing_capability(&raw("{\"roots\":{}}"))),
            Some("busy") => return Err(Error::rate_limited(Duration::from_millis(1500))),
            _ => {}
        }
        complete(RESULT)
    }

    /// Waits for the release; being dropped meanwhile is noted.
    async fn wait(&self) {
        let mut waiting = Waiting(Some(&self.cancelled));
        self.release.notified().await;
        waiting.0 = None;
    }
}

/// Notes a call that is dropped while it waits.
struct Waiting<'a>(Option<&'a watch::Sender<usize>>);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(cancelled) = self.0 {
            cancelled.send_modify(|cancelled| *cancelled += 1);
        }
    }
}

/// Waits until `count` is not zero.
async fn reached(count: &watch::Sender<usize>) {
    let mut count = count.subscribe();
    let reached = count.wait_for(|count| *count > 0);
    timeout(Duration::from_secs(100), reached)
        .await
        .unwrap()
        .unwrap();
}

/// What most tools answer.
pub(super) const RESULT: &str = r#"{"n":12345678901234567890123,"z":-0,"a":[49E-31]}"#;

/// The length of what the tool `large` answers.
pub(super) const LARGE: usize = 100_000;

/// The length of what the tool `huge` answers: more than the buffers of a connection hold.
pub(super) const HUGE: usize = 32 << 20;

fn huge() -> Result<Reply, Error> {
    let result = serde_json::json!({ "text": "x".repeat(HUGE) });
    Ok(Reply::Complete(RawJson::encode(&result).unwrap()))
}

fn complete(result: &str) -> Result<Reply, Error> {
    Ok(Reply::Complete(raw(result)))
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned().into(), &Limits::default()).unwrap()
}

fn progress(number: u32) -> Notification {
    Notification {
        method: Method::new("notifications/progress"),
        params: raw(&format!(r#"{{"progress":{number}}}"#)),
    }
}

/// The caller as the tests expect it: the name of a principal, or the kind of another caller.
pub(crate) fn shown(caller: &Caller) -> String {
    match caller.principal() {
        Some(principal) => format!("Principal({:?})", principal.name()),
        None => format!("{caller:?}"),
    }
}
