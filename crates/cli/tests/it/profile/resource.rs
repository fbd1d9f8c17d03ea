use serde_json::{Value, json};

use super::rule::broken;
use super::stage::World;
use crate::provider::{Request, Response};

/// The MCP server, of the newest revision or of an older one, as most are.
pub(super) fn call(world: &World, request: &Request) -> Response {
    let token = request.authorization.as_deref();
    let token = token.and_then(|it| it.strip_prefix("Bearer "));
    let grant = token.and_then(|token| world.state().access_tokens.get(token).cloned());
    let Some(grant) = grant else {
        return refuse(world, "");
    };
    if let Some(rule) = broken(&world.profile.accepts, &grant.given) {
        let (error, description) = (&rule.error, &rule.description);
        return refuse(
            world,
            &format!(r#"error="{error}", error_description="{description}""#),
        );
    }
    let message: Value = serde_json::from_str(&request.body).unwrap_or_default();
    let mut result = match (message["method"].as_str(), world.profile.is_new) {
        (Some("server/discover"), true) => json!({
            "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {} },
            "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "mcp", "version": "1" } },
        }),
        (Some("initialize"), false) => json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "mcp", "version": "1" },
        }),
        (Some("tools/list"), _) => json!({ "tools": [
            { "name": "whoami", "description": "Tell who asks", "inputSchema": { "type": "object" } },
        ] }),
        _ if message["id"].is_null() => return Response::json(202, &Value::Null),
        _ => {
            let error = json!({ "code": -32601, "message": "Method not found" });
            return Response::json(
                200,
                &json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }),
            );
        }
    };
    if world.profile.is_new {
        result["resultType"] = json!("complete");
    }
    Response::json(
        200,
        &json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }),
    )
}

/// Refuses a request with the challenge of the provider.
fn refuse(world: &World, error: &str) -> Response {
    let response = Response::json(401, &json!({ "error": "Unauthorized" }));
    match (&world.profile.challenge, error) {
        (None, "") => response,
        (Some(challenge), "") => response.with("www-authenticate", challenge.as_str()),
        (None, error) => response.with("www-authenticate", format!("Bearer {error}")),
        (Some(challenge), error) => {
            response.with("www-authenticate", format!("{challenge}, {error}"))
        }
    }
}
