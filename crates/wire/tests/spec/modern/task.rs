//! The tasks extension has no schema here, so its messages are checked as what they extend.

use callgate_wire::result::{EmptyResult, Outcome};
use callgate_wire::task::{
    CreateTaskResult, DetailedTask, GetTaskParams, GetTaskResult, Task, TaskNotificationParams,
    TaskStatus, UpdateTaskParams,
};
use callgate_wire::tool::CallToolResult;
use callgate_wire::{RawJson, RpcError, code, method};

use super::{client, notification_meta, request_meta, result_meta};
use crate::sample::{Sample, notification, request, value, with};

pub(super) fn samples() -> Vec<Sample> {
    let get = with(GetTaskParams::new("task-1"), |it| {
        it.meta = Some(request_meta());
    });
    let update = with(
        UpdateTaskParams::new("task-1", client::input_responses()),
        |it| {
            it.meta = Some(request_meta());
        },
    );
    let created = with(CreateTaskResult::new(task(TaskStatus::Working)), |it| {
        it.meta = Some(result_meta());
    });
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
        let told = TaskNotificationParams::new(task.clone(), notification_meta());
        let result = with(GetTaskResult::new(task), |it| {
            it.meta = Some(result_meta());
        });
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
        with(task(TaskStatus::InputRequired).into(), |it| {
            it.input_requests = Some(client::input_requests());
        }),
        with(task(TaskStatus::Completed).into(), |it| {
            it.result = Some(RawJson::encode(&CallToolResult::error("no")).unwrap());
        }),
        with(task(TaskStatus::Failed).into(), |it| {
            it.error = Some(RpcError::new(code::INTERNAL_ERROR, "broken"));
        }),
        task(TaskStatus::Cancelled).into(),
    ]
}

fn task(status: TaskStatus) -> Task {
    with(Task::new("task-1", status, "2026-07-28T12:00:00Z"), |it| {
        it.status_message = Some("Working hard".to_owned());
        it.last_updated_at = "2026-07-28T12:00:01Z".to_owned();
        it.ttl_ms = Some(60_000);
        it.poll_interval_ms = Some(1000);
    })
}
