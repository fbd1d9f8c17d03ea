//! The keys of `_meta` that the specification reserves.

/// The revision a request speaks; required.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// Capabilities of the client that sends a request; required.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Name and version of the client that sent a request, as it says.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The lowest level of log messages that a request wants.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Name and version of the server that sent a result, as it says.
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
