use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::NamedTempFile;

use super::record::InstanceRecord;
use crate::data_dir::DataDir;

/// Directory in the data directory with a file for each running process.
const DIRECTORY: &str = "run";

/// Maximum bytes of a file.
const MAX_BYTES: u64 = 1024 * 1024;

/// Maximum number of files that are read.
const MAX_FILES: usize = 1_000;

/// The files of all running processes that use a data directory.
#[derive(Debug, Clone)]
pub(crate) struct Registry {
    directory: PathBuf,
}

impl Registry {
    pub(crate) fn new(data_dir: &DataDir) -> Self {
        Self {
            directory: data_dir.file(DIRECTORY),
        }
    }

    /// Records of the processes that run, oldest first. Files of processes that have ended are removed.
    pub(crate) fn live(&self) -> Vec<InstanceRecord> {
        let entries = fs::read_dir(&self.directory);
        let mut records = Vec::new();
        for entry in entries.into_iter().flatten().flatten().take(MAX_FILES) {
            let path = entry.path();
            if path.extension().is_none_or(|end| end != "json") {
                continue;
            }
            match read(&path) {
                Ok(Some(record)) if record.process.is_alive() => records.push(record),
                // The name of the file has the start of its process: no later process has the same one.
                Ok(Some(_)) => drop(fs::remove_file(&path)),
                Ok(None) | Err(_) => {}
            }
        }
        records.sort_by_key(|record| (record.since, record.process.start_ticks));
        records
    }

    /// The other processes with an endpoint that this one can use: those that serve over HTTP come first, and older
    /// ones before younger ones.
    ///
    /// A suspended process answers nothing: the terminal suspends an agent with the `serve --stdio` that it started.
    pub(crate) fn gateways(&self) -> Vec<InstanceRecord> {
        let own = std::process::id();
        let mut records = self.live();
        records.retain(|record| {
            record.is_gateway() && record.process.pid != own && !record.process.is_suspended()
        });
        records.sort_by_key(|record| !record.is_serve());
        records
    }

    /// The running `serve` over HTTP, the oldest one if there are several.
    pub(crate) fn http_gateway(&self) -> Option<InstanceRecord> {
        let mut gateways = self.gateways().into_iter();
        gateways.find(InstanceRecord::is_serve)
    }

    /// The process through which the server with this name and definition can be used.
    pub(crate) fn gateway_with(&self, name: &str, definition: &str) -> Option<InstanceRecord> {
        let mut gateways = self.gateways().into_iter();
        gateways.find(|gateway| gateway.has(name, definition))
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes the directory, for the user alone, if it is not there.
    pub(super) fn create(&self) -> anyhow::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(&self.directory)
            .with_context(|| format!("cannot create {}", self.directory.display()))
    }

    /// Writes the record of this process, for the user alone; the file is removed with the value.
    pub(crate) fn publish(&self, record: &InstanceRecord) -> anyhow::Result<OwnRecord> {
        self.create()?;
        let process = &record.process;
        let start = process.start_ticks.unwrap_or(record.since);
        let own = OwnRecord {
            path: self.directory.join(format!("{}-{start}.json", process.pid)),
        };
        own.write(record)?;
        Ok(own)
    }
}

/// File of this process, which is removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct OwnRecord {
    path: PathBuf,
}

impl OwnRecord {
    /// Replaces the record; a reader sees the old or the new one.
    pub(crate) fn write(&self, record: &InstanceRecord) -> anyhow::Result<()> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let written = (|| {
            // Temporary files are for the user alone.
            let mut file = NamedTempFile::new_in(directory)?;
            file.write_all(&serde_json::to_vec(record)?)?;
            file.persist(&self.path).map_err(|error| error.error)?;
            io::Result::Ok(())
        })();
        written.with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Leaves the file to the next reader, which removes it once its process has ended.
    pub(crate) fn keep(mut self) {
        // There is no file without a name.
        self.path = PathBuf::new();
    }
}

impl Drop for OwnRecord {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The record in a file; `None` if it is another kind of file.
fn read(path: &Path) -> io::Result<Option<InstanceRecord>> {
    let mut text = Vec::new();
    let file = fs::File::open(path)?;
    file.take(MAX_BYTES).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{EndpointAuth, ProcessIdentity};
    #[cfg(target_os = "linux")]
    use crate::instance::{SERVE, SERVE_STDIO};

    fn record(process: ProcessIdentity, url: Option<&str>, since: u64) -> InstanceRecord {
        InstanceRecord {
            process,
            command: "serve".to_owned(),
            since,
            url: url.map(str::to_owned),
            auth: EndpointAuth::Token,
            servers: Vec::new(),
        }
    }

    #[test]
    fn records_of_processes_that_ended_are_swept() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::new(&DataDir::locate(Some(directory.path())).unwrap());
        let own = record(ProcessIdentity::of_this_process(), None, 2);
        let kept = registry.publish(&own).unwrap();
        let gone = ProcessIdentity {
            start_ticks: Some(1),
            ..own.process
        };
        let left = registry
            .publish(&record(gone, Some("http://x"), 1))
            .unwrap();
        fs::write(directory.path().join("run/notes.txt"), "x").unwrap();
        fs::write(directory.path().join("run/other.json"), "{}").unwrap();
        if own.process.start_ticks.is_some() {
            assert_eq!(registry.live(), std::slice::from_ref(&own));
            assert!(!left.path.exists());
        }
        let own = InstanceRecord {
            url: Some("http://x".to_owned()),
            ..own
        };
        kept.write(&own).unwrap();
        assert_eq!(
            registry.gateways(),
            [],
            "a process does not attach to itself"
        );
        drop(kept);
        assert_eq!(registry.live(), []);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_serve_over_http_comes_before_the_processes_of_clients() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::new(&DataDir::locate(Some(directory.path())).unwrap());
        let processes = [SERVE_STDIO, SERVE_STDIO, SERVE].map(|command| {
            let cat = std::process::Command::new("cat")
                .stdin(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            (cat, command)
        });
        let mut published = Vec::new();
        for (since, (cat, command)) in (1..).zip(&processes) {
            let process = ProcessIdentity::of_running(cat.id()).unwrap();
            let url = (since != 1).then_some("http://x");
            let record = InstanceRecord {
                command: (*command).to_owned(),
                ..record(process, url, since)
            };
            published.push(registry.publish(&record).unwrap());
        }
        let gateways = registry.gateways();
        let found: Vec<_> = gateways.iter().map(|it| it.process.pid).collect();
        assert_eq!(found, [processes[2].0.id(), processes[1].0.id()]);
        assert_eq!(registry.http_gateway(), gateways.into_iter().next());
        for (mut cat, _) in processes {
            drop(cat.stdin.take());
            cat.wait().unwrap();
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_record_is_for_the_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::new(&DataDir::locate(Some(directory.path())).unwrap());
        let own = record(ProcessIdentity::of_this_process(), None, 2);
        let kept = registry.publish(&own).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(&kept.path), mode(kept.path.parent().unwrap())),
            (0o600, 0o700)
        );
    }
}
