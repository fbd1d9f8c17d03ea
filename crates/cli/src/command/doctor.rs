use std::env;
use std::path::Path;
use std::pin::pin;
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow};
use callgate_mcp::client::{CallOptions, Client};
use callgate_mcp::transport::http::connect::Destination;
use callgate_mcp::wire::RawJson;
use callgate_mcp::{Error, Kind};
use callgate_oauth::guard::{Guard, Network as AddressNetwork};
use callgate_oauth::http_message::Request;
use callgate_oauth::token_source::LoginStatus;
use futures_util::future::join_all;
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use crate::args::Doctor;
use crate::clients::servers;
use crate::clients::table::{self, Scope};
use crate::config::load::trust_command;
use crate::config::{Configuration, ConfiguredServer, LoadOptions, load};
use crate::data_dir::DataDir;
use crate::debug::{Secrets, redact_text, secrets_of_configured};
use crate::doctor::servers::{Reached, check_login, judge_failure};
use crate::doctor::shared_servers::{ClientUse, check_shared};
use crate::doctor::{Code, Finding, Severity, machine, programs, without_consequences};
use crate::error::{CommandError, Exit};
use crate::gateway::spec_of;
use crate::instance::Registry;
use crate::logins::Logins;
use crate::network::Network;
use crate::output;
use crate::server::{self, RemoteSpec, Server, ServerSpec};
use crate::stop;

/// Time that a server has to connect and to say who it is, unless its definition has another.
const CONNECT: Duration = Duration::from_secs(30);

/// Time that a web server has to tell its time.
const DATE: Duration = Duration::from_secs(10);

/// Address of `serve`, unless the configuration has another.
const LISTEN: &str = "127.0.0.1:3000";

/// Port to which logins redirect the browser.
const CALLBACK_PORT: u16 = 19876;

/// Indent of the step that repairs a finding.
const INDENT: &str = "  ";

/// Begin of the lines of a problem after the first one. A problem may quote a server, whose lines, and whose words at
/// the begin of a line that is too long for the terminal, must not look like ours.
const QUOTE: &str = "    | ";

/// Files of the data directory that hold secrets.
const SECRET_FILES: [&str; 2] = ["token", "mcp-auth.json"];

/// Looks for the usual mistakes, and prints them with the way to repair each.
///
/// # Errors
/// A mistake was found that keeps something from working.
pub(crate) async fn run(
    args: &Doctor,
    config: Option<&Path>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let mut findings = Vec::new();
    let configuration = match load(&LoadOptions::new(config, data_dir)?) {
        Ok(configuration) => configuration,
        Err(error) => {
            findings.push(invalid(&error));
            Configuration::default()
        }
    };
    findings.extend(check_files(&configuration));
    findings.extend(check_machine(&configuration, data_dir));
    findings.extend(check_logins(data_dir));
    findings.extend(check_shared(&uses_of_clients()));
    let (servers, unset) = resolve(&configuration);
    findings.extend(unset);
    findings.extend(check_programs(&servers).await);
    let mut connected = 0;
    if !args.offline {
        for outcome in connect_all(&servers, data_dir).await? {
            connected += usize::from(outcome.is_connected);
            findings.extend(outcome.findings);
        }
    }
    let mut findings = without_consequences(findings);
    findings.sort_by_key(|it| (it.code.severity() == Severity::Warning, it.code));
    print(&findings, servers.len(), connected, args.offline, json)?;
    verdict(&findings)
}

fn invalid(error: &CommandError) -> Finding {
    Finding::new(
        Code::InvalidConfiguration,
        "configuration",
        error.with_hints(),
        "correct the file, then run `callgate config validate`",
    )
}

fn check_files(configuration: &Configuration) -> Vec<Finding> {
    let faulty = configuration.faulty.iter();
    let mut findings: Vec<Finding> = faulty
        .flat_map(|faulty| {
            let path = faulty.origin.path.display();
            let mistakes = faulty.mistakes.iter();
            mistakes.map(move |mistake| {
                let problem = format!("{path}:{}: {mistake}", mistake.line);
                let correct = "correct the file, then run `callgate config validate`".to_owned();
                let repair = mistake.hint.clone().unwrap_or(correct);
                Finding::new(
                    Code::InvalidConfiguration,
                    faulty.name.as_str(),
                    problem,
                    repair,
                )
            })
        })
        .collect();
    let files = configuration.files.iter().filter(|file| !file.trusted);
    findings.extend(files.map(|file| {
        let path = &file.origin.path;
        let problem = file.problem.clone();
        let problem = problem.unwrap_or_else(|| {
            "you have not trusted this file, so its servers are not used".to_owned()
        });
        let repair = trust_command(path);
        Finding::new(
            Code::UntrustedFile,
            path.display().to_string(),
            problem,
            repair,
        )
    }));
    findings
}

fn check_machine(configuration: &Configuration, data_dir: Option<&Path>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let data_dir = DataDir::locate(data_dir).ok();
    let running = data_dir.as_ref();
    let running = running.and_then(|it| Registry::new(it).http_gateway());
    let listen = configuration.settings.listen;
    if let Some(listen) = listen.or_else(|| LISTEN.parse().ok()) {
        findings.extend(machine::check_port(listen, running.is_some()));
    }
    findings.extend(machine::check_callback_port(CALLBACK_PORT));
    if let Some(data_dir) = data_dir {
        findings.extend(machine::check_permissions(data_dir.path(), &SECRET_FILES));
    }
    findings
}

/// Logins that have ended. A store that cannot be read is reported by the permissions, or by the servers that need
/// it.
fn check_logins(data_dir: Option<&Path>) -> Vec<Finding> {
    let logins = Logins::open(data_dir).and_then(|logins| logins.all());
    let logins = logins.unwrap_or_default();
    logins
        .iter()
        .filter_map(|(name, login)| check_login(name, &LoginStatus::of(login)))
        .collect()
}

/// Servers in the files of the clients on this machine. A file that cannot be read is left to `import`.
fn uses_of_clients() -> Vec<ClientUse> {
    let mut uses = Vec::new();
    let places = super::import::places();
    for client in table::all() {
        let servers = servers::of(client, Scope::User, &places).unwrap_or_default();
        for server in servers {
            if let Ok(entry) = server.entry {
                uses.push(ClientUse {
                    client: client.name.clone(),
                    client_id: client.id.clone(),
                    server: server.name,
                    definition: entry.definition,
                });
            }
        }
    }
    uses
}

/// A server to connect to.
struct CheckedServer {
    spec: ServerSpec,
    /// Time to connect and to say who it is.
    limit: Duration,
    secrets: Secrets,
}

/// Servers that are turned on and trusted, and the mistakes in the others.
fn resolve(configuration: &Configuration) -> (Vec<CheckedServer>, Vec<Finding>) {
    let (mut servers, mut findings) = (Vec::new(), Vec::new());
    let is_used = |server: &&ConfiguredServer| server.definition.enabled && server.trusted;
    for server in configuration.servers.iter().filter(is_used) {
        match spec_of(server) {
            Ok(spec) => servers.push(CheckedServer {
                limit: server.definition.timeouts.connect.unwrap_or(CONNECT),
                secrets: secrets_of_configured(&server.definition, &spec),
                spec,
            }),
            Err(error) => {
                let mut errors = server.unresolved();
                if errors.is_empty() {
                    errors.push(error);
                }
                findings.extend(errors.iter().map(|error| unset(server, error)));
            }
        }
    }
    (servers, findings)
}

fn unset(server: &ConfiguredServer, error: &CommandError) -> Finding {
    let text = error.with_hints();
    let see = format!("see the definition with `callgate get {}`", server.name);
    let (problem, repair) = text.split_once("\nhint: ").unwrap_or((&text, &see));
    Finding::new(Code::UnsetVariable, server.name.as_str(), problem, repair)
}

async fn check_programs(servers: &[CheckedServer]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut needs_node = None;
    for server in servers {
        let ServerSpec::Process(spec) = &server.spec else {
            continue;
        };
        let path = programs::search_path(spec);
        let here = env::current_dir().unwrap_or_default();
        let directory = spec.cwd.as_deref().unwrap_or(&here);
        findings.extend(programs::check_directory(&spec.name, directory));
        let program = &spec.program;
        let missing = programs::check_program(&spec.name, program, path.as_deref(), directory);
        if missing.is_none() && programs::is_node(program) {
            needs_node = needs_node.or(path);
        }
        let split = missing
            .is_some()
            .then(|| programs::split_command_line(spec));
        findings.extend(missing.map(|missing| match split.flatten() {
            Some(repair) => Finding { repair, ..missing },
            None => missing,
        }));
    }
    if let Some(path) = needs_node {
        findings.extend(programs::check_node(Some(&path)).await);
    }
    findings
}

/// Result of an attempt to connect.
struct Outcome {
    is_connected: bool,
    findings: Vec<Finding>,
}

/// Connects to all servers at once.
///
/// On a signal it ends soon, but not at once: the new token of a refresh that has begun would be lost.
async fn connect_all(
    servers: &[CheckedServer],
    data_dir: Option<&Path>,
) -> Result<Vec<Outcome>, CommandError> {
    let signal = stop::signal().context("cannot listen for signals")?;
    let (stop, stopped) = watch::channel(false);
    let outcomes = servers
        .iter()
        .map(|server| connect(server, data_dir, stopped.clone()));
    let mut outcomes = pin!(join_all(outcomes));
    tokio::select! {
        outcomes = &mut outcomes => return Ok(outcomes),
        () = signal => {}
    }
    stop.send_replace(true);
    let _ = timeout(stop::GRACE, outcomes).await;
    Err(CommandError::interrupted())
}

/// Does `work` unless the command is told to end.
async fn unless_stopped<T>(
    mut stopped: watch::Receiver<bool>,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        // The sender lives until all work has ended.
        _ = stopped.wait_for(|stopped| *stopped) => None,
    }
}

async fn connect(
    server: &CheckedServer,
    data_dir: Option<&Path>,
    stopped: watch::Receiver<bool>,
) -> Outcome {
    let CheckedServer {
        spec,
        limit,
        secrets,
    } = server;
    let mut findings = Vec::new();
    let reached = match spec {
        ServerSpec::Process(_) => Reached::Program,
        ServerSpec::Remote(remote) => {
            let found = unless_stopped(stopped.clone(), check_way(remote)).await;
            findings.extend(found.unwrap_or_default());
            Reached::Url
        }
    };
    let failure = discover(spec, *limit, data_dir, stopped).await.err();
    let is_connected = failure.is_none();
    findings.extend(failure.map(|error| {
        let mut finding = judge_failure(spec.name(), reached, &error);
        // A server may print them to its standard error.
        finding.problem = redact_text(&finding.problem, secrets);
        finding
    }));
    Outcome {
        is_connected,
        findings,
    }
}

/// Connects, asks the server who it is, and ends the connection.
async fn discover(
    spec: &ServerSpec,
    limit: Duration,
    data_dir: Option<&Path>,
    stopped: watch::Receiver<bool>,
) -> Result<(), Error> {
    let late = |_| Error::new(Kind::Timeout, format!("no answer within {limit:?}"));
    let deadline = Instant::now() + limit;
    let connect = Server::connect(spec, data_dir, Some(Default::default()));
    let Some(connected) = unless_stopped(stopped.clone(), timeout_at(deadline, connect)).await
    else {
        return Ok(());
    };
    let connected = connected.map_err(late)?;
    let server = connected.map_err(|error| error.into_request_error(spec.name()))?;
    let client = Client::builder(server.service())
        .info(server::own_name())
        // The time limit of this attempt is reported, and not this one.
        .options(CallOptions::default().idle(limit + Duration::from_secs(1)))
        .build();
    let discovered = unless_stopped(stopped, timeout_at(deadline, client.discover())).await;
    // After a timeout and a signal too: the token of a refresh that has begun would be lost.
    let _ = timeout(stop::GRACE, server.close()).await;
    match discovered {
        Some(discovered) => discovered.map_err(late)?.map(drop),
        None => Ok(()),
    }
}

/// Checks the proxy of a server, and its clock against ours.
async fn check_way(spec: &RemoteSpec) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Ok(network) = Network::new(spec.ca_file.as_deref()) else {
        // The attempt to connect reports it.
        return findings;
    };
    let is_tls = spec.url.scheme() == "https";
    if let (Some(host), Some(port)) = (spec.url.host_str(), spec.url.port_or_known_default()) {
        let destination = Destination::new(host, port, is_tls);
        findings.extend(machine::check_proxy(
            &spec.name,
            network.proxies(),
            &destination,
        ));
    }
    if let Some(theirs) = time_of(&spec.url, &network).await {
        findings.extend(machine::check_clock(&spec.name, SystemTime::now(), theirs));
    }
    findings
}

/// Time of a web server, from the response to a request of its root.
async fn time_of(url: &Url, network: &Network) -> Option<SystemTime> {
    let guard = Guard::public()
        .allow(AddressNetwork::Loopback)
        .allow(AddressNetwork::Private);
    let request = Request::new(url.join("/").ok()?);
    let fetcher = network.fetcher().ok()?;
    let response = timeout(DATE, fetcher.fetch(guard, &request)).await;
    let date = response.ok()?.ok()?.date?;
    httpdate::parse_http_date(&date).ok()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    findings: Vec<ReportedFinding<'a>>,
    servers: usize,
    /// Absent if no connection was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    connected: Option<usize>,
}

#[derive(Serialize)]
struct ReportedFinding<'a> {
    severity: Severity,
    code: Code,
    subject: &'a str,
    problem: &'a str,
    repair: &'a str,
}

fn print(
    findings: &[Finding],
    servers: usize,
    connected: usize,
    offline: bool,
    json: bool,
) -> Result<(), CommandError> {
    if json {
        let report = Report {
            findings: findings.iter().map(ReportedFinding::new).collect(),
            servers,
            connected: (!offline).then_some(connected),
        };
        let report = RawJson::encode(&report).map_err(anyhow::Error::from)?;
        return Ok(output::json(&report)?);
    }
    for finding in findings {
        let severity = match finding.code.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let (subject, code) = (&finding.subject, finding.code.as_str());
        let problem = finding.problem.replace('\n', &format!("\n{QUOTE}"));
        let text = format!("{severity}: {subject}: {problem} [{code}]");
        output::paragraph(&text, QUOTE)?;
        output::paragraph(&format!("{INDENT}next: {}", finding.repair), INDENT)?;
    }
    let tried = match offline {
        true if servers == 1 => "1 server was not contacted".to_owned(),
        true => format!("{servers} servers were not contacted"),
        false => format!("{connected} of {servers} servers connected"),
    };
    let found = match findings.len() {
        0 => "no mistakes found".to_owned(),
        1 => "1 mistake found".to_owned(),
        count => format!("{count} mistakes found"),
    };
    Ok(output::text(&format!("{found}; {tried}"))?)
}

impl<'a> ReportedFinding<'a> {
    fn new(finding: &'a Finding) -> Self {
        Self {
            severity: finding.code.severity(),
            code: finding.code,
            subject: &finding.subject,
            problem: &finding.problem,
            repair: &finding.repair,
        }
    }
}

fn verdict(findings: &[Finding]) -> Result<(), CommandError> {
    let errors = findings
        .iter()
        .filter(|it| it.code.severity() == Severity::Error)
        .count();
    let message = match errors {
        0 => return Ok(()),
        1 => "there is an error to repair".to_owned(),
        _ => format!("there are {errors} errors to repair"),
    };
    let error = CommandError::new(Exit::Unexpected, anyhow!(message));
    Err(error.hint("docs/doctor.md explains each code"))
}
