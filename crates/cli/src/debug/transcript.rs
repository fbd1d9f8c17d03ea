use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::anyhow;
use callgate_mcp::wire::RawJson;
use serde::Serialize;

use super::redaction::{redact_text, redact_url};
use super::secrets::Secrets;
use crate::config::definition::ServerDefinition;
use crate::definition_text;
use crate::error::CommandError;
use crate::server::ServerSpec;

/// A file with one JSON object in each line, which only its owner can read.
#[derive(Debug)]
pub(crate) struct Transcript {
    path: PathBuf,
    file: BufWriter<File>,
    /// First failure; nothing is written after it.
    failure: Option<io::Error>,
}

/// Description of the server, without values of variables and without secrets.
#[derive(Debug, Serialize)]
pub(crate) struct DebuggedServer {
    name: String,
    /// Command line or URL.
    target: String,
    /// Names of the variables or headers that it gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
}

#[derive(Serialize)]
struct Header<'a> {
    transcript: u32,
    callgate: &'static str,
    time: String,
    server: &'a DebuggedServer,
}

/// Version of the format.
const FORMAT: u32 = 1;

impl Transcript {
    /// Creates the file, which must not exist, and writes the line that describes it.
    pub(crate) fn create(path: &Path, server: &DebuggedServer) -> Result<Self, CommandError> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path).map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::AlreadyExists => "choose another name, or remove the file",
                _ => "choose a file in a directory that you can write to",
            };
            let error = anyhow!(error).context(format!("cannot create {}", path.display()));
            CommandError::from(error).hint(hint)
        })?;
        let mut transcript = Self {
            path: path.to_owned(),
            file: BufWriter::new(file),
            failure: None,
        };
        let header = Header {
            transcript: FORMAT,
            callgate: env!("CARGO_PKG_VERSION"),
            time: httpdate::fmt_http_date(SystemTime::now()),
            server,
        };
        transcript.write(&RawJson::encode(&header).map_err(anyhow::Error::from)?);
        Ok(transcript)
    }

    /// Adds a line. A failure is reported at the end: the connection goes on.
    pub(super) fn write(&mut self, line: &RawJson) {
        if self.failure.is_none() {
            let written = self.file.write_all(line.to_line().as_bytes());
            let written = written.and_then(|()| self.file.write_all(b"\n"));
            self.failure = written.and_then(|()| self.file.flush()).err();
        }
    }

    /// Reports the first failure.
    pub(super) fn finish(&mut self) -> Result<(), CommandError> {
        match self.failure.take() {
            None => Ok(()),
            Some(error) => {
                let error = anyhow!(error).context(format!("cannot write {}", self.path.display()));
                Err(CommandError::from(error)
                    .hint("the transcript is not complete; save it to another file"))
            }
        }
    }
}

impl DebuggedServer {
    /// A server of the configuration.
    pub(crate) fn configured(name: &str, definition: &ServerDefinition, secrets: &Secrets) -> Self {
        let names = definition_text::names(definition).into_iter();
        Self {
            name: name.to_owned(),
            target: redact_text(&definition_text::target(definition), secrets),
            names: names.map(str::to_owned).collect(),
        }
    }

    /// A server of the command line.
    pub(crate) fn given(spec: &ServerSpec, secrets: &Secrets) -> Self {
        let owned =
            |pairs: &[(String, String)]| pairs.iter().map(|(name, _)| name.clone()).collect();
        let (target, names) = match spec {
            ServerSpec::Process(process) => (
                definition_text::command_line(&process.program, &process.args),
                owned(&process.env),
            ),
            ServerSpec::Remote(remote) => (redact_url(remote.url.as_str()), owned(&remote.headers)),
        };
        let target = redact_text(&target, secrets);
        Self {
            name: match spec {
                ServerSpec::Process(process) => process.program.clone(),
                ServerSpec::Remote(_) => target.clone(),
            },
            target,
            names,
        }
    }
}
