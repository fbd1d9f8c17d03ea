//! Sockets of a listener: Unix, handed over, and with TLS.

use std::sync::Arc;

use callgate_mcp::Service;
use callgate_mcp::transport::http::server::{HttpServerConfig, Listener, Socket};
use tokio::task::JoinHandle;

use super::peer::Peer;
use super::post::Post;
use super::source::{result, told};

fn run(socket: Socket, service: Arc<dyn Service>) -> JoinHandle<()> {
    tokio::spawn(Listener::new(socket, service, HttpServerConfig::default()).run())
}

/// Calls a tool by this connection, and returns the address that the service sees.
async fn call(mut peer: Peer, host: &str) -> serde_json::Value {
    peer.send(Post::tool("t").set("host", host).bytes_without_host())
        .await;
    let answer = peer.answer().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    result(&answer.body)["ip"].take()
}

#[tokio::test]
async fn a_tcp_socket_that_listens_already_is_taken_over() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let running = run(Socket::from_std(listener).unwrap(), told());
    let peer = Peer::connect(address).await;
    assert_eq!(call(peer, &address.to_string()).await, "127.0.0.1");
    running.abort();
}

#[cfg(unix)]
mod unix {
    use std::os::fd::OwnedFd;

    use tokio::net::UnixStream;

    use super::*;

    #[tokio::test]
    async fn a_server_listens_on_a_unix_socket() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mcp.sock");
        let socket = Socket::bind_unix(&path).unwrap();
        assert!(socket.local_addr().is_err());
        let running = run(socket, told());
        for host in ["localhost", "localhost:80"] {
            let peer = Peer::over(UnixStream::connect(&path).await.unwrap());
            assert_eq!(call(peer, host).await, serde_json::Value::Null);
        }
        let mut peer = Peer::over(UnixStream::connect(&path).await.unwrap());
        let foreign = Post::tool("t").set("host", "evil.example");
        peer.send(foreign.bytes_without_host()).await;
        assert_eq!(peer.answer().await.status, 403);
        assert!(Socket::bind_unix(&path).is_err());
        running.abort();
    }

    /// As systemd hands sockets over: a descriptor whose kind is not known.
    #[tokio::test]
    async fn sockets_of_another_process_are_taken_over_by_their_descriptors() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let running = run(Socket::from_fd(OwnedFd::from(listener)).unwrap(), told());
        let peer = Peer::connect(address).await;
        assert_eq!(call(peer, &address.to_string()).await, "127.0.0.1");
        running.abort();

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("mcp.sock");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let running = run(Socket::from_fd(OwnedFd::from(listener)).unwrap(), told());
        let peer = Peer::over(UnixStream::connect(&path).await.unwrap());
        assert_eq!(call(peer, "localhost").await, serde_json::Value::Null);
        running.abort();
    }

    #[tokio::test]
    async fn a_descriptor_that_does_not_listen_is_refused() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let datagrams = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        for fd in [file.into(), one.into(), datagrams.into()] {
            let error = Socket::from_fd(fd).unwrap_err().to_string();
            let expect = "the descriptor is not a listening socket: ";
            assert!(error.starts_with(expect), "{error}");
        }
    }
}

#[cfg(feature = "server-tls")]
mod tls {
    use std::net::SocketAddr;
    use std::time::Duration;

    use bytes::Bytes;
    use http_body_util::{BodyExt, Full};
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use rcgen::{CertificateParams, KeyPair};
    use tokio::net::TcpStream;
    use tokio::sync::{Notify, mpsc};
    use tokio::time::timeout;
    use tokio_rustls::TlsConnector;
    use tokio_rustls::client::TlsStream;
    use tokio_rustls::rustls::crypto::ring;
    use tokio_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};

    use super::super::post::META;
    use super::*;
    use crate::stdio_fixture::{complete, service, soon};

    /// A socket with TLS, and a connector that trusts it and offers `protocols`.
    async fn encrypted(protocols: &[&str]) -> (Socket, TlsConnector) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap().der().clone();
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.clone()],
                key.serialize_der().try_into().unwrap(),
            )
            .unwrap();
        let socket = Socket::bind(([127, 0, 0, 1], 0).into()).await.unwrap();

        let mut roots = RootCertStore::empty();
        roots.add(certificate).unwrap();
        let mut connect = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        connect.alpn_protocols = protocols.iter().map(|it| it.as_bytes().to_vec()).collect();
        let connector = TlsConnector::from(Arc::new(connect));
        (socket.with_tls(config), connector)
    }

    /// A running server with TLS.
    async fn start(protocols: &[&str]) -> (SocketAddr, JoinHandle<()>, TlsConnector) {
        let (socket, connector) = encrypted(protocols).await;
        let address = socket.local_addr().unwrap();
        (address, run(socket, told()), connector)
    }

    type Client = hyper::client::conn::http2::SendRequest<Full<Bytes>>;

    /// A client of HTTP/2, and the task that drives its connection.
    async fn http2(
        address: SocketAddr,
        connector: &TlsConnector,
    ) -> (Client, JoinHandle<hyper::Result<()>>) {
        let stream = connect(address, connector).await;
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
        let handshake =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
        let (client, connection) = handshake.await.unwrap();
        (client, tokio::spawn(connection))
    }

    async fn ask(mut client: Client, host: String) -> (u16, String) {
        let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{{META}}}}}"#);
        let request = http::Request::post(format!("https://{host}/mcp"))
            .header("content-type", "application/json")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "x")
            .body(Full::new(Bytes::from(message)))
            .unwrap();
        let response = client.send_request(request).await.unwrap();
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn connect(address: SocketAddr, connector: &TlsConnector) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(address).await.unwrap();
        let name = "localhost".try_into().unwrap();
        connector.connect(name, stream).await.unwrap()
    }

    #[tokio::test]
    async fn a_client_without_http2_is_served_over_tls() {
        let (address, running, connector) = start(&[]).await;
        let host = format!("localhost:{}", address.port());
        let peer = Peer::over(connect(address, &connector).await);
        assert_eq!(call(peer, &host).await, "127.0.0.1");

        // The guard against smuggling reads what is encrypted.
        let mut peer = Peer::over(connect(address, &connector).await);
        let ambiguous = Post::tool("t")
            .set("host", &host)
            .set("transfer-encoding", "chunked")
            .set("content-length", "0");
        peer.send(ambiguous.bytes_without_host()).await;
        assert_eq!(peer.answer().await.status, 400);
        assert!(peer.closed().await);

        // Pages of this server come by TLS too.
        let mut peer = Peer::over(connect(address, &connector).await);
        for (origin, status) in [("https", 200), ("http", 403)] {
            let page = Post::tool("t")
                .set("host", &host)
                .set("origin", &format!("{origin}://{host}"));
            peer.send(page.bytes_without_host()).await;
            assert_eq!(peer.answer().await.status, status, "{origin}");
        }
        running.abort();
    }

    #[tokio::test]
    async fn requests_share_an_http2_connection() {
        let (address, running, connector) = start(&["h2", "http/1.1"]).await;
        let (client, driver) = http2(address, &connector).await;
        let host = format!("localhost:{}", address.port());
        let answers =
            futures_util::future::join_all((0..10).map(|_| ask(client.clone(), host.clone())))
                .await;
        for (status, body) in answers {
            assert_eq!(status, 200);
            assert_eq!(result(&body)["ip"], "127.0.0.1");
        }
        assert_eq!(ask(client, "evil.example".to_owned()).await.0, 403);
        running.abort();
        driver.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn an_http2_connection_is_idle_after_a_request_that_was_canceled_before_its_answer() {
        let (called, mut calls) = mpsc::unbounded_channel();
        let waiting = service(move |_| {
            called.send(()).unwrap();
            std::future::pending()
        });
        let (socket, connector) = encrypted(&["h2"]).await;
        let address = socket.local_addr().unwrap();
        let running = run(socket, waiting);
        let (client, driver) = http2(address, &connector).await;
        let host = format!("localhost:{}", address.port());
        let answer = tokio::spawn(ask(client.clone(), host));
        calls.recv().await.unwrap();
        answer.abort();
        // The client stays connected, and only the idle timeout of the server ends the connection.
        let day = Duration::from_secs(24 * 60 * 60);
        let closed = timeout(day, driver).await;
        assert!(closed.is_ok(), "the connection was never idle");
        drop(client);
        running.abort();
    }

    #[tokio::test]
    async fn a_server_that_shuts_down_answers_the_requests_of_an_http2_connection() {
        let (called, mut calls) = mpsc::unbounded_channel();
        let release = Arc::new(Notify::new());
        let waiting = service({
            let release = release.clone();
            move |_| {
                called.send(()).unwrap();
                let release = release.clone();
                async move {
                    release.notified().await;
                    complete("{}")
                }
            }
        });
        let (socket, connector) = encrypted(&["h2"]).await;
        let address = socket.local_addr().unwrap();
        let listener = Listener::new(socket, waiting, HttpServerConfig::default());
        let shutdown = listener.shutdown_handle();
        let running = tokio::spawn(listener.run());
        let (client, driver) = http2(address, &connector).await;
        let answer = tokio::spawn(ask(client, format!("localhost:{}", address.port())));
        calls.recv().await.unwrap();
        shutdown.shutdown();
        release.notify_one();
        let (status, body) = soon(answer).await.unwrap();
        assert_eq!((status, result(&body)), (200, serde_json::json!({})));
        soon(running).await.unwrap();
        soon(driver).await.unwrap().unwrap();
    }
}
