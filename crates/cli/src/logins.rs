use std::path::Path;

use callgate_oauth::options::ProviderOptions;
use callgate_oauth::store::{ChosenClient, Login, LoginStore, StoreLimits};
use callgate_oauth::token_source;
use url::Url;

use crate::client_choice;
use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::keychain;
use crate::network::Network;
use crate::output::argument;

/// The logins of this user.
#[derive(Debug, Clone)]
pub(crate) struct Logins {
    store: LoginStore,
}

/// The login file in the data directory.
pub(crate) const FILE: &str = "mcp-auth.json";

/// A server, and the name that its login has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) name: String,
    pub(crate) server: Url,
    /// The name that the user gave the account, if there are several at the server.
    pub(crate) label: Option<String>,
}

impl Account {
    /// The arguments of a command that mean this account.
    pub(crate) fn arguments(&self) -> String {
        arguments(self.server.as_str(), self.label.as_deref())
    }
}

/// The arguments of a command that mean an account of a server.
pub(crate) fn arguments(server: &str, account: Option<&str>) -> String {
    let server = argument(server);
    match account {
        Some(account) => format!("{server} --account {}", argument(account)),
        None => server,
    }
}

/// The server and the account in the name of a login, which is a URL unless it was imported. A fragment names
/// the account: no server sees it.
pub(crate) fn split_name(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('#') {
        Some((server, account)) if is_account_name(account) => (server, Some(account)),
        _ => (name, None),
    }
}

/// True if an account may have this name.
pub(crate) fn is_account_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._@+-".contains(c);
    (1..=64).contains(&text.len()) && text.chars().all(is_plain)
}

impl Logins {
    /// The logins in the data directory; nothing is read yet.
    pub(crate) fn open(data_dir: Option<&Path>) -> Result<Self, CommandError> {
        let path = DataDir::locate(data_dir)?.file(FILE);
        let store = LoginStore::new(path, StoreLimits::default());
        let store = match keychain::of_system() {
            Some(keychain) => store.with_keychain(keychain),
            None => store,
        };
        Ok(Self { store })
    }

    /// The logins in the data directory, for a command of the user: if their secrets are sealed and the keychain is
    /// locked, it asks for its password. Commands that agents run never ask.
    pub(crate) fn unlock(data_dir: Option<&Path>) -> Result<Self, CommandError> {
        let logins = Self::open(data_dir)?;
        logins.store.unlock()?;
        Ok(logins)
    }

    pub(crate) fn store(&self) -> &LoginStore {
        &self.store
    }

    /// All logins by name.
    pub(crate) fn all(&self) -> Result<Vec<(String, Login)>, CommandError> {
        let mut logins = Vec::new();
        for name in self.store.names()? {
            if let Some(login) = self.store.login(&name)? {
                logins.push((name, login));
            }
        }
        Ok(logins)
    }

    /// The account that is meant by a URL, or by the name of a login, and by the name of an account.
    pub(crate) fn account(&self, text: &str, label: Option<&str>) -> Result<Account, CommandError> {
        let login = self.store.login_without_secrets(text)?;
        // The name of a login looks like a URL, but that of a named account is none of a server.
        let is_named = login.as_ref().is_some_and(|it| it.account.is_some());
        if let Some(url) = http_url(text).filter(|_| !is_named) {
            return self.account_at(&url, label);
        }
        let own = login.as_ref().and_then(|login| login.account.clone());
        let server = login.and_then(|login| http_url(&login.server_url?));
        match server {
            Some(server) if label.is_some() => self.account_at(&server, label),
            Some(server) => Ok(Account {
                name: text.to_owned(),
                server,
                label: own,
            }),
            None => Err(CommandError::usage(format!(
                "`{text}` is neither a configured server, nor an http(s) URL, nor the name of a login"
            ))
            .hint("run `callgate list` to see the configured servers, and `callgate auth list` to see the logins")),
        }
    }

    /// The account at a URL. Its login is called as the URL, with the name of the account as the fragment, unless
    /// it was imported under another name.
    pub(crate) fn account_at(
        &self,
        server: &Url,
        label: Option<&str>,
    ) -> Result<Account, CommandError> {
        let usual = match label {
            Some(label) => format!("{server}#{label}"),
            None => server.to_string(),
        };
        let is_for_server =
            |login: &Login| login.server_url.as_deref().and_then(http_url).as_ref() == Some(server);
        let mut found = Vec::new();
        for name in self.store.names()? {
            let login = self.store.login_without_secrets(&name)?.unwrap_or_default();
            if is_for_server(&login) && login.account.as_deref() == label {
                found.push(name);
            }
        }
        let found = found.into_iter().max_by_key(|name| *name == usual);
        Ok(Account {
            name: found.unwrap_or(usual),
            server: server.clone(),
            label: label.map(str::to_owned),
        })
    }

    /// True if there are tokens for an account.
    pub(crate) fn has_tokens(&self, account: &Account) -> Result<bool, CommandError> {
        let login = self.store.login(&account.name)?;
        Ok(login.is_some_and(|login| login.tokens.is_some()))
    }

    /// Options that were chosen for an account at an earlier login.
    pub(crate) fn options(&self, account: &Account) -> Result<ProviderOptions, CommandError> {
        let login = self.store.login_without_secrets(&account.name)?;
        Ok(login.unwrap_or_default().options)
    }

    /// Options of the login at a URL. Without a readable store there are none: commands that need the
    /// login report its errors.
    pub(crate) fn options_at(
        data_dir: Option<&Path>,
        server: &Url,
        account: Option<&str>,
    ) -> ProviderOptions {
        let found = Self::open(data_dir)
            .and_then(|logins| logins.options(&logins.account_at(server, account)?));
        found.unwrap_or_default()
    }

    /// Token configuration of an account, for the client that was chosen now or at an earlier
    /// login, without a way to ask the user for consent.
    pub(crate) fn token_source_config(
        &self,
        account: &Account,
        chosen: Option<&ChosenClient>,
        options: &ProviderOptions,
    ) -> Result<token_source::Config, CommandError> {
        let network = Network::new(options.ca_file.as_deref())?;
        let (name, fetcher) = (account.name.as_str(), network.fetcher()?);
        let mut config = token_source::Config::new(name, account.server.clone(), fetcher);
        network.apply_to_login(&mut config);
        config.store = Some(self.store.clone());
        config.account.clone_from(&account.label);
        let login = self.store.login(name)?.unwrap_or_default();
        config.options.clone_from(options);
        match (chosen, &login.chosen) {
            (Some(chosen), _) => client_choice::apply(chosen, None, &mut config)?,
            (None, Some(chosen)) => {
                client_choice::apply(chosen, login.issuer.as_deref(), &mut config)?;
            }
            (None, None) => {}
        }
        Ok(config)
    }

    /// Uses a client for the logins of an account from now on.
    pub(crate) fn choose_client(
        &self,
        account: &Account,
        chosen: &ChosenClient,
    ) -> Result<(), CommandError> {
        let choose = |login: &mut Login| {
            login.server_url = Some(account.server.to_string());
            login.account.clone_from(&account.label);
            login.chosen = Some(chosen.clone());
        };
        self.store.update(&account.name, choose)?;
        Ok(())
    }

    /// The client of a configuration, which has no secret, with the secret that is stored for it; and the issuer that
    /// this secret is for, once there was a login.
    pub(crate) fn with_stored_secret(
        &self,
        account: &Account,
        configured: &ChosenClient,
    ) -> Result<Option<(ChosenClient, Option<String>)>, CommandError> {
        if configured.client_secret.is_some() {
            return Ok(None);
        }
        let Some(login) = self.store.login(&account.name)? else {
            return Ok(None);
        };
        let is_same = |stored: &ChosenClient| {
            stored.client_id == configured.client_id && stored.client_secret.is_some()
        };
        let stored = login.chosen.filter(is_same);
        Ok(stored.map(|stored| (stored, login.issuer)))
    }

    /// The port that was chosen for an account at an earlier login.
    pub(crate) fn callback_port(&self, account: &Account) -> Result<Option<u16>, CommandError> {
        let login = self.store.login_without_secrets(&account.name)?;
        Ok(login.and_then(|login| login.callback_port))
    }

    /// Uses the client, the port and the options that were chosen for an account from now on.
    pub(crate) fn remember(
        &self,
        account: &Account,
        chosen: Option<&ChosenClient>,
        callback_port: Option<u16>,
        options: &ProviderOptions,
    ) -> Result<Login, CommandError> {
        let remember = |login: &mut Login| {
            if let Some(chosen) = chosen {
                login.chosen = Some(chosen.clone());
            }
            login.callback_port = callback_port;
            login.options.clone_from(options);
        };
        Ok(self.store.update(&account.name, remember)?)
    }
}

/// The text as a URL that a server can have.
pub(crate) fn http_url(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::{is_account_name, split_name};

    #[test]
    fn the_name_of_a_login_names_the_account() {
        for (name, expected) in [
            ("https://a/mcp", ("https://a/mcp", None)),
            ("https://a/mcp#me@b.c", ("https://a/mcp", Some("me@b.c"))),
            ("https://a/mcp#a b", ("https://a/mcp#a b", None)),
            ("example", ("example", None)),
        ] {
            assert_eq!(split_name(name), expected);
        }
        let (longest, longer) = ("x".repeat(64), "x".repeat(65));
        assert!(is_account_name(&longest) && !is_account_name(&longer));
        assert!(!is_account_name(""));
    }
}
