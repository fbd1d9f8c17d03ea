use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use url::Url;

use super::data::{Authorization, BY_HAND, Token};
use super::rule::{Parameters, Rule, broken};
use super::stage::{Client, Grant, State, World};
use crate::provider::{Request, Response};

/// Registers a client.
pub(super) fn register(world: &World, request: &Request) -> Response {
    let registration = world.profile.registration.as_ref().unwrap();
    let mut client: Value = serde_json::from_str(&request.body).unwrap();
    let given: Parameters = client
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.clone(), words(value)))
        .collect();
    let mut state = world.state();
    let bearer = registration.initial_access_token.as_ref();
    let is_allowed = bearer.is_none_or(|it| request.authorization == Some(format!("Bearer {it}")));
    if let Some(rule) = broken(&registration.rules, &given).filter(|_| is_allowed) {
        state.events.push("registration refused".to_owned());
        return refusal(400, rule);
    }
    if !is_allowed {
        state.events.push("registration without a token".to_owned());
        return Response::json(401, &json!({ "error": "invalid_token" }));
    }
    state.events.push("register".to_owned());
    let secret = state.issue("client-secret");
    let id = format!("client-{}", state.clients.len());
    let method = given.get("token_endpoint_auth_method").cloned();
    let method = method.unwrap_or_default();
    client["client_id"] = json!(id);
    let has_secret = method != "none";
    if has_secret {
        client["client_secret"] = json!(secret);
        client["client_secret_expires_at"] = json!(0);
    }
    for (name, value) in &registration.adds {
        let value = match value.as_str() {
            Some("SECRET") => json!(secret),
            _ => value.clone(),
        };
        client[name] = value;
    }
    for name in &registration.drops {
        client.as_object_mut().unwrap().remove(name);
    }
    let secret = client["client_secret"].as_str().map(str::to_owned);
    let redirect_uri = Some(given["redirect_uris"].clone());
    state.clients.insert(
        id,
        Client {
            secret,
            redirect_uri,
        },
    );
    Response::json(201, &client)
}

/// Sends the browser of a user who consents back; returns the address.
///
/// A real provider shows some of these errors on a page of its own, where a test would wait in vain.
pub(super) fn authorize(world: &World, page: &Url) -> String {
    let given: Parameters = page.query_pairs().into_owned().collect();
    let of = |name: &str| given.get(name).cloned().unwrap_or_default();
    let mut state = world.state();
    let authorization = &world.profile.authorization;
    let mut back = Url::parse(&of("redirect_uri")).unwrap();
    let error = refused_at_page(&state, authorization, &given);
    let mut query = back.query_pairs_mut();
    query.append_pair("state", &of("state"));
    for (name, value) in &authorization.adds {
        query.append_pair(name, value);
    }
    if let Some(rule) = error {
        state.events.push("authorization refused".to_owned());
        query
            .append_pair("error", &rule.error)
            .append_pair("error_description", &rule.description);
    } else {
        state.events.push("authorize".to_owned());
        let code = state.issue("code");
        query.append_pair("code", &code);
        let client = of("client_id");
        state.codes.insert(code, Grant { client, given });
    }
    drop(query);
    back.into()
}

fn refused_at_page(
    state: &State,
    authorization: &Authorization,
    given: &Parameters,
) -> Option<Rule> {
    let of = |name: &str| given.get(name).cloned().unwrap_or_default();
    let Some(client) = state.clients.get(&of("client_id")) else {
        return Some(Rule::general("invalid_client", "unknown client"));
    };
    if client
        .redirect_uri
        .as_ref()
        .is_some_and(|it| *it != of("redirect_uri"))
    {
        return Some(Rule::general(
            "invalid_request",
            "redirect_uri is not registered",
        ));
    }
    if let Some(redirect) = &authorization.redirect
        && of("client_id") == BY_HAND
        && !redirect.accepts(&of("redirect_uri"))
    {
        return Some(Rule::general(&redirect.error, &redirect.description));
    }
    if of("code_challenge_method") != "S256" || of("code_challenge").is_empty() {
        return Some(Rule::general(
            "invalid_request",
            "code_challenge is required",
        ));
    }
    broken(&authorization.rules, given).cloned()
}

/// Issues a code to be entered on another device.
pub(super) fn device(world: &World, request: &Request) -> Response {
    if !asks_for_json(request) {
        return Response::json(406, &Value::Null);
    }
    let device = world.profile.device.as_ref().unwrap();
    let given = request.form();
    let mut state = world.state();
    state.events.push("device".to_owned());
    let code = state.issue("device-code");
    let client = given["client_id"].clone();
    state.waiting.insert(code.clone(), Grant { client, given });
    let answer = json!({
        "device_code": code,
        "user_code": "WDJB-MJHT",
        "verification_uri": device.verification,
        "expires_in": 899,
        "interval": 1,
    });
    Response::json(200, &answer)
}

/// Some providers, such as GitHub, answer a client that does not ask for JSON with a form.
fn asks_for_json(request: &Request) -> bool {
    let accept = request.accept.as_deref().unwrap_or_default();
    accept.contains("application/json")
}

/// Gives tokens for a code or for a refresh token.
pub(super) fn token(world: &World, request: &Request) -> Response {
    let token = &world.profile.token;
    let form = request.form();
    let mut state = world.state();
    let of = |name: &str| form.get(name).cloned().unwrap_or_default();
    if !asks_for_json(request) {
        return Response::json(406, &Value::Null);
    }
    state.secrets.extend(form.get("code_verifier").cloned());
    let Some(client) = client(&state, token, request, &form) else {
        state.events.push("unknown client".to_owned());
        return Response::json(401, &json!({ "error": "invalid_client" }));
    };
    if let Some(rule) = broken(&token.rules, &form) {
        state.events.push("token refused".to_owned());
        return refusal(token.refusal_status, rule);
    }
    let (is_refresh, is_device) = match of("grant_type").as_str() {
        "refresh_token" => (true, false),
        "urn:ietf:params:oauth:grant-type:device_code" => (false, true),
        _ => (false, false),
    };
    // The user enters the code between the first poll and the second.
    if let Some(grant) = state.waiting.remove(&of("device_code")) {
        state.events.push("pending".to_owned());
        state.codes.insert(of("device_code"), grant);
        let error = json!({ "error": "authorization_pending" });
        return Response::json(token.refusal_status, &error);
    }
    let grant = match is_refresh {
        false if is_device => state.codes.remove(&of("device_code")),
        false => state.codes.remove(&of("code")),
        true => state.refresh_tokens.remove(&of("refresh_token")),
    };
    let is_bound = |grant: &Grant| {
        let same_redirect = grant.given.get("redirect_uri") == form.get("redirect_uri");
        let proven = grant.given.get("code_challenge") == Some(&challenge(&of("code_verifier")));
        grant.client == client && (is_refresh || is_device || same_redirect && proven)
    };
    let Some(grant) = grant.filter(is_bound) else {
        state.events.push("grant refused".to_owned());
        return Response::json(token.refusal_status, &json!({ "error": "invalid_grant" }));
    };
    let event = if is_refresh { "refresh" } else { "code" };
    state.events.push(event.to_owned());
    let old = form.get("refresh_token").filter(|_| is_refresh);
    Response::json(200, &tokens(&mut state, token, grant, old))
}

fn tokens(state: &mut State, token: &Token, grant: Grant, old: Option<&String>) -> Value {
    let access_token = state.issue("access-token");
    let scope = grant.given.get("scope").cloned().unwrap_or_default();
    let mut answer = json!({ "access_token": access_token });
    if let Some(token_type) = &token.token_type {
        answer["token_type"] = json!(token_type);
    }
    if let Some(expires_in) = &token.expires_in {
        answer["expires_in"] = expires_in.clone();
    }
    let scopes: Vec<_> = scope.split([' ', ',']).collect();
    match token.scope.as_str() {
        "none" => {}
        "list" => answer["scope"] = json!(scopes),
        separator => answer["scope"] = json!(scopes.join(separator)),
    }
    let renews = token.refresh != "none" && broken(&token.refresh_rules, &grant.given).is_none();
    if renews {
        let new = match (token.refresh.as_str(), old) {
            ("kept" | "repeated", Some(old)) => old.clone(),
            _ => state.issue("refresh-token"),
        };
        if old.is_none() || token.refresh != "kept" {
            answer["refresh_token"] = json!(new);
        }
        state.refresh_tokens.insert(new, grant.clone());
    }
    state.access_tokens.insert(access_token, grant);
    for (name, value) in &token.adds {
        answer[name] = value.clone();
    }
    answer
}

/// The client of a request, if it proves itself in the way that the provider accepts.
fn client(state: &State, token: &Token, request: &Request, form: &Parameters) -> Option<String> {
    let header = request.authorization.as_deref();
    let basic = header.and_then(|it| it.strip_prefix("Basic "));
    let basic = basic.map(|it| String::from_utf8(BASE64_STANDARD.decode(it).unwrap()).unwrap());
    let (id, secret, way) = match &basic {
        Some(pair) => {
            let (id, secret) = pair.split_once(':')?;
            (id.to_owned(), Some(secret.to_owned()), "basic")
        }
        None => {
            let secret = form.get("client_secret").cloned();
            let way = if secret.is_some() { "post" } else { "none" };
            (form.get("client_id")?.clone(), secret, way)
        }
    };
    let known = state.clients.get(&id)?;
    let is_way = token.client == "any" || token.client == way;
    (known.secret == secret && is_way).then_some(id)
}

fn challenge(verifier: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

fn refusal(status: u16, rule: &Rule) -> Response {
    // Some providers answer with text for people.
    if rule.error.is_empty() {
        return Response {
            body: rule.description.clone(),
            ..Response::json(403, &Value::Null)
        };
    }
    let error = json!({ "error": rule.error, "error_description": rule.description });
    Response::json(status, &error)
}

/// A list as words, or the text of a member.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => {
            let words: Vec<_> = values.iter().filter_map(Value::as_str).collect();
            words.join(" ")
        }
        other => other.to_string(),
    }
}

impl Client {
    /// The client that was registered by hand, for any redirect URI on this machine.
    pub(super) fn by_hand(secret: Option<&str>) -> (String, Self) {
        let client = Self {
            secret: secret.map(str::to_owned),
            redirect_uri: None,
        };
        (BY_HAND.to_owned(), client)
    }
}
