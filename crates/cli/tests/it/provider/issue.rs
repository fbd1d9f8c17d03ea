use std::collections::HashMap;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use url::Url;

use super::http::{Request, Response};
use super::servers::{Settings, State, World};

const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The client at the identity provider, with its secret, as it proves itself.
pub(crate) const EMPLOYEE: &str = "employee:canary-secret-of-the-employee";

pub(super) fn metadata(world: &World) -> Response {
    let base = &world.base;
    let mut metadata = json!({
        "issuer": base,
        "authorization_endpoint": format!("{base}/authorize"),
        "token_endpoint": format!("{base}/token"),
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "private_key_jwt", "none"],
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": true,
        "client_id_metadata_document_supported": world.settings.reads_descriptions,
    });
    if !world.settings.lists_pkce {
        metadata["code_challenge_methods_supported"].take();
    }
    if world.settings.registers {
        metadata["registration_endpoint"] = json!(format!("{base}/register"));
    }
    if world.settings.shows_codes {
        metadata["device_authorization_endpoint"] = json!(format!("{base}/device"));
    }
    if world.settings.revokes {
        metadata["revocation_endpoint"] = json!(format!("{base}/revoke"));
    }
    Response::json(200, &metadata)
}

pub(super) fn register(world: &World, request: &Request) -> Response {
    let mut client: Value = serde_json::from_str(&request.body).unwrap();
    let settings = &world.settings;
    let bearer = settings.registration_token.map(|it| format!("Bearer {it}"));
    let is_known = settings
        .known_name
        .is_none_or(|name| client["client_name"] == name);
    if request.authorization != bearer || !is_known {
        world.state().events.push("registration refused".to_owned());
        return Response::json(403, &json!("Forbidden"));
    }
    let mut state = world.state();
    state.events.push("register".to_owned());
    state.is_client_forgotten = false;
    client["client_id"] = json!("registered");
    Response::json(201, &client)
}

/// A person who consents to everything but the scope `forbidden`.
pub(super) fn authorize(world: &World, request: &Request) -> Response {
    let mut state = world.state();
    let of = |name: &str| request.query.get(name).cloned().unwrap_or_default();
    let scope = of("scope");
    state.page.clone_from(&request.query);
    state
        .events
        .push(format!("authorize {} for {scope}", of("client_id")));
    let mut back = Url::parse(&of("redirect_uri")).unwrap();
    let mut query = back.query_pairs_mut();
    query
        .append_pair("state", &of("state"))
        .append_pair("iss", &world.base);
    if state.is_client_forgotten && of("client_id") == "registered" {
        query.append_pair("error", "unauthorized_client");
    } else if let Some(error) = state.refusal {
        query.append_pair("error", error);
    } else if scope.contains("forbidden") {
        query.append_pair("error", "access_denied");
    } else {
        let code = state.issue("code");
        query.append_pair("code", &code);
        state.codes.insert(code, scope);
    }
    drop(query);
    Response::json(302, &Value::Null).with("location", back)
}

/// Gives out a code that is good once the user has opened the page `/activate`.
pub(super) fn device(world: &World, request: &Request) -> Response {
    let mut state = world.state();
    let code = state.issue("device-code");
    let scope = request.form().get("scope").cloned().unwrap_or_default();
    state.waiting = Some((code.clone(), scope));
    let codes = json!({
        "device_code": code,
        "user_code": "ABCD-EFGH",
        "verification_uri": format!("{}/activate", world.base),
        "expires_in": 3600,
        "interval": 1,
    });
    Response::json(200, &codes)
}

pub(super) fn activate(world: &World) -> Response {
    let mut state = world.state();
    let waiting = state.waiting.take();
    state.codes.extend(waiting);
    Response::json(200, &Value::Null)
}

pub(super) fn token(world: &World, request: &Request) -> Response {
    let mut state = world.state_of_tokens();
    let form = request.form();
    state.form.clone_from(&form);
    let grant = form.get("grant_type").cloned().unwrap_or_default();
    if state.is_unavailable {
        state.events.push(format!("{grant} is unavailable"));
        return Response::json(503, &Value::Null);
    }
    let Some(client) = client(world, request, &form) else {
        state.events.push(format!("{grant} by a stranger"));
        return Response::json(401, &json!({ "error": "invalid_client" }));
    };
    state.secrets.extend(form.get("code_verifier").cloned());
    let given = |name: &str| form.get(name).cloned().unwrap_or_default();
    let scope = match grant.as_str() {
        "authorization_code" => state.codes.remove(&given("code")),
        "refresh_token" => state.refresh_tokens.remove(&given("refresh_token")),
        "client_credentials" => Some(given("scope")),
        JWT_BEARER => {
            let assertion = given("assertion");
            let exchanged = state.codes.remove(&assertion);
            exchanged.or_else(|| state.admit(assertion).then(|| given("scope")))
        }
        DEVICE_CODE if state.waiting.is_some() => {
            return Response::json(400, &json!({ "error": "authorization_pending" }));
        }
        DEVICE_CODE => state.codes.remove(&given("device_code")),
        _ => None,
    };
    let grant = grant.rsplit(':').next().unwrap_or_default();
    let Some(scope) = scope else {
        state.events.push(format!("{grant} of {client} refused"));
        return Response::json(400, &json!({ "error": "invalid_grant" }));
    };
    state.events.push(format!("{grant} of {client}"));
    Response::json(200, &tokens(&mut state, scope, &world.settings, grant))
}

/// The identity provider of an employer, which gives an assertion for an identity token.
pub(super) fn exchange(world: &World, request: &Request) -> Response {
    let mut state = world.state();
    let form = request.form();
    let given = |name: &str| form.get(name).cloned().unwrap_or_default();
    let expected = format!("Basic {}", BASE64_STANDARD.encode(EMPLOYEE));
    if request.authorization != Some(expected) {
        state.events.push("exchange by a stranger".to_owned());
        return Response::json(401, &json!({ "error": "invalid_client" }));
    }
    if !state.admit(given("subject_token")) {
        state.events.push("exchange refused".to_owned());
        return Response::json(400, &json!({ "error": "invalid_grant" }));
    }
    state
        .events
        .push(format!("exchange for {}", given("audience")));
    let assertion = state.issue("assertion");
    state.codes.insert(assertion.clone(), given("scope"));
    let document = json!({
        "access_token": assertion,
        "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "token_type": "N_A",
    });
    Response::json(200, &document)
}

pub(super) fn revoke(world: &World, request: &Request) -> Response {
    let mut state = world.state();
    let token = request.form().get("token").cloned().unwrap_or_default();
    let kind = if state.refresh_tokens.remove(&token).is_some() {
        "refresh token"
    } else if state.access_tokens.remove(&token).is_some() {
        "access token"
    } else {
        "unknown token"
    };
    state.events.push(format!("revoke {kind}"));
    Response::json(200, &Value::Null)
}

fn tokens(state: &mut State, scope: String, settings: &Settings, grant: &str) -> Value {
    let access_token = state.issue("access-token");
    state
        .access_tokens
        .insert(access_token.clone(), scope.clone());
    let mut tokens = json!({
        "access_token": access_token,
        "token_type": "Bearer",
        "expires_in": settings.lifetime,
        "scope": scope,
    });
    if settings.renews && !["client_credentials", "jwt-bearer"].contains(&grant) {
        let refresh_token = state.issue("refresh-token");
        state.refresh_tokens.insert(refresh_token.clone(), scope);
        tokens["refresh_token"] = json!(refresh_token);
    }
    tokens
}

/// The client of a request: `configured` has a secret and a key, others have neither.
fn client(world: &World, request: &Request, form: &HashMap<String, String>) -> Option<String> {
    if let Some(assertion) = form.get("client_assertion") {
        let claims = BASE64_URL_SAFE_NO_PAD.decode(assertion.split('.').nth(1)?);
        let claims: Value = serde_json::from_slice(&claims.ok()?).ok()?;
        let is_configured = claims["sub"] == "configured" && claims["aud"] == world.base;
        return is_configured.then(|| "configured".to_owned());
    }
    if let Some(header) = &request.authorization {
        let pair = BASE64_STANDARD.decode(header.strip_prefix("Basic ")?);
        let is_configured =
            pair.ok()? == format!("configured:{}", world.settings.secret).as_bytes();
        return is_configured.then(|| "configured".to_owned());
    }
    form.get("client_id")
        .filter(|id| *id != "configured")
        .cloned()
}
