use serde_json::{Value, json};

use super::http::{NO_RESPONSE, Request, Response};
use super::servers::World;

pub(super) fn metadata(world: &World) -> Response {
    let base = &world.base;
    Response::json(
        200,
        &json!({
            "resource": format!("{}/mcp", world.server),
            "authorization_servers": [base],
            "scopes_supported": ["read"],
        }),
    )
}

/// An MCP server with a tool for every user who is logged in, one that needs the scope `admin`, and one
/// that repeats what it should not.
pub(super) fn call(world: &World, request: &Request) -> Response {
    let token = request
        .authorization
        .as_deref()
        .and_then(|it| it.strip_prefix("Bearer "));
    if token.is_some() && world.settings.breaks_off {
        return Response::json(NO_RESPONSE, &Value::Null);
    }
    if let (Some(_), Some(refusal)) = (token, &world.settings.refusal) {
        return Response {
            body: refusal.body.to_owned(),
            ..refuse(world, refusal.status, refusal.challenge)
        };
    }
    let scope = token.and_then(|token| world.state().access_tokens.get(token).cloned());
    let stranger = world.settings.is_open.then(|| "nothing".to_owned());
    let Some(scope) = scope.or(stranger) else {
        return refuse(world, 401, "");
    };
    let message: Value = serde_json::from_str(&request.body).unwrap();
    let result = match message["method"].as_str() {
        Some("tools/list") => json!({ "tools": [
            { "name": "whoami", "description": "Tell who asks", "inputSchema": { "type": "object" } },
            { "name": "fail", "description": "Goes wrong", "inputSchema": { "type": "object" } },
            { "name": "purge", "description": "Needs more scopes", "inputSchema": { "type": "object" } },
        ] }),
        Some("tools/call") if message["params"]["name"] == "purge" && !scope.contains("admin") => {
            return refuse(world, 403, r#", error="insufficient_scope", scope="admin""#);
        }
        Some("tools/call") if message["params"]["name"] == "fail" => {
            return Response::json(500, &json!({ "sent": request.authorization }));
        }
        Some("tools/call") => json!({ "content": [
            { "type": "text", "text": format!("granted: {scope}") },
        ] }),
        _ => json!({
            "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {} },
            "_meta": world.settings.server_name.map(|name| json!({
                "io.modelcontextprotocol/serverInfo": { "name": name, "version": "1" },
            })).unwrap_or(json!({})),
        }),
    };
    let mut result = result;
    result["resultType"] = json!("complete");
    Response::json(
        200,
        &json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }),
    )
}

fn refuse(world: &World, status: u16, more: &str) -> Response {
    let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", world.server);
    let challenge = format!(r#"Bearer resource_metadata="{metadata}"{more}"#);
    Response::json(status, &Value::Null).with("www-authenticate", challenge)
}
