//! A list of tools that is ready to be sent: the floor of the time of `tools/list`.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result};
use callgate_mcp::RawJson;
use callgate_mcp::client::Client;
use callgate_mcp::upstream::{Era, HttpConfig, Remote};
use callgate_mcp::wire::{ObjectWriter, method};
use memchr::memmem;
use serde_json::Value;

use super::Time;
use super::requests::{measuring, median_time};
use crate::awake::Awake;

/// Median time in which the measuring client gets these tools from a thread that has the answer
/// ready and checks nothing.
pub async fn measure_prepared(tools: &[RawJson]) -> Result<Time> {
    let result = ObjectWriter::with_capacity(0)
        .member("resultType", &RawJson::string("complete"))
        .array("tools", tools.iter())
        .member("ttlMs", &RawJson::encode(&0)?)
        .member("cacheScope", &RawJson::string("private"))
        .finish();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    thread::spawn(move || {
        // One connection at a time: the client opens one, and closes it when it is dropped.
        let (stream, _) = listener.accept()?;
        serve(stream, &result)
    });
    let _awake = Awake::start(&std::env::current_exe()?)?;
    let server = Remote::new(&url, HttpConfig::new("prepared"))?.assume(Era::Modern);
    let client = measuring(Client::builder(Arc::new(server)));
    median_time(async || Ok(client.list_raw(method::TOOLS_LIST).await?)).await
}

/// Answers every request with the same result, until the client closes the connection.
fn serve(mut stream: TcpStream, result: &RawJson) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut received = Vec::new();
    let mut buffer = [0; 4096];
    let mut out = Vec::new();
    let tail = format!(r#","result":{}}}"#, result.as_str());
    loop {
        let read = stream.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        received.extend_from_slice(buffer.get(..read).unwrap_or_default());
        let Some(id) = request_id(&received)? else {
            continue;
        };
        received.clear();
        let head = format!(r#"{{"jsonrpc":"2.0","id":{id}"#);
        out.clear();
        write!(
            out,
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{head}{tail}",
            head.len() + tail.len()
        )?;
        stream.write_all(&out)?;
    }
}

/// Id of the request, once all of it was received.
fn request_id(received: &[u8]) -> Result<Option<Value>> {
    let Some(head_end) = memmem::find(received, b"\r\n\r\n") else {
        return Ok(None);
    };
    let (head, body) = received.split_at(head_end + 4);
    let head = std::str::from_utf8(head)?.to_ascii_lowercase();
    let mut lines = head.lines();
    let length = lines.find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length
        .context("a request without a length")?
        .trim()
        .parse()?;
    if body.len() < length {
        return Ok(None);
    }
    let message: Value = serde_json::from_slice(body)?;
    Ok(message.get("id").cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_client_gets_the_prepared_tools() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let result: RawJson = serde_json::from_str(
            r#"{"resultType":"complete","tools":[{"name":"a"}],"ttlMs":0,"cacheScope":"private"}"#,
        )
        .unwrap();
        thread::spawn(move || serve(listener.accept().unwrap().0, &result));
        let remote = Remote::new(&url, HttpConfig::new("prepared")).unwrap();
        let client = measuring(Client::builder(Arc::new(remote.assume(Era::Modern))));
        for _ in 0..2 {
            let tools = client.list_raw(method::TOOLS_LIST).await.unwrap();
            let tools: Vec<&str> = tools.iter().map(RawJson::as_str).collect();
            assert_eq!(tools, [r#"{"name":"a"}"#]);
        }
    }
}
