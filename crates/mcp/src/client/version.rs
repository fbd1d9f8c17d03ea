use std::sync::atomic::{AtomicUsize, Ordering};

use callgate_wire::Version;

use crate::error::{Error, Kind};

/// The revisions a client speaks, the best first, and the one it speaks with its server.
#[derive(Debug)]
pub(super) struct Versions {
    spoken: Vec<Version>,
    current: AtomicUsize,
}

impl Versions {
    /// Starts with the best of `spoken`.
    pub(super) fn new(spoken: Vec<Version>) -> Self {
        Self {
            spoken,
            current: AtomicUsize::new(0),
        }
    }

    /// The revision to speak now.
    pub(super) fn current(&self) -> Version {
        let current = self.spoken.get(self.current.load(Ordering::Relaxed));
        *current.expect("a client speaks at least one revision")
    }

    /// Chooses the best revision that the server speaks too, and speaks it from now on.
    pub(super) fn choose(&self, supported: &[String]) -> Result<Version, Error> {
        let shared = |version: &Version| supported.iter().any(|name| name == version.as_str());
        let Some(best) = self.spoken.iter().position(shared) else {
            return Err(Error::new(
                Kind::UnsupportedVersion,
                self.no_common(supported),
            ));
        };
        self.current.store(best, Ordering::Relaxed);
        Ok(self.current())
    }

    fn no_common(&self, supported: &[String]) -> String {
        let spoken: Vec<&str> = self.spoken.iter().map(|version| version.as_str()).collect();
        let spoken = spoken.join(", ");
        if supported.is_empty() {
            return format!(
                "the server refused protocol version {} and named no other; this client speaks {spoken}",
                self.current()
            );
        }
        format!(
            "no common protocol version: the server speaks {}, this client speaks {spoken}",
            supported.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions() -> Versions {
        Versions::new(vec![Version::V2026_07_28, Version::V2025_11_25])
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
                "no common protocol version: the server speaks 1999-01-01, 2000-01-01, \
                 this client speaks 2026-07-28, 2025-11-25",
            ),
            (
                vec![],
                "the server refused protocol version 2026-07-28 and named no other; \
                 this client speaks 2026-07-28, 2025-11-25",
            ),
        ] {
            let supported: Vec<String> = supported.into_iter().map(Into::into).collect();
            let error = versions().choose(&supported).unwrap_err();
            assert_eq!(error.kind(), Kind::UnsupportedVersion);
            assert_eq!(error.to_string(), expect);
        }
    }
}
