//! The trait that every server, client and relay implements, and the types that pass through it.
//!
//! # Layout
//! - [`Service`], [`Call`], [`Cx`], [`Reply`]: here.
//! - `caller`: [`Caller`] and [`Principal`], the verified identity; [`Source`], the origin.
//! - `peer`: [`PeerInfo`], the unverified claims in `_meta`.
//! - `trace`, `extensions`: trace context, and values that layers attach.

mod caller;
mod extensions;
mod peer;
mod trace;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use callgate_wire::result::ResultType;
use callgate_wire::{Id, Method, RawJson, RawParams, Splice, SpliceError, Version, meta};
use tokio::time::Instant;

use crate::error::Error;
use crate::notifier::Notifier;

pub(crate) use caller::CallerKey;
pub use caller::{Caller, Principal, Source, TransportKind};
pub use extensions::Extensions;
pub use peer::PeerInfo;
pub(crate) use peer::PeerMeta;
pub use trace::TraceContext;

/// Answers MCP requests. Servers, clients, hubs and gateways are all services.
pub trait Service: Send + Sync + 'static {
    /// Handles one request. Dropping the future cancels it.
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>>;

    /// Handles a notification of the caller that the edges do not know, such as one of an extension.
    ///
    /// Its id names nothing, its notifier drops all, and it never fails. Layers and upstreams pass it on;
    /// a service that has no use for it ignores it, as this default does. Edges give up after 10 seconds
    /// and drop the future.
    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        tracing::debug!(method = %notification.method, "ignored a notification of a client");
        Box::pin(std::future::ready(()))
    }
}

/// A boxed future that can move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One request on its way to a [`Service`].
///
/// The params can be replaced and edited, but only through the methods here: they keep the
/// [`PeerInfo`] equal to the `_meta` that the service below receives, so that a decision made from
/// one is true of the other.
#[derive(Debug, Clone)]
pub struct Call {
    /// Method of the request.
    pub method: Method,
    params: RawParams,
    /// Context of the request: its caller, its origin and the way back while it runs.
    pub cx: Cx,
}

/// Context of a [`Call`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Cx {
    /// Id of the request on the hop it came by; subscriptions are named after it.
    pub id: Id,
    /// Authority that the request acts with.
    pub caller: Caller,
    /// Transport, address and conversation that the request came by.
    pub source: Source,
    /// Sink for the notifications of this request.
    pub notify: Notifier,
    /// Time at which the caller stops waiting.
    pub deadline: Option<Instant>,
    /// Values that layers attached.
    pub extensions: Extensions,
    peer: Arc<PeerInfo>,
    /// Trace context of the HTTP headers, which counts where `_meta` has none.
    trace_headers: Option<Arc<TraceContext>>,
}

/// Successful end of a request. The transport that reads a result decides which kind it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// The result.
    Complete(RawJson),
    /// An `InputRequiredResult`: the caller gives the input by sending the request again.
    InputRequired(RawJson),
    /// A `CreateTaskResult`: the request goes on as a task.
    Task(RawJson),
    /// A result of a type that this crate does not know. Relays pass it on, clients refuse it.
    Unknown(RawJson),
}

impl Call {
    /// A call of `method`, which in this revision reads its context from the `_meta` of `params`.
    #[must_use]
    pub fn new(method: Method, params: RawJson, cx: Cx) -> Self {
        let params = params.into();
        let mut call = Self { method, params, cx };
        call.read_meta();
        call
    }

    /// A call whose `cx` was made from the `_meta` of `params` a moment ago.
    pub(crate) fn of_read_meta(method: Method, params: RawParams, cx: Cx) -> Self {
        Self { method, params, cx }
    }

    /// The parameters as they came, `_meta` included; always an object.
    #[must_use]
    pub fn params(&self) -> &RawParams {
        &self.params
    }

    /// Replaces the parameters, `_meta` included.
    pub fn set_params(&mut self, params: RawJson) {
        self.params = params.into();
        self.read_meta();
    }

    /// Sets the value at `path` of the parameters, for example `["_meta", "traceparent"]`.
    ///
    /// Everything else keeps its bytes. One replaced member costs no copy of its own: the params are
    /// copied when they are written, or read as a whole. For several edits at once, make them with a [`Splice`] of
    /// [`Self::params`] and give the outcome to [`Self::set_params`].
    ///
    /// # Errors
    /// The path leads through a value that is no object. The call is unchanged then.
    pub fn set(&mut self, path: &[&str], value: &RawJson) -> Result<(), SpliceError> {
        match path {
            // `_meta` keeps its bytes, so that the claims in it, which were read before, stay true.
            [key] if *key != "_meta" => self.params.set(key, value),
            _ => self.set_params(Splice::new(&self.params).set(path, value).finish()?),
        }
        Ok(())
    }

    /// Takes the call apart.
    #[must_use]
    pub fn into_parts(self) -> (Method, RawParams, Cx) {
        (self.method, self.params, self.cx)
    }

    fn read_meta(&mut self) {
        let version = self.cx.peer.version();
        self.cx.peer = Arc::new(PeerInfo::of_params(&self.params, version));
    }
}

impl Cx {
    /// The context of a request that this process makes itself.
    #[must_use]
    pub fn new(id: Id) -> Self {
        Self::of_peer(id, PeerInfo::new(Version::LATEST, RawJson::empty_object()))
    }

    /// The context of a request whose `_meta` was read as `peer`.
    pub(crate) fn of_peer(id: Id, peer: impl Into<Arc<PeerInfo>>) -> Self {
        Self {
            id,
            caller: Caller::Local,
            source: Source::default(),
            notify: Notifier::disabled(),
            deadline: None,
            extensions: Extensions::default(),
            peer: peer.into(),
            trace_headers: None,
        }
    }

    /// Sets the authority that the request acts with.
    #[must_use]
    pub fn with_caller(mut self, caller: Caller) -> Self {
        self.caller = caller;
        self
    }

    /// Sets the origin of the request.
    #[must_use]
    pub fn with_source(mut self, source: Source) -> Self {
        self.source = source;
        self
    }

    /// Sets the sink for notifications.
    #[must_use]
    pub fn with_notifier(mut self, notify: Notifier) -> Self {
        self.notify = notify;
        self
    }

    /// Sets the trace context of the transport, which counts where `_meta` has none.
    #[must_use]
    pub fn with_trace_headers(mut self, trace: TraceContext) -> Self {
        self.set_trace_headers(trace);
        self
    }

    pub(crate) fn set_trace_headers(&mut self, trace: TraceContext) {
        self.trace_headers = (!trace.is_empty()).then(|| Arc::new(trace));
    }

    /// Claims of the peer about itself, as the `_meta` of the params has them.
    #[must_use]
    pub fn peer(&self) -> &Arc<PeerInfo> {
        &self.peer
    }

    /// The trace context: that of `_meta`, or else that of the HTTP headers.
    ///
    /// The two are never mixed, since a `tracestate` belongs to its `traceparent`.
    #[must_use]
    pub fn trace(&self) -> TraceContext {
        let of_meta = TraceContext::of_meta(self.peer.meta());
        match &self.trace_headers {
            Some(headers) if of_meta.is_empty() => TraceContext::clone(headers),
            _ => of_meta,
        }
    }
}

impl Reply {
    /// Reads the kind of a result: the one place where this is decided.
    #[must_use]
    pub fn of_result(result: RawJson) -> Self {
        match ResultType::of(&result) {
            Ok(ResultType::Complete) => Self::Complete(result),
            Ok(ResultType::InputRequired) => Self::InputRequired(result),
            Ok(ResultType::Task) => Self::Task(result),
            _ => Self::Unknown(result),
        }
    }

    /// The regular end of the subscription that the request `id` opened.
    pub(crate) fn subscription_end(id: &Id) -> Self {
        let end = Splice::new(&RawJson::empty_object())
            .set(&["resultType"], &RawJson::string("complete"))
            .set(&["_meta", meta::SUBSCRIPTION_ID], id.as_raw())
            .finish()
            .expect("members can be added to an empty object");
        Self::Complete(end)
    }

    /// The result of any kind.
    #[must_use]
    pub fn result(&self) -> &RawJson {
        match self {
            Self::Complete(result)
            | Self::InputRequired(result)
            | Self::Task(result)
            | Self::Unknown(result) => result,
        }
    }

    /// The result of any kind.
    #[must_use]
    pub fn into_result(self) -> RawJson {
        match self {
            Self::Complete(result)
            | Self::InputRequired(result)
            | Self::Task(result)
            | Self::Unknown(result) => result,
        }
    }
}

impl<S: Service + ?Sized> Service for Arc<S> {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        S::call(self, call)
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        S::notify(self, notification)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson {
        serde_json::from_str(text).unwrap()
    }

    fn call(params: &str) -> Call {
        Call::new(
            Method::new("tools/call"),
            json(params),
            Cx::new(Id::number(1)),
        )
    }

    #[test]
    fn an_edit_of_the_params_updates_the_peer_info() {
        let mut call = call(r#"{"name":"t","_meta":{"progressToken":1,"x":10000000000000000001}}"#);
        assert_eq!(call.cx.peer().progress_token(), Some(Id::number(1)));
        let path = &["_meta", "progressToken"];
        call.set(path, &RawJson::string("p")).unwrap();
        assert_eq!(
            call.params().as_str(),
            r#"{"name":"t","_meta":{"progressToken":"p","x":10000000000000000001}}"#
        );
        let token = call.cx.peer().progress_token().unwrap();
        assert_eq!(token.as_raw().as_str(), r#""p""#);
        assert_eq!(call.cx.peer().meta(), &call.params().get("_meta").unwrap());

        call.set(&["name"], &RawJson::string("longer")).unwrap();
        assert_eq!(
            call.params().as_str(),
            r#"{"name":"longer","_meta":{"progressToken":"p","x":10000000000000000001}}"#
        );
        assert_eq!(call.cx.peer().meta(), &call.params().get("_meta").unwrap());
        call.set(&["_meta"], &json(r#"{"progressToken":2}"#))
            .unwrap();
        assert_eq!(call.cx.peer().progress_token(), Some(Id::number(2)));

        call.set_params(json("{}"));
        assert_eq!(call.cx.peer().progress_token(), None);
        assert_eq!(call.cx.peer().meta().as_str(), "{}");
    }

    #[test]
    fn a_failed_edit_changes_nothing() {
        let mut call = call(r#"{"name":"t","_meta":{"progressToken":1}}"#);
        assert!(call.set(&["name", "x"], &RawJson::string("p")).is_err());
        assert_eq!(
            call.params().as_str(),
            r#"{"name":"t","_meta":{"progressToken":1}}"#
        );
        assert_eq!(call.cx.peer().progress_token(), Some(Id::number(1)));
    }

    #[test]
    fn the_trace_of_the_metadata_comes_before_that_of_the_headers() {
        let headers = || {
            let [parent, state] = ["00-h", "h=1"].map(|text| Some(text.to_owned()));
            TraceContext::new([parent, state, None])
        };
        let trace = |params: &str| {
            let mut call = call(params);
            call.cx = call.cx.with_trace_headers(headers());
            call.cx.trace()
        };
        assert_eq!(trace("{}"), headers());
        let of_meta = trace(r#"{"_meta":{"traceparent":"00-m","baggage":"a=b"}}"#);
        let [parent, baggage] = ["00-m", "a=b"].map(|text| Some(text.to_owned()));
        assert_eq!(of_meta, TraceContext::new([parent, None, baggage]));
    }

    #[test]
    fn a_result_says_which_kind_of_reply_it_is() {
        let check = |result: &str, expect: fn(RawJson) -> Reply| {
            assert_eq!(Reply::of_result(json(result)), expect(json(result)));
        };
        check("{}", Reply::Complete);
        check(r#"{"resultType":"complete"}"#, Reply::Complete);
        check(r#"{"resultType":"input_required"}"#, Reply::InputRequired);
        check(r#"{"resultType":"task"}"#, Reply::Task);
        check(r#"{"resultType":"other"}"#, Reply::Unknown);
        check(r#"{"resultType":7}"#, Reply::Unknown);
    }
}
