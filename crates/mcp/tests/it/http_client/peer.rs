//! A scripted HTTP server on a loopback port, down to the bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use callgate_mcp::transport::http::client::{HttpConfig, ModernHttpClient};
use callgate_mcp::wire::{Frame, Id, Limits, Method, RawJson};
use callgate_mcp::{Call, Cx, Error, Notifications, Notifier, Reply, Service};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

/// A running server; it ends with the test.
pub(crate) struct Peer {
    pub(crate) url: String,
    connections: Arc<AtomicUsize>,
    requests: mpsc::UnboundedReceiver<Received>,
    disconnects: mpsc::UnboundedReceiver<()>,
    /// Owner of the listener and of all connections.
    accepting: Option<JoinHandle<()>>,
}

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    /// The number of its connection, from 1.
    pub(crate) connection: usize,
    pub(crate) line: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

/// What a script does about a request.
pub(crate) enum Answer {
    /// Writes these bytes and waits for the next request.
    Write(Vec<u8>),
    /// Writes these bytes and closes the connection.
    WriteAndClose(Vec<u8>),
    /// Writes what the test sends until the test hangs up, and watches the client meanwhile.
    Pieces(mpsc::UnboundedReceiver<Vec<u8>>),
}

impl Peer {
    /// Starts a server that answers as `script` says.
    pub(crate) async fn start(script: impl FnMut(&Received) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (mut peer, log) = Self::new(url);
        let script = Arc::new(std::sync::Mutex::new(script));
        peer.accepting = Some(tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let connection = log.accepted();
                let (script, log) = (script.clone(), log.clone());
                connections.spawn(async move {
                    let script = |request: &Received| (script.lock().unwrap())(request);
                    serve(stream, connection, script, &log).await;
                });
            }
        }));
        peer
    }

    /// Starts a server that gives every request the same answer.
    pub(crate) async fn always(answer: &str) -> Self {
        let answer = answer.as_bytes().to_vec();
        Self::start(move |_| Answer::Write(answer.clone())).await
    }

    /// A server that is yet to be started, and where it reports.
    pub(crate) fn new(url: String) -> (Self, Log) {
        let (requests_in, requests) = mpsc::unbounded_channel();
        let (disconnects_in, disconnects) = mpsc::unbounded_channel();
        let connections = Arc::new(AtomicUsize::new(0));
        let log = Log {
            connections: connections.clone(),
            requests: requests_in,
            disconnects: disconnects_in,
        };
        let peer = Self {
            url,
            connections,
            requests,
            disconnects,
            accepting: None,
        };
        (peer, log)
    }

    pub(crate) fn client(&self) -> ModernHttpClient {
        self.client_with(HttpConfig::new("peer"))
    }

    pub(crate) fn client_with(&self, config: HttpConfig) -> ModernHttpClient {
        ModernHttpClient::new(&self.url, config).unwrap()
    }

    /// Ends all connections and refuses new ones, as a process that was killed.
    pub(crate) async fn die(&mut self) {
        let accepting = self.accepting.take().expect("the server was started");
        accepting.abort();
        let _ = accepting.await;
    }

    /// How many connections were made so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// The next request.
    pub(crate) async fn request(&mut self) -> Received {
        soon(self.requests.recv()).await.unwrap()
    }

    /// The requests so far that the test has not looked at.
    pub(crate) fn requests(&mut self) -> Vec<Received> {
        std::iter::from_fn(|| self.requests.try_recv().ok()).collect()
    }

    /// Waits until the client has left in the middle of a response.
    pub(crate) async fn disconnected(&mut self) {
        soon(self.disconnects.recv()).await.unwrap();
    }
}

/// What a server reports to the test.
#[derive(Clone)]
pub(crate) struct Log {
    connections: Arc<AtomicUsize>,
    requests: mpsc::UnboundedSender<Received>,
    disconnects: mpsc::UnboundedSender<()>,
}

impl Log {
    /// Counts a new connection and returns its number.
    pub(crate) fn accepted(&self) -> usize {
        self.connections.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(n, _)| n == name);
        let (_, value) = values.next()?;
        assert!(values.next().is_none(), "header {name} came twice");
        Some(value)
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn message(&self) -> callgate_mcp::wire::Request {
        match Frame::parse(&self.body, &Limits::default()) {
            Ok(Frame::Request(request)) => request,
            other => panic!("not a request: {other:?}"),
        }
    }

    pub(crate) fn method(&self) -> String {
        self.message().method.to_string()
    }

    /// A response message to this request.
    pub(crate) fn result(&self, result: &str) -> String {
        let id = self.message().id;
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
    }

    /// An error message to this request.
    pub(crate) fn error(&self, code: i64) -> String {
        let id = self.message().id;
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"refused"}}}}"#)
    }
}

/// An HTTP response.
pub(crate) fn http(status: &str, content_type: &str, body: &str) -> Answer {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Answer::Write((head + body).into_bytes())
}

/// A response with one message.
pub(crate) fn json(message: &str) -> Answer {
    http("200 OK", "application/json", message)
}

/// A whole response with a stream of events.
pub(crate) fn sse(events: &str) -> Answer {
    Answer::Write(format!("{SSE_HEAD}{}{CHUNKS_END}", chunk(events)).into_bytes())
}

pub(crate) const SSE_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
pub(crate) const CHUNKS_END: &str = "0\r\n\r\n";

pub(crate) fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

pub(crate) fn event(message: &str) -> String {
    format!("data: {message}\n\n")
}

/// Answers the requests of one connection.
pub(crate) async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    connection: usize,
    mut script: impl FnMut(&Received) -> Answer,
    log: &Log,
) {
    let mut buffer = BytesMut::new();
    while let Some(mut request) = receive(&mut stream, &mut buffer).await {
        request.connection = connection;
        let answer = script(&request);
        log.requests.send(request).ok();
        match answer {
            Answer::Write(bytes) => stream.write_all(&bytes).await.unwrap(),
            Answer::WriteAndClose(bytes) => {
                stream.write_all(&bytes).await.unwrap();
                return;
            }
            Answer::Pieces(mut pieces) => loop {
                tokio::select! {
                    piece = pieces.recv() => match piece {
                        Some(piece) => stream.write_all(&piece).await.unwrap(),
                        None => break,
                    },
                    read = stream.read_buf(&mut buffer) => match read {
                        Ok(0) | Err(_) => {
                            log.disconnects.send(()).ok();
                            return;
                        }
                        Ok(_) => {}
                    }
                }
            },
        }
    }
}

async fn receive<S: AsyncRead + Unpin>(stream: &mut S, buffer: &mut BytesMut) -> Option<Received> {
    let head = loop {
        if let Some(end) = buffer.windows(4).position(|window| window == b"\r\n\r\n") {
            break buffer.split_to(end + 4);
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    };
    let head = std::str::from_utf8(&head).unwrap();
    let mut lines = head.trim_end().split("\r\n");
    let line = lines.next().unwrap().to_owned();
    let headers: Vec<(String, String)> = lines
        .map(|line| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_ascii_lowercase(), value.trim().to_owned())
        })
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, value)| value.parse().unwrap());
    while buffer.len() < length {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
    let body = buffer.split_to(length).freeze();
    Some(Received {
        connection: 0,
        line,
        headers,
        body,
    })
}

/// Waits for something that must happen, and fails the test if it does not.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(100), future)
        .await
        .expect("nothing happened for 100 s")
}

pub(crate) const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":"mine"}"#;

pub(crate) fn raw(text: &str) -> RawJson {
    RawJson::parse(Bytes::copy_from_slice(text.as_bytes()), &Limits::default()).unwrap()
}

/// A call whose notifications nobody reads; `members` stand before `_meta` in its params.
pub(crate) fn call(method: &str, members: &str) -> Call {
    let params = raw(&format!("{{{members}{META}}}"));
    Call::new(Method::new(method), params, Cx::new(Id::text("caller-1")))
}

/// The same call with a reader for its notifications.
pub(crate) fn listening(mut call: Call) -> (Call, Notifications) {
    let (notify, notifications) = Notifier::channel(16);
    call.cx.notify = notify;
    (call, notifications)
}

/// Makes a call that must come to an end.
pub(crate) async fn run(client: &impl Service, call: Call) -> Result<Reply, Error> {
    soon(client.call(call)).await
}

/// Makes a call that must end well, and returns its result.
pub(crate) async fn result(client: &impl Service, call: Call) -> String {
    match run(client, call).await {
        Ok(Reply::Complete(result)) => result.as_str().to_owned(),
        other => panic!("not a complete result: {other:?}"),
    }
}

/// Makes a call that must fail.
pub(crate) async fn failure(client: &impl Service, call: Call) -> Error {
    match run(client, call).await {
        Ok(reply) => panic!("not an error: {reply:?}"),
        Err(error) => error,
    }
}
