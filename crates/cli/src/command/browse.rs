//! Servers of the commands that show what they offer.

use std::path::Path;

use callgate_mcp::wire::RawJson;

use super::list::own_tools;
use crate::args::ConnectionArgs;
use crate::config::load::{Configuration, ConfiguredServer, load};
use crate::config::places::LoadOptions;
use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::gateway::ServerReport;
use crate::logins::http_url;
use crate::output::argument;
use crate::saved_catalog::SavedCatalog;
use crate::target::{Target, Use, User};

/// Options that all these commands have.
#[derive(Clone, Copy)]
pub(crate) struct Browse<'a> {
    /// Name of the command.
    pub(crate) command: &'static str,
    /// Options of a server on the command line, for commands that take one.
    pub(crate) connection: Option<&'a ConnectionArgs>,
    pub(crate) config: Option<&'a Path>,
    pub(crate) data_dir: Option<&'a Path>,
    pub(crate) json: bool,
}

/// The server that the words of a command begin with.
pub(super) enum Named<'a> {
    /// A URL, or the command of `--stdio`.
    Given(Option<&'a str>, &'a [String]),
    /// A word that names a configured server, or something of it.
    Configured(&'a str, &'a [String]),
    /// No word.
    Nothing,
}

/// Items of a configured server, which was connected for them.
pub(super) struct Offered {
    pub(super) report: ServerReport,
    /// Tools under the names that the server or the configuration gives them.
    pub(super) tools: Vec<RawJson>,
    pub(super) catalog: Option<SavedCatalog>,
}

impl<'a> Browse<'a> {
    /// The server that the words begin with.
    pub(super) fn named(&self, words: &'a [String]) -> Named<'a> {
        if self.connection.is_some_and(|it| it.server.stdio.is_some()) {
            return Named::Given(None, words);
        }
        match words.split_first() {
            Some((url, rest)) if http_url(url).is_some() => Named::Given(Some(url), rest),
            Some((word, rest)) => Named::Configured(word, rest),
            None => Named::Nothing,
        }
    }

    /// The same server in another command.
    pub(super) fn place(&self, url: Option<&str>) -> String {
        let server = self.connection.map(|it| &it.server);
        let stdio = server.and_then(|server| server.stdio.as_ref());
        let mut words = match (stdio, url) {
            (Some(command), _) => format!("--stdio {}", argument(command)),
            (None, Some(url)) => argument(url),
            (None, None) => String::new(),
        };
        if let Some(account) = server.and_then(|server| server.account.as_ref()) {
            words = format!("{words} --account {}", argument(account));
        }
        words
    }

    pub(super) fn configuration(&self) -> Result<Configuration, CommandError> {
        load(&LoadOptions::new(self.config, self.data_dir)?)
    }

    /// Connects to the server of the command line.
    pub(super) async fn connect(
        &self,
        url: Option<&str>,
        user: User,
    ) -> Result<Target, CommandError> {
        let connection = self.connection.ok_or_else(no_servers)?;
        Target::connect(connection, url, self.data_dir, user).await
    }

    /// Connects to a configured server.
    pub(super) async fn open(
        &self,
        server: &ConfiguredServer,
        user: User,
    ) -> Result<Target, CommandError> {
        let how = Use {
            command: self.command,
            data_dir: self.data_dir,
            timeout: self.connection.and_then(|it| it.timeout),
            direct: false,
            user,
        };
        Target::open(server, how).await
    }

    /// Connects to a configured server, and reads its lists.
    pub(super) async fn offered(&self, server: &ConfiguredServer) -> Result<Offered, CommandError> {
        let target = self.open(server, User::NotAsked).await?;
        let client = target.client.clone();
        let name = server.name.as_str();
        let report = target.report(name);
        let work = async {
            let report = report.await?;
            let tools = own_tools(&client, name, report.clone()).await?;
            let report = report.ok_or_else(|| CommandError::usage("the server is gone"))?;
            Ok((report, tools))
        };
        // The catalog is kept when the connection ends, unless a running gateway keeps it.
        let (report, tools) = target.finish(work).await?;
        Ok(Offered {
            report,
            tools,
            catalog: self.saved(server),
        })
    }

    /// Catalog of a server from its last connection.
    pub(super) fn saved(&self, server: &ConfiguredServer) -> Option<SavedCatalog> {
        let data_dir = DataDir::locate(self.data_dir).ok()?;
        SavedCatalog::load(server, &data_dir)
    }

    /// Saved catalogs of all servers that may be used, and the names of those that have none yet.
    pub(super) fn all_saved<'c>(
        &self,
        configuration: &'c Configuration,
    ) -> (Vec<(&'c ConfiguredServer, SavedCatalog)>, Vec<&'c str>) {
        let (mut saved, mut unknown) = (Vec::new(), Vec::new());
        let servers = configuration.servers.iter();
        for server in servers.filter(|server| server.trusted && server.definition.enabled) {
            match self.saved(server) {
                Some(catalog) => saved.push((server, catalog)),
                None => unknown.push(server.name.as_str()),
            }
        }
        (saved, unknown)
    }
}

/// Says that servers were left out because they were never connected.
pub(super) fn note_unknown(unknown: &[&str]) {
    if !unknown.is_empty() {
        let names: Vec<String> = unknown.iter().map(|name| format!("`{name}`")).collect();
        crate::output::remark(&format!(
            "note: nothing is known yet of {}; run `callgate list` to connect to all servers, or `callgate debug NAME` to see why one cannot be connected",
            names.join(", ")
        ));
    }
}

/// No server is configured.
pub(super) fn no_servers() -> CommandError {
    CommandError::usage("no server is configured")
        .hint("add one to the configuration, or name a server: a URL, or --stdio COMMAND")
}

/// First line of the description of an item that a server lists, else its title.
pub(super) fn first_line(item: &RawJson) -> String {
    let texts = item.pick(["description", "title"]);
    let text = texts.iter().flatten().find_map(RawJson::text);
    let text = text.unwrap_or_default();
    text.trim().lines().next().unwrap_or_default().to_owned()
}

/// The text of a member; empty if there is none.
pub(super) fn text_of(item: &RawJson, key: &str) -> String {
    let value = item.get(key);
    let text = value.as_ref().and_then(RawJson::text);
    text.unwrap_or_default().into_owned()
}
