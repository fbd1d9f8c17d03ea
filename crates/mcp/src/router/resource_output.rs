use callgate_wire::resource::{ReadResourceResult, ResourceContents};
use callgate_wire::result::Outcome;

use super::resource::{ResourceOutcome, not_found};
use crate::error::Error;

/// What a resource can answer with.
///
/// Text and bytes get the URI that was asked for and the media type of the resource. `None` says
/// that there is no such resource.
pub trait ResourceOutput {
    /// The answer as the protocol has it.
    ///
    /// # Errors
    /// The request failed.
    fn into_outcome(self, reading: &Reading) -> Result<Outcome<ReadResourceResult>, Error>;
}

/// What is being read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The URI that was asked for.
    pub uri: String,
    /// The media type that the list says the resource has.
    pub mime_type: Option<String>,
}

impl Reading {
    fn typed(&self, contents: ResourceContents) -> ResourceOutcome {
        match &self.mime_type {
            Some(mime_type) => contents.with_mime_type(mime_type),
            None => contents,
        }
        .into_outcome(self)
    }
}

impl ResourceOutput for ReadResourceResult {
    fn into_outcome(self, _reading: &Reading) -> ResourceOutcome {
        Ok(Outcome::Complete(self))
    }
}

impl ResourceOutput for Vec<ResourceContents> {
    fn into_outcome(self, _reading: &Reading) -> ResourceOutcome {
        Ok(Outcome::Complete(ReadResourceResult {
            ttl_ms: None,
            cache_scope: None,
            ..ReadResourceResult::new(self)
        }))
    }
}

impl ResourceOutput for ResourceContents {
    fn into_outcome(self, reading: &Reading) -> ResourceOutcome {
        vec![self].into_outcome(reading)
    }
}

impl ResourceOutput for String {
    fn into_outcome(self, reading: &Reading) -> ResourceOutcome {
        reading.typed(ResourceContents::text(&reading.uri, self))
    }
}

impl ResourceOutput for &'static str {
    fn into_outcome(self, reading: &Reading) -> ResourceOutcome {
        reading.typed(ResourceContents::text(&reading.uri, self))
    }
}

impl ResourceOutput for Vec<u8> {
    fn into_outcome(self, reading: &Reading) -> ResourceOutcome {
        reading.typed(ResourceContents::blob(&reading.uri, &self))
    }
}

impl<O: ResourceOutput> ResourceOutput for Option<O> {
    fn into_outcome(self, reading: &Reading) -> ResourceOutcome {
        self.ok_or_else(|| not_found(&reading.uri))?
            .into_outcome(reading)
    }
}

impl<O: ResourceOutput> ResourceOutput for Outcome<O> {
    fn into_outcome(self, reading: &Reading) -> ResourceOutcome {
        match self {
            Self::Complete(output) => output.into_outcome(reading),
            Self::InputRequired(result) => Ok(Outcome::InputRequired(result)),
            Self::Task(result) => Ok(Outcome::Task(result)),
        }
    }
}

impl<O: ResourceOutput, E: Into<Error>> ResourceOutput for Result<O, E> {
    fn into_outcome(self, reading: &Reading) -> ResourceOutcome {
        self.map_err(Into::into)?.into_outcome(reading)
    }
}
