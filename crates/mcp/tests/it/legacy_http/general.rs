//! Streams of messages that belong to no request.

use callgate_mcp::router::{RequestCx, ToolRoute};
use tokio::time::Instant;

use super::sse;
use super::subject::{Client, NEWEST, Subject, event, primed};
use crate::http_server::peer::Peer;

const TOOLS: &str = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}"#;
const RESOURCE: &str = r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"test://data"}}"#;
const WATCH: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"test://data"}}"#;

impl Subject {
    /// Opens a stream of messages that belong to no request.
    async fn listen(&self, client: &Client, stream: u32) -> Peer {
        let mut peer = self.send(&client.get()).await;
        let head = peer.head().await;
        let headers = ["content-type", "cache-control", "x-accel-buffering"]
            .map(|name| head.header(name).unwrap_or_default());
        assert_eq!(head.status, 200);
        assert_eq!(
            headers,
            ["text/event-stream", "no-store, no-transform", "no"]
        );
        assert_eq!(peer.chunk().await, Some(primed(stream)));
        peer
    }

    /// Watches the resource; when this is answered, changes are heard.
    async fn watch(&self, client: &Client) {
        let answer = self.ask(&client.post(WATCH)).await;
        assert_eq!(answer.body, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    }

    fn change_tools(&self) {
        let route = ToolRoute::new("new", "", async |_: RequestCx| "new".to_owned());
        self.router.add_tool(route).unwrap();
    }
}

#[tokio::test]
async fn a_stream_is_opened_for_a_session_whose_client_accepts_anything() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    for (accept, status) in [("*/*", 200), ("text/*", 200), ("application/json", 406)] {
        let mut peer = subject.send(&client.get().set("accept", accept)).await;
        assert_eq!(peer.head().await.status, status, "{accept}");
    }
}

#[tokio::test]
async fn changes_are_told_on_the_newest_stream_alone() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let mut first = subject.listen(&client, 1).await;
    subject.watch(&client).await;
    subject.change_tools();
    assert_eq!(first.chunk().await, Some(event("1-1", TOOLS)));
    subject.router.resource_updated("test://data");
    assert_eq!(first.chunk().await, Some(event("1-2", RESOURCE)));

    let mut second = subject.listen(&client, 3).await;
    subject.router.resource_updated("test://data");
    assert_eq!(second.chunk().await, Some(event("3-1", RESOURCE)));
    assert_eq!(subject.ask(&client.delete()).await.status, 204);
    assert_eq!(first.chunk().await, None);
    assert_eq!(second.chunk().await, None);
}

#[tokio::test]
async fn a_stream_that_was_cut_goes_on_where_it_was() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let mut peer = subject.listen(&client, 1).await;
    subject.watch(&client).await;
    subject.change_tools();
    assert_eq!(peer.chunk().await, Some(event("1-1", TOOLS)));
    drop(peer);
    subject.router.resource_updated("test://data");
    let mut again = subject.send(&client.resume("1-1")).await;
    assert_eq!(again.head().await.status, 200);
    assert_eq!(again.chunk().await, Some(event("1-2", RESOURCE)));
    subject.change_tools();
    assert_eq!(again.chunk().await, Some(event("1-3", TOOLS)));
}

#[tokio::test]
async fn a_session_hears_nothing_of_another_one() {
    let subject = Subject::start().await;
    let (client, other) = (subject.open(NEWEST).await, subject.open(NEWEST).await);
    let mut peer = subject.listen(&client, 1).await;
    let mut of_other = subject.listen(&other, 1).await;
    subject.watch(&client).await;
    subject.router.resource_updated("test://data");
    assert_eq!(peer.chunk().await, Some(event("1-1", RESOURCE)));
    assert_eq!(subject.ask(&other.delete()).await.status, 204);
    assert_eq!(of_other.chunk().await, None);
}

#[tokio::test]
async fn the_oldest_of_too_many_streams_ends() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let mut oldest = subject.listen(&client, 1).await;
    for stream in 2..=5 {
        subject.listen(&client, stream).await;
    }
    assert_eq!(oldest.chunk().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_kept_alive() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let mut peer = subject.listen(&client, 1).await;
    let start = Instant::now();
    for comment in 1..4 {
        assert_eq!(peer.chunk().await.as_deref(), Some(": keep-alive\n\n"));
        assert_eq!(start.elapsed().as_secs(), comment * 15);
    }
}

#[tokio::test]
async fn http_sse_carries_changes_too() {
    let subject = Subject::start().await;
    let (mut peer, uri) = sse::connect(&subject).await;
    sse::shake_hands(&subject, &mut peer, &uri).await;
    sse::accepted(&subject, &sse::post(&uri, WATCH)).await;
    let watched = sse::message(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(peer.chunk().await, Some(watched));
    subject.router.resource_updated("test://data");
    assert_eq!(peer.chunk().await, Some(sse::message(RESOURCE)));
}
