//! MCP server and authorization server at one address, with scripted faults.

use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

pub(super) use ledger::{Counts, Fault, Ledger, Rotation, Traits};
use server::Credentials;

mod ledger;
mod server;

/// A provider that runs until it is dropped.
pub(crate) struct Provider {
    pub(super) base: String,
    ledger: Arc<Mutex<Ledger>>,
    task: AbortHandle,
}

pub(super) type Answer = Response<Full<Bytes>>;

impl Provider {
    pub(crate) async fn start(traits: Traits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let ledger = Arc::new(Mutex::new(Ledger::new(traits, &base)));
        let task = tokio::spawn(accept(listener, base.clone(), ledger.clone())).abort_handle();
        Self { base, ledger, task }
    }

    /// The address of the MCP server.
    pub(crate) fn server(&self) -> String {
        format!("{}/mcp", self.base)
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap()
    }

    pub(super) fn counts(&self) -> Counts {
        self.ledger().counts
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, base: String, ledger: Arc<Mutex<Ledger>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (base, ledger) = (base.clone(), ledger.clone());
        let service = service_fn(move |request| {
            let (base, ledger) = (base.clone(), ledger.clone());
            async move {
                answer(request, &base, &ledger)
                    .await
                    .map_err(|Hangup| Hangup)
            }
        });
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

/// The connection ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the provider hangs up")]
struct Hangup;

async fn answer(
    request: Request<Incoming>,
    base: &str,
    ledger: &Mutex<Ledger>,
) -> Result<Answer, Hangup> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Hangup)?.to_bytes();
    let header = |name| {
        head.headers
            .get(name)
            .map(|it: &HeaderValue| it.to_str().unwrap())
    };
    let credentials = Credentials {
        authorization: header("authorization"),
        proof: header("dpop"),
    };
    let query = head.uri.query().unwrap_or_default();
    let fault = ledger.lock().unwrap().note(head.uri.path());
    match fault {
        None => {}
        Some(Fault::Hangup) => return Err(Hangup),
        Some(Fault::Slow(time)) => tokio::time::sleep(time).await,
        Some(Fault::Gated) => {
            let gate = ledger.lock().unwrap().gate.clone();
            gate.acquire().await.expect("it is never closed").forget();
        }
        Some(Fault::Page(status)) => return Ok(page(status, &[])),
        Some(Fault::Refusal(error)) => return Ok(refusal(error)),
        Some(Fault::Later(seconds)) => {
            return Ok(page(429, &[("retry-after", &seconds.to_string())]));
        }
        Some(Fault::Lost) => {
            // The token is issued, but the response is lost.
            ledger.lock().unwrap().token(&body);
            return Err(Hangup);
        }
    }
    let mut ledger = ledger.lock().unwrap();
    Ok(match (&head.method, head.uri.path()) {
        (&Method::GET, path) if path.starts_with("/.well-known/") && !ledger.has_metadata => {
            page(404, &[])
        }
        (&Method::GET, "/.well-known/oauth-protected-resource/mcp") => {
            document(200, &ledger.resource(base))
        }
        (&Method::GET, "/.well-known/oauth-authorization-server") => {
            document(200, &ledger.metadata(base))
        }
        (&Method::POST, "/register") => ledger.register(&body),
        (&Method::GET, "/authorize") => ledger.authorize(query),
        (&Method::POST, "/device") => ledger.device(base),
        (&Method::POST, path) if path == ledger.token_path => ledger.token(&body),
        (&Method::POST, "/revoke") => ledger.revoke(&body),
        (&Method::POST, "/mcp") => ledger.serve(credentials, &body, base),
        _ => page(404, &[]),
    })
}

pub(super) fn document(status: u16, body: &Value) -> Answer {
    respond(
        status,
        body.to_string(),
        &[("content-type", "application/json")],
    )
}

pub(super) fn refusal(error: &str) -> Answer {
    document(400, &json!({ "error": error }))
}

/// HTML page, as proxies and broken servers send it.
pub(super) fn page(status: u16, headers: &[(&str, &str)]) -> Answer {
    let headers = [&[("content-type", "text/html")], headers].concat();
    respond(status, "<html><h1>Sorry</h1></html>".to_owned(), &headers)
}

pub(super) fn respond(status: u16, body: String, headers: &[(&str, &str)]) -> Answer {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Full::new(body.into())).unwrap()
}
