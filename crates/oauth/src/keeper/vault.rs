use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::config::Config;
use super::error::KeeperError;
use crate::Secret;
use crate::store::{self, Login, Store, StoreError, Tokens};

/// Where the login at one server is kept: in a file that processes share, or in memory.
///
/// The file is read and written on threads that may wait.
#[derive(Debug, Clone)]
pub(super) enum Vault {
    File { store: Store, name: Arc<str> },
    Memory(Arc<Mutex<Login>>),
}

/// What to do about an access token that no longer works.
#[derive(Debug)]
pub(super) enum Refresh {
    /// Somebody has replaced it already: use this login.
    Changed(Box<Login>),
    /// It is ours to replace; everybody else waits.
    Ours(Box<Ticket>),
    /// There are no tokens any more.
    Gone,
}

/// The right to replace the tokens of a login, which ends when it is dropped.
#[derive(Debug)]
pub(super) struct Ticket {
    pub(super) login: Login,
    place: Place,
}

#[derive(Debug)]
enum Place {
    File(Arc<store::Ticket>),
    /// One task at a time is at it, so nobody else has to be kept out.
    Memory(Arc<Mutex<Login>>),
}

impl Vault {
    pub(super) fn new(config: &Config) -> Self {
        match &config.store {
            Some(store) => Self::File {
                store: store.clone(),
                name: config.name.clone(),
            },
            None => Self::Memory(Arc::default()),
        }
    }

    /// The login as it is now.
    pub(super) async fn login(&self) -> Result<Login, KeeperError> {
        match self {
            Self::Memory(login) => Ok(read(login)),
            Self::File { store, name } => {
                let (store, name) = (store.clone(), name.clone());
                let login = blocking(move || store.login(&name)).await?;
                Ok(login.unwrap_or_default())
            }
        }
    }

    /// Edits the login and returns it; when this returns, it is kept.
    pub(super) async fn update(
        &self,
        edit: impl Fn(&mut Login) + Clone + Send + 'static,
    ) -> Result<Login, KeeperError> {
        match self {
            Self::Memory(login) => {
                let mut login = login.lock().unwrap_or_else(PoisonError::into_inner);
                edit(&mut login);
                Ok(login.clone())
            }
            Self::File { store, name } => {
                patiently(|| {
                    let (store, name, edit) = (store.clone(), name.clone(), edit.clone());
                    move || store.update(&name, edit)
                })
                .await
            }
        }
    }

    /// Forgets everything.
    pub(super) async fn remove(&self) -> Result<(), KeeperError> {
        match self {
            Self::Memory(login) => {
                *login.lock().unwrap_or_else(PoisonError::into_inner) = Login::default();
                Ok(())
            }
            Self::File { store, name } => {
                let (store, name) = (store.clone(), name.clone());
                blocking(move || store.remove(&name)).await.map(drop)
            }
        }
    }

    /// Asks to replace the tokens, of which `seen` no longer works; waits while another process is at it.
    pub(super) async fn begin_refresh(&self, seen: &Secret) -> Result<Refresh, KeeperError> {
        match self {
            Self::Memory(place) => {
                let login = read(place);
                Ok(match &login.tokens {
                    None => Refresh::Gone,
                    Some(tokens) if tokens.access_token != *seen => {
                        Refresh::Changed(Box::new(login))
                    }
                    Some(_) => Refresh::Ours(Box::new(Ticket {
                        login,
                        place: Place::Memory(place.clone()),
                    })),
                })
            }
            Self::File { store, name } => {
                let (store, name, seen) = (store.clone(), name.clone(), seen.clone());
                let refresh = blocking(move || store.begin_refresh(&name, &seen)).await?;
                Ok(match refresh {
                    store::Refresh::Changed(login) => Refresh::Changed(Box::new(login)),
                    store::Refresh::Gone => Refresh::Gone,
                    store::Refresh::Ours(ticket) => Refresh::Ours(Box::new(Ticket {
                        login: ticket.login().clone(),
                        place: Place::File(Arc::new(ticket)),
                    })),
                })
            }
        }
    }
}

impl Ticket {
    /// Keeps what the authorization server gave, and returns the login to use; none after a logout.
    pub(super) async fn complete(&self, tokens: &Tokens) -> Result<Option<Login>, KeeperError> {
        let given = tokens.clone();
        self.settle(
            move |ticket| ticket.complete(given.clone()),
            |login| {
                let old = login.tokens.take();
                let tokens = tokens.clone();
                login.tokens = Some(match &old {
                    Some(old) => tokens.renewing(old),
                    None => tokens,
                });
            },
        )
        .await
    }

    /// Makes sure that what the authorization server gives only once can be kept.
    pub(super) async fn rehearse(&self) -> Result<(), KeeperError> {
        match &self.place {
            Place::File(ticket) => {
                let ticket = ticket.clone();
                blocking(move || ticket.rehearse()).await
            }
            Place::Memory(_) => Ok(()),
        }
    }

    /// Forgets the tokens, and returns others if they are there by now.
    pub(super) async fn reject(&self) -> Result<Option<Login>, KeeperError> {
        self.settle(store::Ticket::reject, |login| login.tokens = None)
            .await
    }

    /// Forgets the refresh token alone, and returns the login to use; none after a logout.
    pub(super) async fn reject_refresh_token(&self) -> Result<Option<Login>, KeeperError> {
        self.settle(store::Ticket::reject_refresh_token, |login| {
            if let Some(tokens) = &mut login.tokens {
                tokens.refresh_token = None;
            }
        })
        .await
    }

    async fn settle(
        &self,
        in_file: impl Fn(&store::Ticket) -> Result<Option<Login>, StoreError> + Clone + Send + 'static,
        in_memory: impl FnOnce(&mut Login),
    ) -> Result<Option<Login>, KeeperError> {
        match &self.place {
            Place::File(ticket) => {
                patiently(|| {
                    let (ticket, in_file) = (ticket.clone(), in_file.clone());
                    move || in_file(&ticket)
                })
                .await
            }
            Place::Memory(place) => {
                let mut login = place.lock().unwrap_or_else(PoisonError::into_inner);
                // Who has logged in or out meanwhile is not overruled.
                if login.tokens == self.login.tokens {
                    in_memory(&mut login);
                }
                Ok(Some(login.clone()).filter(|login| login.tokens.is_some()))
            }
        }
    }
}

fn read(login: &Mutex<Login>) -> Login {
    let login = login.lock().unwrap_or_else(PoisonError::into_inner);
    login.clone()
}

/// How long to wait before each further attempt to save what an authorization server gives only once.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(20),
    Duration::from_millis(100),
    Duration::from_millis(500),
    Duration::from_secs(2),
];

async fn patiently<T, F>(mut attempt: impl FnMut() -> F) -> Result<T, KeeperError>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T, StoreError> + Send + 'static,
{
    for pause in PAUSES {
        match blocking(attempt()).await {
            Err(KeeperError::Store(error)) => {
                tracing::warn!(%error, "cannot save a login yet");
                sleep(pause).await;
            }
            other => return other,
        }
    }
    blocking(attempt()).await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, KeeperError> {
    match spawn_blocking(work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(KeeperError::Interrupted),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tempfile::TempDir;

    use super::{Refresh, Ticket, Vault};
    use crate::Secret;
    use crate::store::{Limits, Login, Store, Tokens};

    /// A vault of each kind, in which somebody has logged in.
    async fn vaults() -> (TempDir, [Vault; 2]) {
        let directory = tempfile::tempdir().unwrap();
        let file = Vault::File {
            store: Store::new(directory.path().join("a.json"), Limits::default()),
            name: Arc::from("server"),
        };
        let vaults = [file, Vault::Memory(Arc::default())];
        for vault in &vaults {
            vault
                .update(|login| *login = login_with("a"))
                .await
                .unwrap();
        }
        (directory, vaults)
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

    async fn ticket(vault: &Vault) -> Ticket {
        match vault.begin_refresh(&Secret::new("a")).await.unwrap() {
            Refresh::Ours(ticket) => *ticket,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn what_a_renewal_leaves_out_stays() {
        let (_directory, vaults) = vaults().await;
        for vault in vaults {
            let ticket = ticket(&vault).await;
            ticket.rehearse().await.unwrap();
            let given = Tokens::new(Secret::new("b"));
            let kept = ticket.complete(&given).await.unwrap();
            assert_eq!(kept, Some(login_with("b")));
            assert_eq!(vault.login().await.unwrap(), login_with("b"));
        }
    }

    #[tokio::test]
    async fn who_logs_in_or_out_meanwhile_is_not_overruled() {
        let (_directory, vaults) = vaults().await;
        let given = Tokens::new(Secret::new("b"));
        for vault in vaults {
            let late = ticket(&vault).await;
            vault
                .update(|login| *login = login_with("c"))
                .await
                .unwrap();
            let other = Some(login_with("c"));
            assert_eq!(late.complete(&given).await.unwrap(), other);
            assert_eq!(late.reject().await.unwrap(), other);
            assert_eq!(late.reject_refresh_token().await.unwrap(), other);

            vault.remove().await.unwrap();
            assert_eq!(late.complete(&given).await.unwrap(), None);
            assert_eq!(vault.login().await.unwrap(), Login::default());
        }
    }
}
