//! Requests through a proxy on this machine, to servers whose names only the proxy knows.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use callgate_mcp::transport::http::client::{HttpConfig, ModernHttpClient};
use callgate_mcp::transport::http::connect::{Proxies, ProxySettings};
use callgate_mcp::{Kind, Retry};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use super::peer::{Peer, call, failure, result};
use super::tls::{Authority, answer, https_peer, refuse, trusting};
use crate::authorizer::keyring::Keyring;

/// A proxy that reaches one server, whatever name a client asks for.
struct Proxy {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    async fn before(peer: &Peer) -> Self {
        let (_, server) = peer.url.split_once("://").unwrap();
        let port = server.rsplit_once(':').unwrap().1;
        let port = port.split('/').next().unwrap().parse().unwrap();
        Self::start(SocketAddr::from(([127, 0, 0, 1], port)), "200 OK").await
    }

    /// One that answers a request for a tunnel with `status`.
    async fn start(server: SocketAddr, status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let log = heads.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(relay(stream, server, status, log.clone()));
            }
        });
        Self { address, heads }
    }

    /// Uses this proxy for everything.
    fn apply(&self, config: &mut HttpConfig) {
        let proxy = format!("http://me:open%20sesame@{}", self.address);
        config.proxies = Proxies::new(&ProxySettings::default().with_all(&proxy));
    }

    /// The lines of the first request that matter.
    fn first(&self) -> Vec<String> {
        let heads = self.heads.lock().unwrap();
        let lines = heads[0].lines();
        let matters = |line: &&str| {
            ["CONNECT", "POST", "host:", "proxy-authorization:"]
                .iter()
                .any(|start| line.starts_with(start))
        };
        lines.filter(matters).map(str::to_owned).collect()
    }
}

async fn relay(
    mut client: TcpStream,
    server: SocketAddr,
    status: &str,
    log: Arc<Mutex<Vec<String>>>,
) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match client.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let text = String::from_utf8(head).unwrap();
    log.lock().unwrap().push(text.clone());
    let is_tunnel = text.starts_with("CONNECT ");
    if is_tunnel {
        let reply = format!("HTTP/1.1 {status}\r\n\r\n");
        client.write_all(reply.as_bytes()).await.unwrap();
        if !status.starts_with('2') {
            return;
        }
    }
    let mut server = TcpStream::connect(server).await.unwrap();
    if !is_tunnel {
        server.write_all(text.as_bytes()).await.unwrap();
    }
    let _ = copy_bidirectional(&mut client, &mut server).await;
}

const AUTHORIZATION: &str = "proxy-authorization: Basic bWU6b3BlbiBzZXNhbWU=";

#[tokio::test]
async fn an_encrypted_connection_goes_through_a_tunnel() {
    let authority = Authority::new();
    let mut peer = https_peer(authority.acceptor("mcp.example"), answer).await;
    let proxy = Proxy::before(&peer).await;
    let mut config = trusting(&authority);
    proxy.apply(&mut config);
    let client = ModernHttpClient::new("https://mcp.example/mcp", config).unwrap();
    for _ in 0..3 {
        assert_eq!(result(&client, call("tools/list", "")).await, "{}");
    }
    let connect = "CONNECT mcp.example:443 HTTP/1.1";
    assert_eq!(
        proxy.first(),
        [connect, "host: mcp.example:443", AUTHORIZATION]
    );
    assert_eq!(proxy.heads.lock().unwrap().len(), 1);
    // Inside of the tunnel is the server, which must not learn the password of the proxy.
    let request = peer.request().await;
    assert_eq!(request.line, "POST /mcp HTTP/1.1");
    assert_eq!(request.header("proxy-authorization"), None);
}

#[tokio::test]
async fn a_plain_request_is_forwarded() {
    let peer = Peer::start(answer).await;
    let proxy = Proxy::before(&peer).await;
    let mut config = HttpConfig::new("peer");
    proxy.apply(&mut config);
    let client = ModernHttpClient::new("http://mcp.example:8080/mcp?a=b", config).unwrap();
    assert_eq!(result(&client, call("tools/list", "")).await, "{}");
    let line = "POST http://mcp.example:8080/mcp?a=b HTTP/1.1";
    let mut expected = [line, "host: mcp.example:8080", AUTHORIZATION];
    let mut found = proxy.first();
    found.sort();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn this_machine_is_reached_without_the_proxy() {
    let peer = Peer::start(answer).await;
    let proxy = Proxy::before(&peer).await;
    let mut config = HttpConfig::new("peer");
    proxy.apply(&mut config);
    assert_eq!(
        result(&peer.client_with(config), call("tools/list", "")).await,
        "{}"
    );
    assert!(proxy.heads.lock().unwrap().is_empty());
}

/// A proxy is often on this machine, where a server could name other hosts if it were there itself.
#[tokio::test]
async fn the_address_of_the_proxy_is_not_that_of_the_server() {
    let peer = Peer::start(refuse).await;
    let proxy = Proxy::before(&peer).await;
    let keyring = Keyring::new("bad");
    let mut config = keyring.config();
    proxy.apply(&mut config);
    let client = ModernHttpClient::new("http://mcp.example/mcp", config).unwrap();
    failure(&client, call("tools/list", "")).await;
    let expected = "1 POST: Bearer bad 401 - from a proxy";
    assert_eq!(keyring.refusals(), [expected]);
}

#[tokio::test]
async fn a_failure_names_the_proxy_but_not_its_password() {
    let unused = SocketAddr::from(([127, 0, 0, 1], 9));
    for (status, reason) in [
        (
            "407 Proxy Authentication Required",
            "the proxy wants a user name and a password (HTTP status 407); write them into its URL",
        ),
        (
            "403 Forbidden",
            "the proxy refused the tunnel with the HTTP status 403",
        ),
        (
            "502 Bad Gateway",
            "the proxy refused the tunnel with the HTTP status 502",
        ),
    ] {
        let proxy = Proxy::start(unused, status).await;
        let mut config = HttpConfig::new("peer");
        proxy.apply(&mut config);
        let client = ModernHttpClient::new("https://mcp.example/mcp", config).unwrap();
        let error = failure(&client, call("tools/list", "")).await;
        assert_eq!((error.kind(), error.retry()), (Kind::Connect, Retry::Safe));
        let expected = format!(
            "cannot connect to server `peer` at https://mcp.example/mcp through the proxy http://{}: {reason}",
            proxy.address
        );
        assert_eq!(error.to_string(), expected);
        assert!(!format!("{error:?} {client:?}").contains("sesame"));
    }
}

#[tokio::test]
async fn a_proxy_that_cannot_be_used_is_not_bypassed() {
    let mut peer = Peer::start(answer).await;
    let mut config = HttpConfig::new("peer");
    let proxy = "socks5://me:sesame@127.0.0.1:1080";
    config.proxies = Proxies::new(&ProxySettings::default().with_all(proxy));
    let client = ModernHttpClient::new("http://mcp.example/mcp", config).unwrap();
    let error = failure(&client, call("tools/list", "")).await;
    assert_eq!(
        error.to_string(),
        "cannot connect to server `peer` at http://mcp.example/mcp: \
         a proxy with the scheme `socks5` is not supported; use one with http://"
    );
    assert!(peer.requests().is_empty());
}

#[tokio::test]
async fn a_proxy_that_talks_nonsense_opens_no_tunnel() {
    for head in ["x", &"a".repeat(100_000), "HTTP/1.1 200 OK\r\n\r\nmore"] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let head = head.to_owned();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read_u8().await;
                let _ = stream.write_all(head.as_bytes()).await;
                let _ = stream.shutdown().await;
                let _ = stream.read_to_end(&mut Vec::new()).await;
            }
        });
        let mut config = HttpConfig::new("peer");
        let proxy = address.to_string();
        config.proxies = Proxies::new(&ProxySettings::default().with_all(&proxy));
        let client = ModernHttpClient::new("https://mcp.example/mcp", config).unwrap();
        let error = failure(&client, call("tools/list", "")).await.to_string();
        assert!(
            error.contains("the proxy did not answer in HTTP: "),
            "{error}"
        );
    }
}
