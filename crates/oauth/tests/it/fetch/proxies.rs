//! Requests of a login through a proxy on this machine.

use callgate_mcp::transport::http::connect::{Proxies, ProxyError, ProxySettings};
use callgate_oauth::fetch::{Config, FetchError, Fetcher};
use callgate_oauth::guard::{Guard, GuardRefusal, Network};
use callgate_oauth::http_message::Response;
use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;

use super::addresses::Names;
use super::peer::{Log, Peer, read_request};
use super::tls::{Authority, https_peer};
use super::{LOOPBACK, get};

/// A proxy that reaches one server, whatever name a client asks for.
async fn proxy_before(server: &Peer, status: &'static str) -> Peer {
    let server = server.address;
    Peer::new(move |mut stream, log: Log| async move {
        if !read_request(&mut stream, &log).await {
            return;
        }
        let reply = format!("HTTP/1.1 {status}\r\n\r\n");
        let _ = stream.write_all(reply.as_bytes()).await;
        if status.starts_with('2') {
            let mut server = TcpStream::connect(server).await.expect("it listens");
            let _ = copy_bidirectional(&mut stream, &mut server).await;
        }
    })
    .await
}

/// Goes through `proxy`, and can resolve no name.
fn fetcher(proxy: &Peer, authority: &Authority) -> Fetcher {
    Fetcher::new({
        let mut config = Config::default();
        config.extra_roots = vec![authority.root.clone()];
        config.resolver = Names::new(&[]);
        let proxy = format!("http://me:canary@{}", proxy.address);
        config.proxies = Proxies::new(&ProxySettings::default().with_all(&proxy));
        config
    })
    .expect("TLS works")
}

#[tokio::test]
async fn a_document_comes_through_a_tunnel() {
    let authority = Authority::new();
    let server = https_peer(authority.acceptor("as.example")).await;
    let proxy = proxy_before(&server, "200 OK").await;
    let fetcher = fetcher(&proxy, &authority);
    let request = get("https://as.example/a");
    let fetched = fetcher.fetch(Guard::public(), &request).await;
    assert_eq!(fetched.expect("it comes"), Response::new(200, "as.example"));
    let expected = "CONNECT as.example:443 HTTP/1.1\r\nhost: as.example:443\r\n";
    assert!(
        proxy.requests()[0].starts_with(expected),
        "{:?}",
        proxy.requests()
    );
    let credentials = "proxy-authorization: Basic bWU6Y2FuYXJ5";
    assert!(
        proxy.requests()[0].contains(credentials),
        "{:?}",
        proxy.requests()
    );
    assert!(server.requests()[0].starts_with("GET /a HTTP/1.1\r\n"));
    assert!(!server.requests()[0].contains("proxy-"));
}

#[tokio::test]
async fn a_plain_request_is_forwarded_with_its_whole_url() {
    let server = Peer::answering("200 OK", "{}").await;
    let fetcher = fetcher(&server, &Authority::new());
    let private = Guard::public().allow(Network::Private);
    let fetched = fetcher
        .fetch(private, &get("http://as.internal:8080/a?b=c"))
        .await;
    assert_eq!(fetched.expect("it comes"), Response::new(200, "{}"));
    let request = server.requests().remove(0);
    let line = "GET http://as.internal:8080/a?b=c HTTP/1.1\r\n";
    assert!(request.starts_with(line), "{request}");
    assert!(request.contains("\r\nproxy-authorization: Basic bWU6Y2FuYXJ5\r\n"));
    assert!(request.contains("\r\nhost: as.internal:8080\r\n"));
}

/// The proxy resolves names by its own rules, but an address in a URL is refused before it is asked.
#[tokio::test]
async fn addresses_in_urls_are_guarded_all_the_same() {
    let server = Peer::answering("200 OK", "{}").await;
    let fetcher = fetcher(&server, &Authority::new());
    for (url, network) in [
        ("https://10.0.0.1/", Network::Private),
        ("https://[fd12::1]/", Network::Private),
        ("http://169.254.169.254/", Network::Reserved),
        ("https://127.0.0.1/", Network::Loopback),
        ("https://localhost/", Network::Loopback),
    ] {
        let error = fetcher.fetch(Guard::public(), &get(url)).await;
        let Err(FetchError::Refused(GuardRefusal::Network { network: found, .. })) = error else {
            panic!("{url}: {error:?}");
        };
        assert_eq!(found, network, "{url}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn this_machine_is_reached_directly() {
    let server = Peer::answering("200 OK", "{}").await;
    let proxy = Peer::answering("502 Bad Gateway", "").await;
    let fetcher = fetcher(&proxy, &Authority::new());
    let fetched = fetcher.fetch(LOOPBACK, &get(&server.url("/"))).await;
    assert_eq!(fetched.expect("it comes"), Response::new(200, "{}"));
    assert_eq!(proxy.connections(), 0);
}

#[tokio::test]
async fn a_refusal_of_the_proxy_is_not_one_of_the_server() {
    let authority = Authority::new();
    let server = https_peer(authority.acceptor("as.example")).await;
    for (status, expected, is_transient) in [
        ("407 Who Are You", ProxyError::Credentials, false),
        ("403 Forbidden", ProxyError::Refused(403), false),
        ("503 Later", ProxyError::Refused(503), true),
    ] {
        let proxy = proxy_before(&server, status).await;
        let fetched = fetcher(&proxy, &authority)
            .fetch(Guard::public(), &get("https://as.example/"))
            .await;
        let error = fetched.expect_err("there is no tunnel");
        let text = format!(
            "cannot connect to https://as.example through the proxy http://{}",
            proxy.address
        );
        assert_eq!(
            (error.to_string(), error.is_transient()),
            (text, is_transient)
        );
        let FetchError::Proxy { source, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(source, expected);
    }
}
