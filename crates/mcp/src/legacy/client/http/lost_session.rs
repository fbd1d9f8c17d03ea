use callgate_wire::{Frame, Id, RawJson, RpcError, code};

/// True if a response with an error status says that the server does not know our session.
///
/// The specification demands 404. Many servers answer 400 instead, with texts of their own; if those
/// were not recognized, the session would never work again. `id` is the one of the request, if there
/// is one; `message` is the body, if it is a message.
pub(crate) fn session_is_gone(
    status: u16,
    id: Option<&Id>,
    message: Option<&Frame>,
    body: &str,
) -> bool {
    let error = match message {
        Some(Frame::Response(response)) => response.outcome.as_ref().err(),
        _ => None,
    };
    let known: Option<RpcError> = error.and_then(|error: &RawJson| error.decode().ok());
    match status {
        // A response with the id of the request is about its method, not about the session.
        404 => {
            let named = match message {
                Some(Frame::Response(response)) => response.id.as_ref(),
                _ => None,
            };
            let named = named.and_then(Id::echoed_number);
            let names_request = named.is_some() && named == id.and_then(Id::as_number);
            !(names_request && known.is_some_and(|error| error.code == code::METHOD_NOT_FOUND))
        }
        400 => match known {
            // A server of the newest revision, which has no sessions, has replaced the old one.
            Some(error) if MODERN.contains(&error.code) => true,
            Some(error) => {
                // A precise code is about the request, whatever words its text has.
                let vague =
                    (-32019..=-32000).contains(&error.code) || error.code == code::INVALID_REQUEST;
                vague && blames_session(&error.message)
            }
            None => blames_session(body),
        },
        _ => false,
    }
}

/// Errors that only servers of the newest revision have.
const MODERN: [i64; 3] = [
    code::HEADER_MISMATCH,
    code::MISSING_REQUIRED_CLIENT_CAPABILITY,
    code::UNSUPPORTED_PROTOCOL_VERSION,
];

fn blames_session(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let blames = [
        "no valid",
        "not found",
        "invalid",
        "unknown",
        "expired",
        "terminated",
        "missing",
        "required",
        "does not exist",
    ];
    text.contains("not initialized")
        || text.contains("session") && blames.iter().any(|blame| text.contains(blame))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use callgate_wire::Limits;

    fn check(status: u16, body: &str, expect: bool) {
        let message = Frame::parse(&Bytes::copy_from_slice(body.as_bytes()), &Limits::default());
        let id = Id::number(7);
        let seen = session_is_gone(status, Some(&id), message.ok().as_ref(), body);
        assert_eq!(seen, expect, "{status} {body}");
    }

    #[test]
    fn a_lost_session_is_told_apart_from_a_bad_request() {
        let error = |id: &str, code: i64, message: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#
            )
        };
        check(404, "", true);
        check(404, "<html>", true);
        check(404, &error("null", -32001, "Session not found"), true);
        check(404, &error("null", -32601, "Method not found"), true);
        check(404, &error("7", -32601, "Method not found"), false);
        check(404, &error("\"7\"", -32601, "Method not found"), false);
        check(404, &error("7", -32600, "Session terminated"), true);
        let no_valid = "Bad Request: No valid session ID provided";
        check(400, no_valid, true);
        check(400, &error("null", -32000, no_valid), true);
        check(400, &error("7", -32000, no_valid), true);
        let required = "Bad Request: Mcp-Session-Id header is required";
        check(400, &error("null", -32000, required), true);
        let too_early = "Bad Request: Server not initialized";
        check(400, &error("null", -32000, too_early), true);
        check(400, &error("null", -32600, "Missing session ID"), true);
        check(400, &error("7", -32602, "session is required"), false);
        check(400, &error("7", -32603, "no valid session in store"), false);
        check(400, &error("null", -32000, "Parse error"), false);
        check(400, "Bad Request", false);
        check(400, "", false);
        check(400, &error("7", -32020, "Header mismatch"), true);
        check(400, &error("7", -32022, "Unsupported"), true);
        check(401, "session expired", false);
        check(500, "session not found", false);
        check(405, "", false);
    }
}
