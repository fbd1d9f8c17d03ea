use std::hash::{Hash, Hasher};
use std::net::SocketAddr;
use std::sync::Arc;

use callgate_wire::Version;

use super::Cx;

/// Authority that a request acts with, as the transport has verified it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Caller {
    /// The process that started this one, or this process itself.
    Local,
    /// A client that did not have to present credentials.
    Anonymous,
    /// A client whose credentials were verified.
    Principal(Arc<Principal>),
}

/// Verified identity of a client: its name, and the credential that it presented.
///
/// Principals are equal if their names are: the same user with a refreshed token is the same
/// principal, so that sessions and sealed state survive a refresh.
#[derive(Debug, Clone)]
pub struct Principal {
    name: Box<str>,
    scopes: Vec<Box<str>>,
    credential: Option<Box<str>>,
}

/// Caller of a request, to be compared with those of other requests.
#[derive(Debug, Clone)]
pub(crate) struct CallerKey {
    caller: Caller,
    /// Conversation of an anonymous caller: nothing else tells it from others.
    conversation: Option<Arc<str>>,
}

impl CallerKey {
    pub(crate) fn of(cx: &Cx) -> Self {
        let conversation = match cx.caller {
            Caller::Anonymous => cx.source.conversation.clone(),
            _ => None,
        };
        Self {
            caller: cx.caller.clone(),
            conversation,
        }
    }

    #[cfg(feature = "legacy")]
    pub(crate) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// True if all are certainly of one caller. Anonymous ones are if they share a conversation.
    pub(crate) fn are_of_one_caller<'a>(keys: impl IntoIterator<Item = &'a Self>) -> bool {
        let mut keys = keys.into_iter();
        let Some(first) = keys.next() else {
            return true;
        };
        keys.all(|key| {
            let is_known = key.caller != Caller::Anonymous || key.conversation.is_some();
            is_known && key.caller == first.caller && key.conversation == first.conversation
        })
    }
}

impl Caller {
    /// The caller with this name, with no scopes and no credential id.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self::from(Principal::new(name))
    }

    /// The verified identity, if there is one.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        match self {
            Self::Principal(principal) => Some(principal),
            _ => None,
        }
    }
}

impl From<Principal> for Caller {
    fn from(principal: Principal) -> Self {
        Self::Principal(Arc::new(principal))
    }
}

impl Principal {
    /// A principal with this name, which is unique among all that the server admits.
    #[must_use]
    pub fn new(name: impl Into<Box<str>>) -> Self {
        Self {
            name: name.into(),
            scopes: Vec::new(),
            credential: None,
        }
    }

    /// Sets the scopes that the credential grants.
    #[must_use]
    pub fn with_scopes<S: Into<Box<str>>>(mut self, scopes: impl IntoIterator<Item = S>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the id of the credential, such as the `jti` of a token. It is never the secret itself.
    #[must_use]
    pub fn with_credential(mut self, id: impl Into<Box<str>>) -> Self {
        self.credential = Some(id.into());
        self
    }

    /// The unique name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Scopes that the credential grants.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.scopes.iter().map(|scope| &**scope)
    }

    /// True if the credential grants `scope`.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes().any(|granted| granted == scope)
    }

    /// Id of the credential, to tell apart and revoke several of one principal.
    #[must_use]
    pub fn credential(&self) -> Option<&str> {
        self.credential.as_deref()
    }
}

impl<S: Into<Box<str>>> From<S> for Principal {
    fn from(name: S) -> Self {
        Self::new(name)
    }
}

impl PartialEq for Principal {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Principal {}

impl Hash for Principal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// Origin of a request: its transport, the address of the peer, and the conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Source {
    /// Transport that the request came by.
    pub transport: TransportKind,
    /// Address of the peer, where the transport has one.
    pub address: Option<SocketAddr>,
    /// Key of the conversation: equal for all requests of one session of an older revision, and
    /// absent where requests are stateless. It is not a secret.
    pub conversation: Option<Arc<str>>,
    /// Revision that the client speaks, if it is an older one: the call was translated from it.
    ///
    /// A server that speaks both eras is called in that of the client.
    pub translated_from: Option<Version>,
}

/// Kind of transport that a request came by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransportKind {
    /// A function call in this process.
    #[default]
    InProcess,
    /// Lines over a pair of byte streams, such as stdio.
    Lines,
    /// HTTP.
    Http,
}

impl Source {
    /// A request by this transport, from no known address and in no conversation.
    #[must_use]
    pub fn new(transport: TransportKind) -> Self {
        Self {
            transport,
            ..Self::default()
        }
    }

    /// Sets the address of the peer.
    #[must_use]
    pub fn with_address(mut self, address: SocketAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Sets the key of the conversation.
    #[must_use]
    pub fn with_conversation(mut self, key: impl Into<Arc<str>>) -> Self {
        self.conversation = Some(key.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_principal_stays_the_same_with_another_credential() {
        let before = Principal::new("ann").with_credential("1");
        let after = Principal::new("ann")
            .with_credential("2")
            .with_scopes(["read"]);
        assert_eq!(before, after);
        assert_eq!(HashSet::from([before, after.clone()]).len(), 1);
        assert_ne!(Caller::named("ann"), Caller::named("bob"));
        assert!(after.has_scope("read") && !after.has_scope("rea"));
    }
}
