use std::sync::Arc;
use std::time::Duration;

use callgate_mcp::wire::RawJson;
use callgate_mcp::{Reply, Service};
use tokio::time::sleep;

use super::fixture::{ASKABLE, discoverable, error, limited, old_client, old_client_with, request};
use crate::stdio_fixture::{cancelled, complete, json, notification, result};

const FORM: &str = r#"{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}"#;

/// Asks `requests` with a state, and answers with what comes back.
fn asks(requests: &str) -> Arc<dyn Service> {
    let requests = requests.to_owned();
    discoverable(move |call| {
        let requests = requests.clone();
        async move {
            let [responses, state] = call.params().pick(["inputResponses", "requestState"]);
            let Some(state) = state else {
                return Ok(Reply::InputRequired(json(&format!(
                    r#"{{"resultType":"input_required","inputRequests":{requests},"requestState":"s\u002f1"}}"#
                ))));
            };
            assert_eq!(state.as_str(), r#""s\u002f1""#);
            let responses = responses.unwrap_or_else(RawJson::null);
            complete(&format!(
                r#"{{"resultType":"complete","got":{responses:?},"name":{:?}}}"#,
                call.params().get("name").unwrap_or_else(RawJson::null)
            ))
        }
    })
}

fn asked(id: &str, method: &str, params: &str) -> String {
    request(id, method, params)
}

#[tokio::test]
async fn input_requests_are_sent_to_the_client_and_the_call_goes_on() {
    let service = asks(&format!(
        r#"{{"who":{{"method":"elicitation/create","params":{FORM}}},"say":{{"method":"sampling/createMessage","params":{{"messages":[],"maxTokens":5}}}},"where":{{"method":"roots/list"}}}}"#
    ));
    let (mut peer, _server) = old_client(service, "2025-11-25", ASKABLE).await;
    // The client's own id 1 has nothing to do with ours.
    peer.send(&request("1", "tools/call", r#"{"name":"t"}"#))
        .await;
    assert_eq!(
        peer.lines(3).await,
        [
            asked("1", "elicitation/create", FORM),
            asked(
                "2",
                "sampling/createMessage",
                r#"{"messages":[],"maxTokens":5}"#
            ),
            asked("3", "roots/list", "{}"),
        ]
    );
    peer.send(&result("3", r#"{"roots":[]}"#)).await;
    peer.send(&result(
        "1",
        r#"{"action":"accept","content":{"name":"Ann"}}"#,
    ))
    .await;
    peer.send(&result("7", "{}")).await;
    peer.send(&result("2", r#"{"role":"assistant"}"#)).await;
    assert_eq!(
        peer.line().await,
        Some(result(
            "1",
            r#"{"got":{"who":{"action":"accept","content":{"name":"Ann"}},"say":{"role":"assistant"},"where":{"roots":[]}},"name":"t"}"#
        ))
    );
}

#[tokio::test]
async fn hc_18_a_client_that_cannot_ask_its_user_means_that_the_user_went_away() {
    let service = asks(&format!(
        r#"{{"who":{{"method":"elicitation/create","params":{FORM}}}}}"#
    ));
    let (mut peer, _server) = old_client(service, "2025-11-25", ASKABLE).await;
    peer.send(&request("5", "tools/call", "{}")).await;
    peer.line().await.unwrap();
    peer.send(&error("1", r#"{"code":-32603,"message":"no screen"}"#))
        .await;
    assert_eq!(
        peer.line().await,
        Some(result(
            "5",
            r#"{"got":{"who":{"action":"cancel"}},"name":null}"#
        ))
    );
}

#[tokio::test]
async fn hc_18_a_refused_message_or_list_of_roots_ends_the_call_and_its_other_questions() {
    for method in ["sampling/createMessage", "roots/list"] {
        let service = asks(&format!(
            r#"{{"who":{{"method":"elicitation/create","params":{FORM}}},"x":{{"method":"{method}","params":{{}}}}}}"#
        ));
        let (mut peer, _server) = old_client(service, "2025-11-25", ASKABLE).await;
        peer.send(&request("5", "tools/call", "{}")).await;
        peer.lines(2).await;
        peer.send(&error("2", r#"{"code":-1,"message":"the user said no"}"#))
            .await;
        assert_eq!(
            peer.lines(2).await,
            [
                cancelled("1"),
                error(
                    "5",
                    &format!(
                        r#"{{"code":-32603,"message":"the client refused `{method}`: the user said no"}}"#
                    )
                ),
            ]
        );
    }
}

#[tokio::test]
async fn a_cancelled_call_takes_its_questions_back() {
    let service = asks(&format!(
        r#"{{"who":{{"method":"elicitation/create","params":{FORM}}}}}"#
    ));
    let (mut peer, _server) = old_client(service, "2025-11-25", ASKABLE).await;
    peer.send(&request("5", "tools/call", "{}")).await;
    peer.line().await.unwrap();
    peer.send(&cancelled("5")).await;
    assert_eq!(peer.line().await, Some(cancelled("1")));
}

#[tokio::test]
async fn hc_21_a_url_has_an_id_and_the_client_hears_when_the_call_got_on() {
    let service = asks(
        r#"{"u":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://a.example"}}}"#,
    );
    let (mut peer, _server) = old_client(service, "2025-11-25", ASKABLE).await;
    peer.send(&request("5", "tools/call", "{}")).await;
    let question = peer.line().await.unwrap();
    let id = json(&question)
        .at(&["params", "elicitationId"])
        .expect("an id for the page");
    assert_eq!(
        question,
        asked(
            "1",
            "elicitation/create",
            &format!(
                r#"{{"mode":"url","message":"m","url":"https://a.example","elicitationId":{id:?}}}"#
            )
        )
    );
    peer.send(&result("1", r#"{"action":"accept"}"#)).await;
    assert_eq!(
        peer.lines(2).await,
        [
            notification(
                "notifications/elicitation/complete",
                &format!(r#"{{"elicitationId":{id:?}}}"#)
            ),
            result("5", r#"{"got":{"u":{"action":"accept"}},"name":null}"#),
        ]
    );
}

#[tokio::test]
async fn hc_4_only_three_methods_may_ask() {
    let service = asks(r#"{"where":{"method":"roots/list"}}"#);
    let (mut peer, _server) = old_client(service, "2025-11-25", ASKABLE).await;
    peer.send(&request("5", "tools/list", "{}")).await;
    assert_eq!(
        peer.line().await,
        Some(error(
            "5",
            r#"{"code":-32603,"message":"`tools/list` was answered with the result type \"input_required\", which it must not have"}"#
        ))
    );
}

#[tokio::test]
async fn hc_4_a_client_is_not_asked_beyond_its_capabilities() {
    let service = asks(r#"{"where":{"method":"roots/list"}}"#);
    let (mut peer, _server) = old_client(service, "2025-11-25", "{}").await;
    peer.send(&request("5", "tools/call", "{}")).await;
    assert_eq!(
        peer.line().await,
        Some(error(
            "5",
            r#"{"code":-32603,"message":"the server asks for `roots/list` in a way that the client did not say it can answer"}"#
        ))
    );
}

#[tokio::test(start_paused = true)]
async fn hc_22_a_user_may_think_for_long_but_not_for_ever() {
    let service = asks(&format!(
        r#"{{"who":{{"method":"elicitation/create","params":{FORM}}}}}"#
    ));
    let (mut peer, _server) = old_client(service, "2025-11-25", ASKABLE).await;
    peer.send(&request("5", "tools/call", "{}")).await;
    peer.line().await.unwrap();
    sleep(Duration::from_secs(9 * 60)).await;
    peer.send(&result("1", r#"{"action":"decline"}"#)).await;
    assert_eq!(
        peer.line().await,
        Some(result(
            "5",
            r#"{"got":{"who":{"action":"decline"}},"name":null}"#
        ))
    );
    peer.send(&request("6", "tools/call", "{}")).await;
    peer.line().await.unwrap();
    sleep(Duration::from_secs(11 * 60)).await;
    assert_eq!(
        peer.lines(2).await,
        [
            cancelled("2"),
            error(
                "6",
                r#"{"code":-32603,"message":"the client did not answer a question in time"}"#
            ),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_service_that_only_wants_another_try_gets_some() {
    let service = discoverable(|call| async move {
        match call
            .params()
            .get("requestState")
            .as_ref()
            .map(RawJson::as_str)
        {
            None => Ok(Reply::InputRequired(json(r#"{"requestState":"1"}"#))),
            Some(r#""1""#) => Ok(Reply::InputRequired(json(r#"{"requestState":"2"}"#))),
            Some(state) => complete(&format!(r#"{{"resultType":"complete","after":{state}}}"#)),
        }
    });
    let (mut peer, _server) = old_client(service, "2025-11-25", "{}").await;
    peer.send(&request("5", "tools/call", "{}")).await;
    assert_eq!(peer.line().await, Some(result("5", r#"{"after":"2"}"#)));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_never_has_enough_is_given_up() {
    let service =
        discoverable(|_| async { Ok(Reply::InputRequired(json(r#"{"requestState":"again"}"#))) });
    let config = limited(|legacy| legacy.rounds = 2);
    let (mut peer, _server) = old_client_with(service, "2025-11-25", "{}", config).await;
    peer.send(&request("5", "tools/call", "{}")).await;
    assert_eq!(
        peer.line().await,
        Some(error(
            "5",
            r#"{"code":-32603,"message":"`tools/call` still asks for input after 2 rounds"}"#
        ))
    );
}

#[tokio::test]
async fn questions_are_limited_for_a_reply_and_for_a_session() {
    let many: Vec<_> = (0..65)
        .map(|number| format!(r#""{number}":{{"method":"roots/list"}}"#))
        .collect();
    let service = asks(&format!("{{{}}}", many.join(",")));
    let (mut peer, _server) = old_client(service, "2025-11-25", ASKABLE).await;
    peer.send(&request("5", "tools/call", "{}")).await;
    assert_eq!(
        peer.line().await,
        Some(error(
            "5",
            r#"{"code":-32603,"message":"the server asks more than 64 questions at once"}"#
        ))
    );

    let service = asks(r#"{"a":{"method":"roots/list"}}"#);
    let config = limited(|legacy| legacy.questions = 1);
    let (mut peer, _server) = old_client_with(service, "2025-11-25", ASKABLE, config).await;
    peer.send(&request("5", "tools/call", "{}")).await;
    assert_eq!(peer.line().await, Some(asked("1", "roots/list", "{}")));
    peer.send(&request("6", "tools/call", "{}")).await;
    assert_eq!(
        peer.line().await,
        Some(error(
            "6",
            r#"{"code":42900,"message":"the client has too many questions to answer already"}"#
        ))
    );
}
