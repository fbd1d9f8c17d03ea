use callgate_wire::legacy::capabilities::{
    ClientTaskRequests, ElicitationTaskRequests, SamplingTaskRequests, ServerTaskRequests,
    TasksCapability,
};
use callgate_wire::legacy::method;
use callgate_wire::legacy::task::{
    CreateTaskResult, GetTaskParams, ListTasksParams, ListTasksResult, RelatedTaskMetadata, Task,
    TaskAugmentedParams, TaskMetadata,
};
use callgate_wire::legacy::tool::{TaskSupport, ToolExecution};
use callgate_wire::method as modern;
use callgate_wire::task::TaskStatus;

use super::{object, plain_meta, request_meta};
use crate::sample::{Sample, notification, request, value, with};

pub(super) fn samples() -> Vec<Sample> {
    let metadata = TaskMetadata::new(60_000);
    let augmented = with(TaskAugmentedParams::default(), |it| {
        it.meta = Some(request_meta());
        it.task = Some(metadata.clone());
    });
    let related = RelatedTaskMetadata::new("t-1");
    let mut samples = vec![
        value("TaskMetadata", &metadata),
        value("TaskAugmentedRequestParams", &augmented),
        value("RelatedTaskMetadata", &related),
    ];
    for status in [
        TaskStatus::Working,
        TaskStatus::InputRequired,
        TaskStatus::Completed,
        TaskStatus::Failed,
        TaskStatus::Cancelled,
    ] {
        samples.push(value("TaskStatus", &status));
        samples.push(value("Task", &task(status)));
    }
    for support in [
        TaskSupport::Forbidden,
        TaskSupport::Optional,
        TaskSupport::Required,
    ] {
        samples.push(value("ToolExecution", &ToolExecution::new(support)));
    }
    samples.extend(messages());
    samples
}

pub(super) fn client_capability() -> TasksCapability<ClientTaskRequests> {
    let sampling = with(SamplingTaskRequests::default(), |it| {
        it.create_message = object();
    });
    let elicitation = with(ElicitationTaskRequests::default(), |it| {
        it.create = object();
    });
    let requests = with(ClientTaskRequests::default(), |it| {
        it.sampling = Some(sampling);
        it.elicitation = Some(elicitation);
    });
    with(TasksCapability::default(), |it| {
        it.list = object();
        it.cancel = object();
        it.requests = Some(requests);
    })
}

pub(super) fn server_capability() -> TasksCapability<ServerTaskRequests> {
    TasksCapability::of_tool_calls()
}

fn messages() -> Vec<Sample> {
    let get = with(GetTaskParams::new("t-1"), |it| {
        it.meta = Some(request_meta());
    });
    let page = with(ListTasksParams::default(), |it| {
        it.meta = Some(request_meta());
        it.cursor = Some("next".to_owned());
    });
    let working = with(task(TaskStatus::Working), |it| it.meta = None);
    let created = with(CreateTaskResult::new(working), |it| {
        it.meta = Some(plain_meta());
    });
    let unlimited = with(task(TaskStatus::Working), |it| it.ttl = None);
    let tasks = vec![task(TaskStatus::Completed), unlimited.clone()];
    let list = with(ListTasksResult::new(tasks), |it| {
        it.next_cursor = Some("next".to_owned());
        it.meta = Some(plain_meta());
    });
    vec![
        value("CreateTaskResult", &created),
        request("GetTaskRequest", modern::TASKS_GET, &get),
        value("GetTaskResult", &unlimited),
        request("GetTaskPayloadRequest", method::TASKS_RESULT, &get),
        request("CancelTaskRequest", modern::TASKS_CANCEL, &get),
        value("CancelTaskResult", &task(TaskStatus::Cancelled)),
        request("ListTasksRequest", method::TASKS_LIST, &page),
        value("ListTasksResult", &list),
        notification(
            "TaskStatusNotification",
            method::NOTIFICATIONS_TASKS_STATUS,
            &task(TaskStatus::Failed),
        ),
        value("TaskStatusNotificationParams", &task(TaskStatus::Failed)),
    ]
}

fn task(status: TaskStatus) -> Task {
    let texts = ["t-1", "2025-11-25T12:00:00Z", "2025-11-25T12:00:01Z"];
    let [id, created, updated] = texts.map(str::to_owned);
    with(
        Task::new(id, status, created, updated, Some(60_000)),
        |it| {
            it.status_message = Some("Working hard".to_owned());
            it.poll_interval = Some(1000);
            it.meta = Some(plain_meta());
        },
    )
}
