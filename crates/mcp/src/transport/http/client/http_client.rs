use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::BytesMut;
use callgate_wire::{Method, RawJson, code, encode, method};
use http::Request;

use super::config::HttpConfig;
use super::http_upstream::HttpUpstream;
use super::pending_request::PendingRequest;
use super::request;
use super::response::{ResponseReader, finish};
use crate::error::Error;
use crate::header_param::HeaderParam;
use crate::notifier::Notifier;
use crate::service::{BoxFuture, Call, Reply, Service};
use crate::tool_headers::{ToolHeaders, list_params};

/// A server of the newest revision that is reached over Streamable HTTP.
///
/// A server of an older revision is not recognized here; see [`Remote`](crate::upstream::Remote).
///
/// Every call is a POST of its own with an id of its own, over pooled connections. Dropping a call
/// closes its response, which cancels it. No request is sent twice, with two exceptions: one that was
/// certainly not written, and a tool call that the server refused because its headers were not known
/// yet. The caller sets timeouts, for example with [`Timeout`](crate::layer::Timeout); only new
/// connections and the text of an HTTP error have timeouts here.
///
/// Redirects are not followed and cookies are not kept; proxies are used if the configuration names them.
///
/// ```
/// # use callgate_mcp::transport::http::client::{HttpConfig, Headers, ModernHttpClient};
/// let mut config = HttpConfig::new("github");
/// config.headers = Headers::default().with("authorization", "Bearer secret")?;
/// let client = ModernHttpClient::new("https://api.githubcopilot.com/mcp/", config)?;
/// assert!(!format!("{client:?}").contains("secret"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ModernHttpClient {
    upstream: Arc<HttpUpstream>,
    tool_headers: ToolHeaders,
    next_id: AtomicU64,
    violations: AtomicU64,
}

/// Maximum number of pages of `tools/list` that are read to find the headers of one tool.
const MAX_PAGES: usize = 16;

impl ModernHttpClient {
    /// A client of the server at `url`, an `http` or `https` URL. No request is sent yet.
    ///
    /// # Errors
    /// The URL cannot be used, or TLS cannot be set up.
    pub fn new(url: &str, config: HttpConfig) -> Result<Self, Error> {
        Ok(Self::over(Arc::new(HttpUpstream::new(url, config)?)))
    }

    /// A client of this server, over the connections of `upstream`.
    pub(crate) fn over(upstream: Arc<HttpUpstream>) -> Self {
        Self {
            upstream,
            tool_headers: ToolHeaders::default(),
            next_id: AtomicU64::new(1),
            violations: AtomicU64::new(0),
        }
    }

    /// Number of requests that the server sent, which it must not; they were ignored.
    #[must_use]
    pub fn violations(&self) -> u64 {
        self.violations.load(Ordering::Relaxed)
    }

    /// Calls the server. Dropping the future closes the response.
    pub(crate) async fn answer(&self, call: &Call) -> Result<Reply, Error> {
        let target = request::target(call)?;
        let tool = tool(call, target.as_deref());
        let mirrored = tool.and_then(|tool| self.tool_headers.params_of(tool));
        let headers = mirrored.as_deref().unwrap_or_default();
        // The schema of a tool may have changed since it was listed. For such a mismatch the specification
        // asks for a new list and one more attempt.
        match self.send(call, target.as_deref(), headers).await {
            Err(error) if error.code() == code::HEADER_MISMATCH => {
                // Boxed, so that the futures of other calls do not have its size.
                Box::pin(self.call_with_fresh_headers(call, mirrored, error)).await
            }
            outcome => outcome,
        }
    }

    /// Makes one POST of `call` and reads the response.
    async fn send(
        &self,
        call: &Call,
        target: Option<&str>,
        mirrored: &[HeaderParam],
    ) -> Result<Reply, Error> {
        // Relaxed: ids only have to differ.
        let number = self.next_id.fetch_add(1, Ordering::Relaxed);
        let config = self.upstream.config();
        let pending = PendingRequest::new(number, &config.name, call);
        let params = pending.params()?;
        let constant = &self.upstream.constant_headers;
        let headers = request::headers(constant, call, target, mirrored)?;

        let mut request = Request::new(request::body(&pending.id, &call.method, &params));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = self.upstream.target.clone();
        *request.headers_mut() = headers;
        // The future of the call does not keep it while it waits for the response.
        drop(params);

        let (head, body) = self.upstream.send(request).await?;
        let reader = ResponseReader {
            request: &pending,
            config,
            violations: &self.violations,
        };
        let reply = reader.read(head, body).await?;
        Ok(match reply {
            Reply::Complete(result) if call.method.as_str() == method::TOOLS_LIST => {
                Reply::Complete(self.tool_headers.learn(&config.name, result))
            }
            reply => reply,
        })
    }

    /// Makes one POST of a notification. Its response tells nothing but that it came.
    async fn post(&self, notification: &Call) -> Result<(), Error> {
        let constant = &self.upstream.constant_headers;
        let mut message = BytesMut::new();
        encode::notification(&mut message, &notification.method, notification.params());
        let mut request = Request::new(request::framed(message.freeze()));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = self.upstream.target.clone();
        *request.headers_mut() = request::notification_headers(constant, &notification.method)?;
        let (head, body) = self.upstream.send(request).await?;
        if !head.status.is_success() {
            let (server, status) = (&self.upstream.config().name, head.status);
            tracing::debug!(%server, %status, "a notification was refused");
        }
        finish(body).await;
        Ok(())
    }

    /// Repeats a tool call that was refused for its headers, if the schema of the tool has others now.
    async fn call_with_fresh_headers(
        &self,
        call: &Call,
        tried: Option<Arc<[HeaderParam]>>,
        refusal: Error,
    ) -> Result<Reply, Error> {
        let target = request::target(call)?;
        let Some(tool) = tool(call, target.as_deref()) else {
            return Err(refusal);
        };
        if let Err(error) = self.refresh_tool_headers(call, tool).await {
            tracing::debug!(server = %self.upstream.config().name, %error, "cannot look up the tool's headers");
            return Err(refusal);
        }
        let fresh = self.tool_headers.params_of(tool);
        // The same headers would be refused again.
        if fresh == tried {
            return Err(refusal);
        }
        let fresh = fresh.as_deref().unwrap_or_default();
        self.send(call, target.as_deref(), fresh).await
    }

    /// Lists tools up to the page that has `tool`, with the metadata of `call`.
    async fn refresh_tool_headers(&self, call: &Call, tool: &str) -> Result<(), Error> {
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let list = Call::new(
                Method::new(method::TOOLS_LIST),
                list_params(call.cx.peer().meta(), cursor.as_ref())?,
                // The caller has not asked for this list, so it hears no notifications of it.
                call.cx.clone().with_notifier(Notifier::disabled()),
            );
            // `send` learns the headers of the tools of each page.
            let page = self.send(&list, None, &[]).await?.into_result();
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

impl Service for ModernHttpClient {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(async move { self.answer(&call).await })
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Err(error) = self.post(&notification).await {
                let server = &self.upstream.config().name;
                tracing::debug!(%server, %error, "cannot pass on a notification");
            }
        })
    }
}

/// Tool that a call with this target is for.
fn tool<'a>(call: &Call, target: Option<&'a str>) -> Option<&'a str> {
    target.filter(|_| call.method.as_str() == method::TOOLS_CALL)
}
