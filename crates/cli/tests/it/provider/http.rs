use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use url::{Url, form_urlencoded};

/// A request as far as it matters here.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) query: HashMap<String, String>,
    pub(crate) authorization: Option<String>,
    pub(crate) accept: Option<String>,
    pub(crate) body: String,
}

/// A response: status, further headers, and a body of JSON.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

/// Status of a response that is not sent: the connection ends instead.
pub(super) const NO_RESPONSE: u16 = 0;

impl Request {
    /// The fields of a form.
    pub(crate) fn form(&self) -> HashMap<String, String> {
        fields(&self.body)
    }
}

impl Response {
    pub(crate) fn json(status: u16, body: &serde_json::Value) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.to_string(),
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// Answers every request to `listener`, one for each connection, until the process ends.
pub(super) fn serve(
    listener: TcpListener,
    answer: impl Fn(&Request) -> Response + Clone + Send + 'static,
) {
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            thread::spawn(move || exchange(stream, answer));
        }
    });
}

/// The same over TLS.
pub(super) fn serve_tls(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    answer: impl Fn(&Request) -> Response + Clone + Send + 'static,
) {
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (answer, tls) = (answer.clone(), tls.clone());
            thread::spawn(move || {
                let connection = ServerConnection::new(tls).unwrap();
                exchange(StreamOwned::new(connection, stream), answer)
            });
        }
    });
}

/// Gets a page as a browser would, and returns where it redirects to, and its text.
pub(crate) fn get(url: &str) -> (Option<String>, String) {
    let url = Url::parse(url).unwrap();
    let address = url.socket_addrs(|| None).unwrap();
    let mut stream = TcpStream::connect(address.as_slice()).unwrap();
    let target = &url[url::Position::BeforePath..];
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    write!(
        stream,
        "GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let location = head
        .lines()
        .find_map(|line| line.strip_prefix("location: "));
    (location.map(str::to_owned), body.to_owned())
}

/// Answers one request.
pub(crate) fn exchange(
    stream: impl Read + Write,
    answer: impl Fn(&Request) -> Response,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let request = read(&mut reader)?;
    let Response {
        status,
        headers,
        body,
    } = answer(&request);
    if status == NO_RESPONSE {
        return None;
    }
    let mut head = format!("HTTP/1.1 {status} As Said\r\ncontent-type: application/json\r\n");
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += &format!(
        "content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    reader.get_mut().write_all(head.as_bytes()).ok()?;
    reader.get_mut().flush().ok()
}

fn read(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let target = line.split(' ').nth(1)?;
    // A request that a proxy forwards has the whole URL.
    let target = match target.strip_prefix("http://") {
        Some(rest) => rest.split_at(rest.find('/')?).1,
        None => target,
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (path, query) = (path.to_owned(), fields(query));
    let (mut length, mut authorization, mut accept) = (0, None, None);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "authorization" => authorization = Some(value.to_owned()),
            "accept" => accept = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request {
        path,
        query,
        authorization,
        accept,
        body: String::from_utf8(body).ok()?,
    })
}

fn fields(text: &str) -> HashMap<String, String> {
    form_urlencoded::parse(text.as_bytes())
        .into_owned()
        .collect()
}
