//! Tasks: calls that go on in the background.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_mcp::router::{RequestCx, Router, TaskConfig, TaskSupport, ToolError, ToolRoute};
use callgate_mcp::wire::Id;
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::input::InputRequiredResult;
use callgate_mcp::wire::logging::LogLevel;
use callgate_mcp::{Error, Service};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot};

use super::ask::{Ask, demo_meta, failed_result, shown, text_result};

/// A router with the tool `work`, which is done when `gate` is opened.
fn gated(support: TaskSupport) -> (Router, Arc<Notify>) {
    let gate = Arc::new(Notify::new());
    let work = {
        let gate = gate.clone();
        move || {
            let gate = gate.clone();
            async move {
                gate.notified().await;
                "done"
            }
        }
    };
    let route = ToolRoute::new("work", "", work).task(support);
    (
        Router::new(Implementation::new("demo", "1.0")).route(route),
        gate,
    )
}

fn router(route: ToolRoute) -> Router {
    let route = route.task(TaskSupport::Optional);
    Router::new(Implementation::new("demo", "1.0")).route(route)
}

/// A tool that never ends, and drops `held` with its handler.
fn holding(held: oneshot::Sender<()>) -> ToolRoute {
    let held = Mutex::new(Some(held));
    ToolRoute::new("work", "", move || {
        let held = held.lock().unwrap().take();
        async move {
            let _held = held;
            std::future::pending::<()>().await;
        }
    })
}

fn work() -> Ask {
    Ask::tool("work", json!({})).with_tasks()
}

fn about(method: &'static str, task: &Value) -> Ask {
    Ask::new(method, json!({"taskId": task["taskId"]})).with_tasks()
}

fn acknowledged() -> Result<Value, Value> {
    Ok(json!({"resultType": "complete"}))
}

/// The task once it has ended.
async fn ended(router: &Router, task: &Value) -> Value {
    loop {
        let task = about("tasks/get", task).of(router).await.unwrap();
        if !matches!(task["status"].as_str(), Some("working" | "input_required")) {
            return task;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_call_becomes_a_task_and_its_result_is_polled() {
    let (router, gate) = gated(TaskSupport::Optional);
    let created = work().of(&router).await.unwrap();
    let mut expect = json!({
        "resultType": "task",
        "taskId": created["taskId"],
        "status": "working",
        "createdAt": created["createdAt"],
        "lastUpdatedAt": created["createdAt"],
        "ttlMs": 3_600_000,
        "pollIntervalMs": 1_000,
        "_meta": demo_meta()
    });
    assert_eq!(created, expect);
    assert!(created["taskId"].as_str().unwrap().len() >= 32);

    expect["resultType"] = json!("complete");
    assert_eq!(
        about("tasks/get", &created).of(&router).await,
        Ok(expect.clone())
    );

    gate.notify_one();
    let done = ended(&router, &created).await;
    expect["status"] = json!("completed");
    expect["lastUpdatedAt"] = done["lastUpdatedAt"].clone();
    expect["result"] = text_result("done");
    assert_eq!(done, expect);
}

#[tokio::test]
async fn clients_that_do_not_know_of_tasks_wait_or_are_refused() {
    let (router, gate) = gated(TaskSupport::Optional);
    gate.notify_one();
    let plain = Ask::tool("work", json!({}));
    assert_eq!(plain.clone().of(&router).await, Ok(text_result("done")));

    let (router, _gate) = gated(TaskSupport::Required);
    let missing = Err(json!({
        "code": -32021,
        "message": "the client did not declare a required capability",
        "data": {"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}
    }));
    assert_eq!(plain.of(&router).await, missing);
    let created = work().of(&router).await.unwrap();
    assert_eq!(created["resultType"], "task");
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let undeclared = about(method, &created).capabilities(json!({}));
        assert_eq!(undeclared.of(&router).await, missing);
    }
    let listen = json!({"notifications": {"taskIds": []}});
    assert_eq!(
        Ask::new("subscriptions/listen", listen).of(&router).await,
        missing
    );

    let (router, gate) = gated(TaskSupport::Forbidden);
    gate.notify_one();
    assert_eq!(work().of(&router).await, Ok(text_result("done")));
    let unknown = about("tasks/get", &created).of(&router).await.unwrap_err();
    assert_eq!(unknown["code"], -32601);
}

#[tokio::test]
async fn the_extension_is_declared_with_the_first_tool_that_needs_it() {
    for (support, expect) in [
        (TaskSupport::Forbidden, Value::Null),
        (
            TaskSupport::Optional,
            json!({"io.modelcontextprotocol/tasks": {}}),
        ),
    ] {
        let discovered = Ask::new("server/discover", json!({}))
            .of(&gated(support).0)
            .await;
        assert_eq!(discovered.unwrap()["capabilities"]["extensions"], expect);
    }
}

#[tokio::test]
async fn a_failed_tool_completes_and_a_failed_request_fails() {
    let failing = router(ToolRoute::new("work", "", || async {
        Err::<(), _>(ToolError::failed("no luck"))
    }));
    let task = ended(&failing, &work().of(&failing).await.unwrap()).await;
    assert_eq!(
        (&task["status"], &task["result"]),
        (&json!("completed"), &failed_result("no luck"))
    );

    let broken = router(ToolRoute::new("work", "", || async {
        Err::<(), _>(Error::internal("broken"))
    }));
    let task = ended(&broken, &work().of(&broken).await.unwrap()).await;
    assert_eq!(
        (
            &task["status"],
            &task["statusMessage"],
            &task["error"],
            task.get("result")
        ),
        (
            &json!("failed"),
            &json!("broken"),
            &json!({"code": -32603, "message": "broken"}),
            None
        )
    );

    let panicking = router(ToolRoute::new("work", "", || async {
        if true {
            panic!("on purpose");
        }
    }));
    let task = ended(&panicking, &work().of(&panicking).await.unwrap()).await;
    assert_eq!(
        task["error"]["message"],
        "the handler of the request panicked"
    );

    let asking = router(ToolRoute::new("work", "", || async {
        InputRequiredResult::default()
    }));
    let task = ended(&asking, &work().of(&asking).await.unwrap()).await;
    assert_eq!(task["status"], "failed");
}

#[cfg(feature = "schema")]
#[tokio::test]
async fn invalid_arguments_never_make_a_task() {
    let (router, _gate) = gated(TaskSupport::Required);
    let invalid = Ask::tool("work", json!({"x": 1})).with_tasks();
    assert_eq!(
        invalid.of(&router).await,
        Ok(failed_result(
            "Invalid arguments for tool `work`: `x` is not allowed"
        ))
    );
}

#[tokio::test]
async fn cancelling_drops_the_handler() {
    let (dropped, is_dropped) = oneshot::channel::<()>();
    let router = router(holding(dropped));
    let task = work().of(&router).await.unwrap();
    assert_eq!(
        about("tasks/cancel", &task).of(&router).await,
        acknowledged()
    );
    let cancelled = about("tasks/get", &task).of(&router).await.unwrap();
    assert_eq!(cancelled["status"], "cancelled");
    assert!(is_dropped.await.is_err());
    // Again, it is acknowledged and changes nothing.
    assert_eq!(
        about("tasks/cancel", &task).of(&router).await,
        acknowledged()
    );
    assert_eq!(about("tasks/get", &task).of(&router).await, Ok(cancelled));
}

#[tokio::test]
async fn a_task_that_is_done_cannot_be_cancelled() {
    let (router, gate) = gated(TaskSupport::Optional);
    gate.notify_one();
    let done = ended(&router, &work().of(&router).await.unwrap()).await;
    assert_eq!(
        about("tasks/cancel", &done).of(&router).await,
        acknowledged()
    );
    assert_eq!(about("tasks/get", &done).of(&router).await, Ok(done));
}

#[tokio::test]
async fn a_task_belongs_to_its_caller() {
    let (router, _gate) = gated(TaskSupport::Optional);
    let task = work().caller("alice").of(&router).await.unwrap();
    let unknown = json!({"code": -32602, "message": "there is no such task, or it has expired"});
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let ask = |task: &Value| {
            let params = json!({"taskId": task["taskId"], "inputResponses": {}});
            Ask::new(method, params).with_tasks()
        };
        assert_eq!(
            ask(&task).caller("bob").of(&router).await,
            Err(unknown.clone())
        );
        assert_eq!(ask(&task).of(&router).await, Err(unknown.clone()));
        let other = json!({"taskId": "nonexistent"});
        assert_eq!(
            ask(&other).caller("alice").of(&router).await,
            Err(unknown.clone())
        );
        let malformed = ask(&json!({"taskId": 7})).caller("alice").of(&router).await;
        assert_eq!(malformed.unwrap_err()["code"], -32602);
    }
    let found = about("tasks/get", &task)
        .caller("alice")
        .of(&router)
        .await
        .unwrap();
    assert_eq!(found["status"], "working");
}

#[tokio::test(start_paused = true)]
async fn a_task_expires_and_its_handler_with_it() {
    let (dropped, is_dropped) = oneshot::channel::<()>();
    let router =
        router(holding(dropped)).tasks(TaskConfig::default().with_ttl(Duration::from_secs(60)));
    let task = work().of(&router).await.unwrap();
    assert_eq!(task["ttlMs"], 60_000);
    tokio::time::advance(Duration::from_secs(59)).await;
    assert!(about("tasks/get", &task).of(&router).await.is_ok());
    tokio::time::advance(Duration::from_secs(1)).await;
    let expired = about("tasks/get", &task).of(&router).await.unwrap_err();
    assert_eq!(expired["code"], -32602);
    assert!(is_dropped.await.is_err());
}

#[tokio::test(start_paused = true)]
async fn tasks_are_limited_and_expired_ones_make_room() {
    let (router, _gate) = gated(TaskSupport::Optional);
    let config = TaskConfig::default().with_max_tasks(2);
    let router = router.tasks(config.with_ttl(Duration::from_secs(60)));
    for _ in 0..2 {
        assert!(work().of(&router).await.is_ok());
    }
    assert_eq!(
        work().of(&router).await,
        Err(json!({"code": 42900, "message": "too many tasks"}))
    );
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(work().of(&router).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_caller_with_too_many_tasks_leaves_room_for_others() {
    let (router, _gate) = gated(TaskSupport::Optional);
    let config = TaskConfig::default()
        .with_max_tasks(3)
        .with_max_tasks_per_caller(2)
        .with_ttl(Duration::from_secs(60));
    let router = router.tasks(config);
    for _ in 0..2 {
        assert!(work().caller("ada").of(&router).await.is_ok());
    }
    let refused = |message: &str| Err(json!({"code": 42900, "message": message}));
    assert_eq!(
        work().caller("ada").of(&router).await,
        refused("too many tasks of one caller")
    );
    assert!(work().caller("bob").of(&router).await.is_ok());
    assert_eq!(
        work().caller("bob").of(&router).await,
        refused("too many tasks")
    );
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(work().caller("ada").of(&router).await.is_ok());
}

#[tokio::test]
async fn the_requests_of_running_tasks_are_limited_by_their_size() {
    let (router, _gate) = gated(TaskSupport::Optional);
    let large = || work().meta("padding", json!("x".repeat(3 * 1024 * 1024)));
    let refused = |message: &str| Err(json!({"code": 42900, "message": message}));
    let first = large().caller("0").of(&router).await.unwrap();
    assert_eq!(
        large().caller("0").of(&router).await,
        refused("too many tasks of one caller")
    );
    for caller in ["1", "2", "3", "4"] {
        assert!(large().caller(caller).of(&router).await.is_ok());
    }
    assert_eq!(
        large().caller("5").of(&router).await,
        refused("too many tasks")
    );
    let cancel = about("tasks/cancel", &first).caller("0");
    assert_eq!(cancel.of(&router).await, acknowledged());
    assert!(large().caller("5").of(&router).await.is_ok());
}

#[tokio::test]
async fn tasks_stop_with_their_router() {
    let (dropped, is_dropped) = oneshot::channel::<()>();
    let router = router(holding(dropped));
    work().of(&router).await.unwrap();
    drop(router);
    assert!(is_dropped.await.is_err());
}

#[tokio::test]
async fn a_task_tells_its_progress_as_its_status_and_nothing_else() {
    let told = Arc::new(Notify::new());
    let router = router(ToolRoute::new("work", "", {
        let told = told.clone();
        move |cx: RequestCx| {
            let told = told.clone();
            async move {
                cx.progress(1.0, Some(2.0), Some("half way")).await;
                cx.log(LogLevel::Error, None, "oops").await;
                told.notify_one();
                std::future::pending::<()>().await;
            }
        }
    }));
    let ask = work()
        .meta("progressToken", json!(1))
        .meta("io.modelcontextprotocol/logLevel", json!("debug"));
    let (call, mut notifications) = ask.into_call(&Id::number(1));
    let task = router
        .call(call)
        .await
        .unwrap()
        .into_result()
        .decode::<Value>()
        .unwrap();
    told.notified().await;
    let working = about("tasks/get", &task).of(&router).await.unwrap();
    assert_eq!(
        (&working["status"], &working["statusMessage"]),
        (&json!("working"), &json!("half way"))
    );
    assert_eq!(notifications.try_next(), None);
}

#[tokio::test]
async fn subscribers_of_a_task_get_its_changes() {
    let (router, gate) = gated(TaskSupport::Optional);
    let task = work().of(&router).await.unwrap();
    let foreign = work().caller("bob").of(&router).await.unwrap();
    let ids = [
        task["taskId"].clone(),
        foreign["taskId"].clone(),
        json!("unknown"),
    ];
    let filter = json!({"notifications": {"taskIds": ids}});
    let (call, mut notifications) = Ask::new("subscriptions/listen", filter)
        .with_tasks()
        .into_call(&Id::number(7));
    let listening = tokio::spawn({
        let router = router.clone();
        async move { router.call(call).await }
    });
    let acknowledged = shown(&notifications.next().await);
    assert_eq!(
        acknowledged["params"]["notifications"],
        json!({"taskIds": [task["taskId"]]})
    );

    about("tasks/cancel", &foreign)
        .caller("bob")
        .of(&router)
        .await
        .unwrap();
    gate.notify_one();
    let told = shown(&notifications.next().await);
    let mut expect = ended(&router, &task).await;
    expect.as_object_mut().unwrap().remove("resultType");
    expect["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": 7});
    assert_eq!(
        told,
        json!({"method": "notifications/tasks", "params": expect})
    );
    listening.abort();
}

#[tokio::test]
async fn dropping_a_call_before_it_is_a_task_drops_its_handler() {
    let started = Arc::new(Notify::new());
    let (dropped, is_dropped) = oneshot::channel::<()>();
    let held = Arc::new(Mutex::new(Some(dropped)));
    let route = ToolRoute::new("work", "", {
        let started = started.clone();
        move |cx: RequestCx| {
            let (started, held) = (started.clone(), held.lock().unwrap().take());
            async move {
                let _held = held;
                started.notify_one();
                std::future::pending::<()>().await;
                cx.detach().await;
            }
        }
    });
    let router = Router::new(Implementation::new("demo", "1.0"))
        .route(route.task_when_detached(TaskSupport::Optional));
    let (call, _notifications) = work().into_call(&Id::number(1));
    let calling = tokio::spawn(async move { router.call(call).await });
    started.notified().await;
    calling.abort();
    assert!(is_dropped.await.is_err());
}
