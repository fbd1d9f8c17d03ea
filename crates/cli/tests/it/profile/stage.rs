use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;
use url::Url;

use super::data::Profile;
use super::internet::Internet;
use super::{issuer, resource};
use crate::fixture::{Home, LoggingIn, Ran, free_port};
use crate::provider::{self, Request, Response};

/// A provider and its MCP server, until the test ends, and a user who logs in there.
pub(super) struct Stage {
    pub(super) home: Home,
    pub(super) world: Arc<World>,
    proxy: String,
    authority: PathBuf,
}

/// State that all endpoints share.
pub(super) struct World {
    pub(super) profile: Profile,
    state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    /// Events at the authorization server, in words.
    pub(super) events: Vec<String>,
    /// All secrets.
    pub(super) secrets: Vec<String>,
    pub(super) clients: HashMap<String, Client>,
    pub(super) codes: HashMap<String, Grant>,
    pub(super) access_tokens: HashMap<String, Grant>,
    pub(super) refresh_tokens: HashMap<String, Grant>,
    /// Device codes that have not been entered yet.
    pub(super) waiting: HashMap<String, Grant>,
    issued: usize,
}

pub(super) struct Client {
    pub(super) secret: Option<String>,
    /// The only redirect URI, if the provider compares it.
    pub(super) redirect_uri: Option<String>,
}

/// Consent of the user.
#[derive(Debug, Clone)]
pub(super) struct Grant {
    pub(super) client: String,
    /// Parameters of the authorization request.
    pub(super) given: HashMap<String, String>,
}

/// Stands for a file with a secret among the options of a profile.
const FILE: &str = "FILE";

/// Stands for a port that is free.
const PORT: &str = "PORT";

impl Stage {
    pub(super) fn new(mut profile: Profile) -> Self {
        let home = Home::new();
        let port = free_port().to_string();
        let redirect = profile.authorization.redirect.as_mut();
        let registered = redirect.map(|it| &mut it.registered);
        for text in profile.options.iter_mut().chain(registered) {
            *text = text.replace(PORT, &port);
        }
        let mut state = State::default();
        let (id, client) = Client::by_hand(profile.secret.as_deref());
        state.secrets.extend(profile.secret.clone());
        state.clients.insert(id, client);
        let registration = profile.registration.as_ref();
        let token = registration.and_then(|it| it.initial_access_token.clone());
        fs::write(home.path().join(FILE), token.as_deref().unwrap_or_default()).unwrap();
        state.secrets.extend(token);
        let hosts = profile.hosts();
        let world = Arc::new(World {
            profile,
            state: Mutex::new(state),
        });
        let answering = world.clone();
        let internet = Internet::new(hosts, move |origin, request| {
            answering.answer(origin, request)
        });
        let authority = home.path().join("authority.pem");
        fs::write(&authority, internet.authority).unwrap();
        Self {
            home,
            world,
            proxy: internet.proxy,
            authority,
        }
    }

    /// A command that meets the real names of all hosts.
    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        command
            .current_dir(self.home.path())
            .env("HTTPS_PROXY", &self.proxy)
            .env("CALLGATE_CA_FILE", &self.authority);
        command
    }

    /// The command that logs in, with the options of the profile.
    pub(super) fn auth(&self) -> Command {
        let profile = &self.world.profile;
        let mut command = self.command(&["auth", &profile.server]);
        command.args(&profile.options);
        if !profile.options.iter().any(|it| it == "--redirect-uri") {
            command.args(["--callback-port", "0"]);
        }
        if let Some(secret) = &profile.secret {
            command.env("CALLGATE_CLIENT_SECRET", secret);
        }
        command
    }

    /// Logs in with a browser that does what it is told.
    pub(super) fn log_in(&self, auth: &mut Command) -> Ran {
        let login = LoggingIn::start(auth);
        let page = Url::parse(&login.page).unwrap();
        let endpoint = &self.world.profile.authorization.url;
        assert_eq!(page[..url::Position::AfterPath], **endpoint);
        provider::get(&issuer::authorize(&self.world, &page));
        login.end()
    }

    pub(super) fn list(&self) -> Ran {
        let mut list = self.command(&["list", &self.world.profile.server]);
        Ran::from(list.output().unwrap())
    }
}

impl World {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Ends all access tokens.
    pub(super) fn end_access_tokens(&self) {
        self.state().access_tokens.clear();
    }

    /// Events at the authorization server since the last call.
    pub(super) fn events(&self) -> Vec<String> {
        std::mem::take(&mut self.state().events)
    }

    fn answer(&self, origin: &str, request: &Request) -> Response {
        let profile = &self.profile;
        let url = format!("{origin}{}", request.path);
        let registration = profile.registration.as_ref();
        if let Some(document) = profile.documents.get(&url) {
            return match document.as_u64() {
                Some(status) => Response::json(status.try_into().unwrap(), &Value::Null),
                None => Response::json(200, document),
            };
        }
        if url == profile.server {
            resource::call(self, request)
        } else if url == profile.token.url {
            issuer::token(self, request)
        } else if profile.device.as_ref().is_some_and(|it| it.url == url) {
            issuer::device(self, request)
        } else if registration.is_some_and(|it| it.url == url) {
            issuer::register(self, request)
        } else {
            Response::json(404, &Value::Null)
        }
    }
}

impl State {
    /// A new secret of this kind.
    pub(super) fn issue(&mut self, kind: &str) -> String {
        self.issued += 1;
        let secret = format!("canary-{kind}-{}", self.issued);
        self.secrets.push(secret.clone());
        secret
    }
}
