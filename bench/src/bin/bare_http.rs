//! The floor over HTTP: hyper and nothing else.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use callgate_bench::echo::bare::{Message, answer_other};
use callgate_bench::listen;
use callgate_bench::workload::{Era, era_argument};
use http_body_util::{BodyExt, Either, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;

#[tokio::main]
async fn main() -> Result<()> {
    let server = Arc::new(Floor {
        era: era_argument()?,
        sessions: Mutex::default(),
        next_session: AtomicU64::new(1),
    });
    let listener = listen::listen().await?;
    loop {
        let stream = listen::accept(&listener).await?;
        let server = server.clone();
        tokio::spawn(async move {
            let serve = service_fn(|request| server.serve(request));
            http1::Builder::new()
                .serve_connection(TokioIo::new(stream), serve)
                .await
        });
    }
}

/// Body of a response: a whole one, or an event and then silence.
type Body = Either<Full<Bytes>, StreamBody<Open>>;

/// Stream of a subscription without changes.
type Open = futures_util::stream::Chain<
    futures_util::stream::Iter<std::array::IntoIter<Result<Frame<Bytes>, Infallible>, 1>>,
    futures_util::stream::Pending<Result<Frame<Bytes>, Infallible>>,
>;

struct Floor {
    era: Era,
    sessions: Mutex<HashSet<u64>>,
    next_session: AtomicU64,
}

impl Floor {
    async fn serve(&self, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
        let reply = self.reply(request).await;
        Ok(reply.unwrap_or_else(|_| status(StatusCode::BAD_REQUEST)))
    }

    async fn reply(&self, request: Request<Incoming>) -> Result<Response<Body>> {
        let (head, body) = request.into_parts();
        if head.method != Method::POST {
            return Ok(status(StatusCode::METHOD_NOT_ALLOWED));
        }
        let body = body.collect().await?.to_bytes();
        let mut out = Vec::with_capacity(256);
        let mut session = None;
        match Message::parse(&body, self.era)? {
            Message::Call(call) => {
                let header = |name| header(&head.headers, name);
                match self.era {
                    Era::Stateless => ensure!(
                        call.matches(
                            header("mcp-protocol-version"),
                            header("mcp-method"),
                            header("mcp-name")
                        ),
                        "a header differs from the body"
                    ),
                    Era::Session => self.check_session(header("mcp-session-id"))?,
                }
                call.answer(&mut out)?;
            }
            Message::Other { id: None, .. } => return Ok(status(StatusCode::ACCEPTED)),
            Message::Other { method, .. } if method == "subscriptions/listen" => {
                return Ok(subscription());
            }
            Message::Other {
                id: Some(id),
                method,
            } => {
                if method == "initialize" {
                    session = Some(self.open_session());
                }
                answer_other(&method, id, self.era, &mut out);
            }
        }
        let mut response = Response::new(Either::Left(Full::new(Bytes::from(out))));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(session) = session {
            headers.insert("mcp-session-id", session.into());
        }
        Ok(response)
    }

    fn open_session(&self) -> u64 {
        let session = self.next_session.fetch_add(1, Ordering::Relaxed);
        let mut sessions = self.sessions.lock();
        let sessions = sessions.as_mut().unwrap_or_else(PoisonError::get_mut);
        sessions.insert(session);
        session
    }

    fn check_session(&self, session: &[u8]) -> Result<()> {
        let session = std::str::from_utf8(session)?.parse()?;
        let sessions = self.sessions.lock();
        let sessions = sessions.unwrap_or_else(PoisonError::into_inner);
        let known = sessions.contains(&session);
        known.then_some(()).context("unknown session")
    }
}

fn subscription() -> Response<Body> {
    let acknowledged = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{}}\n\n";
    let first = futures_util::stream::iter([Ok(Frame::data(Bytes::from(acknowledged)))]);
    let events = futures_util::StreamExt::chain(first, futures_util::stream::pending());
    let mut response = Response::new(Either::Right(StreamBody::new(events)));
    let stream = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(CONTENT_TYPE, stream);
    response
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::default()));
    *response.status_mut() = status;
    response
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a [u8] {
    headers.get(name).map_or(&[], HeaderValue::as_bytes)
}
