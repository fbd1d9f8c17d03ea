use serde::{Deserialize, Serialize};

use crate::raw::RawJson;

/// Answer to `elicitation/create`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElicitResult {
    /// Action of the user.
    pub action: ElicitAction,
    /// Values that the user filled in, an object of the fields of the form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<RawJson>,
}

/// Action of the user on a request for input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ElicitAction {
    /// Sent the form, or agreed to open the URL.
    Accept,
    /// Said no.
    Decline,
    /// Went away without an answer.
    Cancel,
}

impl ElicitResult {
    /// The user sent the form.
    #[must_use]
    pub const fn accept(content: RawJson) -> Self {
        Self {
            action: ElicitAction::Accept,
            content: Some(content),
        }
    }

    /// The user agreed to open the URL.
    #[must_use]
    pub const fn consent() -> Self {
        Self {
            action: ElicitAction::Accept,
            content: None,
        }
    }

    /// The user said no.
    #[must_use]
    pub const fn decline() -> Self {
        Self {
            action: ElicitAction::Decline,
            content: None,
        }
    }

    /// The user went away without an answer.
    #[must_use]
    pub const fn cancel() -> Self {
        Self {
            action: ElicitAction::Cancel,
            content: None,
        }
    }
}
