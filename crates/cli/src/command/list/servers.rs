use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use callgate_mcp::RawJson;
use callgate_mcp::client::{CallOptions, Client};
use tokio::time::{Instant, timeout, timeout_at};

use super::known;
use crate::args::List;
use crate::config::load::{Configuration, ConfiguredServer, load};
use crate::config::places::LoadOptions;
use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::gateway::{
    CatalogFiles, Gateway, GatewaySettings, Member, SERVERS_METHOD, ServerReport, ServersParams,
    ServersResult, Status, gateway_spec, record_at,
};
use crate::instance::{InstanceRecord, Registry};
use crate::output::{self, StatusLine};
use crate::render::columns::plain;
use crate::render::line::{Color, Line, Style};
use crate::server::{self, Server};
use crate::{age, stop};

/// Longest time that servers have to connect.
const CONNECT: Duration = Duration::from_secs(60);

/// Time that a running gateway has to answer.
const GATEWAY: Duration = Duration::from_secs(5);

/// The configured servers, and what is known about them without connecting.
pub(crate) struct Listing {
    configuration: Configuration,
    data_dir: Option<DataDir>,
    gateways: Vec<InstanceRecord>,
    known: HashMap<String, ServerReport>,
}

/// Looks for what is known without connecting, and without a runtime.
pub(crate) fn known_servers(
    args: &List,
    config: Option<&Path>,
    data_dir: Option<&Path>,
) -> Result<Listing, CommandError> {
    let configuration = load(&LoadOptions::new(config, data_dir)?)?;
    let data_dir = DataDir::locate(data_dir).ok();
    let gateways = data_dir
        .as_ref()
        .filter(|_| !args.direct)
        .map(|data_dir| Registry::new(data_dir).gateways());
    let gateways = gateways.unwrap_or_default();
    let catalogs = data_dir.as_ref().map(CatalogFiles::new);
    let catalogs = catalogs.filter(|_| !args.refresh);
    let mut known = HashMap::new();
    for server in &configuration.servers {
        let is_running = gateways.iter().any(|gateway| has(gateway, server));
        if !is_running && let Some(report) = known::report(server, catalogs.as_ref()) {
            known.insert(server.name.to_string(), report);
        }
    }
    Ok(Listing {
        configuration,
        data_dir,
        gateways,
        known,
    })
}

impl Listing {
    /// True if no server has to be asked.
    pub(crate) fn is_complete(&self) -> bool {
        let mut servers = self.configuration.servers.iter();
        servers.all(|server| self.known.contains_key(server.name.as_str()))
    }

    /// Prints the servers.
    pub(crate) fn print(&self, json: bool) -> Result<(), CommandError> {
        for notice in &self.configuration.notices {
            output::note(&format!("notice: {notice}"));
        }
        let faulty: Vec<_> = self
            .configuration
            .faulty
            .iter()
            .map(known::faulty)
            .collect();
        let servers = self.configuration.servers.iter();
        let reports: Vec<&ServerReport> = servers
            .filter_map(|server| self.known.get(server.name.as_str()))
            .chain(&faulty)
            .collect();
        if json {
            let reports = RawJson::encode(&reports).map_err(anyhow::Error::from)?;
            return Ok(output::json(&reports)?);
        }
        if reports.is_empty() {
            output::note("no servers are configured");
            output::note(
                "hint: add one: run `callgate add NAME URL` or `callgate add NAME -- COMMAND`",
            );
            return Ok(());
        }
        output::columns_with_room(rows(&reports), &DISPENSABLE)?;
        if output::is_terminal() && reports.iter().any(|report| report.as_of.is_some()) {
            output::remark(
                "idle servers are connected when they are used; --refresh connects them now",
            );
        }
        Ok(())
    }

    /// Asks the servers of which nothing is known: those that another process runs there, others in this process.
    async fn complete(&mut self, how: &Ask<'_>) -> Result<(), CommandError> {
        for gateway in std::mem::take(&mut self.gateways) {
            let is_unknown =
                |server: &&ConfiguredServer| !self.known.contains_key(server.name.as_str());
            let mut unknown = self.configuration.servers.iter().filter(is_unknown);
            if !unknown.any(|server| has(&gateway, server)) {
                continue;
            }
            // A gateway that does not answer is as good as none.
            match self.ask_gateway(&gateway, how).await {
                Ok(reports) => self.add(reports),
                Err(error) => error.warn("the running gateway does not answer"),
            }
        }
        let unknown: Vec<ConfiguredServer> = self
            .configuration
            .servers
            .iter()
            .filter(|server| !self.known.contains_key(server.name.as_str()))
            .cloned()
            .collect();
        if !unknown.is_empty() {
            let reports = self.connect(&unknown, how).await?;
            self.add(reports);
        }
        Ok(())
    }

    fn add(&mut self, reports: Vec<ServerReport>) {
        for mut report in reports {
            // It is for processes that compare definitions.
            report.definition = None;
            self.known.entry(report.name.clone()).or_insert(report);
        }
    }

    async fn ask_gateway(
        &self,
        gateway: &InstanceRecord,
        how: &Ask<'_>,
    ) -> Result<Vec<ServerReport>, CommandError> {
        let data_dir = self
            .data_dir
            .as_ref()
            .context("there is no data directory")?;
        let spec = gateway_spec(gateway, data_dir)?;
        let server = Server::connect(&spec, how.data_dir, None).await?;
        let client = Client::builder(server.service())
            .info(server::own_name())
            .options(CallOptions::default().idle(GATEWAY))
            .build();
        let result = client
            .request(SERVERS_METHOD, &ServersParams::default())
            .await;
        server.close().await;
        let result: ServersResult = result?.decode().map_err(anyhow::Error::from)?;
        let mut reports = result.servers;
        // The gateway may have other servers, or other definitions of the same names.
        reports.retain(|report| {
            let ours = self.configuration.server(&report.name);
            let definition = ours.map(|ours| ours.process_hash().to_string());
            definition.is_some() && definition == report.definition
        });
        Ok(reports)
    }

    /// Connects servers, shows the progress, and keeps their catalogs.
    async fn connect(
        &self,
        servers: &[ConfiguredServer],
        how: &Ask<'_>,
    ) -> Result<Vec<ServerReport>, CommandError> {
        let gateway = Arc::new(Gateway::new(GatewaySettings {
            data_dir: how.data_dir.map(Path::to_owned),
            catalogs: self.data_dir.as_ref().map(CatalogFiles::new),
            ..GatewaySettings::default()
        }));
        let members: Vec<Member> = servers.iter().map(Member::own).collect();
        // Before the first attempt to connect, which may refresh a token.
        let stop = stop::signal().context("cannot listen for signals")?;
        gateway.apply(&members).await;
        gateway.connect_all();
        let data_dir = self.data_dir.as_ref();
        let _record = data_dir.and_then(|it| record_at(&gateway, it, "list"));
        let settled = tokio::select! {
            () = settle(&gateway, members.len(), how.limit) => true,
            () = stop => false,
        };
        let mut reports = gateway.reports();
        for report in &mut reports {
            // This process ends: it makes no further attempt.
            (report.next_attempt_ms, report.stopped_after) = (None, None);
        }
        gateway.keep_catalogs();
        let _ = timeout(stop::GRACE, gateway.close()).await;
        match settled {
            true => Ok(reports),
            false => Err(CommandError::interrupted()),
        }
    }
}

/// Way in which servers are asked.
struct Ask<'a> {
    data_dir: Option<&'a Path>,
    limit: Duration,
}

/// Lists the configured servers.
pub(super) async fn run(
    args: &List,
    config: Option<&Path>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let mut listing = known_servers(args, config, data_dir)?;
    let limit = args.connection.timeout.map(Duration::from_secs);
    let how = Ask {
        data_dir,
        limit: limit.unwrap_or(CONNECT),
    };
    listing.complete(&how).await?;
    listing.print(json)
}

/// Waits until all servers are connected or have failed, and shows on a terminal which are not.
async fn settle(gateway: &Gateway, all: usize, limit: Duration) {
    let deadline = Instant::now() + limit;
    let line = StatusLine::new();
    let mut changes = gateway.changes();
    loop {
        let pending = gateway.pending();
        if pending.is_empty() {
            return;
        }
        let done = all.saturating_sub(pending.len());
        line.show(&format!(
            "connecting, {done} of {all} done; waiting for {}",
            pending.join(", ")
        ));
        if timeout_at(deadline, changes.next()).await != Ok(true) {
            return;
        }
    }
}

/// Columns that a narrow terminal does not show, the first one first: latency, revision, transport and number of tools.
const DISPENSABLE: [usize; 4] = [5, 3, 2, 4];

fn rows(reports: &[&ServerReport]) -> Vec<Vec<Line>> {
    let headings = [
        "NAME",
        "STATUS",
        "TRANSPORT",
        "REVISION",
        "TOOLS",
        "LATENCY",
        "",
    ];
    let mut rows = vec![
        headings
            .map(|heading| Line::of(heading, Style::BOLD))
            .to_vec(),
    ];
    rows.extend(reports.iter().map(|report| row(report)));
    rows
}

fn row(report: &ServerReport) -> Vec<Line> {
    let (symbol, style) = look(report.status);
    let status = match output::is_terminal() {
        true => format!("{symbol} {}", report.status.as_str()),
        false => report.status.as_str().to_owned(),
    };
    let number = |number: Option<String>| plain(number.as_deref().unwrap_or("-"));
    let detail = match (report.reason_line(), report.as_of) {
        (Some(reason), _) => reason,
        (None, Some(as_of)) => format!("as of {}", age::ago(now().saturating_sub(as_of))),
        (None, None) => String::new(),
    };
    vec![
        plain(&report.name),
        Line::of(&status, style),
        plain(&report.transport),
        number(report.revision.clone()),
        number(report.tools.map(|tools| tools.to_string())),
        number(report.latency_ms.map(|latency| format!("{latency} ms"))),
        Line::of(&detail, Style::DIM),
    ]
}

/// Symbol and color of a status on a terminal.
fn look(status: Status) -> (char, Style) {
    match status {
        Status::Connected => ('✓', Style::color(Color::Green)),
        Status::Connecting => ('…', Style::color(Color::Yellow)),
        Status::Idle => ('○', Style::PLAIN),
        Status::Disabled => ('-', Style::DIM),
        Status::Failed => ('✗', Style::color(Color::Red)),
        Status::NeedsAuth | Status::NeedsClientRegistration => ('!', Style::color(Color::Yellow)),
        Status::Untrusted => ('?', Style::color(Color::Yellow)),
    }
}

fn has(gateway: &InstanceRecord, server: &ConfiguredServer) -> bool {
    gateway.has(server.name.as_str(), server.process_hash().as_str())
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
