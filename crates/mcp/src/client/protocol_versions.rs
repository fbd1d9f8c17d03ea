use std::sync::atomic::{AtomicUsize, Ordering};

use callgate_wire::Version;

use crate::error::{Error, Kind};

/// Protocol revisions that a client supports, the best first, and the one in use with its server.
#[derive(Debug)]
pub(super) struct ProtocolVersions {
    supported: Vec<Version>,
    current: AtomicUsize,
}

impl ProtocolVersions {
    /// Starts with the first of `supported`.
    pub(super) fn new(supported: Vec<Version>) -> Self {
        Self {
            supported,
            current: AtomicUsize::new(0),
        }
    }

    /// Returns the revision in use.
    pub(super) fn current(&self) -> Version {
        // Relaxed order is enough: a request in an outdated revision is refused, and then repeated.
        let current = self.supported.get(self.current.load(Ordering::Relaxed));
        *current.expect("a client supports at least one revision")
    }

    /// Chooses the best revision that is also in `offered`, the list of the server.
    pub(super) fn choose(&self, offered: &[String]) -> Result<Version, Error> {
        let shared = |version: &Version| offered.iter().any(|name| name == version.as_str());
        let Some(best) = self.supported.iter().position(shared) else {
            return Err(Error::new(
                Kind::UnsupportedVersion,
                self.no_common(offered),
            ));
        };
        self.current.store(best, Ordering::Relaxed);
        Ok(self.current())
    }

    fn no_common(&self, offered: &[String]) -> String {
        let supported: Vec<&str> = self
            .supported
            .iter()
            .map(|version| version.as_str())
            .collect();
        let supported = supported.join(", ");
        if offered.is_empty() {
            return format!(
                "the server refused protocol version {} and named no other; this client supports {supported}",
                self.current()
            );
        }
        format!(
            "no common protocol version: the server supports {}, this client supports {supported}",
            offered.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions() -> ProtocolVersions {
        ProtocolVersions::new(vec![Version::V2026_07_28, Version::V2025_11_25])
    }

    #[test]
    fn the_best_common_revision_is_chosen_and_kept() {
        for (supported, expect) in [
            (vec!["2024-11-05", "2025-11-25"], Version::V2025_11_25),
            (vec!["2025-11-25", "2026-07-28"], Version::V2026_07_28),
        ] {
            let versions = versions();
            let supported: Vec<String> = supported.into_iter().map(Into::into).collect();
            assert_eq!(versions.choose(&supported).unwrap(), expect);
            assert_eq!(versions.current(), expect);
        }
    }

    #[test]
    fn without_a_common_revision_the_error_names_both_sides() {
        for (supported, expect) in [
            (
                vec!["1999-01-01", "2000-01-01"],
                "no common protocol version: the server supports 1999-01-01, 2000-01-01, \
                 this client supports 2026-07-28, 2025-11-25",
            ),
            (
                vec![],
                "the server refused protocol version 2026-07-28 and named no other; \
                 this client supports 2026-07-28, 2025-11-25",
            ),
        ] {
            let supported: Vec<String> = supported.into_iter().map(Into::into).collect();
            let error = versions().choose(&supported).unwrap_err();
            assert_eq!(error.kind(), Kind::UnsupportedVersion);
            assert_eq!(error.to_string(), expect);
        }
    }
}
