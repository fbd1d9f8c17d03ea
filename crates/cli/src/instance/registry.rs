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

    /// The process that others attach to: the oldest one with an endpoint that they can use.
    pub(crate) fn gateway(&self) -> Option<InstanceRecord> {
        let own = std::process::id();
        let mut records = self.live().into_iter();
        records.find(|record| record.is_gateway() && record.process.pid != own)
    }

    /// Writes the record of this process, for the user alone; the file is removed with the value.
    pub(crate) fn publish(&self, record: &InstanceRecord) -> anyhow::Result<OwnRecord> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
            .create(&self.directory)
            .with_context(|| format!("cannot create {}", self.directory.display()))?;
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
        assert_eq!(
            registry.gateway(),
            None,
            "a process does not attach to itself"
        );
        drop(kept);
        assert_eq!(registry.live(), []);
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
