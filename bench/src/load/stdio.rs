//! One pair of pipes with a fixed number of requests in flight.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::{Buf, BytesMut};
use memchr::{memchr, memmem};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout};

use super::{Length, Outcome};
use crate::payload::{FIRST_ID, INITIALIZE, INITIALIZED, Request};
use crate::workload::{Era, Shape};

/// A client of one stdio server.
///
/// Replies may come in any order.
/// Requests that follow from the replies of one read go out in one write, as a client with
/// coalesced writes would send them.
#[derive(Debug)]
pub struct StdioLoad {
    stdin: ChildStdin,
    stdout: ChildStdout,
    received: BytesMut,
    outgoing: Vec<u8>,
    request: Request,
    in_flight: u64,
    next_id: u64,
}

impl StdioLoad {
    /// Takes over the pipes, opens a session if the era has them, and checks that the server
    /// answers.
    pub async fn connect(
        stdin: ChildStdin,
        stdout: ChildStdout,
        in_flight: usize,
        era: Era,
        shape: Shape,
    ) -> Result<Self> {
        let mut load = Self {
            stdin,
            stdout,
            received: BytesMut::with_capacity(64 * 1024),
            outgoing: Vec::with_capacity(64 * 1024),
            request: Request::line(era, shape),
            in_flight: in_flight as u64,
            next_id: FIRST_ID,
        };
        if era == Era::Session {
            load.handshake().await?;
        }
        load.probe().await?;
        Ok(load)
    }

    /// Keeps the requests in flight for the given length, and ends with none in flight.
    pub async fn run(&mut self, length: Length) -> Result<Outcome> {
        let start = Instant::now();
        let first_id = self.next_id;
        let mut sent = vec![start; self.in_flight as usize];
        let mut latencies: Vec<Duration> = Vec::new();
        let mut waiting = 0;
        // Received bytes without the end of a line.
        let mut searched = 0;
        for _ in 0..self.in_flight {
            self.enqueue();
            waiting += 1;
        }
        while waiting > 0 {
            self.stdin.write_all(&self.outgoing).await?;
            self.outgoing.clear();
            self.fill().await?;
            let now = Instant::now();
            while let Some(end) = memchr(b'\n', self.received.get(searched..).unwrap_or_default()) {
                let end = searched + end;
                let id = reply_id(self.received.get(..end).unwrap_or_default());
                self.received.advance(end + 1);
                searched = 0;
                if end == 0 {
                    continue;
                }
                let id = id?;
                let slot = (id.checked_sub(first_id))
                    .and_then(|sequence| usize::try_from(sequence % self.in_flight).ok())
                    .and_then(|slot| sent.get_mut(slot))
                    .with_context(|| format!("a reply to a request never sent: {id}"))?;
                latencies.push(now - *slot);
                *slot = now;
                // The slot's next request has the id of its last one plus the number of slots.
                if length.is_reached(latencies.len() as u64, start, now) {
                    waiting -= 1;
                } else {
                    self.outgoing
                        .extend_from_slice(self.request.with_id(id + self.in_flight));
                    self.next_id = self.next_id.max(id + self.in_flight + 1);
                }
            }
            searched = self.received.len();
        }
        Ok(Outcome::new(latencies, start.elapsed()))
    }

    async fn handshake(&mut self) -> Result<()> {
        let line = format!("{INITIALIZE}\n");
        self.stdin.write_all(line.as_bytes()).await?;
        self.first_line().await?;
        let line = format!("{INITIALIZED}\n");
        self.stdin.write_all(line.as_bytes()).await?;
        Ok(())
    }

    async fn probe(&mut self) -> Result<()> {
        let id = self.next_id;
        self.enqueue();
        self.stdin.write_all(&self.outgoing).await?;
        self.outgoing.clear();
        let reply = self.first_line().await?;
        self.request.check_reply(&reply, id)
    }

    /// Reads the next line that is not empty.
    async fn first_line(&mut self) -> Result<BytesMut> {
        loop {
            match memchr(b'\n', &self.received) {
                Some(0) => self.received.advance(1),
                Some(end) => return Ok(self.received.split_to(end + 1)),
                None => self.fill().await?,
            }
        }
    }

    fn enqueue(&mut self) {
        self.outgoing
            .extend_from_slice(self.request.with_id(self.next_id));
        self.next_id += 1;
    }

    async fn fill(&mut self) -> Result<()> {
        self.received.reserve(64 * 1024);
        let read = self.stdout.read_buf(&mut self.received).await?;
        ensure!(read > 0, "the server closed its output");
        Ok(())
    }
}

fn reply_id(line: &[u8]) -> Result<u64> {
    const KEY: &[u8] = b"\"id\":";
    // Behind a large result in the replies of some servers.
    let digits = memmem::find(line, KEY).and_then(|at| line.get(at + KEY.len()..));
    let digits = digits
        .unwrap_or_default()
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    let id = digits.fold(0, |id, digit| id * 10 + u64::from(digit - b'0'));
    ensure!(
        id >= FIRST_ID,
        "a line without a request's id: {}",
        String::from_utf8_lossy(line)
    );
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_reply_is_found() {
        let reply = br#"{"jsonrpc":"2.0","id":1000000042,"result":{}}"#;
        assert_eq!(reply_id(reply).unwrap(), 1_000_000_042);
        assert!(reply_id(b"a stray line").is_err());
    }
}
