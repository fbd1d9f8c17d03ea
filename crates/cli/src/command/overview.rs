use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use callgate_mcp::wire::method;
use callgate_oauth::token_source::{LoginState, LoginStatus};

use crate::age::span;
use crate::config::load::{Configuration, ConfiguredServer, load};
use crate::config::places::LoadOptions;
use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::gateway::Status;
use crate::help;
use crate::instance::{InstanceRecord, Registry};
use crate::logins::Logins;
use crate::output;
use crate::render::line::{Color, Line, Style, width};
use crate::render::screen::Screen;
use crate::saved_catalog::SavedCatalog;
use crate::visible::cut;

/// Maximum servers and logins that are shown.
const ROWS: usize = 20;
/// Logins that end within this time are shown.
const SOON: u64 = 24 * 60 * 60;
/// Maximum characters of the reason why a server cannot be used.
const REASON: usize = 200;
/// Maximum characters of a name.
const NAME: usize = 60;

/// Shows the state at a glance: servers, `serve`, logins that end, and the next commands. Nothing is connected.
pub(crate) fn run(data_dir: Option<&Path>, screen: &Screen) -> Result<(), CommandError> {
    let data_dir = DataDir::locate(data_dir).ok();
    let options = LoadOptions::new(None, data_dir.as_ref().map(DataDir::path));
    let state = Overview {
        configuration: options.and_then(|options| load(&options)),
        gateways: data_dir
            .as_ref()
            .map(|data_dir| Registry::new(data_dir).gateways())
            .unwrap_or_default(),
        data_dir,
    };
    let version = env!("CARGO_PKG_VERSION");
    let mut lines = vec![Line::of("callgate ", Style::BOLD).add(version, Style::DIM)];
    lines.extend(state.servers());
    lines.push(state.gateway());
    lines.extend(state.logins());
    lines.push(Line::new());
    for (command, about) in state.next() {
        let command = Line::new().pad(2).add(&command, Style::color(Color::Green));
        lines.push(command.pad(34).add(about, Style::DIM));
    }
    Ok(output::lines(&lines, screen)?)
}

struct Overview {
    configuration: Result<Configuration, CommandError>,
    data_dir: Option<DataDir>,
    /// The processes that run servers for others, a `serve` over HTTP first.
    gateways: Vec<InstanceRecord>,
}

/// State of a server at a glance.
#[derive(Debug, PartialEq, Eq)]
enum ServerLook {
    /// Counts of what it offers.
    Known(String),
    Unused(&'static str),
    NeedsLogin,
    /// The user has to decide something.
    Bad(String),
    Failed(String),
}

impl ServerLook {
    fn describe(&self, line: Line) -> Line {
        let yellow = Style::color(Color::Yellow);
        match self {
            Self::Known(text) => line.add(text, Style::PLAIN),
            Self::Unused(text) => line.add(text, Style::DIM),
            Self::NeedsLogin => line.add("needs a login", yellow),
            Self::Bad(text) => line.add(text, yellow),
            Self::Failed(text) => line.add(text, Style::color(Color::Red)),
        }
    }
}

impl Overview {
    fn servers(&self) -> Vec<Line> {
        let configuration = match &self.configuration {
            Ok(configuration) => configuration,
            Err(error) => {
                let heading = heading("servers");
                let text = error.message_line();
                return vec![heading.add(&text, Style::color(Color::Red))];
            }
        };
        if configuration.servers.is_empty() && configuration.faulty.is_empty() {
            return vec![heading("servers").add("none is configured", Style::PLAIN)];
        }
        let shown = configuration.servers.iter().take(ROWS);
        let names = shown.map(|server| server.name.as_str());
        let names = names.chain(configuration.faulty.iter().map(|faulty| &*faulty.name));
        let widest = names.map(|name| width(&cut(name, NAME)) + 2).max();
        let state = COLUMN + widest.unwrap_or(0).clamp(NAME_COLUMN, MAX_NAME_COLUMN);
        let mut lines = Vec::new();
        for (at, server) in configuration.servers.iter().take(ROWS).enumerate() {
            let begin = match at {
                0 => heading("servers"),
                _ => Line::new().pad(COLUMN),
            };
            let name = Line::of(&cut(server.name.as_str(), NAME), Style::BOLD);
            let line = begin.join(&name).add("  ", Style::PLAIN).pad(state);
            lines.push(self.state_of(server).describe(line));
        }
        for faulty in &configuration.faulty {
            let begin = match lines.is_empty() {
                true => heading("servers"),
                false => Line::new().pad(COLUMN),
            };
            let name = Line::of(&cut(&faulty.name, NAME), Style::BOLD);
            let line = begin.join(&name).add("  ", Style::PLAIN).pad(state);
            let text = "has a mistake in its definition: callgate config validate";
            lines.push(line.add(text, Style::color(Color::Red)));
        }
        let more = configuration.servers.len().saturating_sub(ROWS);
        if more > 0 {
            let note = format!("and {more} more: callgate list");
            lines.push(Line::new().pad(COLUMN).add(&note, Style::DIM));
        }
        lines
    }

    /// State of a server, from a process that runs it if there is one.
    fn state_of(&self, server: &ConfiguredServer) -> ServerLook {
        let definition = server.process_hash();
        let running = self
            .gateways
            .iter()
            .find_map(|gateway| gateway.server(server.name.as_str(), definition.as_str()));
        match running.and_then(|running| running.status) {
            _ if !server.trusted => return ServerLook::Bad("not trusted".to_owned()),
            _ if !server.definition.enabled => return ServerLook::Unused("disabled"),
            Some(Status::NeedsAuth) => return ServerLook::NeedsLogin,
            Some(Status::NeedsClientRegistration) => {
                return ServerLook::Bad("needs a client that is registered by hand".to_owned());
            }
            Some(Status::Failed) => return ServerLook::Failed("failed: callgate list".to_owned()),
            _ => {}
        }
        if let Err(error) = server.resolve() {
            return ServerLook::Failed(cut(&error.message_line(), REASON));
        }
        let data_dir = self.data_dir.as_ref();
        let saved = data_dir.and_then(|data_dir| SavedCatalog::load(server, data_dir));
        match saved {
            None => ServerLook::Unused("not connected yet"),
            Some(saved) => ServerLook::Known(counted(&[
                (saved.tools(server).len(), "tool"),
                (saved.items(method::PROMPTS_LIST).len(), "prompt"),
                (saved.items(method::RESOURCES_LIST).len(), "resource"),
            ])),
        }
    }

    fn gateway(&self) -> Line {
        let line = heading("serve");
        match self.gateways.iter().find(|gateway| gateway.is_serve()) {
            Some(running) => {
                let url = running
                    .url
                    .as_deref()
                    .unwrap_or("standard input and output");
                let since = span(unix_time().saturating_sub(running.since));
                line.add("running", Style::color(Color::Green))
                    .add(&format!(" at {url} for {since}"), Style::PLAIN)
            }
            None => line.add("not running", Style::DIM),
        }
    }

    /// Logins that end soon and are not renewed without the user.
    fn logins(&self) -> Vec<Line> {
        let Some(data_dir) = &self.data_dir else {
            return Vec::new();
        };
        let Ok(logins) = Logins::open(Some(data_dir.path())) else {
            return Vec::new();
        };
        let store = logins.store();
        let names = store.names().unwrap_or_default();
        let ending = names.iter().filter_map(|name| {
            let login = store.login_without_secrets(name).ok()??;
            let note = ending(&LoginStatus::of(&login), unix_time())?;
            let line = heading("login").add(&cut(name, NAME), Style::BOLD);
            Some(line.add(&format!("  {note}"), Style::color(Color::Yellow)))
        });
        ending.take(ROWS).collect()
    }

    /// The first server that needs a login.
    fn needs_login(&self) -> Option<&str> {
        let configuration = self.configuration.as_ref().ok()?;
        let mut servers = configuration.servers.iter();
        let needs = |server: &&ConfiguredServer| self.state_of(server) == ServerLook::NeedsLogin;
        Some(servers.find(needs)?.name.as_str())
    }

    /// The three commands that are likely next.
    fn next(&self) -> Vec<(String, &'static str)> {
        let first = self
            .configuration
            .as_ref()
            .ok()
            .and_then(|it| it.servers.first());
        let wanted: Vec<(&str, String, &'static str)> = match first {
            None => vec![
                (
                    "setup",
                    "callgate setup".to_owned(),
                    "find servers on this machine",
                ),
                (
                    "add",
                    "callgate add NAME URL".to_owned(),
                    "configure a server",
                ),
                (
                    "inspect",
                    "callgate inspect URL".to_owned(),
                    "look at a server without configuring it",
                ),
                (
                    "serve",
                    "callgate serve".to_owned(),
                    "serve the tools of this directory to agents",
                ),
                ("help", "callgate --help".to_owned(), "all commands"),
            ],
            Some(server) => vec![
                (
                    "list",
                    "callgate list".to_owned(),
                    "connect to all servers and show their state",
                ),
                (
                    "search",
                    "callgate search WORDS".to_owned(),
                    "find a tool by what it does",
                ),
                (
                    "inspect",
                    format!(
                        "callgate inspect {}",
                        output::argument(server.name.as_str())
                    ),
                    "look at a server and its tools",
                ),
            ],
        };
        let mut wanted = wanted;
        if let Some(name) = self.needs_login() {
            let line = format!("callgate auth {}", output::argument(name));
            wanted.insert(0, ("auth", line, "log in to the server"));
        }
        let mut command = help::command();
        command.build();
        let exists = |name: &str| command.find_subcommand(name).is_some();
        let known = wanted.into_iter().filter(|(name, ..)| exists(name));
        known
            .map(|(_, line, about)| (line, about))
            .take(3)
            .collect()
    }
}

/// Columns of the headings.
const COLUMN: usize = 10;
/// Minimum and maximum columns of the names of servers. The state beside a longer name is moved.
const NAME_COLUMN: usize = 21;
const MAX_NAME_COLUMN: usize = 40;

fn heading(text: &str) -> Line {
    Line::of(text, Style::DIM).pad(COLUMN)
}

/// Note about a login that the user has to renew; `None` if there is time.
fn ending(status: &LoginStatus, now: u64) -> Option<String> {
    if status.is_refreshable {
        return None;
    }
    match status.state {
        LoginState::Expired => Some("has ended: callgate auth".to_owned()),
        LoginState::LoggedIn => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a time that does not fit is far away, and one before 1970 is over"
            )]
            let left = (status.expires_at? as u64).saturating_sub(now);
            (left < SOON).then(|| format!("ends in {}", span(left)))
        }
        _ => None,
    }
}

fn counted(counts: &[(usize, &str)]) -> String {
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = counts
        .map(|(count, name)| match count {
            1 => format!("1 {name}"),
            _ => format!("{count} {name}s"),
        })
        .collect();
    match words.is_empty() {
        true => "nothing".to_owned(),
        false => words.join(", "),
    }
}

fn unix_time() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_secs())
}
