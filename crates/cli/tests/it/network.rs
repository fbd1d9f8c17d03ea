//! Logins and calls through a proxy, with a certificate authority of a company, at private addresses.

use std::fs;
use std::io::{BufRead, BufReader, Write, copy};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;

use crate::fixture::{Home, Ran};
use crate::provider::{Provider, Settings};

const SERVER: &str = "https://mcp.example";
const URL: &str = "https://mcp.example/mcp";

/// A certificate authority, and its file.
struct Authority {
    file: PathBuf,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    fn new(home: &Home) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let file = home.path().join("ca.pem");
        fs::write(&file, issuer.pem()).unwrap();
        Self { file, issuer }
    }

    /// TLS of the server, by its name and by its address.
    fn tls(&self) -> Arc<ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let names = ["mcp.example".to_owned(), "127.0.0.1".to_owned()];
        let certificate = CertificateParams::new(names).unwrap();
        let certificate = certificate.signed_by(&key, &self.issuer).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                key.serialize_der().try_into().unwrap(),
            )
            .unwrap();
        Arc::new(config)
    }

    fn path(&self) -> &str {
        self.file.to_str().unwrap()
    }
}

/// A proxy that reaches one server, whatever name a client asks for.
struct Proxy {
    url: String,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!(
            "http://me:canary-password@{}",
            listener.local_addr().unwrap()
        );
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let log = heads.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let log = log.clone();
                thread::spawn(move || tunnel(stream, server, &log));
            }
        });
        Self { url, heads }
    }

    /// The URL without the password.
    fn shown(&self) -> String {
        self.url.replace("me:canary-password@", "")
    }

    /// Requests so far, with their credentials.
    fn asked(&self) -> Vec<String> {
        let heads = std::mem::take(&mut *self.heads.lock().unwrap());
        let mut asked: Vec<String> = heads
            .iter()
            .map(|head| {
                let (line, rest) = head.split_once("\r\n").unwrap();
                let credentials = rest
                    .lines()
                    .find(|it| it.starts_with("proxy-authorization"));
                format!("{line} {}", credentials.unwrap_or("-"))
            })
            .collect();
        asked.dedup();
        asked
    }
}

fn tunnel(client: TcpStream, server: SocketAddr, log: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    log.lock().unwrap().push(head.clone());
    let mut server = TcpStream::connect(server).ok()?;
    let mut client = client;
    if head.starts_with("CONNECT ") {
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").ok()?;
    } else {
        server.write_all(head.as_bytes()).ok()?;
        server.write_all(reader.buffer()).ok()?;
    }
    let (mut from_client, mut to_server) = (reader.into_inner(), server.try_clone().ok()?);
    thread::spawn(move || {
        let _ = copy(&mut from_client, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    let _ = copy(&mut server, &mut client);
    client.shutdown(Shutdown::Write).ok()
}

/// Logs in as a client, which needs no browser.
const AS_CLIENT: &[&str] = &["--client-id", "configured", "--client-credentials"];

fn auth(home: &Home, proxy: &Proxy, args: &[&str]) -> Command {
    let mut command = home.command(&[&["auth", URL], AS_CLIENT, args].concat());
    command
        .env("https_proxy", &proxy.url)
        .env("CALLGATE_CLIENT_SECRET", Settings::default().secret);
    command
}

fn run(command: &mut Command) -> Ran {
    Ran::from(command.output().unwrap())
}

#[test]
fn logins_and_calls_go_through_the_proxy_and_trust_the_authority() {
    let home = Home::new();
    let authority = Authority::new(&home);
    let (provider, address) = Provider::start_tls(SERVER, Some(SERVER), authority.tls());
    let proxy = Proxy::start(address);
    let connect =
        "CONNECT mcp.example:443 HTTP/1.1 proxy-authorization: Basic bWU6Y2FuYXJ5LXBhc3N3b3Jk";

    let untrusting = run(&mut auth(&home, &proxy, &[]));
    assert_eq!(
        untrusting,
        Ran::failed(
            4,
            &format!(
                "error: cannot connect to server `{URL}` at {URL} through the proxy {}: invalid peer certificate: UnknownIssuer\n\
                 hint: if you trust the certificate authority of the server, name the file of its certificate with --ca-file FILE or in the variable CALLGATE_CA_FILE\n",
                proxy.shown()
            )
        )
    );

    let ran =
        run(auth(&home, &proxy, &["--ca-file", authority.path()]).env("CALLGATE_LOG", "debug"));
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains(&format!("proxy={}", proxy.shown())),
        "{ran:?}"
    );
    assert!(!ran.stderr.contains("canary-password"), "{ran:?}");
    assert_eq!(proxy.asked(), [connect]);

    // The file is remembered, for the token as well as for the call.
    provider.end_access_tokens();
    let mut call = home.command(&["call", URL, "whoami"]);
    let ran = run(call.env("HTTPS_PROXY", &proxy.url));
    assert_eq!(ran, Ran::printed("granted: read\n"));
    assert_eq!(proxy.asked(), [connect]);

    // Without the proxy, the name is unknown.
    let mut call = home.command(&["call", URL, "whoami"]);
    let ran = run(call
        .env("HTTPS_PROXY", &proxy.url)
        .env("no_proxy", ".example"));
    assert_eq!(ran.exit, Some(4), "{ran:?}");
    assert_eq!(proxy.asked(), [""; 0]);

    // The only login at that file shows what is wrong with it.
    fs::remove_file(&authority.file).unwrap();
    let mut call = home.command(&["call", URL, "whoami"]);
    let ran = run(call.env("HTTPS_PROXY", &proxy.url));
    let expected = format!(
        "error: cannot read the certificates in {}",
        authority.path()
    );
    assert!(ran.stderr.starts_with(&expected), "{ran:?}");
}

#[test]
fn an_authority_is_named_in_every_way() {
    let home = Home::new();
    let authority = Authority::new(&home);
    let (_provider, address) = Provider::start_tls(SERVER, Some(SERVER), authority.tls());
    let proxy = Proxy::start(address);
    let list = |args: &[&str]| {
        let token = ["--header", "authorization: Bearer wrong"];
        let mut command = home.command(&[&["list", URL], &token[..], args].concat());
        command.env("ALL_PROXY", &proxy.url);
        command
    };
    // The certificate is trusted if the token is refused.
    for ran in [
        run(&mut list(&["--ca-file", authority.path()])),
        run(list(&[]).env("CALLGATE_CA_FILE", authority.path())),
        run(list(&[]).env("SSL_CERT_FILE", authority.path())),
    ] {
        assert_eq!(ran.exit, Some(3), "{ran:?}");
    }
    assert_eq!(run(&mut list(&[])).exit, Some(4));

    let file = home.path().join("none.pem");
    fs::write(&file, "nothing").unwrap();
    let file = file.to_str().unwrap();
    for ran in [
        run(&mut list(&["--ca-file", file])),
        run(list(&[]).env("CALLGATE_CA_FILE", file)),
        run(list(&[]).env("SSL_CERT_FILE", file)),
    ] {
        let expected = format!(
            "error: cannot use {file}: there is no certificate in PEM format in it\n\
             hint: name a file with certificates in PEM format by --ca-file FILE or by the variables CALLGATE_CA_FILE and SSL_CERT_FILE\n"
        );
        assert_eq!(ran, Ran::failed(1, &expected));
    }
}

#[test]
fn a_public_server_names_this_machine_only_if_the_user_allows_it() {
    let home = Home::new();
    let authority = Authority::new(&home);
    let (provider, address) = Provider::start_tls(SERVER, None, authority.tls());
    let proxy = Proxy::start(address);
    let trusting = ["--ca-file", authority.path()];
    let refused = run(&mut auth(&home, &proxy, &trusting));
    let expected = format!(
        "error: refusing to connect to 127.0.0.1: it is this machine, which only a server on this machine may name\n\
         hint: if you trust that address, run `callgate auth {URL} --allow-private-addresses`\n"
    );
    assert_eq!(refused.exit, Some(3), "{refused:?}");
    assert!(refused.stderr.starts_with(&expected), "{refused:?}");

    let allowed = [&trusting[..], &["--allow-private-addresses"]].concat();
    let ran = run(&mut auth(&home, &proxy, &allowed));
    assert_eq!(ran.exit, Some(0), "{ran:?}");

    // It is remembered for the next token.
    provider.end_access_tokens();
    let call = || {
        let mut call = home.command(&["call", URL, "whoami"]);
        run(call.env("HTTPS_PROXY", &proxy.url))
    };
    assert_eq!(call(), Ran::printed("granted: read\n"));

    // It can be taken back.
    let taken_back = [
        &trusting[..],
        &["--allow-private-addresses=false", "--again"],
    ]
    .concat();
    let ran = run(&mut auth(&home, &proxy, &taken_back));
    assert!(
        ran.stderr
            .starts_with("error: refusing to connect to 127.0.0.1"),
        "{ran:?}"
    );
}

#[test]
fn a_plain_server_is_reached_through_its_proxy() {
    let (home, provider) = (Home::new(), Provider::start(Settings::default()));
    let address = provider.issuer().trim_start_matches("http://");
    let proxy = Proxy::start(address.parse().unwrap());
    let mut list = home.command(&[
        "list",
        "http://mcp.example/mcp",
        "--header",
        "authorization: x",
    ]);
    let ran = run(list.env("HTTP_PROXY", &proxy.url));
    assert_eq!(ran.exit, Some(3), "{ran:?}");
    let line =
        "POST http://mcp.example/mcp HTTP/1.1 proxy-authorization: Basic bWU6Y2FuYXJ5LXBhc3N3b3Jk";
    assert_eq!(proxy.asked(), [line]);
}

#[test]
fn a_proxy_that_is_down_is_named() {
    let home = Home::new();
    let gone = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let mut list = home.command(&["list", URL, "--header", "authorization: x"]);
    let ran = run(list.env("https_proxy", format!("http://u:canary@{address}")));
    let expected = format!(
        "error: cannot connect to server `{URL}` at {URL} through the proxy http://{address}: "
    );
    assert!(ran.stderr.starts_with(&expected), "{ran:?}");
    assert_eq!(ran.exit, Some(4));
    assert!(!ran.stderr.contains("canary"), "{ran:?}");
}
