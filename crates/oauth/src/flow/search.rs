use std::collections::VecDeque;

use url::Url;

use super::config::Config;
use super::error::FlowError;
use super::step::Step;
use crate::http_message::{Request, Response};
use crate::metadata::MetadataError;

/// Search for a metadata document at several URLs.
#[derive(Debug)]
pub(super) struct MetadataSearch {
    current: Url,
    left: VecDeque<Url>,
    /// First URL that was unavailable, with its HTTP status.
    unavailable: Option<(Url, u16)>,
    pub(super) refused: Option<MetadataError>,
}

impl MetadataSearch {
    /// Requests the first URL.
    pub(super) fn start(candidates: Vec<Url>, config: &Config) -> Result<(Self, Step), FlowError> {
        let mut left = VecDeque::from(candidates);
        let none = || FlowError::NoMetadata(config.server.to_string());
        let current = left.pop_front().ok_or_else(none)?;
        let step = Step::Fetch(Request::document(current.clone(), &config.protocol_version));
        let search = Self {
            current,
            left,
            unavailable: None,
            refused: None,
        };
        Ok((search, step))
    }

    /// Remembers a temporary error. The search goes on, because some servers answer a well-known URL
    /// that they do not have with 500; but what was not found then may exist.
    pub(super) fn note(&mut self, response: &Response) {
        if response.is_transient() && self.unavailable.is_none() {
            self.unavailable = Some((self.current.clone(), response.status));
        }
    }

    /// Returns true if every URL has answered that there is no document.
    pub(super) fn found_nothing(&self) -> bool {
        self.refused.is_none() && self.unavailable.is_none()
    }

    /// Requests the next URL. Text that is not JSON counts as absent, because many servers answer
    /// every path with a page.
    pub(super) fn next(&mut self, error: Option<MetadataError>, config: &Config) -> Option<Step> {
        let refused = error.filter(|error| !matches!(error, MetadataError::Malformed(_)));
        self.refused = self.refused.take().or(refused);
        self.current = self.left.pop_front()?;
        let url = self.current.clone();
        Some(Step::Fetch(Request::document(
            url,
            &config.protocol_version,
        )))
    }

    /// Error of the search: the first invalid document, else the first unavailable URL, else that there
    /// is none.
    pub(super) fn failed(self, name: &str) -> FlowError {
        match (self.refused, self.unavailable) {
            (Some(error), _) => error.into(),
            (None, Some((url, status))) => FlowError::Unavailable { url, status },
            (None, None) => FlowError::NoMetadata(name.to_owned()),
        }
    }
}
