use std::collections::VecDeque;

use url::Url;

use super::config::Config;
use super::error::FlowError;
use super::step::Step;
use crate::exchange::{Request, Response};
use crate::metadata::MetadataError;

/// Places that are left to look at, and what was wrong at the ones before.
#[derive(Debug)]
pub(super) struct Search {
    current: Url,
    left: VecDeque<Url>,
    pub(super) refused: Option<MetadataError>,
}

impl Search {
    /// Looks at the first place.
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

    /// A bad moment is no absence: to look elsewhere could find an older way in.
    pub(super) fn check(&self, response: &Response) -> Result<(), FlowError> {
        if response.is_transient() {
            return Err(FlowError::Unavailable {
                url: self.current.clone(),
                status: response.status,
            });
        }
        Ok(())
    }

    /// Looks at the next place. Text that is no document counts as absence: many servers answer all paths with a page.
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

    /// Says what was wrong, once nothing is left.
    pub(super) fn failed(self, name: &str) -> FlowError {
        match self.refused {
            Some(error) => error.into(),
            None => FlowError::NoMetadata(name.to_owned()),
        }
    }
}
