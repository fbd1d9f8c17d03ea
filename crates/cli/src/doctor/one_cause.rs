use super::{Code, Finding};

/// Leaves out the findings that another one explains, so that each cause is reported once.
pub(crate) fn without_consequences(findings: Vec<Finding>) -> Vec<Finding> {
    let is_consequence = |it: &Finding| {
        findings.iter().any(|cause| match (it.code, cause.code) {
            (Code::ServerFailed, Code::MissingProgram | Code::MissingDirectory)
            | (Code::Unreachable, Code::UnsupportedProxy) => it.subject == cause.subject,
            // The login file is read before a server is contacted.
            (Code::Unreachable | Code::ServerFailed, Code::OpenPermissions) => {
                it.problem.contains(&cause.subject)
            }
            _ => false,
        })
    };
    let is_kept: Vec<bool> = findings.iter().map(|it| !is_consequence(it)).collect();
    let kept = findings.into_iter().zip(is_kept);
    kept.filter_map(|(finding, is_kept)| is_kept.then_some(finding))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_reported_once() {
        let finding = |code, subject: &str, problem: &str| Finding::new(code, subject, problem, "");
        let check = |cause: Finding, consequence: Finding| {
            let other = Finding::new(consequence.code, "other", "something else", "");
            let all = vec![consequence, other.clone(), cause.clone()];
            assert_eq!(without_consequences(all), [other, cause]);
        };
        check(
            finding(Code::MissingProgram, "s", "no program"),
            finding(Code::ServerFailed, "s", "cannot start"),
        );
        check(
            finding(Code::UnsupportedProxy, "s", "socks5"),
            finding(Code::Unreachable, "s", "cannot connect"),
        );
        check(
            finding(
                Code::OpenPermissions,
                "/d/mcp-auth.json",
                "others can read it",
            ),
            finding(
                Code::Unreachable,
                "s",
                "`/d/mcp-auth.json` is open to other users",
            ),
        );
    }
}
