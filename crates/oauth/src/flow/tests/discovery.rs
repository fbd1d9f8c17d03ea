use super::world::{
    AS, ASM, MCP, PRM, World, check_discovery, check_refused, config, login, named, resource,
    server, world,
};

#[test]
fn metadata_default() {
    check_discovery(&world(""), named(PRM), &[PRM, ASM], AS);
}

#[test]
fn metadata_var1() {
    let oidc = "https://as.example/.well-known/openid-configuration";
    let world = World::new(&[(PRM, resource(MCP, AS, "")), (oidc, server(AS, ""))]);
    check_discovery(&world, config(), &[PRM, ASM, oidc], AS);
}

#[test]
fn metadata_var2() {
    let (root, tenant) = (
        "http://localhost:1/.well-known/oauth-protected-resource",
        "https://as.example/tenant1",
    );
    let metadata = "https://as.example/.well-known/oauth-authorization-server/tenant1";
    let world = World::new(&[
        (root, resource(MCP, tenant, "")),
        (metadata, server(tenant, "")),
    ]);
    check_discovery(&world, config(), &[PRM, root, metadata], tenant);
}

#[test]
fn metadata_var3() {
    let custom = "http://localhost:1/custom/metadata/location.json";
    let tenant = "https://as.example/tenant1";
    let places = [
        "https://as.example/.well-known/oauth-authorization-server/tenant1",
        "https://as.example/.well-known/openid-configuration/tenant1",
        "https://as.example/tenant1/.well-known/openid-configuration",
    ];
    let world = World::new(&[
        (custom, resource(MCP, tenant, "")),
        (places[2], server(tenant, "")),
    ]);
    check_discovery(
        &world,
        named(custom),
        &[custom, places[0], places[1], places[2]],
        tenant,
    );
}

const ROOT: &str = "http://localhost:1/.well-known/oauth-protected-resource";
const OWN: &str = "http://localhost:1/.well-known/oauth-authorization-server";
const OWN_OIDC: &str = "http://localhost:1/.well-known/openid-configuration";

#[test]
fn a_server_of_2025_03_26_is_its_own_authorization_server() {
    let own = "http://localhost:1";
    let world = World::new(&[(OWN, server(own, ""))]);
    check_discovery(&world, config(), &[PRM, ROOT, OWN], own);
}

#[test]
fn a_server_of_2025_03_26_without_metadata_has_default_endpoints() {
    check_discovery(
        &World::new(&[]),
        config(),
        &[PRM, ROOT, OWN, OWN_OIDC],
        "http://localhost:1",
    );
}

#[test]
fn mismatched_documents_are_refused_at_the_step_that_reads_them() {
    let mut mismatch = world("");
    mismatch.put(PRM, 200, &resource("https://evil.example.com/mcp", AS, ""));
    check_refused(
        &mismatch,
        config(),
        &format!("GET {PRM}"),
        "the metadata must be for http://localhost:1/mcp, but it is for https://evil.example.com/mcp",
    );

    let mut issuer = world("");
    issuer.put(ASM, 200, &server("https://evil.example", ""));
    check_refused(
        &issuer,
        config(),
        "GET https://as.example/.well-known/openid-configuration",
        "the metadata must be of the issuer https://as.example, but it is of https://evil.example",
    );

    let mut own = World::new(&[]);
    own.put(OWN, 200, &server("https://accounts.example", ""));
    check_refused(
        &own,
        config(),
        &format!("GET {OWN_OIDC}"),
        "the metadata must be of the issuer http://localhost:1, but it is of https://accounts.example",
    );

    let mut pkce = world("");
    pkce.put(ASM, 200, &server(AS, "").replace("S256", "plain"));
    check_refused(
        &pkce,
        config(),
        &format!("GET {ASM}"),
        "a login needs PKCE with S256, but https://as.example lists other PKCE methods only",
    );
}

#[test]
fn metadata_named_by_a_challenge_must_exist() {
    check_refused(
        &World::new(&[]),
        named(PRM),
        &format!("GET {ROOT}"),
        "http://localhost:1/mcp has no OAuth metadata, so no login can begin",
    );
    let world = World::new(&[(PRM, resource(MCP, AS, ""))]);
    check_refused(
        &world,
        config(),
        "GET https://as.example/.well-known/openid-configuration",
        "https://as.example has no OAuth metadata, so no login can begin",
    );
}

#[test]
fn a_bad_moment_is_no_absence() {
    let oidc = "https://as.example/.well-known/openid-configuration";
    for status in [429, 500, 503] {
        for (url, last) in [(PRM, ROOT), (ASM, oidc)] {
            let mut world = world("");
            world.put(url, status, "");
            let error = format!("{url} is unavailable (HTTP {status})");
            check_refused(&world, config(), &format!("GET {last}"), &error);
        }
    }
}

#[test]
fn a_well_known_address_may_fail_if_the_next_one_works() {
    let oidc = "https://as.example/.well-known/openid-configuration";
    let mut world = world("");
    world.put(PRM, 500, "");
    world.put(ROOT, 200, &resource(MCP, AS, ""));
    world.put(ASM, 502, "<html>");
    world.put(oidc, 200, &server(AS, ""));
    check_discovery(&world, config(), &[PRM, ROOT, ASM, oidc], AS);
}

#[test]
fn the_answer_must_come_from_the_issuer_that_was_asked() {
    let advertised = r#","authorization_response_iss_parameter_supported":true"#;
    let open = format!("OPEN client_id=registered resource={MCP}");
    let cases = [
        ("iss-supported", advertised, "&iss=https://as.example", true),
        ("iss-not-advertised", "", "", true),
        ("iss-supported-missing", advertised, "", false),
        (
            "iss-wrong-issuer",
            advertised,
            "&iss=https://evil.example",
            false,
        ),
        ("iss-unexpected", "", "&iss=https://evil.example", false),
        (
            "iss-normalized",
            advertised,
            "&iss=https://as.example/",
            false,
        ),
    ];
    for (name, rest, redirect, accepted) in cases {
        let mut world = world(rest);
        world.redirect = redirect.into();
        if accepted {
            assert_eq!(world.run(config()).1, Ok(login()), "{name}");
        } else {
            let error = "the redirect must name the issuer https://as.example, but it names another one or none";
            check_refused(&world, config(), &open, error);
        }
    }
}

#[test]
fn an_issuer_may_be_spelled_with_a_final_slash_in_its_own_metadata() {
    let advertised = r#","authorization_response_iss_parameter_supported":true"#;
    let mut world = world("");
    world.put(ASM, 200, &server("https://as.example/", advertised));
    world.redirect = "&iss=https://as.example/".into();
    // Credentials are stored for the issuer that the server names.
    assert_eq!(world.run(config()).1, Ok(login()));

    world.redirect = "&iss=https://as.example".into();
    let open = format!("OPEN client_id=registered resource={MCP}");
    let error =
        "the redirect must name the issuer https://as.example/, but it names another one or none";
    check_refused(&world, config(), &open, error);
}
