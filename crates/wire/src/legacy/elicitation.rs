//! URLs for the user, as 2025-11-25 has them: each with an id of its own.

use serde::{Deserialize, Serialize};

use super::code;
use super::task::TaskMetadata;
use crate::meta_object::Meta;
use crate::raw::RawJson;
use crate::rpc_error::RpcError;
use crate::tag;

/// A page for the user to open.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitUrlParams {
    /// Metadata.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
    /// Always a URL.
    pub mode: tag::Url,
    /// Message for the user.
    pub message: String,
    /// Id that the notification of the end refers to.
    pub elicitation_id: String,
    /// The page.
    pub url: String,
    /// The request should go on as a task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
}

/// Parameters of `notifications/elicitation/complete`: the user is done with the page.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ElicitationCompleteParams {
    /// The elicitation.
    pub elicitation_id: String,
}

/// The data of a `URLElicitationRequired` error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UrlElicitationRequiredData {
    /// The pages that the user has to open first.
    pub elicitations: Vec<ElicitUrlParams>,
}

impl ElicitUrlParams {
    /// Opens a URL.
    #[must_use]
    pub fn new(
        message: impl Into<String>,
        elicitation_id: impl Into<String>,
        url: impl Into<String>,
    ) -> Self {
        Self {
            meta: None,
            mode: tag::Url::Value,
            message: message.into(),
            elicitation_id: elicitation_id.into(),
            url: url.into(),
            task: None,
        }
    }
}

impl ElicitationCompleteParams {
    /// The user is done with the page of this elicitation.
    #[must_use]
    pub fn new(elicitation_id: impl Into<String>) -> Self {
        Self {
            elicitation_id: elicitation_id.into(),
        }
    }
}

impl UrlElicitationRequiredData {
    /// These pages have to be opened.
    #[must_use]
    pub const fn new(elicitations: Vec<ElicitUrlParams>) -> Self {
        Self { elicitations }
    }
}

impl From<UrlElicitationRequiredData> for RpcError {
    fn from(data: UrlElicitationRequiredData) -> Self {
        Self::new(
            code::URL_ELICITATION_REQUIRED,
            "the user has to open a URL first",
        )
        .with_data(RawJson::encode(&data).expect("error data is always JSON"))
    }
}
