use std::io;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use callgate_wire::logging::LogLevel;
use callgate_wire::{Frame, FrameError, Id, Notification, RawJson, Response, meta, method};

use super::id_finder::answered_id;
use super::lines::{Line, is_header};
use super::link::{Link, rename};
use super::pending::CallerContext;
use crate::error::{Error, Kind};
use crate::service::{CallerKey, Reply};
use crate::subscribers::tagged;
use crate::transport::CloseReason;
use crate::transport::observer::WireMessage;

/// Routes the messages of a server to the calls they are for. It never waits for a call.
pub(super) struct MessageRouter<'a> {
    link: &'a Link,
    /// True until the first line has come.
    first: bool,
    /// Number of lines in a row that were not messages.
    malformed: u32,
}

/// Number of malformed lines in a row after which the program is not an MCP server.
const MOST_MALFORMED: u32 = 20;

impl<'a> MessageRouter<'a> {
    pub(super) fn new(link: &'a Link) -> Self {
        Self {
            link,
            first: true,
            malformed: 0,
        }
    }

    /// Takes one read line, or returns why the connection ends.
    pub(super) fn receive(&mut self, line: io::Result<Option<Line>>) -> Result<(), CloseReason> {
        let line = match line {
            Ok(Some(Line::Message(line))) => line,
            Ok(Some(Line::TooLong(id))) => {
                self.too_long(id.as_ref());
                return Ok(());
            }
            Ok(None) => return Err(self.link.closed_by("closed the connection")),
            Err(error) => return Err(self.link.closed_by(&format!("cannot be read: {error}"))),
        };
        let is_first = std::mem::replace(&mut self.first, false);
        match Frame::parse(&line, &self.link.config.limits) {
            Ok(frame) => {
                self.observe(WireMessage::LineReceived(&line));
                self.malformed = 0;
                self.route(frame);
                Ok(())
            }
            // Only the first line is judged so: a later one may be something that the server printed.
            Err(error) if is_first && is_header(&line) => {
                self.observe_skipped(&line, &error.to_string());
                Err(self
                    .breach("frames its messages with `Content-Length` headers instead of lines"))
            }
            Err(error) => match self.batch(&line) {
                Some(batch) => {
                    self.observe(WireMessage::LineReceived(&line));
                    batch.into_iter().for_each(|frame| self.route(frame));
                    Ok(())
                }
                None => self.malformed(&line, &error),
            },
        }
    }

    /// The messages of a batch, which only servers of older revisions send.
    fn batch(&self, line: &Bytes) -> Option<Vec<Frame>> {
        self.link.message_sink()?;
        let limits = &self.link.config.limits;
        let batch = RawJson::parse(line.clone(), limits).ok()?;
        let frame = |raw: RawJson| Frame::parse(&raw.into_bytes(), limits);
        let frames: Result<Vec<_>, _> = batch.elements().into_iter().map(frame).collect();
        frames.ok().filter(|frames| !frames.is_empty())
    }

    fn observe(&self, message: WireMessage<'_>) {
        if let Some(observer) = &self.link.observer {
            observer.observe(message);
        }
    }

    fn observe_skipped(&self, line: &[u8], reason: &str) {
        self.observe(WireMessage::LineSkipped { line, reason });
    }

    fn route(&self, frame: Frame) {
        match frame {
            Frame::Response(response) => self.respond(response),
            frame if let Some(sink) = self.link.message_sink() => sink(self.link, frame),
            Frame::Notification(notification) => self.notify(&notification),
            Frame::Request(request) => {
                // A client of this revision must not answer requests.
                tracing::debug!(method = %request.method, "ignored a request from a server");
            }
        }
    }

    fn respond(&self, Response { id, outcome }: Response) {
        let answer = outcome.map_err(|error| Error::rpc(&self.link.name, error));
        let number = id.as_ref().and_then(Id::echoed_number);
        if !number.is_some_and(|number| self.link.pending.answer(number, answer)) {
            tracing::debug!(?id, "ignored a response to no call");
        }
    }

    fn notify(&self, notification: &Notification) {
        let Notification { method, params } = notification;
        match method.as_str() {
            method::NOTIFICATIONS_PROGRESS => self.progress(notification),
            method::NOTIFICATIONS_MESSAGE => self.log(notification),
            method::NOTIFICATIONS_CANCELLED => self.cancelled(params),
            _ => self.subscription(notification),
        }
    }

    fn progress(&self, notification: &Notification) {
        let path = &["progressToken"];
        let token = notification.params.at(path).and_then(number_in);
        let Some(caller) = token.and_then(|number| self.link.pending.caller(number)) else {
            return;
        };
        // Offered and never awaited here: a caller that reads slowly must not stop the connection for all
        // others.
        caller.notify.offer(Notification {
            method: notification.method.clone(),
            params: rename(&notification.params, path, &caller.progress_token),
        });
    }

    /// Log messages name no request: they go to every call that asked for logs of their level, if all
    /// calls are of one caller, and to the subscriptions of the same one: otherwise one caller could read
    /// what is about another.
    fn log(&self, notification: &Notification) {
        let Some(level) = notification.params.get("level") else {
            return;
        };
        // An unknown level may be severe, so it is not filtered out.
        let level = level.decode().unwrap_or(LogLevel::Emergency);
        let callers = self.link.pending.callers(|caller| caller.key.is_some());
        let (subscriptions, calls): (Vec<_>, Vec<_>) =
            callers.into_iter().partition(|it| it.is_subscription);
        // A subscription causes no log messages, so those of other callers are only left out. Otherwise one
        // that stays open, such as that of a hub, would take the log messages from all callers.
        let is_of_caller = |subscription: &&CallerContext| {
            let shares_caller = |call: &CallerContext| {
                CallerKey::are_of_one_caller(call.key.iter().chain(&subscription.key))
            };
            calls.first().is_none_or(shares_caller)
        };
        let recipients = calls.iter();
        let recipients = recipients.chain(subscriptions.iter().filter(is_of_caller));
        let keys = recipients.clone().filter_map(|it| it.key.as_ref());
        if !CallerKey::are_of_one_caller(keys) {
            return tracing::debug!(
                "dropped a log message that names no call: calls of several callers are running"
            );
        }
        for recipient in recipients {
            if recipient.log_level.is_some_and(|wanted| wanted <= level) {
                recipient.notify.offer(notification.clone());
            }
        }
    }

    /// A server may end a subscription by `notifications/cancelled`, before or after its result.
    fn cancelled(&self, params: &RawJson) {
        let Some(number) = params.get("requestId").and_then(number_in) else {
            return;
        };
        let caller = self.link.pending.caller(number);
        if let Some(caller) = caller.filter(|caller| caller.is_subscription) {
            let end = Reply::subscription_end(&caller.id).into_result();
            self.link.pending.answer(number, Ok(end));
        }
    }

    fn subscription(&self, notification: &Notification) {
        let path = &["_meta", meta::SUBSCRIPTION_ID];
        let number = notification.params.at(path).and_then(number_in);
        let Some(number) = number else {
            return self.unknown(notification);
        };
        let Some(caller) = self.link.pending.caller(number) else {
            tracing::debug!(method = %notification.method, "ignored a notification to no call");
            return;
        };
        caller.notify.offer(Notification {
            method: notification.method.clone(),
            params: rename(&notification.params, path, &caller.id),
        });
    }

    /// A notification that names no call goes to all subscriptions, or else to the newest call. All
    /// calls must be of one caller: otherwise one could read what is about another.
    fn unknown(&self, notification: &Notification) {
        let callers = self.link.pending.callers(|caller| caller.key.is_some());
        let keys = callers.iter().filter_map(|caller| caller.key.as_ref());
        let Some(newest) = callers
            .last()
            .filter(|_| CallerKey::are_of_one_caller(keys))
        else {
            tracing::debug!(method = %notification.method, "ignored a notification to no call");
            return;
        };
        let mut subscriptions = callers.iter().filter(|it| it.is_subscription).peekable();
        if subscriptions.peek().is_none() {
            newest.notify.offer(notification.clone());
        }
        for subscription in subscriptions {
            subscription
                .notify
                .offer(tagged(notification, &subscription.id));
        }
    }

    fn malformed(&mut self, line: &[u8], error: &FrameError) -> Result<(), CloseReason> {
        tracing::debug!(server = %self.link.name, %error, "skipped a malformed line");
        self.link.malformed.fetch_add(1, Ordering::Relaxed);
        self.malformed += 1;
        if self.link.observer.is_some() {
            self.observe_skipped(line, &error.to_string());
        }
        // Even a line that is not UTF-8 or not JSON may show which call it answers, which then need
        // not wait until its timeout.
        if let Some(number) = answered_id(line).as_ref().and_then(Id::echoed_number) {
            let text = format!(
                "server `{}` sent a malformed answer: {error}",
                self.link.name
            );
            self.fail(number, Kind::Protocol, text);
        }
        if self.malformed >= MOST_MALFORMED {
            let did = format!("sent {MOST_MALFORMED} malformed lines in a row: {error}");
            return Err(self.breach(&did));
        }
        Ok(())
    }

    fn too_long(&self, id: Option<&Id>) {
        let limit = self.link.config.limits.bytes;
        tracing::debug!(server = %self.link.name, ?id, limit, "skipped a line over the limit");
        if self.link.observer.is_some() {
            self.observe_skipped(&[], &format!("it is longer than {limit} bytes"));
        }
        if let Some(number) = id.and_then(Id::echoed_number) {
            let name = &self.link.name;
            let text = format!("server `{name}` sent an answer longer than {limit} bytes");
            self.fail(number, Kind::TooLarge, text);
        }
    }

    fn fail(&self, number: u64, kind: Kind, text: String) {
        let error = Error::new(kind, text).from_upstream(&self.link.name);
        self.link.pending.answer(number, Err(error));
    }

    fn breach(&self, did: &str) -> CloseReason {
        CloseReason::by_server(&self.link.name, Kind::Protocol, did)
    }
}

/// Number of one of our calls.
fn number_in(raw: RawJson) -> Option<u64> {
    Id::try_from(raw).ok()?.echoed_number()
}
