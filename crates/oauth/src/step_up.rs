//! Step-up authorization: more scopes for a request that was refused with 403.

use crate::{Challenge, Scopes};

/// Maximum number of authorizations for one operation, including the first login.
pub(crate) const MAX_AUTHORIZATIONS: u32 = 3;

/// Step-up state of one operation on one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepUp {
    requested: Scopes,
    authorizations: u32,
}

/// Decision about a 403.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Log in for these scopes and try again.
    Authorize(Scopes),
    /// The limit of authorizations is reached: the operation fails.
    GiveUp,
    /// The refusal is not about scopes: the operation fails.
    Forbidden,
}

impl StepUp {
    /// Starts with the scopes of the current token, whose request counts.
    pub(crate) fn new(requested: Scopes) -> Self {
        Self {
            requested,
            authorizations: 1,
        }
    }

    /// Decides about a 403, and counts the authorization.
    ///
    /// Earlier scopes stay in the request: the new token replaces the old one, and other operations
    /// need them.
    pub(crate) fn forbidden(&mut self, challenge: Option<&Challenge>) -> Decision {
        let Some(challenge) = challenge.filter(|it| it.is_insufficient_scope()) else {
            return Decision::Forbidden;
        };
        if self.authorizations >= MAX_AUTHORIZATIONS {
            return Decision::GiveUp;
        }
        self.authorizations += 1;
        let challenged = challenge.scope.clone().unwrap_or_default();
        self.requested = self.requested.union(&challenged);
        Decision::Authorize(self.requested.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::{Decision, StepUp};
    use crate::{Challenge, Scopes};

    fn challenge(error: Option<&str>, scope: Option<&str>) -> Challenge {
        Challenge {
            scope: scope.map(Scopes::parse),
            error: error.map(str::to_owned),
            ..Challenge::default()
        }
    }

    #[test]
    fn scopes_add_up_until_enough_is_enough() {
        let mut step_up = StepUp::new(Scopes::parse("mcp:basic"));
        let mut forbidden = |scope| {
            let challenge = challenge(Some("insufficient_scope"), Some(scope));
            step_up.forbidden(Some(&challenge))
        };
        let expected = |scopes| Decision::Authorize(Scopes::parse(scopes));
        assert_eq!(forbidden("mcp:write"), expected("mcp:basic mcp:write"));
        assert_eq!(
            forbidden("mcp:admin mcp:write"),
            expected("mcp:basic mcp:write mcp:admin")
        );
        assert_eq!(forbidden("mcp:root"), Decision::GiveUp);
        assert_eq!(forbidden("mcp:root"), Decision::GiveUp);
    }

    #[test]
    fn other_refusals_are_final() {
        let mut step_up = StepUp::new(Scopes::default());
        let before = step_up.clone();
        let refusals = [
            None,
            Some(challenge(None, Some("a"))),
            Some(challenge(Some("invalid_token"), Some("a"))),
        ];
        for refusal in refusals {
            assert_eq!(step_up.forbidden(refusal.as_ref()), Decision::Forbidden);
        }
        assert_eq!(step_up, before);
    }

    #[test]
    fn a_challenge_without_scopes_asks_for_the_same_again() {
        let mut step_up = StepUp::new(Scopes::parse("a"));
        let challenge = challenge(Some("insufficient_scope"), None);
        let decision = step_up.forbidden(Some(&challenge));
        assert_eq!(decision, Decision::Authorize(Scopes::parse("a")));
    }
}
