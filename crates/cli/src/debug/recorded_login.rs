use std::sync::Arc;

use callgate_mcp::transport::http::client::{Authorizer, Credentials, Outgoing, Refused, Verdict};
use callgate_mcp::{BoxFuture, Error};
use callgate_oauth::token_source::TokenSource;
use http::{HeaderMap, StatusCode};

use super::secrets::Secrets;

/// A login whose tokens are added to the secrets when they are used: a server may repeat them in its messages.
#[derive(Debug)]
pub(crate) struct RecordedLogin {
    pub(crate) login: Arc<TokenSource>,
    pub(crate) secrets: Secrets,
}

impl Authorizer for RecordedLogin {
    fn credentials<'a>(
        &'a self,
        request: Outgoing<'a>,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(async move {
            let credentials = self.login.credentials(request).await?;
            let values = credentials.headers().values();
            values
                .filter_map(|value| value.to_str().ok())
                .for_each(|value| self.secrets.add(value));
            Ok(credentials)
        })
    }

    fn observe(&self, status: StatusCode, headers: &HeaderMap) {
        self.login.observe(status, headers);
    }

    fn refused<'a>(&'a self, refusal: Refused<'a>) -> BoxFuture<'a, Result<Verdict, Error>> {
        self.login.refused(refusal)
    }
}
