use super::error::TokenError;
use super::flow_run::FlowRun;
use super::shared::Shared;
use crate::flow::{FlowError, Goal};
use crate::store::Login;

/// Result of a logout at the authorization server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Revocation {
    /// The tokens are revoked.
    Revoked,
    /// The authorization server has no revocation endpoint.
    Unsupported,
    /// The request failed.
    Failed,
    /// There was no login.
    NoLogin,
}

impl Shared {
    /// Revokes the tokens as far as possible, and deletes the login in any case.
    pub(super) async fn log_out(&self) -> Result<Revocation, TokenError> {
        let login = self.storage.login().await?;
        let revocation = match self.revoke(&login).await {
            Ok(revocation) => revocation,
            Err(error) => {
                tracing::warn!(%error, server = %self.config.name, "cannot revoke a login");
                Revocation::Failed
            }
        };
        // After the revocation, so that a logout that is interrupted before can be repeated.
        self.storage.remove().await?;
        self.forget();
        Ok(revocation)
    }

    async fn revoke(&self, login: &Login) -> Result<Revocation, TokenError> {
        let Some(tokens) = login.tokens.as_ref().filter(|_| self.is_for_server(login)) else {
            return Ok(Revocation::NoLogin);
        };
        if let Some(reason) = self.changed_endpoint(login) {
            return Err(self.needs_login(reason));
        }
        let Some(client) = self.client_of(login) else {
            return Ok(Revocation::Failed);
        };
        // The revocation of a refresh token ends its access tokens too, where the server supports that (RFC
        // 7009, section 2.1).
        let token = tokens.refresh_token.as_ref();
        let flow_run = FlowRun {
            goal: Goal::Revoke {
                issuer: login.issuer.clone(),
                client,
                token: token.unwrap_or(&tokens.access_token).clone(),
            },
            known: None,
            refusal: self.known_refusal_with(login),
            options: self.client_options(),
            dpop_key: None,
            waits_for_user: self.waits_for_user.clone(),
        };
        match flow_run.revoke(&self.config).await.map_err(|it| it.error) {
            Ok(()) => Ok(Revocation::Revoked),
            Err(TokenError::Flow(FlowError::NoRevocation { .. })) => Ok(Revocation::Unsupported),
            Err(error) => Err(error),
        }
    }
}
