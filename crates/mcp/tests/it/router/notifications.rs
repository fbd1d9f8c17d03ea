use callgate_mcp::Error;
use callgate_mcp::router::{RequestCx, Router};
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::logging::LogLevel;
use serde_json::{Value, json};

use super::ask::Ask;

const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

fn demo() -> Router {
    Router::new(Implementation::new("demo", "1.0"))
        .tool("work", "", |cx: RequestCx| async move {
            for (progress, total, message) in [
                (0.0, Some(100.0), None),
                (50.0, Some(100.0), Some("half")),
                (50.0, None, Some("again")),
                (20.0, None, Some("back")),
                (f64::NAN, None, None),
                (62.5, None, None),
            ] {
                cx.progress(progress, total, message).await;
            }
        })
        .tool("chat", "", |cx: RequestCx| async move {
            cx.log(LogLevel::Debug, None, "debug").await;
            cx.log(LogLevel::Info, Some("chat"), &json!({"n": 1})).await;
            cx.log(LogLevel::Error, None, "error").await;
        })
        .tool("needs_sampling", "", |cx: RequestCx| async move {
            cx.require_capability(&["sampling"])?;
            cx.require_capability(&["extensions", "com.example/x"])?;
            Ok::<_, Error>("sampled")
        })
}

#[tokio::test]
async fn progress_only_ever_grows_and_is_only_sent_where_wanted() {
    let progress = |members: Value| {
        let mut params = json!({"progressToken": "t"});
        params
            .as_object_mut()
            .unwrap()
            .extend(members.as_object().unwrap().clone());
        json!({"method": "notifications/progress", "params": params})
    };
    let ask = Ask::tool("work", json!({})).meta("progressToken", json!("t"));
    assert_eq!(
        ask.with_notifications(&demo()).await.1,
        [
            progress(json!({"progress": 0, "total": 100})),
            progress(json!({"progress": 50, "total": 100, "message": "half"})),
            progress(json!({"progress": 62.5})),
        ]
    );
    let ask = Ask::tool("work", json!({}));
    assert_eq!(ask.with_notifications(&demo()).await.1, Vec::<Value>::new());
}

#[tokio::test]
async fn log_messages_are_sent_from_the_wanted_level_on() {
    let info = json!({
        "method": "notifications/message",
        "params": {"level": "info", "logger": "chat", "data": {"n": 1}}
    });
    let message = |level: &str| json!({"method": "notifications/message", "params": {"level": level, "data": level}});
    for (level, expect) in [
        (None, vec![]),
        (
            Some("debug"),
            vec![message("debug"), info.clone(), message("error")],
        ),
        (Some("info"), vec![info, message("error")]),
        (Some("error"), vec![message("error")]),
        (Some("critical"), vec![]),
    ] {
        let ask = Ask::tool("chat", json!({}));
        let ask = match level {
            Some(level) => ask.meta(LOG_LEVEL, json!(level)),
            None => ask,
        };
        assert_eq!(ask.with_notifications(&demo()).await.1, expect, "{level:?}");
    }
}

#[tokio::test]
async fn a_missing_capability_is_named() {
    let missing = |required: Value| {
        Err(json!({
            "code": -32021,
            "message": "the client did not declare a required capability",
            "data": {"requiredCapabilities": required}
        }))
    };
    let ask = || Ask::tool("needs_sampling", json!({}));
    assert_eq!(ask().of(&demo()).await, missing(json!({"sampling": {}})));
    let sampling = json!({"sampling": {}});
    assert_eq!(
        ask().capabilities(sampling).of(&demo()).await,
        missing(json!({"extensions": {"com.example/x": {}}}))
    );
    let both = json!({"sampling": {}, "extensions": {"com.example/x": {}}});
    assert!(ask().capabilities(both).of(&demo()).await.is_ok());
}
