use callgate_wire::implementation::Implementation;
use callgate_wire::{Map, Meta, RawJson, meta};
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
        let written = match own {
            None => RawJson::encode_with(result, &self.tail),
            Some(own) => {
                let merged = own.with(meta::SERVER_INFO, &self.server_info);
                RawJson::encode_with(result, &tail(&merged))
            }
        };
        written.map_err(|error| {
            Error::internal("the result cannot be encoded as JSON").with_source(error)
        })
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

fn tail(meta: &Meta) -> RawJson {
    let members: Map<&Meta> = [("_meta", meta)].into_iter().collect();
    RawJson::encode(&members).expect("metadata is JSON")
}
