//! A server under test, and what old clients send it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::Error;
use callgate_mcp::SessionLimits;
use callgate_mcp::router::{Elicited, RequestCx, Router};
use callgate_mcp::transport::http::server::{HttpServerConfig, Listener, ShutdownHandle};
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::logging::LogLevel;
use callgate_mcp::wire::resource::Resource;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::http_server::peer::{Answer, Peer};
use crate::http_server::post::Post;

/// A running server and what its tools have seen.
pub(super) struct Subject {
    pub(super) address: SocketAddr,
    pub(super) router: Arc<Router>,
    pub(super) seen: Arc<Seen>,
    pub(super) shutdown: ShutdownHandle,
    pub(super) running: JoinHandle<()>,
}

/// What the tools have seen, and what they wait for.
#[derive(Default)]
pub(super) struct Seen {
    begun: watch::Sender<usize>,
    dropped: watch::Sender<usize>,
    pub(super) release: Notify,
    pub(super) said: watch::Sender<usize>,
}

/// A session as its client knows it.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) id: String,
    version: &'static str,
}

pub(super) const NEWEST: &str = "2025-11-25";

/// How many kilobytes the tool `flood` says.
pub(super) const FLOOD: usize = 20_000;

impl Subject {
    pub(super) async fn start() -> Self {
        Self::with(HttpServerConfig::default()).await
    }

    pub(super) async fn with_legacy(legacy: SessionLimits) -> Self {
        let mut config = HttpServerConfig::default();
        config.sessions = Some(legacy);
        Self::with(config).await
    }

    pub(super) async fn with(config: HttpServerConfig) -> Self {
        let seen = Arc::<Seen>::default();
        let router = Arc::new(router(&seen));
        let server = Listener::bind(([127, 0, 0, 1], 0).into(), router.clone(), config)
            .await
            .unwrap();
        Self {
            address: server.local_addr().unwrap(),
            router,
            seen,
            shutdown: server.shutdown_handle(),
            running: tokio::spawn(server.run()),
        }
    }

    pub(super) async fn send(&self, request: &Post) -> Peer {
        let mut peer = Peer::connect(self.address).await;
        peer.send(request.bytes(self.address)).await;
        peer
    }

    /// Sends one request on a connection of its own.
    pub(super) async fn ask(&self, request: &Post) -> Answer {
        self.send(request).await.answer().await
    }

    /// Opens a session and says that the client is ready.
    pub(super) async fn open(&self, version: &'static str) -> Client {
        let answer = self.ask(&initialize(version)).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let client = Client {
            id: answer.header("mcp-session-id").unwrap().to_owned(),
            version,
        };
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let answer = self.ask(&client.post(ready)).await;
        assert_eq!((answer.status, answer.body.as_str()), (202, ""));
        client
    }

    /// Waits until so many calls have begun.
    pub(super) async fn begun(&self, count: usize) {
        reached(&self.seen.begun, count).await;
    }

    /// Waits until so many calls have been dropped before their end.
    pub(super) async fn dropped(&self, count: usize) {
        reached(&self.seen.dropped, count).await;
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl Client {
    /// A message of the session.
    pub(super) fn post(&self, body: &str) -> Post {
        Post::message(body)
            .set("mcp-protocol-version", self.version)
            .set("mcp-session-id", &self.id)
    }

    /// A call of a tool without arguments.
    pub(super) fn call(&self, tool: &str) -> Post {
        self.post(&call(1, tool))
    }

    pub(super) fn get(&self) -> Post {
        self.post("")
            .by("GET")
            .without("content-type")
            .set("accept", "text/event-stream")
    }

    /// Reads on after an event.
    pub(super) fn resume(&self, id: &str) -> Post {
        self.get().set("last-event-id", id)
    }

    pub(super) fn delete(&self) -> Post {
        self.post("").by("DELETE").without("content-type")
    }
}

pub(super) fn initialize(version: &str) -> Post {
    let params = format!(
        r#"{{"protocolVersion":"{version}","capabilities":{{"elicitation":{{}},"roots":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}"#
    );
    Post::message(&format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{params}}}"#
    ))
    .without("mcp-protocol-version")
}

pub(super) fn call(id: u32, tool: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{}}}}}}"#
    )
}

/// The response that a tool with this text makes.
pub(super) fn response(id: u32, text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

/// The log message with this text.
pub(super) fn logged(text: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":"{text}"}}}}"#
    )
}

pub(super) fn event(id: &str, message: &str) -> String {
    format!("id: {id}\nevent: message\ndata: {message}\n\n")
}

/// What a stream of the newest old revision begins with.
pub(super) fn primed(stream: u32) -> String {
    format!("id: {stream}-0\nretry: 1000\ndata: \n\n")
}

fn router(seen: &Arc<Seen>) -> Router {
    let with = |seen: &Arc<Seen>| seen.clone();
    let (wait, talk, flood, later) = (with(seen), with(seen), with(seen), with(seen));
    Router::new(Implementation::new("demo", "1.0"))
        .tool("echo", "", async |_: RequestCx| "echo".to_owned())
        .tool("say", "", async |Say { text }: Say| text)
        .tool("say_later", "", move |Say { text }: Say| {
            let seen = later.clone();
            async move {
                seen.wait().await;
                text
            }
        })
        .tool("large", "", async |_: RequestCx| "x".repeat(100_000))
        .tool("caller", "", async |cx: RequestCx| {
            crate::http_server::subject::shown(cx.caller()).replace('"', "'")
        })
        .tool("hello", "", hello)
        .tool("roots", "", async |cx: RequestCx| {
            let roots = cx.list_roots("roots").await?;
            Ok::<_, Error>(roots.into_iter().map(|root| root.uri).collect::<String>())
        })
        .resource(
            Resource::new("test://data", "data"),
            async |_: RequestCx| "data".to_owned(),
        )
        .tool("wait", "", move |_: RequestCx| {
            let seen = wait.clone();
            async move {
                seen.wait().await;
                "waited".to_owned()
            }
        })
        .tool("talk", "", move |cx: RequestCx| {
            let seen = talk.clone();
            async move {
                cx.log(LogLevel::Info, None, "one").await;
                seen.wait().await;
                cx.log(LogLevel::Info, None, "two").await;
                "talked".to_owned()
            }
        })
        .tool("flood", "", move |cx: RequestCx| {
            let seen = flood.clone();
            async move {
                for _ in 0..FLOOD {
                    cx.log(LogLevel::Info, None, &"x".repeat(1000)).await;
                    seen.said.send_modify(|said| *said += 1);
                }
                "done".to_owned()
            }
        })
}

#[derive(Deserialize, JsonSchema)]
struct Say {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
struct Name {
    name: String,
}

async fn hello(cx: RequestCx) -> Result<String, Error> {
    Ok(match cx.elicit_form::<Name>("name", "Who?").await? {
        Elicited::Accepted(form) => format!("Hello, {}!", form.name),
        Elicited::Declined => "declined".to_owned(),
        _ => "cancelled".to_owned(),
    })
}

impl Seen {
    /// How many calls have been dropped before their end.
    pub(super) fn dropped(&self) -> usize {
        *self.dropped.borrow()
    }

    /// Waits for the release; being dropped meanwhile is noted.
    async fn wait(&self) {
        let mut waiting = Waiting(Some(&self.dropped));
        self.begun.send_modify(|begun| *begun += 1);
        self.release.notified().await;
        waiting.0 = None;
    }
}

struct Waiting<'a>(Option<&'a watch::Sender<usize>>);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(dropped) = self.0 {
            dropped.send_modify(|dropped| *dropped += 1);
        }
    }
}

async fn reached(count: &watch::Sender<usize>, expect: usize) {
    let mut count = count.subscribe();
    let reached = count.wait_for(|count| *count >= expect);
    let reached = timeout(Duration::from_secs(100), reached).await;
    reached.unwrap().unwrap();
}
