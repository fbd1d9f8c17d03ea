use std::sync::Arc;

use callgate_mcp::Error;
use callgate_mcp::client::Client;
use callgate_mcp::transport::http::client::{self, HttpClient};
use callgate_oauth::consent::Consent;
use callgate_oauth::fetch::{self, Fetcher};
use callgate_oauth::keeper::{Config, Keeper, NeedsLogin, Reason};
use callgate_oauth::store::{Login, Tokens};

use super::person::Person;
use super::provider::{Provider, Traits};
use crate::store_fixture::Place;

/// A provider, a person, and a place to keep logins.
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

    /// A scene in which somebody has logged in, and the counts begin after that.
    pub(super) async fn logged_in(traits: Traits) -> Self {
        let scene = Self::new(traits).await;
        let client = client(&scene.with_person());
        client.list_tools().await.expect("somebody logs in");
        scene.provider.ledger().counts = super::provider::Counts::default();
        scene
    }

    pub(super) fn config(&self) -> Config {
        let fetcher = Fetcher::new(fetch::Config::default()).unwrap();
        let server = self.provider.server().parse().unwrap();
        let mut config = Config::new(NAME, server, fetcher);
        config.store = Some(self.place.store());
        config
    }

    /// A keeper that can ask the person.
    pub(super) fn with_person(&self) -> Arc<Keeper> {
        let mut config = self.config();
        let person: Arc<dyn Consent> = self.person.clone();
        config.consent = Some(person);
        Keeper::new(config)
    }

    /// A keeper that can ask nobody.
    pub(super) fn alone(&self) -> Arc<Keeper> {
        Keeper::new(self.config())
    }

    pub(super) fn login(&self) -> Login {
        let login = self.place.store().login(NAME).expect("it reads");
        login.expect("there is a login")
    }

    pub(super) fn edit_tokens(&self, edit: impl FnOnce(&mut Tokens)) {
        let edit = |login: &mut Login| edit(login.tokens.as_mut().expect("there are tokens"));
        self.place.store().update(NAME, edit).expect("it saves");
    }

    /// Makes the login one that was made so many seconds ago, for so many seconds.
    pub(super) fn age(&self, ago: f64, life: f64) {
        let since = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
        self.edit_tokens(|tokens| {
            tokens.issued_at = Some(since - ago);
            tokens.expires_at = Some(since - ago + life);
        });
    }

    /// Puts something in the way of whoever wants to save a login.
    pub(super) fn block_saves(&self) {
        std::fs::create_dir(self.place.path(NEW)).expect("nothing is there yet");
    }

    pub(super) fn unblock_saves(&self) {
        std::fs::remove_dir(self.place.path(NEW)).expect("it is there");
    }
}

/// The file that a login is written to before it takes the place of the old one.
const NEW: &str = "mcp-auth.json.new";

/// A client whose requests have the tokens of `keeper`.
pub(super) fn client(keeper: &Arc<Keeper>) -> Client {
    let server = keeper.server().as_str().to_owned();
    let mut config = client::Config::new(NAME);
    config.authorizer = Some(keeper.clone());
    let http = HttpClient::new(&server, config).unwrap();
    Client::builder(Arc::new(http)).build()
}

/// Why a request says that a login is needed.
pub(super) fn needed(error: &Error) -> &Reason {
    let source = std::error::Error::source(error).expect("it has a source");
    let needed = source.downcast_ref::<NeedsLogin>();
    &needed.unwrap_or_else(|| panic!("{source:?}")).reason
}
