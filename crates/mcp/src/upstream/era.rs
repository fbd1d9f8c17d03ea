use callgate_wire::{RawJson, Version, code};

/// Family of revisions that a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Era {
    /// Revision 2026-07-28: every request carries its own metadata.
    Modern,
    /// An older revision, with a handshake; this is the newest one that the server speaks.
    Old(Version),
}

impl Era {
    /// Newest revision with a handshake: the one to try if nothing is known about a server.
    pub(crate) const NEWEST_OLD: Version = Version::V2025_11_25;

    /// The era of a server that is not modern, and of which nothing else is known.
    pub const OLD: Self = Self::Old(Self::NEWEST_OLD);

    /// True for revision 2026-07-28.
    #[must_use]
    pub fn is_modern(self) -> bool {
        self == Self::Modern
    }

    /// Era that a result of `server/discover` shows.
    ///
    /// Old servers answer requests that they do not know with any error, or as if it were another
    /// request. So a server counts as modern only for an answer that no old server gives. This
    /// function and [`Self::of_error`] are the one place that decides it.
    ///
    /// # Errors
    /// The revisions that the server names, if this client speaks none of them.
    pub(crate) fn of_result(result: &RawJson) -> Result<Self, Vec<String>> {
        match names(result.get("supportedVersions")) {
            Some(versions) => Self::of_versions(versions),
            None if result.get("resultType").is_some() => Ok(Self::Modern),
            None => Ok(Self::OLD),
        }
    }

    /// Era that an error object in answer to `server/discover` shows.
    ///
    /// # Errors
    /// As for [`Self::of_result`].
    pub(crate) fn of_error(error: &RawJson) -> Result<Self, Vec<String>> {
        match code_of(error) {
            Some(code::UNSUPPORTED_PROTOCOL_VERSION) => {
                let supported = names(error.at(&["data", "supported"]));
                Self::of_versions(supported.unwrap_or_default())
            }
            Some(code::HEADER_MISMATCH | code::MISSING_REQUIRED_CLIENT_CAPABILITY) => {
                Ok(Self::Modern)
            }
            _ => Ok(Self::OLD),
        }
    }

    fn of_versions(names: Vec<String>) -> Result<Self, Vec<String>> {
        let versions = names.iter().filter_map(|name| Version::parse(name));
        match versions.max() {
            Some(version) if version.is_modern() => Ok(Self::Modern),
            Some(version) => Ok(Self::Old(version)),
            None => Err(names),
        }
    }
}

pub(crate) fn code_of(error: &RawJson) -> Option<i64> {
    error.get("code")?.decode().ok()
}

/// Revisions that this client speaks, newest first.
pub(crate) fn spoken() -> String {
    let spoken = Version::ALL.iter().rev();
    let spoken = spoken.filter(|version| version.is_modern() || cfg!(feature = "legacy"));
    let names: Vec<_> = spoken.map(|version| version.as_str()).collect();
    names.join(", ")
}

/// The error of a call to an old server in a program that speaks the newest revision only.
#[cfg(not(feature = "legacy"))]
pub(crate) fn built_without_legacy(name: &std::sync::Arc<str>) -> crate::error::Error {
    let text = format!(
        "server `{name}` speaks only revisions before 2026-07-28, and this program was built \
         without the feature `legacy`"
    );
    crate::error::Error::new(crate::error::Kind::UnsupportedVersion, text).from_upstream(name)
}

fn names(list: Option<RawJson>) -> Option<Vec<String>> {
    list?.decode().ok()
}
