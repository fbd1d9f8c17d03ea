use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// An issuer of tokens on this machine, which answers until it is dropped.
pub(crate) struct Issuer {
    pub(crate) url: String,
    pages: Arc<Mutex<Pages>>,
    task: JoinHandle<()>,
}

/// A key that signs tokens with ES256.
pub(crate) struct Key {
    id: String,
    pair: EcdsaKeyPair,
}

#[derive(Default)]
struct Pages {
    /// Response of each path: a whole one, or nothing at all.
    responses: HashMap<String, String>,
    /// Requested paths.
    asked: Vec<String>,
    /// Heads and bodies of posts.
    posted: Vec<String>,
}

pub(crate) const METADATA: &str = "/.well-known/oauth-authorization-server";
pub(crate) const KEYS: &str = "/keys";

impl Issuer {
    /// Issuer that publishes and signs with `keys`.
    pub(crate) async fn start(keys: &[&Key]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let pages = Arc::new(Mutex::new(Pages::default()));
        let task = tokio::spawn(accept(listener, pages.clone()));
        let issuer = Self { url, pages, task };
        issuer.restore(keys);
        issuer
    }

    /// Publishes its metadata and `keys`.
    pub(crate) fn restore(&self, keys: &[&Key]) {
        let metadata = json!({"issuer": self.url, "jwks_uri": format!("{}{KEYS}", self.url)});
        let keys: Vec<Value> = keys.iter().map(|key| key.jwk()).collect();
        self.publish(METADATA, 200, &metadata.to_string());
        self.publish(KEYS, 200, &json!({ "keys": keys }).to_string());
    }

    pub(crate) fn publish(&self, path: &str, status: u16, body: &str) {
        let length = body.len();
        let response = format!(
            "HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        self.answer(path, response);
    }

    /// Sends `response` as it is for `path`.
    pub(crate) fn answer(&self, path: &str, response: impl Into<String>) {
        let mut pages = self.pages.lock().unwrap();
        pages.responses.insert(path.to_owned(), response.into());
    }

    /// Heads and bodies of posts.
    pub(crate) fn posted(&self) -> Vec<String> {
        self.pages.lock().unwrap().posted.clone()
    }

    /// Number of requests for `path`.
    pub(crate) fn count(&self, path: &str) -> usize {
        let pages = self.pages.lock().unwrap();
        pages.asked.iter().filter(|asked| *asked == path).count()
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Key {
    pub(crate) fn new(id: &str) -> Self {
        let (random, algorithm) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Self {
            id: id.to_owned(),
            pair: EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).unwrap(),
        }
    }

    /// Public key.
    pub(crate) fn jwk(&self) -> Value {
        let (x, y) = self.point()[1..].split_at(32);
        json!({"kty": "EC", "crv": "P-256", "kid": self.id, "x": encode(x), "y": encode(y)})
    }

    pub(crate) fn point(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    /// A token with these claims.
    pub(crate) fn token(&self, claims: &Value) -> String {
        let header = json!({"alg": "ES256", "typ": "at+jwt", "kid": self.id});
        self.sign(&header.to_string(), &claims.to_string())
    }

    /// Signs arbitrary text.
    pub(crate) fn sign(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", encode(header), encode(claims));
        let signature = self.pair.sign(&SystemRandom::new(), message.as_bytes());
        format!("{message}.{}", encode(signature.unwrap()))
    }
}

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

async fn accept(listener: TcpListener, pages: Arc<Mutex<Pages>>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        tokio::spawn(respond(stream, pages.clone()));
    }
}

async fn respond(mut stream: TcpStream, pages: Arc<Mutex<Pages>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let mut head = String::from_utf8(head).unwrap();
    if let Some((_, length)) = head.split_once("content-length: ") {
        let length = length.lines().next().unwrap().parse().unwrap();
        let mut body = vec![0; length];
        if stream.read_exact(&mut body).await.is_err() {
            return;
        }
        head += &String::from_utf8(body).unwrap();
        pages.lock().unwrap().posted.push(head.clone());
    }
    let path = head.split(' ').nth(1).unwrap().to_owned();
    let response = {
        let mut pages = pages.lock().unwrap();
        let response = pages.responses.get(&path).cloned();
        pages.asked.push(path);
        response.unwrap_or_else(|| "HTTP/1.1 404 x\r\ncontent-length: 0\r\n\r\n".to_owned())
    };
    // The client may have closed the connection.
    let _ = stream.write_all(response.as_bytes()).await;
    if response.is_empty() {
        let _ = stream.read_u8().await;
    }
}
