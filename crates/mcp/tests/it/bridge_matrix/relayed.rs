//! What a relay leaves as it is, and what it does not.

use callgate_mcp::wire::resource::ReadResourceParams;
use callgate_mcp::wire::{Map, RawJson};
use callgate_mcp::{Call, Cx, Error, Id, Method, Reply};
use serde_json::{Value, json};

use super::asking::ODD;
use super::pair::{Pair, check, failure};

#[tokio::test]
async fn hc_15_no_relay_changes_a_name() {
    async fn names(pair: Pair) -> Result<Value, Error> {
        pair.client.get_prompt(ODD, Map::new()).await?;
        pair.client.read_resource("test://item/%C3%A4").await?;
        let question = json!({"question": "Who?"});
        pair.client.call_tool("form", &question).await?;
        let exchanges = pair.server.exchanges();
        let asked = exchanges.iter().map(|each| {
            let [name, uri, arguments] = each.params.pick(["name", "uri", "arguments"]);
            json!([each.method, name.or(uri), arguments])
        });
        Ok(asked.collect())
    }
    let call = json!(["tools/call", "form", {"question": "Who?"}]);
    let expect = json!([
        ["prompts/get", ODD, null],
        ["resources/read", "test://item/%C3%A4", null],
        call,
        call,
    ]);
    check(names, |_, _| expect.clone()).await;
}

/// The params of a call of `form`, in the round that follows on `state`.
fn round(question: &str, asked: Option<&RawJson>) -> Value {
    let mut params = json!({"name": "form", "arguments": {"question": question}});
    if let Some(asked) = asked {
        let [requests, state] = asked.pick(["inputRequests", "requestState"]);
        let requests: Map<RawJson> = requests.unwrap().decode().unwrap();
        let answer = json!({"action": "accept", "content": {"name": "Ada"}});
        let answers = requests.into_iter().map(|(key, _)| (key, answer.clone()));
        params["inputResponses"] = Value::Object(answers.collect());
        params["requestState"] = json!(state);
    }
    params
}

#[tokio::test]
async fn hc_15_the_state_of_a_request_survives_a_relay_and_fits_no_other_request() {
    async fn state(pair: Pair) -> Result<Value, Error> {
        let client = &pair.client;
        let asked = client
            .request_once("tools/call", &round("Who?", None))
            .await?;
        let Reply::InputRequired(asked) = asked else {
            panic!("no question: {asked:?}");
        };
        let said = pair
            .server
            .exchanges()
            .first()
            .map(|each| each.result.clone());
        let of = |result: &RawJson| result.get("requestState");
        let is_the_same = said.as_ref().and_then(of) == of(&asked);
        let (other, next) = (round("Why?", Some(&asked)), round("Who?", Some(&asked)));
        let stolen = client.request_once("tools/call", &other).await;
        let reply = client.request_once("tools/call", &next).await?;
        let content = reply.into_result().get("content");
        Ok(json!([is_the_same, failure(&stolen.unwrap_err()), content]))
    }
    let content = json!([{"type": "text", "text": "Ada"}]);
    let message = "`requestState` is not valid for this request, or has expired";
    // Whoever translates for an old peer keeps the state of the new one and issues its own.
    check(state, |client, server| {
        let is_the_same = !client.is_old() && !server.is_old();
        json!([is_the_same, {"code": -32602, "message": message}, content])
    })
    .await;
}

#[tokio::test]
async fn hc_16_only_the_server_allows_shared_caching_and_old_ones_cannot() {
    async fn scopes(pair: Pair) -> Result<Value, Error> {
        let mut scopes = Vec::new();
        for uri in ["test://public", "test://note"] {
            let params = ReadResourceParams::new(uri);
            let result = pair.client.request("resources/read", &params).await?;
            scopes.push(result.pick(["ttlMs", "cacheScope"]));
        }
        Ok(json!(scopes))
    }
    check(scopes, |client, server| {
        let private = json!([0, "private"]);
        match client.is_old() || server.is_old() {
            true => json!([private, private]),
            false => json!([[60_000, "public"], private]),
        }
    })
    .await;
}

#[tokio::test]
async fn an_unknown_notification_of_a_client_reaches_the_server() {
    async fn notify(pair: Pair) -> Result<Value, Error> {
        let notify = |method: &str| {
            let params = json!({
                "n": 1, "task": {}, "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                    "vendor/x": 2,
                },
            });
            let params = RawJson::encode(&params).unwrap();
            let cx = Cx::new(Id::number(0));
            pair.service()
                .notify(Call::new(Method::new(method), params, cx))
        };
        // These are about the connection to the client.
        notify("notifications/roots/list_changed").await;
        notify("notifications/progress").await;
        notify("notifications/vendor/hello").await;
        let notifications = pair.server.notifications().await;
        let noted = notifications.iter().map(|(method, params)| {
            let [n, task, meta] = params.pick(["n", "task", "_meta"]);
            json!([method, n, task, meta.unwrap().get("vendor/x")])
        });
        Ok(noted.collect())
    }
    check(notify, |_, _| {
        json!([["notifications/vendor/hello", 1, {}, 2]])
    })
    .await;
}
