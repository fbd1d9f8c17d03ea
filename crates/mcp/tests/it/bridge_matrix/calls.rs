//! What is told of a call while it runs, and how it is given up.

use std::sync::{Arc, Mutex};

use callgate_mcp::Error;
use callgate_mcp::client::CallOptions;
use callgate_mcp::wire::logging::LogLevel;
use serde_json::{Value, json};

use super::pair::{Pair, check};
use crate::stdio_fixture::{META, call};

pub(crate) async fn count(pair: Pair) -> Result<Value, Error> {
    let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
    let told = heard.clone();
    let options = CallOptions::default().on_progress(move |params| {
        let step = json!([params.progress, params.total, params.message]);
        told.lock().unwrap().push(step);
    });
    let client = pair.client.with_options(options);
    client.call_tool("count", &json!({})).await?;
    let heard = heard.lock().unwrap().clone();
    Ok(json!(heard))
}

#[tokio::test]
async fn progress() {
    let steps = json!([[1, 3, "counting"], [2, 3, "counting"], [3, 3, "counting"]]);
    check(count, |_, _| steps.clone()).await;
}

pub(crate) async fn log(pair: Pair) -> Result<Value, Error> {
    let heard: Arc<Mutex<Vec<Value>>> = Arc::default();
    for level in [LogLevel::Debug, LogLevel::Warning, LogLevel::Emergency] {
        let told = heard.clone();
        let options = CallOptions::default().on_log(level, move |message| {
            let message = json!([level, message.level, message.logger, message.data]);
            told.lock().unwrap().push(message);
        });
        let client = pair.client.with_options(options);
        client.call_tool("log", &json!({})).await?;
    }
    let heard = heard.lock().unwrap().clone();
    Ok(json!(heard))
}

#[tokio::test]
async fn log_messages_from_the_wanted_level_on() {
    let message = |wanted, level| json!([wanted, level, "far", level]);
    let expect = json!([
        message("debug", "debug"),
        message("debug", "info"),
        message("debug", "warning"),
        message("debug", "error"),
        message("warning", "warning"),
        message("warning", "error"),
    ]);
    check(log, |_, _| expect.clone()).await;
}

#[tokio::test]
async fn no_log_messages_without_a_log_level() {
    async fn silence(pair: Pair) -> Result<Value, Error> {
        // Somebody else's level does not matter.
        let options = CallOptions::default().on_log(LogLevel::Debug, |_| ());
        let client = pair.client.with_options(options);
        client.call_tool("log", &json!({})).await?;
        let params = format!(r#"{{"name":"log","_meta":{META}}}"#);
        let (call, mut told) = call("tools/call", &params);
        pair.service().call(call).await?;
        let heard = std::iter::from_fn(|| told.try_next());
        Ok(json!(heard.map(|each| each.params).collect::<Vec<_>>()))
    }
    check(silence, |_, _| json!([])).await;
}

pub(crate) async fn cancel(pair: Pair) -> Result<Value, Error> {
    let client = pair.client.clone();
    let call = tokio::spawn(async move { client.call_tool("wait", &json!({})).await });
    pair.server.waiting(|waiting| waiting.begun == 1).await;
    call.abort();
    pair.server.waiting(|waiting| waiting.dropped == 1).await;
    // Whatever else was on its way has arrived before this is answered.
    pair.client.call_tool("fail", &json!({})).await?;
    Ok(json!(pair.server.waiting(|_| true).await))
}

#[tokio::test]
async fn dropping_a_call_cancels_it_at_the_far_end() {
    check(cancel, |_, _| json!({"begun": 1, "dropped": 1})).await;
}
