use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use url::Url;

use crate::peer::{Peers, Server};
use crate::person::Ran;

/// The binary under test.
const CALLGATE: &str = env!("CARGO_BIN_EXE_callgate");

/// A server that wants tokens, and the authorization server that issues them.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) peers: Peers,
    server: String,
    issuer: String,
    resource: Mutex<Server>,
    kind: Kind,
    /// None if the server is its own.
    authorization_server: Mutex<Option<Server>>,
    dir: TempDir,
}

/// Implementation of the server that wants tokens.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Fastmcp,
    Ours,
    /// With a name that is not the address it listens on.
    OursByName,
    OwnIssuer,
}

/// A user's empty home.
#[derive(Debug)]
pub(crate) struct Home<'a> {
    pub(crate) world: &'a World,
    /// Port of the redirect URI; authorization servers do not compare it.
    pub(crate) callback_port: u16,
    dir: TempDir,
}

impl World {
    /// Starts both.
    pub(crate) fn start() -> Self {
        Self::trusting(None)
    }

    /// The same, with an authorization server that trusts the certificates in a file besides its own.
    pub(crate) fn trusting(roots: Option<PathBuf>) -> Self {
        Self::with(Kind::Fastmcp, roots)
    }

    /// The same with our own server, which has the tools for a workspace with a note in it.
    pub(crate) fn with_our_server() -> Self {
        Self::with(Kind::Ours, None)
    }

    /// The same, where our server is told what clients call it.
    pub(crate) fn with_our_named_server() -> Self {
        Self::with(Kind::OursByName, None)
    }

    /// The same with a server that is its own authorization server.
    pub(crate) fn in_one() -> Self {
        let peers = Peers::find();
        let dir = tempfile::tempdir().unwrap();
        let kind = Kind::OwnIssuer;
        let mut server = kind.command((&peers, dir.path()), "", 0, &[]);
        let server = Server::start(&mut server, &dir.path().join("server.log"));
        Self {
            peers,
            server: server.url().to_owned(),
            issuer: server.url().trim_end_matches("/mcp").to_owned(),
            resource: Mutex::new(server),
            kind,
            authorization_server: Mutex::new(None),
            dir,
        }
    }

    fn with(kind: Kind, roots: Option<PathBuf>) -> Self {
        let peers = Peers::find();
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("workspace")).unwrap();
        let files = [
            ("age", "0"),
            ("keys", "0"),
            ("events", ""),
            ("workspace/note", "remember"),
        ];
        for (name, content) in files {
            fs::write(dir.path().join(name), content).unwrap();
        }
        let mut issuer = peers.node("authorization_server.mjs");
        issuer.arg(dir.path()).arg("0");
        issuer.envs(roots.map(|roots| ("NODE_EXTRA_CA_CERTS", roots)));
        let issuer = Server::start(&mut issuer, &dir.path().join("issuer.log"));
        // The name of our server has its port in it, so it has to be known before.
        let port = match kind {
            Kind::Ours | Kind::OursByName => free_port(),
            Kind::Fastmcp | Kind::OwnIssuer => 0,
        };
        let place = (&peers, dir.path());
        let mut resource = kind.command(place, issuer.url(), port, &["mcp:basic"]);
        let resource = Server::start(&mut resource, &dir.path().join("resource.log"));
        let server = match kind {
            Kind::OursByName => by_name(port),
            Kind::Ours | Kind::Fastmcp | Kind::OwnIssuer => resource.url().to_owned(),
        };
        Self {
            peers,
            server,
            issuer: issuer.url().to_owned(),
            resource: Mutex::new(resource),
            kind,
            authorization_server: Mutex::new(Some(issuer)),
            dir,
        }
    }

    /// Starts the server again, and lets it want these scopes.
    pub(crate) fn restart_server(&self, scopes: &[&str]) {
        let port = port_of(&self.server);
        let place = (&self.peers, self.dir.path());
        let mut resource = self.kind.command(place, &self.issuer, port, scopes);
        let mut running = self.resource.lock().unwrap();
        running.stop();
        *running = Server::start(&mut resource, &self.dir.path().join("resource.log"));
    }

    /// Ends the authorization server.
    pub(crate) fn stop_issuer(&self) {
        self.authorization_server.lock().unwrap().take();
    }

    /// Starts the authorization server again; it has forgotten everything but its first key.
    pub(crate) fn start_issuer(&self) {
        let mut issuer = self.peers.node("authorization_server.mjs");
        issuer
            .arg(self.dir.path())
            .arg(port_of(&self.issuer).to_string());
        let issuer = Server::start(&mut issuer, &self.dir.path().join("issuer.log"));
        *self.authorization_server.lock().unwrap() = Some(issuer);
    }

    /// From now on, the authorization server signs with another key and publishes only that.
    pub(crate) fn rotate_keys(&self) {
        fs::write(self.dir.path().join("keys"), "1").unwrap();
    }

    /// The server that wants tokens.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// From now on, tokens were issued that long ago.
    pub(crate) fn tokens_are_old(&self, age: Duration) {
        fs::write(self.dir.path().join("age"), age.as_secs().to_string()).unwrap();
    }

    /// Requests to the authorization server since the last time, with their clients and outcomes.
    pub(crate) fn events(&self) -> Vec<Event> {
        let path = self.dir.path().join("events");
        let events = fs::read_to_string(&path).unwrap();
        fs::write(&path, "").unwrap();
        events.lines().map(Event::parse).collect()
    }

    /// The same, without who and for what.
    pub(crate) fn asked(&self) -> Vec<String> {
        let events = self.events().into_iter();
        events.map(|event| event.what).collect()
    }

    pub(crate) fn home(&self) -> Home<'_> {
        Home {
            world: self,
            callback_port: free_port(),
            dir: tempfile::tempdir().unwrap(),
        }
    }
}

impl Kind {
    /// Command that starts it on `port`, with its files in `dir`.
    fn command(self, place: (&Peers, &Path), issuer: &str, port: u16, scopes: &[&str]) -> Command {
        let (peers, dir) = place;
        match self {
            Self::Fastmcp => {
                let mut fastmcp = peers.python("resource_server.py");
                fastmcp.args([issuer, &port.to_string()]).args(scopes);
                fastmcp
            }
            Self::Ours => {
                let mut ours = Command::new(CALLGATE);
                let address = format!("127.0.0.1:{port}");
                ours.args(["serve", "--listen", &address, "--issuer", issuer])
                    .args(scopes.iter().flat_map(|scope| ["--scope", scope]))
                    .arg("--workspace")
                    .arg(dir.join("workspace"));
                ours
            }
            Self::OursByName => {
                let mut ours = Self::Ours.command(place, issuer, port, scopes);
                ours.args(["--resource", &by_name(port)]);
                ours
            }
            Self::OwnIssuer => peers.python("own_issuer.py"),
        }
    }
}

/// One answer of the authorization server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The endpoint, with the grant if it has one, and the outcome.
    pub(crate) what: String,
    pub(crate) client: String,
    /// The server that the token is for.
    pub(crate) resource: Option<String>,
}

impl Event {
    fn parse(line: &str) -> Self {
        let event: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| event.get(name).and_then(Value::as_str).map(str::to_owned);
        let what = [text("route"), text("grant"), text("outcome")];
        Self {
            what: what.into_iter().flatten().collect::<Vec<_>>().join(" "),
            client: text("client").unwrap_or_default(),
            resource: text("resource"),
        }
    }
}

impl Home<'_> {
    /// The binary, for the server that wants tokens.
    pub(crate) fn callgate(&self, command: &str) -> Command {
        let mut callgate = Command::new(CALLGATE);
        callgate
            .args([command, self.world.server()])
            .env_clear()
            .env("HOME", self.path())
            .stdin(Stdio::null());
        callgate
    }

    /// Calls the one tool of the server.
    pub(crate) fn whoami(&self) -> Ran {
        Ran::of(self.callgate("call").arg("whoami"))
    }

    /// Makes the stored access tokens expired ones: the next command refreshes them, and the server
    /// refuses them.
    ///
    /// Short-lived tokens would expire in the middle of a command on a slow machine.
    pub(crate) fn expire_tokens(&self) {
        let mut logins = self.logins();
        for login in logins.as_object_mut().unwrap().values_mut() {
            login["tokens"]["expiresAt"] = Value::from(1);
            login["tokens"]["accessToken"] = Value::from("expired");
        }
        fs::write(self.store(), logins.to_string()).unwrap();
    }

    /// The access token of the login.
    pub(crate) fn access_token(&self) -> String {
        let logins = self.logins();
        let logins = logins.as_object().unwrap().values();
        let mut tokens = logins.filter_map(|login| login.pointer("/tokens/accessToken"));
        tokens.next().unwrap().as_str().unwrap().to_owned()
    }

    fn logins(&self) -> Value {
        serde_json::from_slice(&fs::read(self.store()).unwrap()).unwrap()
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The file that keeps the logins.
    pub(crate) fn store(&self) -> PathBuf {
        self.path().join(".local/share/callgate/mcp-auth.json")
    }
}

fn by_name(port: u16) -> String {
    format!("http://localhost:{port}/mcp")
}

fn port_of(url: &str) -> u16 {
    let url: Url = url.parse().unwrap();
    url.port().unwrap()
}

/// Port of this machine that is free.
///
/// It is not one that the system hands out: a listener of another test could get such a port before it is bound
/// again.
fn free_port() -> u16 {
    let random = RandomState::new().build_hasher().finish();
    let ports = (0..20_000).map(|number| 10_000 + random.wrapping_add(number) % 20_000);
    let mut ports = ports.map(|port| u16::try_from(port).unwrap());
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    ports.find(is_free).expect("a port is free")
}
