//! The tasks extension has no schema here, so its messages are checked as what they extend.

use callgate_wire::result::{EmptyResult, Outcome};
use callgate_wire::task::{
    CreateTaskResult, DetailedTask, GetTaskParams, GetTaskResult, Task, TaskNotificationParams,
    TaskStatus, UpdateTaskParams,
};
use callgate_wire::tool::CallToolResult;
use callgate_wire::{RawJson, RpcError, code, method};

use super::{client, notification_meta, request_meta, result_meta};
use crate::sample::{Sample, notification, request, value};

pub(super) fn samples() -> Vec<Sample> {
    let get = GetTaskParams {
        meta: Some(request_meta()),
        ..GetTaskParams::new("task-1")
    };
    let update = UpdateTaskParams {
        meta: Some(request_meta()),
        task_id: "task-1".to_owned(),
        input_responses: client::input_responses(),
    };
    let created = CreateTaskResult {
        task: task(TaskStatus::Working),
        meta: Some(result_meta()),
    };
    let mut samples = vec![
        value("RequestParams", &get),
        value("RequestParams", &update),
        request("JSONRPCRequest", method::TASKS_GET, &get),
        request("JSONRPCRequest", method::TASKS_UPDATE, &update),
        request("JSONRPCRequest", method::TASKS_CANCEL, &get),
        value("Result", &created),
        value("Result", &Outcome::<EmptyResult>::Task(created)),
    ];
    for task in detailed() {
        let told = TaskNotificationParams {
            task: task.clone(),
            meta: Some(notification_meta()),
        };
        let result = GetTaskResult {
            task,
            meta: Some(result_meta()),
        };
        samples.push(value("Result", &result));
        samples.push(value("NotificationParams", &told));
        samples.push(notification(
            "JSONRPCNotification",
            method::NOTIFICATIONS_TASKS,
            &told,
        ));
    }
    samples
}

/// A task of each status.
fn detailed() -> Vec<DetailedTask> {
    vec![
        task(TaskStatus::Working).into(),
        DetailedTask {
            input_requests: Some(client::input_requests()),
            ..task(TaskStatus::InputRequired).into()
        },
        DetailedTask {
            result: Some(RawJson::encode(&CallToolResult::error("no")).unwrap()),
            ..task(TaskStatus::Completed).into()
        },
        DetailedTask {
            error: Some(RpcError::new(code::INTERNAL_ERROR, "broken")),
            ..task(TaskStatus::Failed).into()
        },
        task(TaskStatus::Cancelled).into(),
    ]
}

fn task(status: TaskStatus) -> Task {
    Task {
        task_id: "task-1".to_owned(),
        status,
        status_message: Some("Working hard".to_owned()),
        created_at: "2026-07-28T12:00:00Z".to_owned(),
        last_updated_at: "2026-07-28T12:00:01Z".to_owned(),
        ttl_ms: Some(60_000),
        poll_interval_ms: Some(1000),
    }
}
