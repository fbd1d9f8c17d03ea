use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callgate_wire::{Method, RawJson, Splice, code, meta, method};
use http::{HeaderMap, Request, Uri};

use super::config::Config;
use super::connector::Connector;
use super::endpoint::Endpoint;
use super::exchange::Exchange;
use super::pool::{Pool, SendError};
use super::request;
use super::response::Reader;
use super::schemas::Schemas;
use crate::error::{Error, Kind};
use crate::header_param::HeaderParam;
use crate::notifier::Notifier;
use crate::service::{BoxFuture, Call, Cx, Reply, Service};

/// A server reached over Streamable HTTP.
///
/// Every call is a POST of its own with an id of its own, over pooled connections. Dropping a call
/// closes its response, which is how this transport cancels. Nothing is sent twice, but for a
/// request that was certainly not written and for a tool call that the server refused because its
/// headers were not known yet. There are no timeouts here: those belong to the caller, except for
/// the time a connection may take.
///
/// Redirects are not followed, system proxies are not used and cookies are not kept.
///
/// ```
/// # use callgate_mcp::transport::http::client::{Config, Headers, HttpClient};
/// let mut config = Config::new("github");
/// config.headers = Headers::default().with("authorization", "Bearer secret")?;
/// let client = HttpClient::new("https://api.githubcopilot.com/mcp/", config)?;
/// assert!(!format!("{client:?}").contains("secret"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct HttpClient {
    endpoint: Endpoint,
    config: Config,
    target: Uri,
    constant_headers: HeaderMap,
    pool: Pool,
    schemas: Schemas,
    next_id: AtomicU64,
    violations: AtomicU64,
}

/// How many pages of `tools/list` are read to find the headers of one tool.
const MAX_PAGES: usize = 16;

impl HttpClient {
    /// A client of the server at `url`, an `http` or `https` URL. Nothing is sent yet.
    ///
    /// # Errors
    /// The URL cannot be used, or TLS cannot be set up.
    pub fn new(url: &str, config: Config) -> Result<Self, Error> {
        let refused =
            |message: String| Error::new(Kind::Connect, message).from_upstream(&config.name);
        let endpoint =
            Endpoint::parse(url).map_err(|error| refused(error.to_string()).with_source(error))?;
        let connector = Connector::new(&endpoint, &config).map_err(|error| {
            refused(format!(
                "cannot set up TLS for server `{}`: {error}",
                config.name
            ))
            .with_source(error)
        })?;
        Ok(Self {
            target: endpoint.target(),
            constant_headers: request::constant_headers(&endpoint, &config.headers),
            endpoint,
            config,
            pool: Pool::new(connector),
            schemas: Schemas::default(),
            next_id: AtomicU64::new(1),
            violations: AtomicU64::new(0),
        })
    }

    /// How many requests the server has sent, which it must not; they were ignored.
    #[must_use]
    pub fn violations(&self) -> u64 {
        self.violations.load(Ordering::Relaxed)
    }

    /// Makes one POST of `call` and reads what comes back.
    async fn exchange(&self, call: &Call, mirrored: &[HeaderParam]) -> Result<Reply, Error> {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        let exchange = Exchange::new(number, &self.config.name, call);
        let params = exchange.params()?;
        let headers = request::headers(&self.constant_headers, &call.method, &params, mirrored)?;

        let mut request = Request::new(request::body(exchange.id(), &call.method, &params));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = self.target.clone();
        *request.headers_mut() = headers;
        drop(params);

        let (head, body) = self
            .pool
            .send(request)
            .await
            .map_err(|error| self.not_answered(error))?;
        let reader = Reader {
            exchange: &exchange,
            config: &self.config,
            violations: &self.violations,
        };
        let reply = reader.read(head, body).await?;
        Ok(match reply {
            Reply::Complete(result) if call.method.as_str() == method::TOOLS_LIST => {
                Reply::Complete(self.schemas.learn(&self.config.name, result))
            }
            reply => reply,
        })
    }

    /// Calls a tool again that was refused for its headers, if the server now names other ones.
    async fn call_with_fresh_schema(
        &self,
        call: &Call,
        tried: Option<Arc<[HeaderParam]>>,
        refusal: Error,
    ) -> Result<Reply, Error> {
        let Some(tool) = tool_of(call) else {
            return Err(refusal);
        };
        if let Err(error) = self.refresh_schemas(call, &tool).await {
            tracing::debug!(server = %self.config.name, %error, "cannot look up the tool's headers");
            return Err(refusal);
        }
        let fresh = self.schemas.params_of(&tool);
        if fresh == tried {
            return Err(refusal);
        }
        self.exchange(call, fresh.as_deref().unwrap_or_default())
            .await
    }

    /// Lists tools up to the page that has `tool`, with the metadata of `call`.
    async fn refresh_schemas(&self, call: &Call, tool: &str) -> Result<(), Error> {
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let list = Call {
                method: Method::new(method::TOOLS_LIST),
                params: list_params(call, cursor.as_ref())?,
                cx: Cx {
                    notify: Notifier::disabled(),
                    ..call.cx.clone()
                },
            };
            let page = self.exchange(&list, &[]).await?.into_result();
            let tools = page.get("tools").map(|tools| tools.elements());
            let has_tool = |listed: &RawJson| {
                listed
                    .get("name")
                    .as_ref()
                    .and_then(RawJson::text)
                    .as_deref()
                    == Some(tool)
            };
            cursor = page.get("nextCursor");
            if cursor.is_none() || tools.unwrap_or_default().iter().any(has_tool) {
                break;
            }
        }
        Ok(())
    }

    /// The error of a request that got no response at all.
    fn not_answered(&self, error: SendError) -> Error {
        let (name, cause) = (&self.config.name, innermost(&error));
        let failed = |kind, message: String| Error::new(kind, message).from_upstream(name);
        let failed = match &error {
            SendError::Connect(_) => {
                let message = format!(
                    "cannot connect to server `{name}` at {}: {cause}",
                    self.endpoint
                );
                failed(Kind::Connect, message).retry_safe()
            }
            SendError::Unwritten(_) => {
                let message =
                    format!("server `{name}` closed the connection before the request: {cause}");
                failed(Kind::Closed, message).retry_safe()
            }
            SendError::Lost(lost) if lost.is_parse() => failed(
                Kind::Protocol,
                format!("server `{name}` sent a malformed HTTP response: {cause}"),
            ),
            SendError::Lost(_) => failed(
                Kind::Closed,
                format!("server `{name}` closed the connection before the response: {cause}"),
            ),
        };
        failed.with_source(error)
    }
}

impl Service for HttpClient {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(async move {
            let mirrored = tool_of(&call).and_then(|tool| self.schemas.params_of(&tool));
            let outcome = self
                .exchange(&call, mirrored.as_deref().unwrap_or_default())
                .await;
            match outcome {
                Err(error) if error.code() == code::HEADER_MISMATCH => {
                    self.call_with_fresh_schema(&call, mirrored, error).await
                }
                outcome => outcome,
            }
        })
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("endpoint", &self.endpoint)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// The tool that a call is for.
fn tool_of(call: &Call) -> Option<String> {
    if call.method.as_str() != method::TOOLS_CALL {
        return None;
    }
    let name = call.params.get("name")?;
    name.text().map(Into::into)
}

/// The params of `tools/list` on behalf of `call`.
fn list_params(call: &Call, cursor: Option<&RawJson>) -> Result<RawJson, Error> {
    let malformed = |error: callgate_wire::SpliceError| Error::invalid_params(error.to_string());
    let meta = call
        .params
        .get("_meta")
        .unwrap_or_else(RawJson::empty_object);
    let meta = Splice::new(&meta)
        .remove(&[meta::PROGRESS_TOKEN])
        .finish()
        .map_err(malformed)?;
    let empty = RawJson::empty_object();
    let mut params = Splice::new(&empty).set(&["_meta"], &meta);
    if let Some(cursor) = cursor {
        params = params.set(&["cursor"], cursor);
    }
    params.finish().map_err(malformed)
}

/// The last cause of an error, which says more than the first.
fn innermost(error: &dyn StdError) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
