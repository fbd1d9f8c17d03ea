use super::Upstream;

/// A scenario that the revision of an upstream cannot express.
pub(super) struct Limit {
    pub(super) revision: &'static str,
    pub(super) scenario: &'static str,
    pub(super) upstreams: &'static [Upstream],
    pub(super) why: &'static str,
}

/// Every scenario that cannot pass, and why. One that passes after all is an error.
pub(super) const LIMITS: &[Limit] = &[];

/// The limit that `scenario` of `revision` meets over `upstream`, if any.
pub(super) fn find(revision: &str, upstream: Upstream, scenario: &str) -> Option<&'static Limit> {
    LIMITS.iter().find(|limit| {
        limit.revision == revision
            && limit.scenario == scenario
            && limit.upstreams.contains(&upstream)
    })
}
