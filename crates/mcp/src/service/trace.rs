use callgate_wire::RawJson;

/// Trace context of a request, as W3C Trace Context and Baggage define it. None of it is verified.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceContext {
    /// Ids of the trace and of the parent span.
    pub traceparent: Option<String>,
    /// Data of tracing systems.
    pub tracestate: Option<String>,
    /// Key-value pairs of the application.
    pub baggage: Option<String>,
}

impl TraceContext {
    /// Names of the members of `_meta`, which are those of the HTTP headers too.
    pub const KEYS: [&str; 3] = ["traceparent", "tracestate", "baggage"];

    /// The context with these values, in the order of [`Self::KEYS`].
    #[must_use]
    pub fn new([traceparent, tracestate, baggage]: [Option<String>; 3]) -> Self {
        Self {
            traceparent,
            tracestate,
            baggage,
        }
    }

    /// Reads the context from the `_meta` of a request.
    #[must_use]
    pub fn of_meta(meta: &RawJson) -> Self {
        let text = |value: Option<RawJson>| value?.text().map(Into::into);
        Self::new(meta.pick(Self::KEYS).map(text))
    }

    /// True if there is no context at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
