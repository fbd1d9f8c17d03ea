use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::config::Config;
use super::error::TokenError;
use crate::Secret;
use crate::registration::ClientInfo;
use crate::store::{
    FailedRefresh, Login, LoginStore, RefreshDecision, RefreshPermit, StoreError, Tokens,
};

/// Login at one server in a [`LoginStore`], which is read and written on blocking threads.
#[derive(Debug, Clone)]
pub(super) struct LoginStorage {
    store: LoginStore,
    name: Arc<str>,
}

/// [`RefreshPermit`] for asynchronous code.
#[derive(Debug)]
pub(super) struct StoragePermit(Arc<RefreshPermit>);

impl LoginStorage {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            store: config.store.clone().unwrap_or_else(LoginStore::in_memory),
            name: config.name.clone(),
        }
    }

    /// Current login.
    pub(super) async fn login(&self) -> Result<Login, TokenError> {
        let Self { store, name } = self.clone();
        let login = blocking(move || store.login(&name)).await?;
        Ok(login.unwrap_or_default())
    }

    /// Clients of all logins that are registered under this name, with their issuers.
    pub(super) async fn registrations(
        &self,
        client_name: Option<String>,
    ) -> Result<Vec<(String, ClientInfo)>, TokenError> {
        let store = self.store.clone();
        blocking(move || store.registrations(client_name.as_deref())).await
    }

    /// Edits the login and returns it. When this returns, the login is stored.
    pub(super) async fn update(
        &self,
        edit: impl Fn(&mut Login) + Clone + Send + 'static,
    ) -> Result<Login, TokenError> {
        save_with_retries(|| {
            let (Self { store, name }, edit) = (self.clone(), edit.clone());
            move || store.update(&name, edit)
        })
        .await
    }

    /// Deletes the login.
    pub(super) async fn remove(&self) -> Result<(), TokenError> {
        let Self { store, name } = self.clone();
        blocking(move || store.remove(&name)).await.map(drop)
    }

    /// Asks to replace the token `seen`. Waits while another process does so.
    pub(super) async fn begin_refresh(&self, seen: &Secret) -> Result<RefreshDecision, TokenError> {
        let (Self { store, name }, seen) = (self.clone(), seen.clone());
        blocking(move || store.begin_refresh(&name, &seen)).await
    }
}

impl StoragePermit {
    pub(super) fn new(permit: RefreshPermit) -> Self {
        Self(Arc::new(permit))
    }

    pub(super) fn login(&self) -> &Login {
        self.0.login()
    }

    /// Last attempt, if it failed without an answer.
    pub(super) fn last_failure(&self) -> Option<&FailedRefresh> {
        self.0.last_failure()
    }

    /// Records that this attempt failed without an answer, for other processes.
    pub(super) async fn record_failure(&self, reason: String, failures: u32, times: (f64, f64)) {
        let permit = self.0.clone();
        let record = move || permit.record_failure(&reason, failures, times);
        // A record that is lost costs one more attempt, and nothing else.
        let _ = spawn_blocking(record).await;
    }

    /// Stores refreshed tokens, and returns the login to use; `None` after a logout.
    pub(super) async fn complete(&self, tokens: &Tokens) -> Result<Option<Login>, TokenError> {
        let tokens = tokens.clone();
        self.save(move |permit| permit.complete(tokens.clone()))
            .await
    }

    /// Checks that refreshed tokens could be stored, before the old refresh token is spent.
    pub(super) async fn check_writable(&self) -> Result<(), TokenError> {
        let permit = self.0.clone();
        blocking(move || permit.check_writable()).await
    }

    /// Deletes the tokens, and returns others that were stored meanwhile.
    pub(super) async fn reject(&self) -> Result<Option<Login>, TokenError> {
        self.save(RefreshPermit::reject).await
    }

    /// Deletes the refresh token alone, and returns the login to use; `None` after a logout.
    pub(super) async fn reject_refresh_token(&self) -> Result<Option<Login>, TokenError> {
        self.save(RefreshPermit::reject_refresh_token).await
    }

    async fn save<F>(&self, save: F) -> Result<Option<Login>, TokenError>
    where
        F: Fn(&RefreshPermit) -> Result<Option<Login>, StoreError> + Clone + Send + 'static,
    {
        save_with_retries(|| {
            let (permit, save) = (self.0.clone(), save.clone());
            move || save(&permit)
        })
        .await
    }
}

/// Delays between attempts to store tokens. They are worth some patience, because a refresh token
/// is issued only once.
const SAVE_RETRY_DELAYS: [Duration; 4] = [
    Duration::from_millis(20),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
];

async fn save_with_retries<T, F>(mut attempt: impl FnMut() -> F) -> Result<T, TokenError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, StoreError> + Send + 'static,
{
    for pause in SAVE_RETRY_DELAYS {
        match blocking(attempt()).await {
            Err(TokenError::Store(error)) if error.is_passing() => {
                tracing::warn!(%error, "cannot store a login yet; trying again");
                sleep(pause).await;
            }
            other => return other,
        }
    }
    blocking(attempt()).await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, TokenError> {
    match spawn_blocking(work).await {
        Ok(done) => Ok(done?),
        // The work panicked, or the runtime is shutting down.
        Err(_) => Err(TokenError::Interrupted),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tempfile::TempDir;

    use super::{LoginStorage, StoragePermit};
    use crate::Secret;
    use crate::store::{Login, LoginStore, RefreshDecision, StoreLimits, Tokens};

    /// Storage of each kind, with a login.
    async fn storages() -> (TempDir, [LoginStorage; 2]) {
        let directory = tempfile::tempdir().unwrap();
        let file = LoginStore::new(directory.path().join("a.json"), StoreLimits::default());
        let storages = [file, LoginStore::in_memory()].map(|store| LoginStorage {
            store,
            name: Arc::from("server"),
        });
        for storage in &storages {
            storage
                .update(|login| *login = login_with("a"))
                .await
                .unwrap();
        }
        (directory, storages)
    }

    fn login_with(access_token: &str) -> Login {
        Login {
            tokens: Some(Tokens {
                refresh_token: Some(Secret::new("r")),
                requested_scope: Some("s".to_owned()),
                ..Tokens::new(Secret::new(access_token))
            }),
            ..Login::default()
        }
    }

    async fn permit(storage: &LoginStorage) -> StoragePermit {
        match storage.begin_refresh(&Secret::new("a")).await.unwrap() {
            RefreshDecision::Permitted(permit) => StoragePermit::new(permit),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn members_that_a_refresh_leaves_out_stay() {
        let (_directory, storages) = storages().await;
        for storage in storages {
            let permit = permit(&storage).await;
            permit.check_writable().await.unwrap();
            let given = Tokens::new(Secret::new("b"));
            let kept = permit.complete(&given).await.unwrap();
            assert_eq!(kept, Some(login_with("b")));
            assert_eq!(storage.login().await.unwrap(), login_with("b"));
        }
    }

    #[tokio::test]
    async fn a_login_or_logout_during_a_refresh_wins() {
        let (_directory, storages) = storages().await;
        let given = Tokens::new(Secret::new("b"));
        for storage in storages {
            let late = permit(&storage).await;
            storage
                .update(|login| *login = login_with("c"))
                .await
                .unwrap();
            let other = Some(login_with("c"));
            assert_eq!(late.complete(&given).await.unwrap(), other);
            assert_eq!(late.reject().await.unwrap(), other);
            assert_eq!(late.reject_refresh_token().await.unwrap(), other);

            storage.remove().await.unwrap();
            assert_eq!(late.complete(&given).await.unwrap(), None);
            assert_eq!(storage.login().await.unwrap(), Login::default());
        }
    }
}
