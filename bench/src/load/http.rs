//! Keep-alive HTTP connections with one outstanding request each.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::{Buf, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::http_response::Response;
use super::{Length, Outcome};
use crate::payload::{FIRST_ID, INITIALIZE, INITIALIZED, Request, listen, post};
use crate::workload::{Era, Shape};

/// A set of connections to one server.
#[derive(Debug)]
pub struct HttpLoad {
    connections: Vec<Connection>,
}

impl HttpLoad {
    /// Opens the connections, each with a session if the era has them, and checks that the server
    /// answers on each of them. `tool` is the name that the server has for the tool of `shape`.
    pub async fn connect(
        address: SocketAddr,
        connections: usize,
        era: Era,
        shape: Shape,
        tool: &str,
    ) -> Result<Self> {
        let mut opened = Vec::with_capacity(connections);
        for _ in 0..connections {
            let mut socket = Socket::open(address).await?;
            let session = match era {
                Era::Stateless => None,
                Era::Session => Some(socket.handshake().await?),
            };
            let request = Request::http(&address.to_string(), shape, tool, session.as_deref());
            let mut connection = Connection {
                socket,
                request,
                next_id: FIRST_ID,
            };
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

/// Opens this many sessions on one connection and calls a tool in each.
pub async fn hold_sessions(address: SocketAddr, count: usize) -> Result<TcpStream> {
    let mut socket = Socket::open(address).await?;
    for _ in 0..count {
        let session = socket.handshake().await?;
        let mut connection = Connection {
            socket,
            request: Request::http(
                &address.to_string(),
                Shape::Echo,
                Shape::Echo.tool(),
                Some(&session),
            ),
            next_id: FIRST_ID,
        };
        connection.probe().await?;
        socket = connection.socket;
    }
    Ok(socket.stream)
}

/// Opens this many streams of change notifications and waits for the first event on each.
pub async fn hold_streams(address: SocketAddr, count: usize) -> Result<Vec<TcpStream>> {
    let request = listen(&address.to_string());
    let mut streams = Vec::with_capacity(count);
    for _ in 0..count {
        let mut socket = Socket::open(address).await?;
        socket.stream.write_all(request.as_bytes()).await?;
        while memchr::memmem::find(&socket.received, b"subscriptions/acknowledged").is_none() {
            socket.fill().await?;
        }
        streams.push(socket.stream);
    }
    Ok(streams)
}

#[derive(Debug)]
struct Connection {
    socket: Socket,
    request: Request,
    next_id: u64,
}

impl Connection {
    async fn probe(&mut self) -> Result<()> {
        let id = self.next_id;
        let response = self.round_trip().await?;
        let message = response.message(&self.socket.received)?;
        self.request.check_reply(&message, id)?;
        self.socket.received.advance(response.end());
        Ok(())
    }

    async fn run(&mut self, length: Length) -> Result<Vec<Duration>> {
        let mut latencies = Vec::new();
        let start = Instant::now();
        let mut sent = start;
        while !length.is_reached(latencies.len() as u64, start, sent) {
            let response = self.round_trip().await?;
            response.check_status()?;
            self.socket.received.advance(response.end());
            let answered = Instant::now();
            latencies.push(answered - sent);
            sent = answered;
        }
        Ok(latencies)
    }

    async fn round_trip(&mut self) -> Result<Response> {
        let request = self.request.with_id(self.next_id);
        self.next_id += 1;
        self.socket.round_trip(request).await
    }
}

#[derive(Debug)]
struct Socket {
    stream: TcpStream,
    received: BytesMut,
    address: SocketAddr,
}

impl Socket {
    async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            received: BytesMut::with_capacity(4096),
            address,
        })
    }

    /// Opens a session and returns its id.
    async fn handshake(&mut self) -> Result<String> {
        let authority = self.address.to_string();
        let opened = self
            .round_trip(post(&authority, Era::Session, "", INITIALIZE).as_bytes())
            .await?;
        let session = opened.header(&self.received, "mcp-session-id");
        let session = session.context("the server opened no session")?.to_owned();
        self.received.advance(opened.end());
        let header = format!("Mcp-Session-Id: {session}\r\n");
        let initialized = post(&authority, Era::Session, &header, INITIALIZED);
        let accepted = self.round_trip(initialized.as_bytes()).await?;
        self.received.advance(accepted.end());
        Ok(session)
    }

    async fn round_trip(&mut self, request: &[u8]) -> Result<Response> {
        self.stream.write_all(request).await?;
        loop {
            if let Some(response) = Response::find(&self.received)? {
                return Ok(response);
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<()> {
        self.received.reserve(64 * 1024);
        let read = self.stream.read_buf(&mut self.received).await?;
        ensure!(read > 0, "the server closed the connection");
        Ok(())
    }
}
