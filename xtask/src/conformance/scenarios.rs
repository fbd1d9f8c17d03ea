//! Scenarios that count.

use anyhow::{Result, ensure};

use super::Side;

/// Scenarios that the suite does not require, and that we hold ourselves to.
pub(super) fn unscored(revision: &str, side: Side) -> &'static [&'static str] {
    match (revision, side) {
        ("2026-07-28", Side::Server) => &[
            "json-schema-2020-12",
            "http-header-validation",
            "http-custom-header-server-validation",
            "tasks-lifecycle",
            "tasks-capability-negotiation",
            "tasks-wire-fields",
            "tasks-request-state-removal",
            "tasks-mrtr-input",
            "tasks-request-headers",
            "tasks-dispatch-and-envelope",
            "tasks-status-notifications",
            "tasks-required-task-error",
            "tasks-mrtr-composition",
            "sep-2640-skills-directory",
            "sep-2640-skills-enumeration",
            "sep-2640-skills-manifest",
        ],
        ("2025-11-25", Side::Server) => &[
            "json-schema-2020-12",
            "server-sse-polling",
            "server-session-lifecycle",
        ],
        ("2025-03-26", Side::Client) => &[
            "auth/2025-03-26-oauth-metadata-backcompat",
            "auth/2025-03-26-oauth-endpoint-fallback",
        ],
        (_, Side::Client) => &[
            "json-schema-2020-12-preservation",
            "auth/client-credentials-basic",
            "auth/client-credentials-jwt",
            "auth/enterprise-managed-authorization",
            "auth/dpop",
            "auth/dpop-nonce",
            "auth/wif-jwt-bearer",
            "sep-2640-client-no-prefetch",
            "sep-2640-client-verify-digest",
            "sep-2640-client-verify-size",
            "sep-2640-client-verify-frontmatter",
        ],
        _ => &[],
    }
}

/// The scenarios that the suite's `list --requirements` names for `side`.
pub(super) fn required(list: &str, side: Side) -> Result<Vec<String>> {
    let heading = match side {
        Side::Server => "Server scenarios",
        Side::Client => "Client scenarios",
    };
    let section = list
        .lines()
        .skip_while(|line| !line.starts_with(heading))
        .skip(1);
    let names = section.map_while(|line| line.strip_prefix("  - "));
    let names: Vec<String> = names.map(|name| name.trim().to_owned()).collect();
    ensure!(
        !names.is_empty(),
        "the suite lists no scenarios under `{heading}`:\n{list}"
    );
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::{Side, required};

    #[test]
    fn the_required_scenarios_of_each_side_are_read() {
        let list = "Required for 2026-07-28 (3 scenarios, frozen):\n\n\
                    Server scenarios (test against a server):\n  - caching\n  - tools-list\n\n\
                    Client scenarios (test against a client):\n  - auth/iss-wrong-issuer\n\n\
                    Run and reported, but never scored:\n  extension (1):\n    - tasks-lifecycle [server]\n";
        assert_eq!(
            required(list, Side::Server).unwrap(),
            ["caching", "tools-list"]
        );
        assert_eq!(
            required(list, Side::Client).unwrap(),
            ["auth/iss-wrong-issuer"]
        );
        assert!(required("Unknown revision\n", Side::Client).is_err());
    }
}
