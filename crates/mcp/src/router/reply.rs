use std::borrow::Cow;

use callgate_wire::implementation::Implementation;
use callgate_wire::tool::CallToolResult;
use callgate_wire::{DecodeError, Map, Meta, RawJson, meta};
use serde::Serialize;

use crate::error::Error;
use crate::service::Reply;

/// Writer of results, which adds the name and version of the server to their `_meta`.
#[derive(Debug)]
pub(crate) struct ResultWriter {
    server_info: RawJson,
    /// Last members of a result without metadata of its own, written once.
    tail: RawJson,
}

impl ResultWriter {
    pub(crate) fn new(server: &Implementation) -> Self {
        let server_info = RawJson::encode(server).expect("an implementation is JSON");
        let tail = tail(&Meta::new().with(meta::SERVER_INFO, &server_info));
        Self { server_info, tail }
    }

    /// Writes `result`, an object without `_meta`, and adds the metadata `own`.
    pub(crate) fn write(
        &self,
        result: &impl Serialize,
        own: Option<Meta>,
    ) -> Result<RawJson, Error> {
        encoded(RawJson::encode_with(result, &self.tail_with(own)))
    }

    /// Writes the result of a tool, which may be large.
    pub(crate) fn write_tool_result(&self, mut result: CallToolResult) -> Result<RawJson, Error> {
        let own = result.meta.take();
        encoded(result.encode_with(&self.tail_with(own)))
    }

    fn tail_with(&self, own: Option<Meta>) -> Cow<'_, RawJson> {
        match own {
            None => Cow::Borrowed(&self.tail),
            Some(own) => Cow::Owned(tail(&own.with(meta::SERVER_INFO, &self.server_info))),
        }
    }

    /// Replies with the final result of a request.
    pub(crate) fn complete(
        &self,
        result: &impl Serialize,
        own: Option<Meta>,
    ) -> Result<Reply, Error> {
        self.write(result, own).map(Reply::Complete)
    }
}

fn encoded(written: Result<RawJson, DecodeError>) -> Result<RawJson, Error> {
    written
        .map_err(|error| Error::internal("the result cannot be encoded as JSON").with_source(error))
}

fn tail(meta: &Meta) -> RawJson {
    let members: Map<&Meta> = [("_meta", meta)].into_iter().collect();
    RawJson::encode(&members).expect("metadata is JSON")
}
