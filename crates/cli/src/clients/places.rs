use std::env;
use std::path::PathBuf;

/// Directories of the user, and the variables of the environment that name files of clients.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    system: &'static str,
    home: Option<PathBuf>,
    config: Option<PathBuf>,
    appdata: Option<PathBuf>,
    project: PathBuf,
    variables: Vec<(String, PathBuf)>,
}

impl Places {
    /// The places of this user, and of the project in the working directory.
    pub(crate) fn of_this_user(variables: impl IntoIterator<Item = String>) -> Self {
        let absolute = |name: &str| {
            env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let home = absolute(if cfg!(windows) { "USERPROFILE" } else { "HOME" });
        let config = absolute("XDG_CONFIG_HOME")
            .or_else(|| home.as_deref().map(|home| home.join(".config")));
        let variables = variables.into_iter().filter_map(|name| {
            let value = env::var_os(&name).filter(|value| !value.is_empty())?;
            Some((name, PathBuf::from(value)))
        });
        Self {
            system: env::consts::OS,
            appdata: absolute("APPDATA"),
            project: env::current_dir().unwrap_or_default(),
            variables: variables.collect(),
            home,
            config,
        }
    }

    /// Operating system, as the standard library names it.
    pub(crate) fn system(&self) -> &str {
        self.system
    }

    /// The path in a variable of the environment.
    pub(crate) fn variable(&self, name: &str) -> Option<PathBuf> {
        let found = self.variables.iter().find(|(variable, _)| variable == name);
        found.map(|(_, path)| path.clone())
    }

    /// A path of the table; `None` if this machine has no such place.
    pub(crate) fn resolve(&self, path: &str) -> Option<PathBuf> {
        let (base, rest) = match path.split_once("}/") {
            Some(("{home", rest)) => (self.home.as_deref()?, rest),
            Some(("{config", rest)) => (self.config.as_deref()?, rest),
            Some(("{appdata", rest)) => (self.appdata.as_deref()?, rest),
            _ => (self.project.as_path(), path),
        };
        Some(
            rest.split('/')
                .fold(base.to_owned(), |path, part| path.join(part)),
        )
    }

    /// A member of a file that may be the path of the project.
    pub(crate) fn fill_project(&self, member: &str) -> String {
        match member {
            "{project}" => self.project.to_string_lossy().into_owned(),
            member => member.to_owned(),
        }
    }
}

#[cfg(test)]
impl Places {
    /// Places below one directory.
    pub(crate) fn below(home: &std::path::Path, system: &'static str) -> Self {
        Self {
            system,
            home: Some(home.to_owned()),
            config: Some(home.join(".config")),
            appdata: Some(home.join("AppData/Roaming")),
            project: home.join("project"),
            variables: Vec::new(),
        }
    }
}
