//! Scripted servers on this machine.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub(super) struct Peer {
    pub(super) address: SocketAddr,
    log: Log,
    task: JoinHandle<()>,
}

/// Requests that arrived.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Received>>);

#[derive(Default)]
struct Received {
    connections: usize,
    requests: Vec<String>,
}

impl Peer {
    /// Serves each connection with `serve`.
    pub(super) async fn new<F, T>(serve: F) -> Self
    where
        F: Fn(TcpStream, Log) -> T + Send + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let log = Log::default();
        let peer_log = log.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                peer_log.0.lock().expect("not poisoned").connections += 1;
                tokio::spawn(serve(stream, peer_log.clone()));
            }
        });
        Self { address, log, task }
    }

    /// Answers every request with the same head, after `HTTP/1.1`, and body, and closes the
    /// connection.
    pub(super) async fn answering(head: &str, body: &str) -> Self {
        let response = format!("HTTP/1.1 {head}\r\n\r\n{body}");
        Self::new(move |stream, log| answer(stream, log, response.clone())).await
    }

    pub(super) fn url(&self, rest: &str) -> String {
        format!("http://{}{rest}", self.address)
    }

    /// A URL of this server by a name that a resolver has to know.
    pub(super) fn url_of(&self, origin: &str, rest: &str) -> String {
        format!("{origin}:{}{rest}", self.address.port())
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.log.0.lock().expect("not poisoned").requests.clone()
    }

    pub(super) fn connections(&self) -> usize {
        self.log.0.lock().expect("not poisoned").connections
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Log {
    /// The path of the request that came last.
    pub(super) fn last_path(&self) -> String {
        let received = self.0.lock().expect("not poisoned");
        let request = received.requests.last().expect("there is one");
        request.split(' ').nth(1).expect("it has a path").to_owned()
    }
}

/// Reads a request, sends the bytes of `response`, and closes the connection.
pub(super) async fn answer<S>(mut stream: S, log: Log, response: String)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if read_request(&mut stream, &log).await {
        write(&mut stream, &response).await;
    }
}

/// Writes a response and closes the connection.
pub(super) async fn write(stream: &mut (impl AsyncWrite + Unpin), response: &str) {
    // The client may close the connection before everything is written.
    let _ = stream.write_all(response.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// Reads a request into the log; false if the peer closes the connection too early.
pub(super) async fn read_request(stream: &mut (impl AsyncRead + Unpin), log: &Log) -> bool {
    let mut text = String::new();
    while !is_whole(&text) {
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return false,
            Ok(length) => text.push_str(&String::from_utf8_lossy(&chunk[..length])),
        }
    }
    log.0.lock().expect("not poisoned").requests.push(text);
    true
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().expect("a number"))
}
