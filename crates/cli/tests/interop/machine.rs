//! Requests that a program sends by itself, without a client library.

use std::io::{Read, Write};
use std::net::TcpStream;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::Value;
use url::{Url, form_urlencoded};

use crate::world::World;

/// Response of a server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    /// A header, by its name in small letters.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }
}

impl World {
    /// A token for `resource`, from the authorization server, for a program.
    pub(crate) fn token(&self, resource: &str, scope: &str) -> String {
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("grant_type", "client_credentials")
            .append_pair("resource", resource)
            .append_pair("scope", scope)
            .finish();
        let client = STANDARD.encode("machine:machine-secret");
        let headers = format!(
            "authorization: Basic {client}\r\ncontent-type: application/x-www-form-urlencoded\r\n"
        );
        let answer = ask("POST", &format!("{}/token", self.issuer()), &headers, &form);
        let answer: Value = serde_json::from_str(&answer.body).unwrap();
        answer["access_token"].as_str().unwrap().to_owned()
    }

    /// Sends a request to the server, with a token or without.
    pub(crate) fn knock(&self, token: Option<&str>) -> Answer {
        let mut headers = "content-type: application/json\r\n".to_owned();
        if let Some(token) = token {
            headers.push_str(&format!("authorization: Bearer {token}\r\n"));
        }
        ask("POST", self.server(), &headers, "{}")
    }
}

/// Fetches a document.
pub(crate) fn get(url: &str) -> Answer {
    ask("GET", url, "", "")
}

/// Claims of a token.
pub(crate) fn claims(token: &str) -> Value {
    let claims = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap()
}

fn ask(method: &str, url: &str, headers: &str, body: &str) -> Answer {
    let url: Url = url.parse().unwrap();
    let address = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
    let mut stream = TcpStream::connect(&address).unwrap();
    let (path, length) = (url.path(), body.len());
    let common = format!("host: {address}\r\ncontent-length: {length}\r\nconnection: close\r\n");
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\n{common}{headers}\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}
