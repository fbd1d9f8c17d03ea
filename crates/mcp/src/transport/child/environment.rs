use std::ffi::{OsStr, OsString};

use super::config::InheritEnv;

/// Environment of a process, as a value.
///
/// This crate does not read the environment. A program passes its own, for example with
/// `Environment::from_pairs(std::env::vars_os())`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Environment(Vec<(OsString, OsString)>);

/// Variables that a child inherits by default; a name that ends in `*` is a prefix.
const ALLOWED: &[&str] = if cfg!(windows) {
    &[
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
    ]
} else {
    &[
        "HOME", "LANG", "LC_*", "PATH", "SHELL", "TERM", "TMPDIR", "USER", "XDG_*",
    ]
};

impl Environment {
    /// The environment with these variables.
    pub fn from_pairs<K, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Self
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        let pairs = pairs.into_iter();
        Self(
            pairs
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        )
    }

    /// The part that a child inherits, followed by its `own` variables.
    pub(super) fn inherited(&self, how: InheritEnv, own: &[(OsString, OsString)]) -> Self {
        let passes = |key: &OsStr| how == InheritEnv::All || is_allowed(key);
        let inherited = self.0.iter().filter(|(key, _)| passes(key));
        // The own variables come last, because the last one of the same name counts.
        Self(inherited.chain(own).cloned().collect())
    }

    /// Value of a variable; the last one of the same name counts.
    pub(super) fn get(&self, key: &str) -> Option<&OsStr> {
        let mut pairs = self.0.iter().rev();
        let (_, value) = pairs.find(|(name, _)| same_name(name, key))?;
        Some(value)
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0
            .iter()
            .map(|(key, value)| (key.as_os_str(), value.as_os_str()))
    }
}

fn is_allowed(key: &OsStr) -> bool {
    // All allowed names are ASCII, so a name that is not Unicode is none of them.
    let Some(name) = key.to_str() else {
        return false;
    };
    ALLOWED
        .iter()
        .any(|allowed| match allowed.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => same_name(key, allowed),
        })
}

fn same_name(key: &OsStr, name: &str) -> bool {
    if cfg!(windows) {
        key.eq_ignore_ascii_case(name)
    } else {
        key == name
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        Environment::from_pairs(pairs.iter().copied())
    }

    #[test]
    fn a_child_inherits_allowed_variables_and_its_own() {
        let parent = environment(&[
            ("HOME", "/root"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("LC_ALL", "C"),
            ("LC", "no"),
            ("XDG_RUNTIME_DIR", "/run"),
            ("home", "no"),
            ("PATH", "/bin"),
        ]);
        let own = [("PATH".into(), "/own".into()), ("TOKEN".into(), "t".into())];
        assert_eq!(
            parent.inherited(InheritEnv::AllowList, &own),
            environment(&[
                ("HOME", "/root"),
                ("LC_ALL", "C"),
                ("XDG_RUNTIME_DIR", "/run"),
                ("PATH", "/bin"),
                ("PATH", "/own"),
                ("TOKEN", "t"),
            ])
        );
        assert_eq!(parent.inherited(InheritEnv::All, &[]), parent);
    }

    #[test]
    fn the_last_value_counts() {
        let environment = environment(&[("PATH", "/bin"), ("PATH", "/own")]);
        assert_eq!(environment.get("PATH"), Some(OsStr::new("/own")));
        assert_eq!(environment.get("HOME"), None);
    }
}
