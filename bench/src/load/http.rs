//! Keep-alive HTTP connections with one outstanding request each.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bytes::{Buf, BytesMut};
use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{Length, Outcome};
use crate::payload::{FIRST_ID, Request, check_reply};

/// A set of connections to one server.
#[derive(Debug)]
pub struct HttpLoad {
    connections: Vec<Connection>,
}

impl HttpLoad {
    /// Opens the connections and checks that the server answers the echo tool on each of them.
    pub async fn connect(address: SocketAddr, connections: usize) -> Result<Self> {
        let mut opened = Vec::with_capacity(connections);
        for _ in 0..connections {
            let mut connection = Connection::open(address).await?;
            connection.probe().await?;
            opened.push(connection);
        }
        Ok(Self {
            connections: opened,
        })
    }

    /// Keeps every connection busy for the given length.
    pub async fn run(&mut self, length: Length) -> Result<Outcome> {
        let start = Instant::now();
        let mut tasks = JoinSet::new();
        for mut connection in self.connections.drain(..) {
            tasks.spawn(async move {
                let latencies = connection.run(length).await?;
                anyhow::Ok((connection, latencies))
            });
        }
        let mut all = Vec::new();
        while let Some(finished) = tasks.join_next().await {
            let (connection, latencies) = finished??;
            self.connections.push(connection);
            all.extend(latencies);
        }
        Ok(Outcome::new(all, start.elapsed()))
    }
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    request: Request,
    received: BytesMut,
    next_id: u64,
}

impl Connection {
    async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            request: Request::http(&address.to_string()),
            received: BytesMut::with_capacity(4096),
            next_id: FIRST_ID,
        })
    }

    async fn probe(&mut self) -> Result<()> {
        let id = self.next_id;
        let response = self.round_trip().await?;
        let body = self.received.get(response.body_at..response.end);
        check_reply(body.context("the response ends before its body")?, id)?;
        self.received.clear();
        Ok(())
    }

    async fn run(&mut self, length: Length) -> Result<Vec<Duration>> {
        let mut latencies = Vec::new();
        let start = Instant::now();
        let mut sent = start;
        while !length.is_reached(latencies.len() as u64, start, sent) {
            let response = self.round_trip().await?;
            self.received.advance(response.end);
            let answered = Instant::now();
            latencies.push(answered - sent);
            sent = answered;
        }
        Ok(latencies)
    }

    async fn round_trip(&mut self) -> Result<Response> {
        self.stream
            .write_all(self.request.with_id(self.next_id))
            .await?;
        self.next_id += 1;
        loop {
            if let Some(response) = Response::find(&self.received)? {
                return Ok(response);
            }
            self.received.reserve(2048);
            let read = self.stream.read_buf(&mut self.received).await?;
            ensure!(read > 0, "the server closed the connection");
        }
    }
}

/// Position of a complete response in the received bytes.
#[derive(Debug, PartialEq, Eq)]
struct Response {
    body_at: usize,
    end: usize,
}

impl Response {
    /// Finds the first response; `None` while it is incomplete.
    fn find(received: &[u8]) -> Result<Option<Self>> {
        let Some(head_end) = memmem::find(received, b"\r\n\r\n") else {
            return Ok(None);
        };
        let (head, rest) = received.split_at(head_end);
        let Some(length) = content_length(head) else {
            bail!(
                "expected status 200 and a content length: {}",
                String::from_utf8_lossy(received)
            );
        };
        let body_at = head_end + 4;
        let complete = rest.len() >= 4 + length;
        Ok(complete.then_some(Self {
            body_at,
            end: body_at + length,
        }))
    }
}

fn content_length(head: &[u8]) -> Option<usize> {
    let head = head.strip_prefix(b"HTTP/1.1 200 OK\r\n")?;
    let head = std::str::from_utf8(head).ok()?;
    head.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_found_once_it_is_complete() {
        let response = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\ndate: now\r\n\r\nhello";
        for incomplete in 0..response.len() {
            assert_eq!(Response::find(&response[..incomplete]).unwrap(), None);
        }
        let found = Response {
            body_at: response.len() - 5,
            end: response.len(),
        };
        assert_eq!(Response::find(response).unwrap(), Some(found));
    }

    #[test]
    fn only_a_measured_success_counts() {
        let refused = |response: &[u8]| Response::find(response).is_err();
        assert!(refused(
            b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"
        ));
        assert!(refused(
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        ));
    }
}
