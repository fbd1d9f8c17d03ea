//! Which messages are old, and what the same status means to whom.

use super::subject::{NEWEST, Subject, call, initialize, response};
use crate::http_server::peer::Answer;
use crate::http_server::post::Post;

const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// The status, and the code of the error if there is one.
fn outcome(answer: &Answer) -> (u16, Option<i64>) {
    let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap_or_default();
    (answer.status, body["error"]["code"].as_i64())
}

#[tokio::test]
async fn a_client_without_a_handshake_is_answered() {
    let subject = Subject::start().await;
    let bare = Post::message(LIST).without("mcp-protocol-version");
    let answer = subject.ask(&bare).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("mcp-session-id"), None);
    assert!(answer.body.contains(r#""name":"echo""#), "{}", answer.body);
    assert!(!answer.body.contains("resultType"), "{}", answer.body);

    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let versioned = Post::message(&call(7, "echo")).set("mcp-protocol-version", version);
        let answer = subject.ask(&versioned).await;
        assert_eq!((answer.status, answer.body), (200, response(7, "echo")));
    }
}

#[tokio::test]
async fn a_message_without_a_session_that_wants_no_answer_gets_none() {
    let subject = Subject::start().await;
    let old = |body: &str| Post::message(body).set("mcp-protocol-version", NEWEST);
    let notification = old(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    let answer = subject.ask(&notification).await;
    assert_eq!((answer.status, answer.body.as_str()), (202, ""));
    let response = old(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert_eq!(outcome(&subject.ask(&response).await), (400, Some(-32600)));
}

#[tokio::test]
async fn hc_1_old_clients_get_the_status_codes_of_their_revision() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    let unknown = r#"{"jsonrpc":"2.0","id":1,"method":"no/such/method"}"#;

    // An unknown method: 404 would tell an old client that its session is gone.
    let answer = subject.ask(&client.post(unknown)).await;
    assert_eq!(outcome(&answer), (200, Some(-32601)));
    let alone = Post::message(unknown).without("mcp-protocol-version");
    assert_eq!(outcome(&subject.ask(&alone).await), (200, Some(-32601)));
    let modern = Post::request("no/such/method", "");
    assert_eq!(outcome(&subject.ask(&modern).await), (404, Some(-32601)));

    // A session that is gone: the code must not make a client think of a newer server.
    let gone = client.post(LIST).set("mcp-session-id", "gone");
    assert_eq!(outcome(&subject.ask(&gone).await), (404, Some(-32600)));

    // A bad version: 400 for both, with a code of the newest revision only for its clients.
    let wrong = client.post(LIST).set("mcp-protocol-version", "1999-01-01");
    assert_eq!(outcome(&subject.ask(&wrong).await), (400, Some(-32600)));
    let newer = Post::message(LIST).set("mcp-protocol-version", "2099-01-01");
    assert_eq!(outcome(&subject.ask(&newer).await), (400, Some(-32022)));

    // The session is open after all of this.
    let answer = subject.ask(&client.call("echo")).await;
    assert_eq!((answer.status, answer.body), (200, response(1, "echo")));
}

#[tokio::test]
async fn hc_19_a_handshake_for_the_newest_revision_gets_the_newest_that_has_one() {
    let subject = Subject::start().await;
    let answer = subject.ask(&initialize("2026-07-28")).await;
    assert_eq!(answer.status, 200);
    let body: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(body["result"]["protocolVersion"], NEWEST);
    let client = answer.header("mcp-session-id").unwrap();
    let list = Post::message(LIST)
        .set("mcp-protocol-version", NEWEST)
        .set("mcp-session-id", client);
    assert_eq!(subject.ask(&list).await.status, 200);
}

#[tokio::test]
async fn a_new_request_is_new_even_if_it_names_a_session() {
    let subject = Subject::start().await;
    let client = subject.open(NEWEST).await;
    for id in [client.id.as_str(), "gone"] {
        let modern = Post::request("tools/list", "").set("mcp-session-id", id);
        let answer = subject.ask(&modern).await;
        assert_eq!(answer.status, 200);
        assert!(answer.body.contains("resultType"), "{}", answer.body);
    }
}

#[tokio::test]
async fn any_old_version_may_be_named_in_a_session() {
    let subject = Subject::start().await;
    let client = subject.open("2025-06-18").await;
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let request = client.call("echo").set("mcp-protocol-version", version);
        assert_eq!(subject.ask(&request).await.body, response(1, "echo"));
    }
    let unnamed = client.call("echo").without("mcp-protocol-version");
    assert_eq!(subject.ask(&unnamed).await.body, response(1, "echo"));
    let modern = client
        .call("echo")
        .set("mcp-protocol-version", "2026-07-28");
    assert_eq!(outcome(&subject.ask(&modern).await), (400, Some(-32602)));
    for request in [client.get(), client.delete()] {
        for version in ["1999-01-01", "2026-07-28"] {
            let wrong = request.clone().set("mcp-protocol-version", version);
            assert_eq!(outcome(&subject.ask(&wrong).await), (400, Some(-32600)));
        }
    }
}
