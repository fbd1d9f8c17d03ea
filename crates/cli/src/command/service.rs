use std::path::Path;

use callgate_mcp::wire::RawJson;
use serde::Serialize;

use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::instance::Registry;
use crate::output;
use crate::service::install::{self, InstallPlan, Uninstalled};
use crate::service::platform::Platform;
use crate::service::program;
use crate::setup_args::{ServiceAction, ServiceArgs, ServiceInstall};

/// Installs, shows or removes the service of this user.
pub(crate) fn run(
    args: &ServiceArgs,
    config: Option<&Path>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    match &args.action {
        ServiceAction::Install(args) => install(args, config, data_dir, json),
        ServiceAction::Status => status(data_dir, json),
        ServiceAction::Uninstall => uninstall(data_dir, json),
    }
}

fn install(
    args: &ServiceInstall,
    config: Option<&Path>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let program = program::of_this_process(args.workspace.as_deref(), config, data_dir)?;
    let plan = InstallPlan::new(&program)?;
    let file = plan.path.display().to_string();
    let report = |state: &'static str| InstallReport {
        state,
        file: &file,
        command: program.command(),
    };
    if args.dry_run {
        return match json {
            true => print_json(&report("planned")),
            false => Ok(output::text(&format!("{file}\n{}", plan.text()))?),
        };
    }
    plan.carry_out(&DataDir::locate(data_dir)?)?;
    if json {
        return print_json(&report("installed"));
    }
    output::text(&format!("installed and started the service ({file})"))?;
    output::text(&format!("it runs: {}", program.command()))?;
    if let Some(log) = plan.platform.log_command() {
        output::note(&format!(
            "hint: `callgate service status` shows its address, `{log}` its log"
        ));
        output::note("hint: run `loginctl enable-linger` to keep it running after you log out");
    }
    Ok(())
}

#[derive(Serialize)]
struct InstallReport<'a> {
    state: &'static str,
    file: &'a str,
    command: String,
}

fn status(data_dir: Option<&Path>, json: bool) -> Result<(), CommandError> {
    let platform = Platform::of_this_system()?;
    let path = platform.file()?;
    let installed = path.exists();
    let gateway = Registry::new(&DataDir::locate(data_dir)?).http_gateway();
    let report = StatusReport {
        installed,
        file: path.display().to_string(),
        enabled: installed && install::is_enabled(platform),
        running: gateway.is_some(),
        pid: gateway.as_ref().map(|gateway| gateway.process.pid),
        url: gateway.and_then(|gateway| gateway.url),
    };
    if json {
        return print_json(&report);
    }
    let yes = |is: bool, detail: String| match is {
        true => format!("yes{detail}"),
        false => "no".to_owned(),
    };
    let running = match (report.pid, &report.url) {
        (Some(pid), Some(url)) => format!(" (pid {pid}), {url}"),
        _ => String::new(),
    };
    output::table(&[
        row(
            "installed",
            yes(report.installed, format!(" ({})", report.file)),
        ),
        row("enabled", yes(report.enabled, String::new())),
        row("running", yes(report.running, running)),
    ])?;
    match (report.installed, report.running) {
        (false, _) => output::note("hint: run `callgate service install` to install it"),
        (true, false) => {
            let log = platform.log_command();
            let log = log.map_or_else(String::new, |log| format!(", `{log}` shows why it ended"));
            output::note(&format!(
                "hint: run `callgate service install` to start it{log}"
            ));
        }
        (true, true) => {}
    }
    Ok(())
}

fn row(name: &str, text: String) -> (String, String) {
    (name.to_owned(), text)
}

/// State of the service. A `serve` that the user started counts as running too: clients use either.
#[derive(Serialize)]
struct StatusReport {
    installed: bool,
    file: String,
    enabled: bool,
    running: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

fn uninstall(data_dir: Option<&Path>, json: bool) -> Result<(), CommandError> {
    let state = install::uninstall(&DataDir::locate(data_dir)?)?;
    if json {
        #[derive(Serialize)]
        struct Report {
            state: Uninstalled,
        }
        return print_json(&Report { state });
    }
    let text = match state {
        Uninstalled::Absent => "the service is not installed",
        Uninstalled::Removed => "removed the service",
    };
    Ok(output::text(text)?)
}

fn print_json(report: &impl Serialize) -> Result<(), CommandError> {
    let report = RawJson::encode(report).map_err(anyhow::Error::from)?;
    Ok(output::json(&report)?)
}
