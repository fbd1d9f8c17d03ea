//! The client against our own server, and as the service of another one: a relay.

use std::net::SocketAddr;
use std::sync::Arc;

use callgate_mcp::transport::http::client::{Headers, HttpConfig, ModernHttpClient};
use callgate_mcp::transport::http::server::{self, Auth, BearerToken, Listener};
use callgate_mcp::upstream::Remote;
use callgate_mcp::wire::{Method, Notification};
use callgate_mcp::{BoxFuture, Call, Error, HeaderParam, Kind, Reply, Service};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::peer::{call, failure, listening, raw, result, run, soon};

/// A service that does as a test says.
struct Leaf<F>(F);

impl<F> Service for Leaf<F>
where
    F: Fn(Call) -> BoxFuture<'static, Result<Reply, Error>> + Send + Sync + 'static,
{
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        (self.0)(call)
    }
}

/// A leaf that answers at once.
fn answering(
    answer: impl Fn(&Call) -> Result<Reply, Error> + Send + Sync + 'static,
) -> Arc<dyn Service> {
    Arc::new(Leaf(move |call: Call| {
        let outcome = answer(&call);
        Box::pin(async move { outcome }) as BoxFuture<'static, _>
    }))
}

async fn serve(service: Arc<dyn Service>, config: server::HttpServerConfig) -> SocketAddr {
    let server = Listener::bind(([127, 0, 0, 1], 0).into(), service, config)
        .await
        .unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.run());
    address
}

fn client(address: SocketAddr) -> ModernHttpClient {
    ModernHttpClient::new(&format!("http://{address}/mcp"), HttpConfig::new("server")).unwrap()
}

/// A client of a relay in front of a server of `leaf`.
async fn relayed(leaf: Arc<dyn Service>) -> ModernHttpClient {
    let upstream = client(serve(leaf, server::HttpServerConfig::default()).await);
    client(serve(Arc::new(upstream), server::HttpServerConfig::default()).await)
}

const ODD: &str = r#"{"z":12345678901234567890123,"content":[{"type":"future","\u0061":-0}], "a":49E-31,"resultType":"complete","m":{"b":1,"a":"\ud83d\ude00 \/"}}"#;

#[tokio::test]
async fn params_and_results_pass_byte_for_byte() {
    let (seen_in, mut seen) = mpsc::unbounded_channel();
    let leaf = answering(move |call| {
        seen_in.send(call.params().clone()).unwrap();
        Ok(Reply::Complete(raw(ODD)))
    });
    let client = relayed(leaf).await;
    let call = call("tools/call", &format!(r#""name":"t", "arguments":{ODD} ,"#));
    let params = call.params().clone();
    assert_eq!(result(&client, call).await, ODD);
    assert_eq!(seen.recv().await.unwrap(), params);
}

#[tokio::test]
async fn large_results_pass_whole() {
    for size in [64 * 1024, 2 * 1024 * 1024] {
        let large = format!(r#"{{"text":"{}"}}"#, "x".repeat(size));
        let answer = raw(&large);
        let client = relayed(answering(move |_| Ok(Reply::Complete(answer.clone())))).await;
        assert_eq!(result(&client, call("tools/list", "")).await, large);
    }
}

#[tokio::test]
async fn errors_pass_raw() {
    const ERROR: &str =
        r#"{"message":"no","code":-32602,"data":{"n":12345678901234567890123},"x":49E-31}"#;
    let name = Arc::from("leaf");
    let leaf = answering(move |_| Err(Error::rpc(&name, raw(ERROR))));
    let error = failure(&relayed(leaf).await, call("tools/list", "")).await;
    assert_eq!((error.kind(), error.code()), (Kind::Rpc, -32602));
    assert_eq!(error.raw().unwrap().as_str(), ERROR);

    let unknown = answering(|call| Err(Error::method_not_found(&call.method)));
    let error = failure(&relayed(unknown).await, call("vendor/x", "")).await;
    assert_eq!((error.kind(), error.code()), (Kind::Rpc, -32601));
}

#[tokio::test]
async fn input_required_passes() {
    const ASK: &str = r#"{"resultType":"input_required","requestState":"s","inputRequests":{}}"#;
    let leaf = answering(|_| Ok(Reply::InputRequired(raw(ASK))));
    let outcome = run(&relayed(leaf).await, call("tools/call", r#""name":"t","#)).await;
    assert_eq!(outcome.unwrap(), Reply::InputRequired(raw(ASK)));
}

fn progress(token: &str) -> Notification {
    Notification {
        method: Method::new("notifications/progress"),
        params: raw(&format!(r#"{{"progressToken":{token},"progress":0.50}}"#)),
    }
}

/// A leaf that reports progress under the token it was given, and then answers.
fn progressing() -> Arc<dyn Service> {
    Arc::new(Leaf(|call: Call| {
        Box::pin(async move {
            let token = call.params().at(&["_meta", "progressToken"]).unwrap();
            call.cx.notify.send(progress(token.as_str())).await;
            Ok(Reply::Complete(raw("{}")))
        }) as BoxFuture<'static, _>
    }))
}

#[tokio::test]
async fn progress_passes_under_the_token_of_the_caller() {
    let client = relayed(progressing()).await;
    let (call, mut notifications) = listening(call("tools/call", r#""name":"t","#));
    assert_eq!(result(&client, call).await, "{}");
    assert_eq!(notifications.try_next(), Some(progress(r#""mine""#)));
    assert_eq!(notifications.try_next(), None);
}

#[tokio::test]
async fn unrequested_progress_stays_at_the_relay() {
    let upstream = client(serve(progressing(), server::HttpServerConfig::default()).await);
    let relay = serve(Arc::new(upstream), server::HttpServerConfig::default()).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {relay}\r\nconnection: close\r\naccept: application/json, text/event-stream\r\n\
         content-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/list\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(relay).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    soon(stream.read_to_string(&mut response)).await.unwrap();
    assert!(
        response.ends_with("\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"),
        "{response}"
    );
}

#[tokio::test]
async fn cancellation_passes() {
    struct Dropped(mpsc::UnboundedSender<&'static str>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.send("dropped").ok();
        }
    }
    let (seen_in, mut seen) = mpsc::unbounded_channel();
    let leaf = Arc::new(Leaf(move |_: Call| {
        let dropped = Dropped(seen_in.clone());
        Box::pin(async move {
            dropped.0.send("called").unwrap();
            std::future::pending().await
        }) as BoxFuture<'static, _>
    }));
    let client = relayed(leaf).await;
    let mut running = client.call(call("tools/call", r#""name":"t","#));
    tokio::select! {
        outcome = &mut running => panic!("ended early: {outcome:?}"),
        called = soon(seen.recv()) => assert_eq!(called, Some("called")),
    }
    drop(running);
    assert_eq!(soon(seen.recv()).await, Some("dropped"));
}

#[tokio::test]
async fn a_subscription_has_a_name_on_every_hop() {
    let tagged = |id: &str| {
        raw(&format!(
            r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}"#
        ))
    };
    let leaf = Arc::new(Leaf(move |call: Call| {
        Box::pin(async move {
            let id = call.cx.id.to_string();
            let acknowledged = Notification {
                method: Method::new("notifications/subscriptions/acknowledged"),
                params: tagged(&id),
            };
            call.cx.notify.send(acknowledged).await;
            Ok(Reply::Complete(tagged(&id)))
        }) as BoxFuture<'static, _>
    }));
    let client = relayed(leaf).await;
    let (call, mut notifications) =
        listening(call("subscriptions/listen", r#""notifications":{},"#));
    let expect = tagged(r#""caller-1""#);
    assert_eq!(
        run(&client, call).await.unwrap(),
        Reply::Complete(expect.clone())
    );
    assert_eq!(notifications.try_next().unwrap().params, expect);
}

#[tokio::test]
async fn the_headers_are_those_that_the_server_wants() {
    const LIST: &str = r#"{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}"#;
    let leaf = answering(|call| {
        let result = match call.method.as_str() {
            "tools/list" => LIST,
            _ => "{}",
        };
        Ok(Reply::Complete(raw(result)))
    });
    let params: Arc<[HeaderParam]> = HeaderParam::find_all(
        &raw(LIST).get("tools").unwrap().elements()[0]
            .get("inputSchema")
            .unwrap(),
    )
    .unwrap()
    .into();
    let mut config = server::HttpServerConfig::default();
    config.auth = Auth::Bearer(BearerToken::new("top-secret", "me"));
    config.header_params = Some(Arc::new(move |tool| (tool == "t").then(|| params.clone())));
    let url = format!("http://{}/mcp", serve(leaf, config).await);

    let stranger = ModernHttpClient::new(&url, HttpConfig::new("server")).unwrap();
    let error = failure(&stranger, call("tools/list", "")).await;
    assert_eq!(error.kind(), Kind::Unauthorized);

    let mut config = HttpConfig::new("server");
    config.headers = Headers::default()
        .with("authorization", "Bearer top-secret")
        .unwrap();
    let client = ModernHttpClient::new(&url, config).unwrap();
    // The server refuses the first attempt, and the schema says what is missing.
    for region in [r#""eu""#, r#"" größe\n""#, r#""""#, "null"] {
        let members = format!(r#""name":"t","arguments":{{"region":{region}}},"#);
        assert_eq!(result(&client, call("tools/call", &members)).await, "{}");
    }
    for (method, members) in [
        ("prompts/get", r#""name":"größe","#),
        ("resources/read", r#""uri":"file:///a b","#),
        ("tasks/get", r#""taskId":"=?base64?eA==?=","#),
    ] {
        assert_eq!(result(&client, call(method, members)).await, "{}");
    }
}

#[tokio::test]
async fn a_name_that_our_own_server_does_not_allow_is_explained_as_such() {
    let leaf = answering(|_| Ok(Reply::Complete(raw("{}"))));
    let address = serve(leaf, server::HttpServerConfig::default()).await;
    // Another way to write the address, which is no name of the server.
    let url = format!("http://127.1:{}/mcp", address.port());
    let remote = Remote::new(&url, HttpConfig::new("server")).unwrap();
    let error = failure(&remote, call("tools/list", "")).await;
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (
            Kind::Protocol,
            "server `server` answered with HTTP status 403 Forbidden with content type `application/json`: \
             {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"the Host or Origin is not allowed here\"}} \
             (the server checks the `Host` and `Origin` headers: use the name or address that it expects in \
             its URL, or allow this one in the settings of the server)"
        )
    );
}
