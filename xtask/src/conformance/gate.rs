//! The suite counts failures only; this gate also refuses warnings and scenarios that tested nothing.

use std::fmt;

use super::results::Check;

/// The check that the suite adds to every scenario in which a message was exchanged.
const SCHEMA_CHECK: &str = "wire-schema-valid";

/// Scenarios that the suite itself leaves unfinished: all they can report is `SKIPPED`.
const UNFINISHED: &[&str] = &["tasks-status-notifications"];

/// Start of the names of scenarios in which every check must be made: those of an extension, where
/// the suite skips whatever the tested program does not declare.
const NO_SKIPS: &str = "sep-2640-";

/// Outcome of a scenario.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Something succeeded, and nothing failed or was warned about.
    Passed,
    /// The suite has no test behind this name yet.
    Unfinished,
    /// Some checks failed.
    Failed(usize),
    /// Some checks warned, which the suite does for every SHOULD.
    Warned(usize),
    /// Some checks were skipped in a scenario that has none to skip.
    Skipped(usize),
    /// No check succeeded but that messages have the right shape.
    Vacuous,
    /// The suite left no result.
    NotRun,
}

/// Judges a scenario by its checks.
pub(super) fn verdict(scenario: &str, checks: Option<&[Check]>) -> Verdict {
    let Some(checks) = checks else {
        return Verdict::NotRun;
    };
    let count = |status: &str| checks.iter().filter(|check| check.status == status).count();
    let only_skipped = !checks.is_empty() && count("SKIPPED") == checks.len();
    if count("FAILURE") > 0 {
        Verdict::Failed(count("FAILURE"))
    } else if count("WARNING") > 0 {
        Verdict::Warned(count("WARNING"))
    } else if scenario.starts_with(NO_SKIPS) && count("SKIPPED") > 0 {
        Verdict::Skipped(count("SKIPPED"))
    } else if successes(checks) > 0 {
        Verdict::Passed
    } else if only_skipped && UNFINISHED.contains(&scenario) {
        Verdict::Unfinished
    } else {
        Verdict::Vacuous
    }
}

/// Number of the scenario's own checks that succeeded.
pub(super) fn successes(checks: &[Check]) -> usize {
    let own = checks.iter().filter(|check| check.id != SCHEMA_CHECK);
    own.filter(|check| check.status == "SUCCESS").count()
}

/// Problems to fix, one line per check.
pub(super) fn problems(checks: &[Check]) -> impl Iterator<Item = String> {
    let bad = checks
        .iter()
        .filter(|check| matches!(check.status.as_str(), "FAILURE" | "WARNING"));
    bad.map(
        |Check {
             id,
             status,
             message,
         }| format!("{status} {id}: {message}"),
    )
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => write!(f, "ok"),
            Self::Unfinished => write!(f, "untested (the suite has only a placeholder)"),
            Self::Failed(count) => write!(f, "FAILED ({count})"),
            Self::Warned(count) => write!(f, "WARNED ({count})"),
            Self::Skipped(count) => write!(f, "SKIPPED ({count})"),
            Self::Vacuous => write!(f, "TESTED NOTHING"),
            Self::NotRun => write!(f, "NOT RUN"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Check, Verdict, problems, verdict};

    #[test]
    fn verdicts() {
        let cases: &[(&[&str], Verdict)] = &[
            (&["SUCCESS"], Verdict::Passed),
            (&["SUCCESS", "INFO", "SKIPPED"], Verdict::Passed),
            (&["SUCCESS", "FAILURE", "WARNING"], Verdict::Failed(1)),
            (&["SUCCESS", "WARNING", "WARNING"], Verdict::Warned(2)),
            (&["SKIPPED", "INFO"], Verdict::Vacuous),
            (&[], Verdict::Vacuous),
        ];
        for (statuses, expected) in cases {
            assert_eq!(
                verdict("caching", Some(&checks(statuses))),
                *expected,
                "{statuses:?}"
            );
        }
        assert_eq!(verdict("caching", None), Verdict::NotRun);
    }

    #[test]
    fn a_valid_shape_alone_proves_nothing() {
        let shape = Check {
            id: "wire-schema-valid".into(),
            ..check("SUCCESS")
        };
        assert_eq!(verdict("caching", Some(&[shape])), Verdict::Vacuous);
        let shape = Check {
            id: "wire-schema-valid".into(),
            ..check("FAILURE")
        };
        assert_eq!(
            verdict("caching", Some(&[shape, check("SUCCESS")])),
            Verdict::Failed(1)
        );
    }

    #[test]
    fn an_unfinished_scenario_may_be_skipped_and_nothing_else() {
        let judge = |statuses| verdict("tasks-status-notifications", Some(&checks(statuses)));
        assert_eq!(judge(&["SKIPPED"]), Verdict::Unfinished);
        assert_eq!(judge(&["SKIPPED", "INFO"]), Verdict::Vacuous);
        assert_eq!(judge(&["SKIPPED", "FAILURE"]), Verdict::Failed(1));
        assert_eq!(judge(&["SUCCESS"]), Verdict::Passed);
    }

    #[test]
    fn no_check_of_the_skills_extension_may_be_skipped() {
        let judge = |statuses| verdict("sep-2640-skills-manifest", Some(&checks(statuses)));
        assert_eq!(judge(&["SUCCESS", "SKIPPED"]), Verdict::Skipped(1));
        assert_eq!(judge(&["SKIPPED", "FAILURE"]), Verdict::Failed(1));
        assert_eq!(judge(&["SUCCESS", "INFO"]), Verdict::Passed);
        assert_eq!(judge(&[]), Verdict::Vacuous);
    }

    #[test]
    fn problems_name_the_check_and_the_reason() {
        let found: Vec<String> = problems(&checks(&["SUCCESS", "WARNING", "INFO"])).collect();
        assert_eq!(found, ["WARNING a-check: because"]);
    }

    fn checks(statuses: &[&str]) -> Vec<Check> {
        statuses.iter().map(|status| check(status)).collect()
    }

    fn check(status: &str) -> Check {
        Check {
            id: "a-check".into(),
            status: status.into(),
            message: "because".into(),
        }
    }
}
