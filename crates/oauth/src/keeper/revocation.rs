use super::errand::guard;
use super::error::KeeperError;
use super::shared::Shared;
use crate::exchange::Request;
use crate::metadata::{AuthorizationServer, Issuer};
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
}
