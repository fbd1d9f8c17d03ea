use super::errand::Errand;
use super::error::KeeperError;
use super::shared::Shared;
use crate::flow::{FlowError, Goal};
use crate::store::Login;

/// What became of the tokens at the authorization server when a login was forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revocation {
    /// It was told that they are not used any more.
    Revoked,
    /// It cannot be told.
    Unsupported,
    /// It could not be told now.
    Failed,
    /// There was no login.
    NoLogin,
}

impl Shared {
    /// Revokes the tokens as far as possible, and forgets the login in any case.
    pub(super) async fn log_out(&self) -> Result<Revocation, KeeperError> {
        let login = self.vault.login().await?;
        let revocation = match self.revoke(&login).await {
            Ok(revocation) => revocation,
            Err(error) => {
                tracing::warn!(%error, server = %self.config.name, "cannot revoke a login");
                Revocation::Failed
            }
        };
        self.vault.remove().await?;
        self.forget();
        Ok(revocation)
    }

    async fn revoke(&self, login: &Login) -> Result<Revocation, KeeperError> {
        let Some(tokens) = login.tokens.as_ref().filter(|_| self.is_for_server(login)) else {
            return Ok(Revocation::NoLogin);
        };
        let (Some(issuer), Some(client)) = (login.issuer.clone(), self.client_of(login)) else {
            return Ok(Revocation::Failed);
        };
        let token = tokens.refresh_token.as_ref();
        let errand = Errand {
            goal: Goal::Revoke {
                issuer,
                client,
                token: token.unwrap_or(&tokens.access_token).clone(),
            },
            circumstances: self.remembered_with(login),
            options: self.own_options(),
            dpop_key: None,
        };
        match errand.revoke(&self.config).await.map_err(|it| it.error) {
            Ok(()) => Ok(Revocation::Revoked),
            Err(KeeperError::Flow(FlowError::NoRevocation { .. })) => Ok(Revocation::Unsupported),
            Err(error) => Err(error),
        }
    }
}
