use std::sync::Arc;

use callgate_mcp::Error;
use callgate_mcp::client::Client;
use callgate_mcp::transport::http::client::{self, ModernHttpClient};
use callgate_oauth::consent::Consent;
use callgate_oauth::fetch::{self, Fetcher};
use callgate_oauth::store::{Login, Tokens};
use callgate_oauth::token_source::{Config, LoginReason, NeedsLogin, TokenSource};

use super::person::Person;
use super::provider::{Provider, Traits};
use crate::store_fixture::Place;

/// Provider, user and store.
pub(super) struct Scene {
    pub(super) provider: Provider,
    pub(super) person: Arc<Person>,
    pub(super) place: Place,
}

/// The name of the server in the store.
pub(super) const NAME: &str = "server";

impl Scene {
    pub(super) async fn new(traits: Traits) -> Self {
        Self {
            provider: Provider::start(traits).await,
            person: Arc::default(),
            place: Place::new(),
        }
    }

    /// Scene after a login, with all counts at zero.
    pub(super) async fn logged_in(traits: Traits) -> Self {
        let scene = Self::new(traits).await;
        let client = client(&scene.with_person());
        client.list_tools().await.expect("somebody logs in");
        scene.provider.ledger().counts = super::provider::Counts::default();
        scene
    }

    /// The same scene, with all secrets sealed.
    pub(super) fn sealed(self) -> Self {
        Self {
            place: self.place.sealed(),
            ..self
        }
    }

    pub(super) fn config(&self) -> Config {
        let fetcher = Fetcher::new(fetch::Config::default()).unwrap();
        let server = self.provider.server().parse().unwrap();
        let mut config = Config::new(NAME, server, fetcher);
        config.store = Some(self.place.store());
        config
    }

    /// Token source that can ask the user.
    pub(super) fn with_person(&self) -> Arc<TokenSource> {
        let mut config = self.config();
        let person: Arc<dyn Consent> = self.person.clone();
        config.consent = Some(person);
        TokenSource::new(config)
    }

    /// Token source that cannot ask the user.
    pub(super) fn alone(&self) -> Arc<TokenSource> {
        TokenSource::new(self.config())
    }

    pub(super) fn login(&self) -> Login {
        let login = self.place.store().login(NAME).expect("it reads");
        login.expect("there is a login")
    }

    pub(super) fn edit_tokens(&self, edit: impl FnOnce(&mut Tokens)) {
        let edit = |login: &mut Login| edit(login.tokens.as_mut().expect("there are tokens"));
        self.place.store().update(NAME, edit).expect("it saves");
    }

    /// Sets the age and the lifetime of the stored token, in seconds.
    pub(super) fn age(&self, ago: f64, life: f64) {
        let since = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
        self.edit_tokens(|tokens| {
            tokens.issued_at = Some(since - ago);
            tokens.expires_at = Some(since - ago + life);
        });
    }

    /// Lets the backoff end that processes share.
    pub(super) fn forget_failures(&self) {
        for (name, _) in self.place.files() {
            if name.contains(".refresh-") {
                std::fs::write(self.place.path(&name), "").expect("it is there");
            }
        }
    }

    /// Makes every save fail.
    pub(super) fn block_saves(&self) {
        std::fs::create_dir(self.place.path(NEW)).expect("nothing is there yet");
    }

    pub(super) fn unblock_saves(&self) {
        std::fs::remove_dir(self.place.path(NEW)).expect("it is there");
    }
}

/// File that a login is written to before it replaces the old one.
const NEW: &str = "mcp-auth.json.new";

/// Client with the tokens of `token_source`.
pub(super) fn client(token_source: &Arc<TokenSource>) -> Client {
    let server = token_source.server().as_str().to_owned();
    let mut config = client::HttpConfig::new(NAME);
    config.authorizer = Some(token_source.clone());
    let http = ModernHttpClient::new(&server, config).unwrap();
    Client::builder(Arc::new(http)).build()
}

/// Reason of a [`NeedsLogin`] error.
pub(super) fn needed(error: &Error) -> &LoginReason {
    let source = std::error::Error::source(error).expect("it has a source");
    let needed = source.downcast_ref::<NeedsLogin>();
    &needed.unwrap_or_else(|| panic!("{source:?}")).reason
}
