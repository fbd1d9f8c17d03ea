use serde::Serialize;

use crate::clients::import_plan::ServerReport;

/// Everything that `setup` did or would do, for a program.
#[derive(Debug, Serialize)]
pub(super) struct SetupReport<'a> {
    /// True if something was written.
    pub(super) written: bool,
    pub(super) import: ImportReport<'a>,
    pub(super) clients: Vec<ClientReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) service: Option<ServiceReport>,
}

/// Servers that are added to our configuration.
#[derive(Debug, Serialize)]
pub(super) struct ImportReport<'a> {
    pub(super) target: String,
    pub(super) state: StepState,
    pub(super) servers: Vec<ServerReport<'a>>,
}

/// A client that is connected.
#[derive(Debug, Serialize)]
pub(super) struct ClientReport {
    pub(super) client: &'static str,
    pub(super) file: String,
    pub(super) state: StepState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// The service that is installed.
#[derive(Debug, Serialize)]
pub(super) struct ServiceReport {
    pub(super) state: StepState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// Result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StepState {
    Done,
    /// It would be done without `--dry-run`.
    Planned,
    /// The user said no.
    Declined,
    /// There was nothing to do.
    Already,
    /// This machine cannot do it.
    Unavailable,
    Failed,
}

impl StepState {
    /// True if a later run has something to do.
    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::Planned | Self::Declined | Self::Failed)
    }
}
