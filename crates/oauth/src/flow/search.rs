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
            refused: None,
        };
        Ok((search, step))
    }

    /// Stops at a temporary error: the next URL could be an older, weaker description of the
    /// server.
    pub(super) fn check(&self, response: &Response) -> Result<(), FlowError> {
        if response.is_transient() {
            return Err(FlowError::Unavailable {
                url: self.current.clone(),
                status: response.status,
            });
        }
        Ok(())
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

    /// Error of the search: the first invalid document, else that there is none.
    pub(super) fn failed(self, name: &str) -> FlowError {
        match self.refused {
            Some(error) => error.into(),
            None => FlowError::NoMetadata(name.to_owned()),
        }
    }
}
