//! A client that sends and reads bytes and knows just enough HTTP to tell responses apart.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// A connection to the server.
pub(crate) struct Peer {
    stream: Box<dyn Duplex>,
    unread: Vec<u8>,
}

/// One response of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// Both directions of a connection.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// Longer than anything takes that is not broken.
const PATIENCE: Duration = Duration::from_secs(100);

impl Peer {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self::over(stream)
    }

    /// The client at this end of any stream.
    pub(crate) fn over(stream: impl Duplex + 'static) -> Self {
        Self {
            stream: Box::new(stream),
            unread: Vec::new(),
        }
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Closes the sending side.
    pub(crate) async fn finish(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    /// The next response with its whole body.
    pub(crate) async fn answer(&mut self) -> Answer {
        self.try_answer().await.expect("the connection was closed")
    }

    /// The next response, or `None` where the server closes the connection instead.
    pub(crate) async fn try_answer(&mut self) -> Option<Answer> {
        let mut answer = self.try_head().await?;
        answer.body = if let Some(length) = answer.header("content-length") {
            let body = self.take(length.parse().unwrap()).await;
            String::from_utf8(body).unwrap()
        } else if answer.header("transfer-encoding") == Some("chunked") {
            let mut body = String::new();
            while let Some(chunk) = self.chunk().await {
                body.push_str(&chunk);
            }
            body
        } else {
            String::new()
        };
        Some(answer)
    }

    /// The head of the next response; its body is still to be read.
    pub(crate) async fn head(&mut self) -> Answer {
        self.try_head().await.expect("the connection was closed")
    }

    async fn try_head(&mut self) -> Option<Answer> {
        let end = loop {
            if let Some(end) = find(&self.unread, b"\r\n\r\n") {
                break end + 4;
            }
            if !self.read_more().await {
                assert!(self.unread.is_empty(), "{:?}", self.unread);
                return None;
            }
        };
        let head = String::from_utf8(self.unread.drain(..end).collect()).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        Some(Answer {
            status: status.parse().unwrap(),
            headers: lines
                .map(|line| line.split_once(": ").unwrap())
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
            body: String::new(),
        })
    }

    /// The next chunk of a chunked body, or `None` after the last one.
    pub(crate) async fn chunk(&mut self) -> Option<String> {
        let end = loop {
            if let Some(end) = find(&self.unread, b"\r\n") {
                break end;
            }
            assert!(self.read_more().await, "the stream was cut");
        };
        let size = String::from_utf8(self.take(end + 2).await).unwrap();
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        let chunk = self.take(size + 2).await;
        let chunk = String::from_utf8(chunk[..size].to_vec()).unwrap();
        (size > 0).then_some(chunk)
    }

    /// Waits until the server closes the connection.
    pub(crate) async fn closed(&mut self) -> bool {
        while self.read_more().await {}
        self.unread.is_empty()
    }

    async fn take(&mut self, count: usize) -> Vec<u8> {
        while self.unread.len() < count {
            assert!(self.read_more().await, "the body was cut");
        }
        self.unread.drain(..count).collect()
    }

    /// Whether anything more came; a reset counts as the end.
    async fn read_more(&mut self) -> bool {
        let read = timeout(PATIENCE, self.stream.read_buf(&mut self.unread));
        matches!(read.await.expect("the server is silent"), Ok(1..))
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| value.as_str())
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes
        .windows(pattern.len())
        .position(|window| window == pattern)
}
