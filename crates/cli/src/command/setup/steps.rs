use std::path::Path;

use callgate_mcp::wire::RawJson;

use super::conversation::Conversation;
use super::report::{ClientReport, ImportReport, ServiceReport, SetupReport, StepState};
use super::undo;
use crate::clients::connection::Records;
use crate::clients::entry::own::Endpoint;
use crate::clients::import_plan::{ImportPlan, Row, described};
use crate::clients::places::Places;
use crate::clients::table::{self, Client, ClientFile, Scope};
use crate::command::connect::{self, Connecting};
use crate::command::import;
use crate::data_dir::DataDir;
use crate::error::CommandError;
use crate::output;
use crate::render::columns::plain;
use crate::render::line::{Line, Style};
use crate::service::install::{self, FileState, InstallPlan};
use crate::service::program;
use crate::setup::found_clients;
use crate::setup::record::{ConfigChange, SetupRecord};
use crate::setup_args::Setup;
use crate::visible::visible_line;

/// Leads through the steps, or takes them back.
pub(crate) fn run(
    args: &Setup,
    config: Option<&Path>,
    data_dir: Option<&Path>,
    json: bool,
) -> Result<(), CommandError> {
    let data = DataDir::locate(data_dir)?;
    let record = SetupRecord::load(&data)?;
    if args.undo {
        return undo::run(record, &data, args.dry_run, json);
    }
    let talk = Conversation::new(args, json)?;
    talk.begin();
    let mut steps = Steps { talk, data, record };
    let places = import::places();
    let plan = steps.import_plan(import::target(Scope::User, config, data_dir)?, &places)?;
    let import = steps.import(&plan)?;
    let clients = match args.no_connect {
        true => Vec::new(),
        false => steps.connect(&places, &connect::command(config, data_dir)?)?,
    };
    let service = match args.no_service {
        true => None,
        false => Some(steps.service(config, data_dir)?),
    };
    let states = clients.iter().map(|client| client.state);
    let states = states.chain(service.as_ref().map(|service| service.state));
    let states: Vec<_> = states.chain([import.state]).collect();
    let report = SetupReport {
        written: states.contains(&StepState::Done),
        import,
        clients,
        service,
    };
    if json {
        let report = RawJson::encode(&report).map_err(anyhow::Error::from)?;
        output::json(&report)?;
    } else {
        steps.end(&report, &states)?;
    }
    match states.contains(&StepState::Failed) {
        true => Err(CommandError::usage("not all steps of the setup were done")
            .hint("correct what failed, and run `callgate setup` again")),
        false => Ok(()),
    }
}

/// The steps of one run, and their record.
struct Steps {
    talk: Conversation,
    data: DataDir,
    record: SetupRecord,
}

impl Steps {
    /// Servers of all clients on this machine.
    fn import_plan(
        &self,
        target: std::path::PathBuf,
        places: &Places,
    ) -> Result<ImportPlan, CommandError> {
        if let Some(earlier) = &self.record.config
            && earlier.file != target
        {
            let message = format!(
                "`setup` has added servers to another configuration, {}",
                earlier.file.display()
            );
            return Err(CommandError::usage(message)
                .hint("run `callgate setup --undo` first, or name that file with --config"));
        }
        let mut plan = ImportPlan::new(target)?;
        for client in table::all() {
            // One broken file does not hide the servers of the others.
            if let Err(error) = plan.add_client(client, Scope::User, places) {
                error.warn(&format!("{} is left out", client.name));
            }
        }
        Ok(plan)
    }

    /// Adds the servers to our configuration.
    fn import<'p>(&mut self, plan: &'p ImportPlan) -> Result<ImportReport<'p>, CommandError> {
        let added = plan.added().count();
        let target = plan.target.display();
        self.talk.heading("Servers of your clients")?;
        self.show_servers(plan)?;
        let state = match added {
            0 => {
                self.talk.say("  nothing to add")?;
                StepState::Already
            }
            _ if self.talk.is_dry() => {
                self.talk
                    .say(&format!("  would be added to {target}: {}", servers(added)))?;
                StepState::Planned
            }
            _ if self
                .talk
                .agrees(&format!("Add {} to {target}?", servers(added)))? =>
            {
                self.write_servers(plan)?;
                self.talk
                    .say(&format!("  added to {target}: {}", servers(added)))?;
                if let Some(secrets) = plan.secrets() {
                    output::note(&format!("warning: {secrets}"));
                }
                StepState::Done
            }
            _ => StepState::Declined,
        };
        Ok(ImportReport {
            target: target.to_string(),
            state,
            servers: plan.rows.iter().map(Row::report).collect(),
        })
    }

    fn show_servers(&self, plan: &ImportPlan) -> Result<(), CommandError> {
        if self.talk.is_json() {
            return Ok(());
        }
        let cells: Vec<_> = plan
            .rows
            .iter()
            .filter_map(|row| {
                let (name, definition) = row.added()?;
                Some(vec![
                    plain(&format!("  {}", name.as_str())),
                    Line::of(row.client.name.as_str(), Style::DIM),
                    plain(&described(definition)),
                ])
            })
            .collect();
        output::columns(&cells)?;
        let (shadowed, others): (Vec<_>, Vec<_>) = plan
            .rows
            .iter()
            .filter(|row| row.added().is_none())
            .partition(|row| row.is_shadowed());
        for line in others.iter().flat_map(|row| row.lines("")) {
            output::text(&format!("  {line}"))?;
        }
        if !shadowed.is_empty() {
            let names = shadowed.iter().map(|row| {
                let (name, client) = (&row.server.name, &row.client.name);
                format!("{} ({client})", visible_line(name))
            });
            let names: Vec<_> = names.collect();
            output::text(&format!(
                "  names that are taken already: {}",
                names.join(", ")
            ))?;
        }
        Ok(())
    }

    fn write_servers(&mut self, plan: &ImportPlan) -> Result<(), CommandError> {
        let earlier = self.record.config.take();
        let current = crate::clients::file::read(&plan.target)?;
        // The text before is the one to restore unless others have changed the file since the last run.
        let is_continued = earlier
            .as_ref()
            .is_none_or(|earlier| earlier.is_as_left(current.as_deref()));
        let mut change = ConfigChange::of(plan, earlier.as_ref())?;
        change.after = None;
        self.record.config = Some(change.clone());
        self.record.store(&self.data)?;
        plan.write()?;
        change.seal(is_continued)?;
        self.record.config = Some(change);
        self.record.store(&self.data)
    }

    /// Adds our entry to the files of the clients.
    fn connect(
        &mut self,
        places: &Places,
        endpoint: &Endpoint,
    ) -> Result<Vec<ClientReport>, CommandError> {
        self.talk.say("")?;
        self.talk.heading("Connect your clients to Callgate")?;
        let found = found_clients::found(table::all(), places);
        if found.is_empty() {
            self.talk.say(
                "  no files of other clients were found; `callgate connect CLIENT` makes one",
            )?;
        }
        let records = Records::of(&self.data);
        let mut reports = Vec::new();
        for (client, file) in found {
            let mut report = ClientReport {
                client: client.id.as_str(),
                file: file.path.display().to_string(),
                state: StepState::Already,
                diff: None,
                error: None,
            };
            match self.connect_client(client, file, endpoint, &records) {
                Ok((state, diff)) => (report.state, report.diff) = (state, diff),
                Err(error) => {
                    error.warn(&format!("{} is not connected", client.name));
                    report.state = StepState::Failed;
                    report.error = Some(error.message_line());
                }
            }
            reports.push(report);
        }
        Ok(reports)
    }

    fn connect_client(
        &mut self,
        client: &'static Client,
        file: ClientFile,
        endpoint: &Endpoint,
        records: &Records,
    ) -> Result<(StepState, Option<String>), CommandError> {
        let name = &client.name;
        let connecting: Connecting = connect::prepare(client, file, endpoint, records)?;
        let path = connecting.file.path.display();
        // A client that was connected by hand stays as it is: an undo could not bring its entry back.
        let is_by_hand = connecting.replaces() && !self.record.clients.contains(&client.id);
        let change = connecting.change(endpoint).filter(|_| !is_by_hand);
        let Some(change) = change else {
            self.talk
                .say(&format!("  {name} is connected already ({path})"))?;
            return Ok((StepState::Already, None));
        };
        self.talk
            .say(&format!("\n{name}: {path}\n{}", change.trim_end()))?;
        if self.talk.is_dry() {
            return Ok((StepState::Planned, Some(change)));
        }
        if !self.talk.agrees(&format!("Connect {name}?"))? {
            return Ok((StepState::Declined, Some(change)));
        }
        if !self.record.clients.contains(&client.id) {
            self.record.clients.push(client.id.clone());
        }
        self.record.store(&self.data)?;
        connecting.write(records)?;
        self.talk.say(&format!("  connected {name}"))?;
        Ok((StepState::Done, Some(change)))
    }

    /// Installs the service.
    fn service(
        &mut self,
        config: Option<&Path>,
        data_dir: Option<&Path>,
    ) -> Result<ServiceReport, CommandError> {
        self.talk.say("")?;
        self.talk.heading("Run Callgate in the background")?;
        let mut report = ServiceReport {
            state: StepState::Unavailable,
            file: None,
            command: None,
            error: None,
        };
        let planned = program::of_this_process(None, config, data_dir)
            .and_then(|program| Ok((InstallPlan::new(&program)?, program)));
        let (plan, program) = match planned {
            Ok(planned) => planned,
            Err(error) => return self.no_service(report, &error.message_line()),
        };
        let file = plan.path.display().to_string();
        report.file = Some(file.clone());
        report.command = Some(program.command());
        let is_new = plan.state() == FileState::Absent;
        // One with a command of the user stays as it is. One of ours that does not run is still to be started.
        let is_by_hand = plan.state() == FileState::Different && !self.record.service;
        if is_by_hand || !is_new && install::is_up(plan.platform, &self.data) {
            self.talk
                .say(&format!("  the service is installed already ({file})"))?;
            report.state = StepState::Already;
            return Ok(report);
        }
        if let Err(cause) = install::is_available(plan.platform) {
            return self.no_service(report, &cause);
        }
        self.talk
            .say("  Each server then runs once for all clients, and starts before they do.")?;
        self.talk.say(&format!("  file: {file}"))?;
        self.talk
            .say(&format!("  command: {}", program.command()))?;
        report.state = if self.talk.is_dry() {
            StepState::Planned
        } else if self.talk.agrees("Install and start the service?")? {
            // One that was installed by hand stays after an undo.
            self.record.service |= is_new;
            self.record.store(&self.data)?;
            match plan.carry_out(&self.data) {
                Ok(()) => {
                    self.talk.say("  installed and started the service")?;
                    StepState::Done
                }
                Err(error) => {
                    error.warn("the service does not run");
                    report.error = Some(error.message_line());
                    StepState::Failed
                }
            }
        } else {
            StepState::Declined
        };
        Ok(report)
    }

    fn no_service(
        &self,
        mut report: ServiceReport,
        cause: &str,
    ) -> Result<ServiceReport, CommandError> {
        self.talk.say(&format!("  not possible here: {cause}"))?;
        self.talk
            .say("  Without it, each client starts Callgate itself.")?;
        report.error = Some(cause.to_owned());
        Ok(report)
    }

    /// Says what is done and what comes next.
    fn end(&self, report: &SetupReport<'_>, states: &[StepState]) -> Result<(), CommandError> {
        self.talk.say("")?;
        if self.talk.is_dry() {
            self.talk.say("Nothing was written.")?;
            if states.iter().any(|state| state.is_open()) {
                output::note(
                    "hint: run `callgate setup` to be asked for each step, or `callgate setup --yes` to do all",
                );
            }
            return Ok(());
        }
        if !report.written {
            let is_open = states.iter().any(|state| state.is_open());
            return self.talk.say(match is_open {
                true => "Nothing was written. Run `callgate setup` again at any time.",
                false => "Nothing is left to do.",
            });
        }
        self.talk
            .say("Done. `callgate setup --undo` takes all of it back.")?;
        output::note("hint: restart your clients, then run `callgate list` to see the servers");
        if report.import.state == StepState::Done {
            output::note(
                "hint: the servers are still in the files of your clients too; remove them there when all works",
            );
        }
        Ok(())
    }
}

fn servers(count: usize) -> String {
    match count {
        1 => "1 server".to_owned(),
        count => format!("{count} servers"),
    }
}
