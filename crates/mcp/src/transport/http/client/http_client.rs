use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use callgate_wire::{Method, RawJson, Splice, code, meta, method};
use http::Request;

use super::config::Config;
use super::exchange::Exchange;
use super::request;
use super::response::Reader;
use super::schemas::Schemas;
use super::site::Site;
use crate::error::Error;
use crate::header_param::HeaderParam;
use crate::notifier::Notifier;
use crate::service::{BoxFuture, Call, Cx, Reply, Service};

/// A server reached over Streamable HTTP.
///
/// Every call is a POST of its own with an id of its own, over pooled connections. Dropping a call
/// closes its response, which is how this transport cancels. Nothing is sent twice, but for a
/// request that was certainly not written and for a tool call that the server refused because its
/// headers were not known yet. There are no timeouts here: those belong to the caller, except for
/// the time that a connection, and the text of an HTTP error, may take.
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
    site: Arc<Site>,
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
        Ok(Self::over(Arc::new(Site::new(url, config)?)))
    }

    /// A client of this server, over the connections of `site`.
    pub(crate) fn over(site: Arc<Site>) -> Self {
        Self {
            site,
            schemas: Schemas::default(),
            next_id: AtomicU64::new(1),
            violations: AtomicU64::new(0),
        }
    }

    /// How many requests the server has sent, which it must not; they were ignored.
    #[must_use]
    pub fn violations(&self) -> u64 {
        self.violations.load(Ordering::Relaxed)
    }

    /// Makes one POST of `call` and reads what comes back.
    async fn exchange(&self, call: &Call, mirrored: &[HeaderParam]) -> Result<Reply, Error> {
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        let config = self.site.config();
        let exchange = Exchange::new(number, &config.name, call);
        let params = exchange.params()?;
        let constant = self.site.constant_headers();
        let headers = request::headers(constant, &call.method, &params, mirrored)?;

        let mut request = Request::new(request::body(exchange.id(), &call.method, &params));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = self.site.target().clone();
        *request.headers_mut() = headers;
        drop(params);

        let (head, body) = self.site.send(request).await?;
        let reader = Reader {
            exchange: &exchange,
            config,
            violations: &self.violations,
        };
        let reply = reader.read(head, body).await?;
        Ok(match reply {
            Reply::Complete(result) if call.method.as_str() == method::TOOLS_LIST => {
                Reply::Complete(self.schemas.learn(&config.name, result))
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
            tracing::debug!(server = %self.site.config().name, %error, "cannot look up the tool's headers");
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
            .field("site", &self.site)
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
