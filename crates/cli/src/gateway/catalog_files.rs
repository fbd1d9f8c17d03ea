use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use tempfile::NamedTempFile;

use crate::data_dir::DataDir;

/// Catalogs of servers that are kept across starts, a file for each definition.
#[derive(Debug, Clone)]
pub(crate) struct CatalogFiles {
    directory: PathBuf,
}

/// Directory in the data directory.
const DIRECTORY: &str = "catalogs";

/// Maximum bytes of a catalog.
const MAX_BYTES: u64 = 17 * 1024 * 1024;

/// Maximum number of catalogs; the ones that were written longest ago are removed.
const MAX_FILES: usize = 1_000;

impl CatalogFiles {
    pub(crate) fn new(data_dir: &DataDir) -> Self {
        Self {
            directory: data_dir.file(DIRECTORY),
        }
    }

    /// The catalog of a definition, with the time at which it was kept.
    pub(crate) fn load(&self, key: &str) -> Option<(Vec<u8>, SystemTime)> {
        let file = fs::File::open(self.path(key)?).ok()?;
        let kept = file.metadata().and_then(|it| it.modified()).ok()?;
        let mut catalog = Vec::new();
        let read = file.take(MAX_BYTES + 1).read_to_end(&mut catalog).ok()?;
        (read as u64 <= MAX_BYTES).then_some((catalog, kept))
    }

    /// Keeps a catalog; a reader sees the old or the new one.
    pub(crate) fn store(&self, key: &str, catalog: &[u8]) -> anyhow::Result<()> {
        let path = self
            .path(key)
            .context("the key of a catalog is not a hash")?;
        let written = (|| {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(&self.directory)?;
            // Temporary files are for the user alone.
            let mut file = NamedTempFile::new_in(&self.directory)?;
            file.write_all(catalog)?;
            file.persist(&path).map_err(|error| error.error)?;
            io::Result::Ok(())
        })();
        written.with_context(|| format!("cannot write {}", path.display()))?;
        self.sweep();
        Ok(())
    }

    /// Path of a catalog. The key is a hash: a text from elsewhere cannot lead out of the directory.
    fn path(&self, key: &str) -> Option<PathBuf> {
        let is_hash = !key.is_empty() && key.chars().all(|c| c.is_ascii_hexdigit());
        is_hash.then(|| self.directory.join(format!("{key}.json")))
    }

    /// Removes the oldest files beyond the maximum.
    fn sweep(&self) {
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        let mut files: Vec<(SystemTime, PathBuf)> = entries
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        if files.len() <= MAX_FILES {
            return;
        }
        files.sort();
        for (_, path) in files.iter().take(files.len() - MAX_FILES) {
            remove(path);
        }
    }
}

fn remove(path: &Path) {
    // Another process may have removed it.
    let _ = fs::remove_file(path);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> (tempfile::TempDir, CatalogFiles) {
        let directory = tempfile::tempdir().unwrap();
        let files = CatalogFiles::new(&DataDir::locate(Some(directory.path())).unwrap());
        (directory, files)
    }

    #[test]
    fn catalogs_are_kept_by_their_hash() {
        let (_directory, files) = files();
        assert_eq!(files.load("ab"), None);
        files.store("ab", b"{}").unwrap();
        assert_eq!(
            files.load("ab").map(|(catalog, _)| catalog),
            Some(b"{}".to_vec())
        );
        assert!(files.store("../x", b"{}").is_err());
        assert_eq!(files.load("../x"), None);
    }

    #[test]
    fn the_oldest_catalogs_make_room() {
        let (_directory, files) = files();
        for number in 0..=MAX_FILES {
            fs::create_dir_all(&files.directory).unwrap();
            let path = files.directory.join(format!("{number:x}.json"));
            fs::write(&path, "{}").unwrap();
            let file = fs::File::options().write(true).open(&path).unwrap();
            let age = std::time::Duration::from_secs(u64::try_from(number).unwrap());
            file.set_modified(SystemTime::UNIX_EPOCH + age).unwrap();
        }
        files.store("ffffff", b"{}").unwrap();
        assert_eq!(fs::read_dir(&files.directory).unwrap().count(), MAX_FILES);
        assert_eq!((files.load("0"), files.load("1")), (None, None));
        assert!(files.load("2").is_some() && files.load("ffffff").is_some());
    }
}
