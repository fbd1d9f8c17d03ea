use super::Upstream;

/// A scenario that the revision of an upstream cannot express.
pub(super) struct Limit {
    pub(super) revision: &'static str,
    pub(super) scenario: &'static str,
    pub(super) upstreams: &'static [Upstream],
    pub(super) why: &'static str,
}

/// Every scenario that cannot pass, and why. One that passes after all is an error.
pub(super) const LIMITS: &[Limit] = &[
    Limit {
        revision: "2026-07-28",
        scenario: "input-required-result-basic-elicitation",
        upstreams: OLD,
        why: NAMELESS,
    },
    Limit {
        revision: "2026-07-28",
        scenario: "input-required-result-ignore-extra-params",
        upstreams: OLD,
        why: NAMELESS,
    },
    Limit {
        revision: "2026-07-28",
        scenario: "server-stateless",
        upstreams: &[Upstream::StdioOld],
        why: FROZEN,
    },
    Limit {
        revision: "2026-07-28",
        scenario: "input-required-result-capability-check",
        upstreams: &[Upstream::StdioOld],
        why: FROZEN,
    },
];

const OLD: &[Upstream] = &[Upstream::StdioOld, Upstream::HttpOld, Upstream::HttpSse];

const NAMELESS: &str =
    "The scenario looks for a question by its key, and the questions of an old server have none.";

const FROZEN: &str = "An old process learns once what its client can do; it asks for what this caller did not declare, and is refused.";

/// The limit that `scenario` of `revision` meets over `upstream`, if any.
pub(super) fn find(revision: &str, upstream: Upstream, scenario: &str) -> Option<&'static Limit> {
    LIMITS.iter().find(|limit| {
        limit.revision == revision
            && limit.scenario == scenario
            && limit.upstreams.contains(&upstream)
    })
}
