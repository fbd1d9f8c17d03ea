//! Protection against request smuggling on HTTP/1 connections.
//!
//! If a proxy in front of the server and the server itself disagree about where a request ends, the
//! rest of one request becomes the beginning of the next one, of another user. The parser behind
//! this guard accepts several heads that others read differently, as RFC 9112 lets it:
//!
//! - a `Content-Length` beside a `Transfer-Encoding`: it drops the length;
//! - a `Transfer-Encoding` with codings besides `chunked`: it passes over unknown ones;
//! - repeated and listed lengths (`3, 3`): it takes them for one;
//! - a bare line feed as the end of a line;
//! - names with underscores, which other servers take for hyphens (`Content_Length`).
//!
//! So the bytes are scanned before the parser sees them. An ambiguous head is answered with 400, and
//! its connection is closed.
//!
//! The guard runs on connections of a [`Listener`](super::Listener). It does not run for an
//! [`Endpoint`](super::Endpoint) in another server, which parses heads itself, nor for HTTP/2, which
//! frames messages in binary.
//!
//! # Layout
//! - `head_scanner`: finds ambiguous heads; without I/O.
//! - `guarded_stream`: the stream that a connection reads through the scanner.

mod guarded_stream;
mod head_scanner;

pub(super) use guarded_stream::GuardedStream;
pub(super) use head_scanner::HeadScanner;
