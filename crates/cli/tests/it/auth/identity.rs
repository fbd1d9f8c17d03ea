use std::fs;
use std::os::unix::fs::symlink;

use super::expected::logged_in;
use crate::fixture::{Home, Ran};
use crate::provider::{EMPLOYEE, Provider, Settings};

/// Error text for an identity token that is not accepted any more.
const NEW_IDENTITY: &str = "hint: if the identity token has expired, write a new one to its file; the file is read each time\n";

/// A home in which the platform has put an identity token.
fn home_with_identity() -> Home {
    let home = Home::new();
    symlink("identity-1", home.path().join("identity")).unwrap();
    fs::write(home.path().join("identity-1"), "canary-identity-1\n").unwrap();
    home
}

/// Does what platforms do: the old token is gone, and a link leads to the new one.
fn replace_identity(home: &Home) {
    let link = home.path().join("identity");
    fs::remove_file(&link).unwrap();
    fs::remove_file(home.path().join("identity-1")).unwrap();
    fs::write(home.path().join("identity-2"), "canary-identity-2").unwrap();
    symlink("identity-2", link).unwrap();
}

fn run_at_home(home: &Home, args: &[&str]) -> Ran {
    let mut command = home.command(args);
    Ran::from(command.current_dir(home.path()).output().unwrap())
}

fn log_in_as_workload(home: &Home, url: &str) -> Ran {
    let login = ["auth", url, "--client-id", "machine"];
    run_at_home(
        home,
        &[&login[..], &["--workload-identity", "identity"]].concat(),
    )
}

#[test]
fn a_workload_logs_in_by_the_token_of_its_platform() {
    let home = home_with_identity();
    let provider = Provider::start(Settings::default());
    let url = &provider.url;
    let ran = log_in_as_workload(&home, url);
    assert_eq!(ran, Ran::printed(&logged_in(&provider, "read")));

    replace_identity(&home);
    provider.end_access_tokens();
    let ran = home.run(&["call", url, "whoami"]);
    assert_eq!(ran, Ran::printed("granted: read\n"));

    provider.end_access_tokens();
    assert_eq!(
        home.run(&["call", url, "whoami"]),
        Ran::failed(
            3,
            &format!(
                "error: the authorization server refused the token request: invalid_grant\n\
                 hint: to try again, run `callgate auth {url}`\n{NEW_IDENTITY}"
            )
        )
    );
    assert_eq!(
        provider.events(),
        [
            "jwt-bearer of machine",
            "jwt-bearer of machine",
            "jwt-bearer of machine refused"
        ]
    );
}

#[test]
fn an_employee_logs_in_by_the_identity_provider_of_the_employer() {
    let home = home_with_identity();
    let provider = Provider::start(Settings::default());
    let (url, issuer) = (&provider.url, provider.issuer());
    let (id, secret) = EMPLOYEE.split_once(':').unwrap();
    fs::write(home.path().join("secret"), "wrong").unwrap();
    fs::write(home.path().join("client"), Settings::default().secret).unwrap();
    let endpoint = format!("{issuer}/exchange");
    let login = [
        &["auth", url, "--client-id", "configured"][..],
        &["--client-secret-file", "client"],
        &["--enterprise-token", "identity"],
        &["--enterprise-token-endpoint", &endpoint],
        &["--enterprise-client-id", id],
        &["--enterprise-client-secret-file", "secret"],
    ]
    .concat();
    assert_eq!(
        run_at_home(&home, &login),
        Ran::failed(
            3,
            &format!(
                "error: the identity provider refused the identity token: invalid_client\n\
                 hint: check the client at the identity provider and its secret, \
                 and run `callgate auth {url}` with them\n"
            )
        )
    );
    fs::write(home.path().join("secret"), secret).unwrap();
    let ran = run_at_home(&home, &login);
    assert_eq!(ran, Ran::printed(&logged_in(&provider, "read")));

    replace_identity(&home);
    provider.end_access_tokens();
    let ran = home.run(&["call", url, "whoami"]);
    assert_eq!(ran, Ran::printed("granted: read\n"));
    let stored = home.path().join(".local/share/callgate/mcp-auth.json");
    let stored = fs::read_to_string(stored).unwrap();
    for kept_elsewhere in [secret, "canary-identity"] {
        assert!(!stored.contains(kept_elsewhere), "{stored}");
    }

    provider.end_access_tokens();
    assert_eq!(
        home.run(&["call", url, "whoami"]),
        Ran::failed(
            3,
            &format!(
                "error: the identity provider refused the identity token: invalid_grant\n\
                 hint: to try again, run `callgate auth {url}`\n{NEW_IDENTITY}"
            )
        )
    );
    assert_eq!(
        provider.events(),
        [
            "exchange by a stranger",
            &format!("exchange for {issuer}"),
            "jwt-bearer of configured",
            &format!("exchange for {issuer}"),
            "jwt-bearer of configured",
            "exchange refused",
        ]
    );
}

#[test]
fn a_token_that_works_needs_no_identity() {
    let home = home_with_identity();
    let provider = Provider::start(Settings::default());
    let url = &provider.url;
    log_in_as_workload(&home, url);
    let file = home.path().join("identity");
    fs::remove_file(&file).unwrap();
    let ran = home.run(&["call", url, "whoami"]);
    assert_eq!(ran, Ran::printed("granted: read\n"));

    provider.end_access_tokens();
    let file = file.display();
    assert_eq!(
        home.run(&["call", url, "whoami"]),
        Ran::failed(
            3,
            &format!(
                "error: cannot read the identity token from `{file}`: \
                 No such file or directory (os error 2)\n{NEW_IDENTITY}"
            )
        )
    );
    let ran = home.run(&["logout", url]);
    assert_eq!(ran.exit, Some(0), "{ran:?}");
}

#[test]
fn an_identity_provider_is_named_in_full() {
    let home = home_with_identity();
    let url = "http://127.0.0.1:1/mcp";
    let login = ["auth", url, "--client-id", "me", "--enterprise-token", "f"];
    let ran = home.run(&login);
    assert_eq!(ran.exit, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("--enterprise-client-id <ID>"),
        "{ran:?}"
    );
    let rest = [
        "--enterprise-client-id",
        "me",
        "--enterprise-token-endpoint",
        "idp",
    ];
    assert_eq!(
        home.run(&[&login[..], &rest].concat()),
        Ran::failed(
            1,
            "error: `idp` is not an http(s) URL\n\
             hint: it is the `token_endpoint` in the metadata of the identity provider\n"
        )
    );
}
