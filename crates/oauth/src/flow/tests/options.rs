//! Options of the user, and quirks of known providers.

use super::world::{
    AS, ASM, MCP, PRM, World, check_refused, config, configured, refresh, resource, server, world,
};
use crate::flow::Config;
use crate::options::{EndpointUrl, ProviderOptions};
use crate::registration::{AuthMethod, ClientInfo};
use crate::{Scopes, Secret};

fn known() -> Config {
    Config {
        options: configured(ClientInfo::public("me"), None),
        ..config()
    }
}

/// Metadata without a list of PKCE methods.
fn without_pkce(issuer: &str) -> String {
    server(issuer, "").replace("code_challenge_methods_supported", "other")
}

fn by_hand() -> ProviderOptions {
    ProviderOptions {
        authorization_endpoint: EndpointUrl::parse("https://as.example/page").ok(),
        token_endpoint: EndpointUrl::parse("https://as.example/token").ok(),
        ..ProviderOptions::default()
    }
}

#[test]
fn the_resource_may_be_left_out_of_every_request() {
    let mut config = known();
    config.provider.send_resource = Some(false);
    let (trace, end) = world("").run(config);
    let expected = [
        format!("GET {PRM}"),
        format!("GET {ASM}"),
        "OPEN client_id=me".to_owned(),
        format!("TOKEN {AS}/token grant_type=authorization_code code=c client_id=me"),
    ];
    assert_eq!(trace, expected);
    assert_eq!(end.unwrap().resource, MCP);
}

#[test]
fn a_server_that_does_not_list_pkce_needs_an_option() {
    let mut world = world("");
    world.put(ASM, 200, &without_pkce(AS));
    check_refused(
        &world,
        known(),
        &format!("GET {ASM}"),
        "a login needs PKCE with S256, but the metadata of https://as.example lists no PKCE methods",
    );
    let mut lenient = known();
    lenient.provider.allow_missing_pkce_metadata = Some(true);
    assert!(world.run(lenient.clone()).1.is_ok());

    // A server that lists other methods has no PKCE that protects.
    world.put(ASM, 200, &server(AS, "").replace("S256", "plain"));
    assert!(world.run(lenient).1.is_err());
}

#[test]
fn endpoints_given_by_hand_need_no_metadata() {
    let world = World::new(&[]);
    let mut config = known();
    config.provider = by_hand();
    let root = "http://localhost:1/.well-known/oauth-protected-resource";
    let (trace, end) = world.run(config.clone());
    let expected = [
        format!("GET {PRM}"),
        format!("GET {root}"),
        format!("OPEN client_id=me resource={MCP}"),
        format!(
            "TOKEN {AS}/token grant_type=authorization_code code=c resource={MCP} client_id=me"
        ),
    ];
    assert_eq!(trace, expected);
    let issuer = end.unwrap().issuer;
    assert_eq!(issuer, AS);

    // A refresh finds the same issuer, and a login of another one is not sent.
    config.goal = refresh(&issuer);
    assert!(world.run(config.clone()).1.is_ok());
    config.goal = refresh("https://other.example");
    assert!(world.run(config).1.is_err());
}

#[test]
fn endpoints_given_by_hand_are_preferred_to_those_of_the_metadata() {
    let mut world = world("");
    world.put("https://as.example/other", 200, r#"{"access_token":"at"}"#);
    let mut config = known();
    config.provider.token_endpoint = EndpointUrl::parse("https://as.example/other").ok();
    let (trace, end) = world.run(config);
    let last = "TOKEN https://as.example/other grant_type=authorization_code code=c";
    assert!(trace.last().unwrap().starts_with(last), "{trace:?}");
    assert_eq!(end.unwrap().issuer, AS);
}

#[test]
fn a_provider_with_a_quirk_needs_no_option() {
    // Issuer, its metadata if it has some, the authorization request.
    let google = "https://accounts.google.com";
    let entra = "https://login.microsoftonline.com/common/v2.0";
    let offline = r#","scopes_supported":["offline_access"]"#;
    let tenant = without_pkce("https://login.microsoftonline.com/{tenantid}/v2.0");
    let cases = [
        (
            google,
            Some(server(google, offline)),
            "resource=R&scope=a b&access_type=offline&prompt=consent",
        ),
        (entra, Some(tenant), "scope=a b"),
        (
            "https://github.com/login/oauth",
            None,
            "resource=R&scope=a b",
        ),
        (
            "https://slack.com",
            Some(server("https://slack.com", "")),
            "resource=R&scope=a,b",
        ),
    ];
    for (issuer, metadata, expected) in cases {
        let mut world = World::new(&[(PRM, resource(MCP, issuer, r#""a","b""#))]);
        if let Some(metadata) = metadata {
            let path = issuer
                .split('/')
                .skip(3)
                .map(|it| format!("/{it}"))
                .collect::<String>();
            let origin = issuer.strip_suffix(&path).unwrap();
            let url = format!("{origin}/.well-known/oauth-authorization-server{path}");
            world.put(&url, 200, &metadata);
        }
        for url in [
            "https://accounts.google.com/token",
            "https://login.microsoftonline.com/token",
            "https://github.com/login/oauth/access_token",
            "https://slack.com/token",
        ] {
            world.put(url, 200, r#"{"access_token":"at"}"#);
        }
        let mut trace = Vec::new();
        let end = world.drive(known(), &mut trace);
        assert_eq!(end.unwrap().issuer, issuer);
        let page = world.opened();
        let shown = page
            .query_pairs()
            .filter(|(name, _)| ["resource", "scope", "access_type", "prompt"].contains(&&**name));
        let shown: Vec<String> = shown
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let shown = shown.join("&").replace(MCP, "R");
        assert_eq!(shown, expected, "{issuer}");
    }
}

#[test]
fn an_explicit_option_is_preferred_to_a_quirk() {
    let google = "https://accounts.google.com";
    let metadata = "https://accounts.google.com/.well-known/oauth-authorization-server";
    let offline = r#","scopes_supported":["offline_access"]"#;
    let mut world = World::new(&[
        (PRM, resource(MCP, google, "")),
        (metadata, server(google, offline)),
    ]);
    world.put(
        "https://accounts.google.com/token",
        200,
        r#"{"access_token":"at"}"#,
    );
    let mut config = known();
    config.scopes = Some(Scopes::parse("a offline_access"));
    config
        .provider
        .auth_params
        .parse("prompt=select_account")
        .unwrap();
    config.provider.auth_params.parse("access_type=").unwrap();
    world.run(config).1.unwrap();
    let page = world.opened();
    let query = page.query().unwrap();
    assert!(
        query.ends_with("&scope=a+offline_access&prompt=select_account"),
        "{query}"
    );
}

#[test]
fn a_provider_that_registers_administrators_only_is_not_asked() {
    let okta = "https://dev-1.okta.com";
    let metadata = "https://dev-1.okta.com/.well-known/oauth-authorization-server";
    let mut world = World::new(&[(PRM, resource(MCP, okta, "")), (metadata, server(okta, ""))]);
    let (trace, end) = world.run(config());
    assert_eq!(trace.last().unwrap(), &format!("GET {metadata}"));
    let error = end.unwrap_err();
    assert!(
        error.starts_with("https://dev-1.okta.com does not register clients"),
        "{error}"
    );

    world.put(
        "https://dev-1.okta.com/register",
        201,
        r#"{"client_id":"registered"}"#,
    );
    world.put(
        "https://dev-1.okta.com/token",
        200,
        r#"{"access_token":"at"}"#,
    );
    let administrator = Config {
        initial_access_token: Some(Secret::new("t")),
        ..config()
    };
    assert!(world.run(administrator).1.is_ok());
}

#[test]
fn a_client_authenticates_as_the_user_says() {
    let methods = r#","token_endpoint_auth_methods_supported":["client_secret_basic"]"#;
    let client = ClientInfo {
        secret: Some(Secret::new("canary-secret")),
        ..ClientInfo::public("me")
    };
    let mut config = Config {
        options: configured(client, None),
        ..config()
    };
    config.provider.client_auth_method = Some(AuthMethod::ClientSecretPost);
    let world = world(methods);
    world.run(config).1.unwrap();
    let body = world.sent_to(&format!("{AS}/token"));
    assert!(
        body.ends_with("&client_id=me&client_secret=canary-secret"),
        "{body}"
    );
}
