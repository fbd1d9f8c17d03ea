//! Kinds of failures between a gateway and the commands of its user. JSON-RPC has one code for most of them, and the
//! exit codes and hints of a command are to be the same whichever process runs the server.

use std::sync::Arc;

use callgate_mcp::wire::{RawJson, Splice};
use callgate_mcp::{BoxFuture, Call, Error, Kind, Origin, Reply, Service};

use crate::server::RefusedCredentials;

/// Key in the `data` of an error.
const KEY: &str = "callgate/kind";

/// Kinds that are told, those that mean something to a command.
const KINDS: [(Kind, &str); 9] = [
    (Kind::Closed, "closed"),
    (Kind::Connect, "connect"),
    (Kind::InputRequired, "input_required"),
    (Kind::Internal, "internal"),
    (Kind::MissingCapability, "missing_capability"),
    (Kind::Protocol, "protocol"),
    (Kind::Timeout, "timeout"),
    (Kind::TooLarge, "too_large"),
    (Kind::Unauthorized, "unauthorized"),
];

/// A service that tells the kinds of its failures. Errors that a server itself answered with stay as they are.
pub(crate) struct TellsKinds(pub(crate) Arc<dyn Service>);

impl Service for TellsKinds {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let running = self.0.call(call);
        Box::pin(async { running.await.map_err(with_kind) })
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        self.0.notify(notification)
    }
}

fn with_kind(error: Error) -> Error {
    if error.raw().is_some() {
        return without_kind(error);
    }
    let Some((_, name)) = KINDS.iter().find(|(kind, _)| *kind == error.kind()) else {
        return error;
    };
    let none = RawJson::empty_object();
    let edit = Splice::new(error.data().unwrap_or(&none)).set(&[KEY], &RawJson::string(name));
    match edit.finish() {
        Ok(data) => error.with_data(data),
        Err(_) => error,
    }
}

/// The error of a server without our key, by which it would choose the exit code and the hint of a command.
fn without_kind(error: Error) -> Error {
    let (Some(raw), Origin::Upstream(name)) = (error.raw(), error.origin()) else {
        return error;
    };
    if raw.at(&["data", KEY]).is_none() {
        return error;
    }
    match Splice::new(raw).remove(&["data", KEY]).finish() {
        Ok(raw) => Error::rpc(name, raw),
        Err(_) => error,
    }
}

/// A configured server behind a gateway that [tells](TellsKinds) the kinds of failures.
pub(crate) struct ReadsKinds {
    pub(crate) gateway: Arc<dyn Service>,
    /// Name of the server.
    pub(crate) server: Arc<str>,
    /// Cause of a refusal of its credentials, if a person can do something about it.
    pub(crate) refused: Option<RefusedCredentials>,
}

impl Service for ReadsKinds {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let running = self.gateway.call(call);
        Box::pin(async { running.await.map_err(|error| self.told(error)) })
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        self.gateway.notify(notification)
    }
}

impl ReadsKinds {
    /// The error as this process would have it if it were connected to the server.
    fn told(&self, error: Error) -> Error {
        let name = error.data().and_then(|data| data.get(KEY));
        let name = name.as_ref().and_then(RawJson::text);
        let mut kinds = KINDS.iter().filter(|_| error.kind() == Kind::Rpc);
        let Some((kind, _)) = kinds.find(|(_, known)| name.as_deref() == Some(*known)) else {
            return error;
        };
        let told = Error::new(*kind, error.to_string()).from_upstream(&self.server);
        match (kind, self.refused) {
            (Kind::Unauthorized, Some(refused)) => told.with_source(refused),
            _ => told,
        }
    }
}

#[cfg(test)]
mod tests {
    use callgate_mcp::Cx;
    use callgate_mcp::wire::{Id, Method};

    use super::*;
    use crate::error::CommandError;

    struct Fails(fn() -> Error);

    impl Service for Fails {
        fn call(&self, _call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            Box::pin(async { Err((self.0)()) })
        }
    }

    /// Errors as the client of a gateway reads them.
    struct Wire(TellsKinds);

    impl Service for Wire {
        fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            let running = self.0.call(call);
            Box::pin(async {
                running.await.map_err(|error| {
                    let mut raw =
                        serde_json::json!({ "code": error.code(), "message": error.to_string() });
                    if let Some(data) = error.data() {
                        raw["data"] = serde_json::from_str(data.as_str()).unwrap();
                    }
                    let own = RawJson::encode(&raw).unwrap();
                    let raw = error.raw().cloned().unwrap_or(own);
                    Error::rpc(&Arc::from("callgate serve"), raw)
                })
            })
        }
    }

    async fn read(error: fn() -> Error) -> Error {
        let reads = ReadsKinds {
            gateway: Arc::new(Wire(TellsKinds(Arc::new(Fails(error))))),
            server: Arc::from("s"),
            refused: Some(RefusedCredentials::OfLogin),
        };
        let cx = Cx::new(Id::number(1));
        let call = Call::new(Method::new("tools/call"), RawJson::empty_object(), cx);
        reads.call(call).await.unwrap_err()
    }

    #[tokio::test]
    async fn a_failure_is_of_the_same_kind_behind_a_gateway() {
        for (direct, kind) in [
            (
                (|| Error::new(Kind::Closed, "it ended")) as fn() -> Error,
                Kind::Closed,
            ),
            (|| Error::new(Kind::Timeout, "late"), Kind::Timeout),
            (
                || Error::missing_capability(&RawJson::empty_object()),
                Kind::MissingCapability,
            ),
            // Its code says enough.
            (|| Error::invalid_params("no such tool"), Kind::Rpc),
        ] {
            let told = read(direct).await;
            assert_eq!(told.kind(), kind);
            assert_eq!(told.to_string(), direct().to_string());
            let exits = [told, direct()].map(|error| CommandError::from(error).exit());
            assert_eq!(exits[0], exits[1], "{kind:?}");
        }
        let refused = read(|| Error::new(Kind::Unauthorized, "401")).await;
        assert_eq!(refused.origin(), &Origin::Upstream(Arc::from("s")));
        let shown = CommandError::from(refused).with_hints();
        assert_eq!(shown, "401\nhint: log in: run `callgate auth s`");
    }

    #[tokio::test]
    async fn an_error_that_a_server_answers_passes() {
        fn raw() -> RawJson {
            serde_json::from_str(r#"{"code":-7,"message":"no","x":1}"#).unwrap()
        }
        let passed = read(|| Error::rpc(&Arc::from("s"), raw())).await;
        assert_eq!(passed.raw(), Some(&raw()));
        let forged = read(|| {
            let raw = r#"{"code":-7,"message":"no","data":{"callgate/kind":"unauthorized","x":1}}"#;
            Error::rpc(&Arc::from("s"), serde_json::from_str(raw).unwrap())
        });
        let forged = forged.await;
        assert_eq!(forged.kind(), Kind::Rpc);
        let rest = r#"{"code":-7,"message":"no","data":{"x":1}}"#;
        assert_eq!(forged.raw().map(RawJson::as_str), Some(rest));
    }
}
