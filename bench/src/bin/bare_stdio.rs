//! The floor over stdio: reads all available bytes, answers every complete line, writes once.

use anyhow::Result;
use bytes::{Buf, BytesMut};
use callgate_bench::echo::bare::{Message, answer_other};
use callgate_bench::workload::{Era, era_argument};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;

#[tokio::main]
async fn main() -> Result<()> {
    tokio::spawn(serve(era_argument()?)).await?
}

async fn serve(era: Era) -> Result<()> {
    // Reopening the pipes gives them descriptions of their own, which may be non-blocking.
    let mut input = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0")?;
    let mut output = pipe::OpenOptions::new().open_sender("/proc/self/fd/1")?;
    let mut lines = BytesMut::with_capacity(64 * 1024);
    let mut replies = Vec::with_capacity(64 * 1024);
    while input.read_buf(&mut lines).await? > 0 {
        while let Some(end) = memchr::memchr(b'\n', &lines) {
            let line = lines
                .get(..end)
                .expect("memchr found the end within the buffer");
            match Message::parse(line, era)? {
                Message::Call(call) => call.answer(&mut replies)?,
                Message::Other { id: None, .. } => {}
                Message::Other {
                    id: Some(id),
                    method,
                } => answer_other(&method, id, era, &mut replies),
            }
            // An empty line after a notification is no message.
            replies.push(b'\n');
            lines.advance(end + 1);
        }
        output.write_all(&replies).await?;
        replies.clear();
        lines.reserve(32 * 1024);
    }
    Ok(())
}
