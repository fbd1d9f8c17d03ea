//! Services and raw peers for the line transport.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::transport::line::{LineConfig, serve};
use callgate_mcp::wire::{Id, Limits, Method, RawJson};
use callgate_mcp::{BoxFuture, Call, Cx, Error, Notifications, Notifier, Reply, Service};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::sync::mpsc::Sender;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The `_meta` that every request needs.
pub(crate) const META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A service made of a function.
pub(crate) fn service<F, R>(answer: F) -> Arc<dyn Service>
where
    F: Fn(Call) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Reply, Error>> + Send + 'static,
{
    Arc::new(Function(answer))
}

struct Function<F>(F);

impl<F, R> Service for Function<F>
where
    F: Fn(Call) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Reply, Error>> + Send + 'static,
{
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin((self.0)(call))
    }
}

pub(crate) fn json(text: &str) -> RawJson {
    RawJson::parse(text.to_owned().into(), &Limits::default()).expect(text)
}

pub(crate) fn complete(text: &str) -> Result<Reply, Error> {
    Ok(Reply::of_result(json(text)))
}

/// A request with the metadata it needs.
pub(crate) fn request(id: &str, method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{META}}}}}"#)
}

pub(crate) fn result(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

pub(crate) fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
}

pub(crate) fn cancelled(id: &str) -> String {
    notification(
        "notifications/cancelled",
        &format!(r#"{{"requestId":{id}}}"#),
    )
}

/// A call with these params, and what it is told on the way.
pub(crate) fn call(method: &str, params: &str) -> (Call, Notifications) {
    let (notify, notifications) = Notifier::channel(16);
    let cx = Cx::new(Id::text("caller")).with_notifier(notify);
    let call = Call::new(Method::new(method), json(params), cx);
    (call, notifications)
}

/// Somebody at the other end of the lines who says and hears exactly what a test wants.
pub(crate) struct RawPeer {
    pub(crate) reader: BufReader<ReadHalf<DuplexStream>>,
    pub(crate) writer: WriteHalf<DuplexStream>,
}

impl RawPeer {
    pub(crate) fn new(stream: DuplexStream) -> Self {
        let (reader, writer) = split(stream);
        Self {
            reader: BufReader::new(reader),
            writer,
        }
    }

    /// A peer of a server of `service`.
    pub(crate) fn of_server(
        service: Arc<dyn Service>,
        config: LineConfig,
    ) -> (Self, JoinHandle<Result<(), Error>>) {
        let (ours, theirs) = duplex(1024 * 1024);
        let (reader, writer) = split(theirs);
        let server = tokio::spawn(serve(service, reader, writer, config));
        (Self::new(ours), server)
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.expect("the peer reads");
    }

    /// Says that nothing more will be sent.
    pub(crate) async fn finish(&mut self) {
        self.writer.shutdown().await.expect("the stream is open");
    }

    /// The next line, or nothing at the end.
    pub(crate) async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.reader.read_line(&mut line);
        let length = soon(read).await.expect("the stream is readable");
        (length > 0).then(|| line.trim_end().to_owned())
    }

    /// The next `count` lines, in order.
    pub(crate) async fn lines(&mut self, count: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for _ in 0..count {
            lines.push(self.line().await.expect("another line"));
        }
        lines
    }

    /// The lines until the end, in order.
    pub(crate) async fn rest(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.line().await {
            lines.push(line);
        }
        lines
    }
}

/// What must happen soon: a test fails instead of hanging.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(100), future)
        .await
        .expect("it takes too long")
}

/// Sends when it is dropped.
pub(crate) struct SendOnDrop(pub(crate) Sender<()>);

impl Drop for SendOnDrop {
    fn drop(&mut self) {
        self.0.try_send(()).expect("the test listens");
    }
}
