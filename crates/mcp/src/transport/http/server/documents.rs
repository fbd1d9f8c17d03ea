use bytes::Bytes;
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue};
use http::{Method, Response};

use super::answer::{self, Refusal};
use super::body::Body;
use super::config::Config;

/// A JSON document that everybody may read, web pages of any origin included.
///
/// It is for what clients must know before they can prove who they are, such as where to log in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The path that it is read at; never that of the endpoint.
    pub path: String,
    /// Its bytes.
    pub json: Bytes,
}

/// The document at `path`, if there is one.
pub(super) fn find<'a>(config: &'a Config, path: &str) -> Option<&'a Document> {
    let mut documents = config.documents.iter();
    documents.find(|document| document.path == path && path != config.path)
}

/// Answers a request for a document.
pub(super) fn answer(document: &Document, method: &Method) -> Result<Response<Body>, Refusal> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Err(Refusal::MethodNotAllowed { allow: "GET, HEAD" });
    }
    let mut response = answer::json(Body::whole(document.json.clone()));
    response
        .headers_mut()
        .insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    Ok(response)
}
