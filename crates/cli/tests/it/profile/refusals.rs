//! Every refusal of a login names the rule, what the provider did, and the option or command that helps.

use serde_json::{Value, json};

use super::data::{Profile, all};
use super::rule::Rule;
use super::stage::Stage;
use crate::fixture::Ran;

const SERVER: &str = "https://mcp.example.com/mcp";
const ISSUER: &str = "https://clerk.example.com";
const RESOURCE: &str = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";

const TOKEN: &str = "if the server accepts tokens but has no login, send a token: pass --token-file FILE, \
    or put it in the variable CALLGATE_TOKEN and the URL of the server in CALLGATE_TOKEN_FOR; \
    `callgate token` prints that of `callgate serve`";
const ENDPOINTS: &str = "if the provider documents its endpoints, run \
    `callgate auth URL --authorization-endpoint URL --token-endpoint URL --client-id ID`";
const BY_HAND: &str =
    "with a client that was registered by hand, run `callgate auth URL --client-id ID`";
const KNOWN_NAME: &str =
    "if the provider registers only clients that it knows, add --client-name NAME with such a name";
const INITIAL_TOKEN: &str =
    "if the provider gave you a token to register with, add --initial-access-token-file FILE";
const AGAIN: &str = "to try again, run `callgate auth URL`";
const LATER: &str = "no login is lost; try again later";
const NO_RESOURCE: &str = "the provider does not accept the address of the server as a resource: \
    run `callgate auth URL --no-resource`";
const NO_OPTION: &str = "no option changes that: ask the operator of the provider";

/// A provider that follows the specification, but for the edit.
fn stage(edit: impl FnOnce(&mut Profile)) -> Stage {
    let mut profile = all().into_iter().find(|it| it.name == "Clerk").unwrap();
    edit(&mut profile);
    Stage::new(profile)
}

/// Compares the error, and the hints with `URL` instead of the address of the server.
#[track_caller]
fn compare(ran: &Ran, exit: i32, error: &str, hints: &[&str]) {
    let at = ran.stderr.find("error: ").unwrap_or_default();
    let found = &ran.stderr[at..];
    let hints: String = hints.iter().map(|hint| format!("hint: {hint}\n")).collect();
    let hints = hints.replace("auth URL", &format!("auth {SERVER}"));
    assert_eq!(found, format!("error: {error}\n{hints}"));
    assert_eq!((ran.stdout.as_str(), ran.exit), ("", Some(exit)));
}

/// A login that is refused before the user is asked.
#[track_caller]
fn early(edit: impl FnOnce(&mut Profile), error: &str, hints: &[&str]) {
    let ran = Ran::from(stage(edit).auth().output().unwrap());
    compare(&ran, 3, error, hints);
}

/// A login that is refused after the user has consented.
#[track_caller]
fn late(edit: impl FnOnce(&mut Profile), exit: i32, error: &str, hints: &[&str]) {
    let stage = stage(edit);
    let ran = stage.log_in(&mut stage.auth());
    compare(&ran, exit, error, hints);
}

fn metadata(profile: &mut Profile) -> &mut Value {
    let url = format!("{ISSUER}/.well-known/oauth-authorization-server");
    profile.documents.get_mut(&url).unwrap()
}

fn resource(profile: &mut Profile) -> &mut Value {
    profile.documents.get_mut(RESOURCE).unwrap()
}

fn without(document: &mut Value, member: &str) {
    document.as_object_mut().unwrap().remove(member);
}

/// A demand that no request meets.
fn never(error: &str, description: &str) -> Vec<Rule> {
    vec![Rule::never(error, description)]
}

#[test]
fn metadata_that_is_not_used() {
    early(
        |it| resource(it)["resource"] = json!("https://other.example.com/mcp"),
        "the metadata must be for https://mcp.example.com/mcp, but it is for https://other.example.com/mcp",
        &[
            "if that is the same server, log in by the address that it has in its metadata: \
           run `callgate auth https://other.example.com/mcp`",
        ],
    );
    early(
        |it| resource(it)["authorization_servers"] = json!([]),
        "the metadata must name an authorization server, but it names none",
        &[ENDPOINTS, TOKEN],
    );
    early(
        |it| metadata(it)["issuer"] = json!("https://evil.example.com"),
        "the metadata must be of the issuer https://clerk.example.com, but it is of https://evil.example.com",
        &[ENDPOINTS, TOKEN],
    );
    early(
        |it| metadata(it)["token_endpoint"] = json!("http://clerk.example.com/token"),
        "token_endpoint \"http://clerk.example.com/token\" is not used: it is neither https nor on this machine",
        &[ENDPOINTS, TOKEN],
    );
    for member in ["token_endpoint", "authorization_endpoint"] {
        early(
            |it| without(metadata(it), member),
            &format!("the metadata must name the {member}, but it does not"),
            &[ENDPOINTS, TOKEN],
        );
    }
    early(
        |it| *metadata(it) = json!(404),
        "https://clerk.example.com has no OAuth metadata, so no login can begin",
        &[ENDPOINTS, TOKEN],
    );
    let stage = stage(|it| *metadata(it) = json!(503));
    let url = format!("{ISSUER}/.well-known/oauth-authorization-server");
    let error = format!("{url} is unavailable (HTTP 503)");
    compare(
        &Ran::from(stage.auth().output().unwrap()),
        4,
        &error,
        &[LATER],
    );
}

#[test]
fn protections_that_are_missing() {
    early(
        |it| without(metadata(it), "code_challenge_methods_supported"),
        "a login needs PKCE with S256, but the metadata of https://clerk.example.com lists no PKCE methods",
        &[
            "if the provider documents that it supports PKCE, run `callgate auth URL --allow-missing-pkce-metadata`",
        ],
    );
    early(
        |it| metadata(it)["code_challenge_methods_supported"] = json!(["plain"]),
        "a login needs PKCE with S256, but https://clerk.example.com lists other PKCE methods only",
        &[
            "no option allows a login without PKCE: ask the operator of the provider to enable S256",
            TOKEN,
        ],
    );
    early(
        |it| resource(it)["dpop_bound_access_tokens_required"] = json!(true),
        "the server requires DPoP-bound tokens, but https://clerk.example.com does not support DPoP with ES256",
        &[NO_OPTION, TOKEN],
    );
    let issuer = "the redirect must name the issuer https://clerk.example.com, but it names another one or none";
    let hints = [
        "the page may have been another one than the provider's, so its answer was not used; \
         log in again only if you trust the server",
        AGAIN,
    ];
    let other = ("iss".to_owned(), "https://evil.example.com".to_owned());
    late(
        |it| it.authorization.adds.extend([other]),
        3,
        issuer,
        &hints,
    );
    let promise = "authorization_response_iss_parameter_supported";
    late(|it| metadata(it)[promise] = json!(true), 3, issuer, &hints);
}

#[test]
fn clients_that_are_not_registered() {
    let hints = [BY_HAND, KNOWN_NAME, INITIAL_TOKEN];
    let registration =
        |rules| move |it: &mut Profile| it.registration.as_mut().unwrap().rules = rules;
    early(
        registration(never("invalid_client_metadata", "Unknown software")),
        "the authorization server did not register the client: invalid_client_metadata (Unknown software)",
        &hints,
    );
    early(
        registration(never("", "Forbidden")),
        "the authorization server answered the registration with HTTP 403 and no client",
        &hints,
    );
    let stage = stage(|it| without(metadata(it), "registration_endpoint"));
    let mut auth = stage.command(&["auth", SERVER, "--no-browser"]);
    compare(
        &Ran::from(auth.output().unwrap()),
        3,
        "https://clerk.example.com does not register clients by itself",
        &[
            "register a client there, with the redirect URI http://127.0.0.1:19876/mcp/oauth/callback",
            "then run `callgate auth URL --client-id ID`, with the secret of the client, if it has one, \
             in the variable CALLGATE_CLIENT_SECRET",
        ],
    );
}

#[test]
fn redirect_uris_that_a_provider_does_not_register() {
    for (name, redirect_uri) in [
        ("Microsoft Entra ID, one tenant", "http://localhost"),
        ("Slack", "http://localhost:19876/mcp/oauth/callback"),
    ] {
        let profile = all().into_iter().find(|it| it.name == name).unwrap();
        let stage = Stage::new(profile.clone());
        let mut auth = stage.command(&["auth", &profile.server, "--no-browser"]);
        let ran = Ran::from(auth.output().unwrap());
        let register =
            format!("hint: register a client there, with the redirect URI {redirect_uri}\n");
        assert!(ran.stderr.contains(&register), "{name}: {ran:?}");
        let next = format!("--client-id ID --redirect-uri {redirect_uri}`");
        assert!(ran.stderr.contains(&next), "{name}: {ran:?}");
    }
}

#[test]
fn redirect_uris_that_do_not_match() {
    let entra = "register the redirect URI http://localhost there, for the platform \
        \"Mobile and desktop applications\", and run `callgate auth URL --redirect-uri http://localhost`";
    let other = "register the redirect URI of this login there, or name the one that is registered: \
        run `callgate auth URL --redirect-uri URI`";
    for (name, hint) in [("Microsoft Entra ID, one tenant", entra), ("Slack", other)] {
        let mut profile = all().into_iter().find(|it| it.name == name).unwrap();
        profile.options.truncate(2);
        let stage = Stage::new(profile.clone());
        let ran = stage.log_in(&mut stage.auth());
        let hint = hint.replace("auth URL", &format!("auth {}", profile.server));
        assert!(ran.stderr.ends_with(&format!("hint: {hint}\n")), "{ran:?}");
        assert_eq!(ran.exit, Some(3), "{ran:?}");
    }
}

#[test]
fn refusals_at_the_page() {
    let cases: [(&str, &str, &[&str]); 6] = [
        ("access_denied", "The user said no", &[AGAIN]),
        ("server_error", "Sorry", &[AGAIN]),
        (
            "invalid_scope",
            "Unknown scope email",
            &[
                "the provider does not have these scopes: run `callgate auth URL --scope SCOPE`, \
               with the scopes that it documents",
            ],
        ),
        ("invalid_target", "Unknown resource", &[NO_RESOURCE]),
        (
            "invalid_request",
            "audience is required",
            &[
                "if the provider needs another parameter, run `callgate auth URL --auth-param NAME=VALUE`",
                "if it refuses the parameter `resource`, run `callgate auth URL --no-resource`",
            ],
        ),
        (
            "unauthorized_client",
            "No access",
            &[
                "the provider does not let this client log in: run `callgate auth URL --again`, \
               or with a client that was registered by hand, run `callgate auth URL --client-id ID`",
            ],
        ),
    ];
    for (error, description, hints) in cases {
        late(
            |it| it.authorization.rules = never(error, description),
            3,
            &format!("access was not granted: {error} ({description})"),
            hints,
        );
    }
}

#[test]
fn refusals_at_the_token_endpoint() {
    let cases: [(&str, &str, &[&str]); 4] = [
        (
            "invalid_grant",
            "Code is not valid",
            &[
                AGAIN,
                "if the identity token has expired, write a new one to its file; the file is read each time",
            ],
        ),
        (
            "invalid_client",
            "Secret is wrong",
            &[
                "check the id of the client and its secret or key, and run `callgate auth URL` with them",
            ],
        ),
        ("invalid_target", "Unknown resource", &[NO_RESOURCE]),
        (
            "invalid_request",
            "client_secret is missing",
            &[
                "if the provider needs another parameter, run `callgate auth URL --token-param NAME=VALUE`",
                "if it wants the client to authenticate in another way, run `callgate auth URL --client-auth-method METHOD`",
                "if it refuses the parameter `resource`, run `callgate auth URL --no-resource`",
            ],
        ),
    ];
    for (error, description, hints) in cases {
        late(
            |it| it.token.rules = never(error, description),
            3,
            &format!("the authorization server refused the token request: {error} ({description})"),
            hints,
        );
    }
    late(
        |it| it.token.token_type = Some("mac".to_owned()),
        3,
        "a token must be of the type Bearer or DPoP, but the authorization server returned one of the type \"mac\"",
        &[NO_OPTION, TOKEN],
    );
    late(
        |it| {
            it.token.adds.insert("access_token".to_owned(), json!(""));
        },
        4,
        "the authorization server answered the token request with HTTP 200 and no token",
        &[LATER],
    );
    late(
        |it| {
            it.token.rules = never("x", "");
            it.token.refusal_status = 503;
        },
        4,
        "the authorization server is unavailable (HTTP 503)",
        &[LATER],
    );
}
