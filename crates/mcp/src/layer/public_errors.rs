use std::error::Error as StdError;
use std::sync::Arc;

use crate::error::{Error, Kind, Origin, Retry};
use crate::service::{BoxFuture, Call, Reply, Service};

/// Public errors: replaces the text of a failure between this process and an upstream.
///
/// Such a text may hold the end of the upstream's standard error, paths, addresses and names of
/// logins, which belong in the log of this machine and not in answers to remote callers. Errors that
/// the upstream itself answered with pass as they are.
#[derive(Debug, Clone)]
pub struct PublicErrors<S> {
    service: S,
    /// True if callers may know the servers by name.
    names_servers: bool,
}

impl<S: Service> PublicErrors<S> {
    /// Replaces the texts of the failures of `service`.
    pub fn new(service: S) -> Self {
        Self {
            service,
            names_servers: false,
        }
    }

    /// Names the server that failed. Texts about time limits, credentials and sizes stay as they are:
    /// the caller is the user of this process, and they have nothing of the server's own output.
    #[must_use]
    pub fn naming_servers(self) -> Self {
        Self {
            names_servers: true,
            ..self
        }
    }

    /// Text for the caller; `None` if that of the error may be shown.
    fn text(&self, error: &Error) -> Option<String> {
        match error.origin() {
            Origin::Upstream(name) if self.names_servers && !name.is_empty() => {
                named_text(error, name)
            }
            _ => public_text(error).map(str::to_owned),
        }
    }
}

impl<S: Service> Service for PublicErrors<S> {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        let method = call.method.clone();
        let running = self.service.call(call);
        Box::pin(async move {
            running.await.map_err(|error| {
                let Some(text) = self.text(&error) else {
                    return error;
                };
                tracing::warn!(%method, error = %causes(&error), "{text}");
                public(&error, &text, self.names_servers)
            })
        })
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        self.service.notify(notification)
    }
}

/// Text for the caller; `None` if that of the error may be shown.
fn public_text(error: &Error) -> Option<&'static str> {
    if error.raw().is_some() {
        return None;
    }
    Some(match error.kind() {
        Kind::Connect => "the server behind this endpoint cannot be reached",
        Kind::Unauthorized => {
            "the server behind this endpoint does not accept its credentials; its operator has to log in"
        }
        Kind::Closed => "the server behind this endpoint closed the connection",
        Kind::Timeout => "the server behind this endpoint did not answer in time",
        Kind::TooLarge => "the server behind this endpoint sent a message that is too large",
        Kind::Protocol => "the server behind this endpoint broke the protocol",
        Kind::Internal => "this endpoint failed; its log has the cause",
        _ => return None,
    })
}

/// The same for the user of this process.
fn named_text(error: &Error, server: &str) -> Option<String> {
    if error.raw().is_some() {
        return None;
    }
    let did = match error.kind() {
        Kind::Connect => "cannot be reached",
        Kind::Closed => "ended or closed the connection",
        Kind::Protocol => "broke the protocol",
        Kind::Internal => "cannot be used",
        _ => return None,
    };
    Some(format!(
        "server `{server}` {did}; the log of this endpoint has the cause"
    ))
}

fn public(error: &Error, text: &str, names_servers: bool) -> Error {
    let mut public = Error::new(error.kind(), text);
    if let Origin::Upstream(name) = error.origin() {
        let name = match names_servers {
            true => name.clone(),
            false => Arc::from("upstream"),
        };
        public = public.from_upstream(&name);
    }
    if let Some(retry_after) = error.retry_after() {
        public = public.with_retry_after(retry_after);
    }
    match error.retry() {
        Retry::Safe => public.retry_safe(),
        Retry::Never => public,
    }
}

/// The error and its causes in one text.
fn causes(error: &Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cx;
    use callgate_wire::{Id, Method, RawJson};
    use std::time::Duration;

    struct Fails(fn() -> Error);

    impl Service for Fails {
        fn call(&self, _call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            Box::pin(async { Err((self.0)()) })
        }
    }

    async fn check(error: fn() -> Error, expect: &str) -> Error {
        let call = Call::new(
            Method::new("tools/call"),
            RawJson::empty_object(),
            Cx::new(Id::number(1)),
        );
        let public = PublicErrors::new(Fails(error)).call(call).await;
        let public = public.unwrap_err();
        assert_eq!(
            (public.to_string().as_str(), public.code()),
            (expect, error().code())
        );
        public
    }

    #[tokio::test]
    async fn details_of_this_machine_stay_here() {
        let closed = || {
            let text = "server `/opt/secret/server` exited; end of its standard error:\nkey=1";
            let error = Error::new(Kind::Closed, text).retry_safe();
            error.with_retry_after(Duration::from_secs(2))
        };
        let public = check(
            closed,
            "the server behind this endpoint closed the connection",
        )
        .await;
        assert_eq!(
            (public.kind(), public.retry(), public.retry_after()),
            (Kind::Closed, Retry::Safe, Some(Duration::from_secs(2)))
        );
        assert!(public.source().is_none());
        check(
            || Error::internal("/opt/secret").with_data(RawJson::string("/opt/secret")),
            "this endpoint failed; its log has the cause",
        )
        .await;
    }

    #[tokio::test]
    async fn the_user_of_this_process_reads_the_name_of_the_server() {
        let told = async |error: fn() -> Error| {
            let call = Call::new(
                Method::new("tools/call"),
                RawJson::empty_object(),
                Cx::new(Id::number(1)),
            );
            let public = PublicErrors::new(Fails(error)).naming_servers();
            public.call(call).await.unwrap_err().to_string()
        };
        assert_eq!(
            told(|| Error::new(Kind::Closed, "exited:\nkey=1").from_upstream(&Arc::from("up")))
                .await,
            "server `up` ended or closed the connection; the log of this endpoint has the cause"
        );
        assert_eq!(
            told(|| Error::new(Kind::Unauthorized, "log in").from_upstream(&Arc::from("up"))).await,
            "log in"
        );
        assert_eq!(
            told(|| Error::internal("/opt/secret")).await,
            "this endpoint failed; its log has the cause"
        );
    }

    #[tokio::test]
    async fn errors_of_the_upstream_and_of_the_caller_pass() {
        fn raw() -> RawJson {
            serde_json::from_str(r#"{"code":-7,"message":"no","x":1}"#).unwrap()
        }
        let passed = check(|| Error::rpc(&Arc::from("up"), raw()), "no").await;
        assert_eq!(passed.raw(), Some(&raw()));
        check(|| Error::invalid_params("no such tool"), "no such tool").await;
    }
}
