use bytes::Bytes;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue};
use http::{Method, Response};

use super::body::ResponseBody;
use super::config::HttpServerConfig;
use super::response::{self, Refusal};

/// Public JSON document, readable without a token and by web pages of any origin.
///
/// It tells clients what they must know before they can authenticate, such as where to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// Path of the document; never that of the endpoint.
    pub path: String,
    /// Content of the document.
    pub json: Bytes,
}

impl Document {
    /// The document `json` at `path`.
    pub fn new(path: impl Into<String>, json: impl Into<Bytes>) -> Self {
        Self {
            path: path.into(),
            json: json.into(),
        }
    }
}

/// The document at `path`, if there is one.
pub(super) fn find<'a>(config: &'a HttpServerConfig, path: &str) -> Option<&'a Document> {
    let mut documents = config.documents.iter();
    documents.find(|document| document.path == path && path != config.path)
}

/// Answers a request for a document.
pub(super) fn answer(
    document: &Document,
    method: &Method,
) -> Result<Response<ResponseBody>, Refusal> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Err(Refusal::MethodNotAllowed { allow: "GET, HEAD" });
    }
    let mut answer = response::json(ResponseBody::whole(document.json.clone()));
    answer
        .headers_mut()
        .insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    Ok(answer)
}
