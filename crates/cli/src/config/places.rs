//! Places of configuration files.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;

use crate::error::CommandError;

/// Source of the definitions of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// The file of the option `--config`.
    Flag,
    /// A file of the project around the current directory.
    Project,
    /// The file of the user.
    User,
}

/// Names of the files of a project; the first is preferred.
pub(super) const PROJECT_FILES: [&str; 2] = ["callgate.json", ".mcp.json"];

/// Names of the file of the user; the first is preferred.
const USER_FILES: [&str; 2] = ["config.json", "config.jsonc"];

/// Choice of the configuration of a command, and the directories that it depends on.
#[derive(Debug, Clone)]
pub(crate) struct LoadOptions {
    /// File of the option `--config`, which is used alone.
    pub(crate) config: Option<PathBuf>,
    /// Directory where the search for project files begins.
    pub(crate) current_dir: PathBuf,
    /// Directory of the option `--data-dir`, which has the trusted files.
    pub(crate) data_dir: Option<PathBuf>,
    /// Directory with the file of the user.
    pub(crate) user_dir: Option<PathBuf>,
    /// Home of the user, where the search for project files ends.
    pub(crate) home: Option<PathBuf>,
}

/// A configuration file that may be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlacedFile {
    pub(crate) path: PathBuf,
    pub(crate) scope: Scope,
}

impl PlacedFile {
    pub(crate) fn exists(&self) -> bool {
        self.path.exists()
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flag => "--config",
            Self::Project => "project",
            Self::User => "user",
        })
    }
}

impl LoadOptions {
    /// The options of a command line in the environment of this process.
    pub(crate) fn new(
        config: Option<&Path>,
        data_dir: Option<&Path>,
    ) -> Result<Self, CommandError> {
        let current_dir = env::current_dir().context("cannot find the current directory")?;
        let directory = |name: &str| {
            let path = env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let home = directory("HOME");
        let base = directory("XDG_CONFIG_HOME");
        let base = base.or_else(|| home.as_ref().map(|home| home.join(".config")));
        Ok(Self {
            config: config.map(|path| current_dir.join(path)),
            current_dir,
            data_dir: data_dir.map(Path::to_owned),
            user_dir: base.map(|base| base.join("callgate")),
            home,
        })
    }

    /// The files that apply, nearest first. Those of the project are there, the others may be missing.
    pub(crate) fn files(&self) -> Vec<PlacedFile> {
        let placed = |path, scope| PlacedFile { path, scope };
        if let Some(path) = &self.config {
            return vec![placed(path.clone(), Scope::Flag)];
        }
        let project = self.project_files().into_iter();
        let user = self.user_file().into_iter();
        project
            .map(|path| placed(path, Scope::Project))
            .chain(user.map(|path| placed(path, Scope::User)))
            .collect()
    }

    /// A file that the user names: one that applies, or any other.
    pub(crate) fn placed(&self, path: &Path) -> PlacedFile {
        let path = self.current_dir.join(path);
        let is_it = |file: &PlacedFile| file.path == path;
        self.files().into_iter().find(is_it).unwrap_or(PlacedFile {
            path,
            scope: Scope::Flag,
        })
    }

    /// The file of the user: the one that is there, else the one to make. `None` without a home.
    pub(crate) fn user_file(&self) -> Option<PathBuf> {
        let candidates = USER_FILES.map(|name| Some(self.user_dir.as_ref()?.join(name)));
        let there = candidates.iter().flatten().find(|path| path.exists());
        there.cloned().or_else(|| candidates.into_iter().next()?)
    }

    /// Files of the user that are there besides the one that is used.
    pub(super) fn unused_user_files(&self) -> Vec<PathBuf> {
        let Some(directory) = &self.user_dir else {
            return Vec::new();
        };
        let there = USER_FILES.map(|name| directory.join(name)).into_iter();
        there.filter(|path| path.exists()).skip(1).collect()
    }

    /// The file of the project that commands write.
    pub(crate) fn project_file(&self) -> PathBuf {
        let name = ".mcp.json";
        let mut there = self.project_dirs().into_iter().map(|dir| dir.join(name));
        let there = there.find(|path| path.exists());
        there.unwrap_or_else(|| {
            let directories = self.project_dirs();
            let root = directories.last().unwrap_or(&self.current_dir);
            root.join(name)
        })
    }

    /// Files of the project that are there, nearest first.
    pub(super) fn project_files(&self) -> Vec<PathBuf> {
        let directories = self.project_dirs().into_iter();
        let paths = directories.flat_map(|dir| PROJECT_FILES.map(|name| dir.join(name)));
        paths.filter(|path| path.exists()).collect()
    }

    /// Files that may change the configuration, whether they are there or not.
    pub(crate) fn watched_files(&self) -> Vec<PathBuf> {
        if let Some(config) = &self.config {
            return vec![config.clone()];
        }
        let directories = self.project_dirs().into_iter();
        let project = directories.flat_map(|dir| PROJECT_FILES.map(|name| dir.join(name)));
        let user = self.user_dir.iter();
        let user = user.flat_map(|dir| USER_FILES.map(|name| dir.join(name)));
        project.chain(user).collect()
    }

    /// The current directory and those above it that belong to the project: up to the root of its repository,
    /// or, without one, below the home of the user. Elsewhere, such as in a directory for temporary files, those
    /// above may belong to others.
    fn project_dirs(&self) -> Vec<PathBuf> {
        let ancestors = || self.current_dir.ancestors();
        let depth = ancestors()
            .position(|dir| dir.join(".git").exists())
            .map(|root| root + 1)
            .or_else(|| {
                let home = self.home.as_deref()?;
                ancestors().position(|dir| dir == home)
            });
        let depth = depth.unwrap_or(1).max(1);
        ancestors().take(depth).map(Path::to_owned).collect()
    }
}
