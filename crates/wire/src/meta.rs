//! The keys of `_meta` that the specification reserves.

/// The revision a request speaks; required.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// What the client of a request can do; required.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Who the client of a request says it is.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The lowest level of log messages that a request wants.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Who the server of a result says it is.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The id of the `subscriptions/listen` request that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The token that progress notifications of a request carry.
pub const PROGRESS_TOKEN: &str = "progressToken";
/// W3C trace context: the parent span.
pub const TRACEPARENT: &str = "traceparent";
/// W3C trace context: vendor state.
pub const TRACESTATE: &str = "tracestate";
/// W3C baggage.
pub const BAGGAGE: &str = "baggage";
