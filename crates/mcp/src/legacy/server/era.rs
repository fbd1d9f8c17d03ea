use callgate_wire::Version;
use callgate_wire::legacy::method;

/// What is known about a message before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clues<'a> {
    /// The method; none for responses and arrays.
    pub(crate) method: Option<&'a str>,
    /// Whether its `_meta` names a revision.
    pub(crate) names_version: bool,
    /// The revision that the transport names, over HTTP in a header.
    pub(crate) header: Option<&'a str>,
    /// The session that the transport names.
    pub(crate) session: Named,
}

/// Whether a message names a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    /// It names none, and the transport has none.
    Nothing,
    /// It names one that is open; on stdio the process is the session.
    Open,
    /// It names one that is not there, or no longer.
    #[cfg_attr(
        not(any(feature = "http-server", test)),
        expect(dead_code, reason = "only over HTTP do messages name sessions")
    )]
    Gone,
}

/// How a message has to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// It opens a session.
    Handshake,
    /// It carries its own metadata, or claims to.
    Modern,
    /// It belongs to the session it names.
    Session,
    /// It belongs to a session that is not there.
    NoSession,
    /// It is an old message on its own, of this revision.
    Alone(Version),
    /// It names a revision that we do not know.
    UnknownVersion,
}

/// Says how a message at the server has to be understood: the one place where this is decided.
pub(crate) fn decide(clues: Clues<'_>) -> Era {
    if clues.names_version {
        return Era::Modern;
    }
    if clues.method.is_some_and(is_handshake) {
        return Era::Handshake;
    }
    let named = clues.header.map(Version::parse);
    match (named, clues.session) {
        (Some(Some(version)), _) if version.is_modern() => Era::Modern,
        (_, Named::Gone) => Era::NoSession,
        (Some(None), _) => Era::UnknownVersion,
        (_, Named::Open) => Era::Session,
        (Some(Some(version)), Named::Nothing) => Era::Alone(version),
        // The revision to assume where nobody says.
        (None, Named::Nothing) => Era::Alone(Version::V2025_03_26),
    }
}

/// Whether a request of this method opens a session.
pub(crate) fn is_handshake(name: &str) -> bool {
    name == method::INITIALIZE
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALONE: Clues<'static> = Clues {
        method: Some("tools/list"),
        names_version: false,
        header: None,
        session: Named::Nothing,
    };

    #[test]
    fn a_handshake_is_one_unless_it_carries_metadata() {
        let handshake = Clues {
            method: Some("initialize"),
            ..ALONE
        };
        assert_eq!(decide(handshake), Era::Handshake);
        let doubtful = Clues {
            session: Named::Gone,
            header: Some("x"),
            ..handshake
        };
        assert_eq!(decide(doubtful), Era::Handshake);
        let modern = Clues {
            names_version: true,
            ..handshake
        };
        assert_eq!(decide(modern), Era::Modern);
    }

    #[test]
    fn metadata_and_then_the_header_and_then_the_session_decide() {
        use Named::{Gone, Nothing, Open};
        let modern = Some("2026-07-28");
        let old = Some("2025-06-18");
        for (names_version, header, session, era) in [
            (true, None, Nothing, Era::Modern),
            (true, old, Gone, Era::Modern),
            (false, modern, Open, Era::Modern),
            (false, None, Open, Era::Session),
            (false, old, Open, Era::Session),
            (false, Some("1999-01-01"), Open, Era::UnknownVersion),
            (false, old, Gone, Era::NoSession),
            (false, Some("1999-01-01"), Gone, Era::NoSession),
            (false, None, Gone, Era::NoSession),
            (false, old, Nothing, Era::Alone(Version::V2025_06_18)),
            (false, None, Nothing, Era::Alone(Version::V2025_03_26)),
            (false, Some("1999-01-01"), Nothing, Era::UnknownVersion),
        ] {
            let clues = Clues {
                names_version,
                header,
                session,
                ..ALONE
            };
            assert_eq!(decide(clues), era, "{clues:?}");
        }
    }
}
