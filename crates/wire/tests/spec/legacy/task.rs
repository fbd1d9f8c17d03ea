use callgate_wire::legacy::capabilities::{
    ClientTaskRequests, ElicitationTaskRequests, SamplingTaskRequests, ServerTaskRequests,
    TasksCapability, ToolsTaskRequests,
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
    let metadata = TaskMetadata { ttl: Some(60_000) };
    let augmented = TaskAugmentedParams {
        meta: Some(request_meta()),
        task: Some(metadata.clone()),
    };
    let related = RelatedTaskMetadata {
        task_id: "t-1".to_owned(),
    };
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
        let execution = ToolExecution {
            task_support: Some(support),
        };
        samples.push(value("ToolExecution", &execution));
    }
    samples.extend(messages());
    samples
}

pub(super) fn client_capability() -> TasksCapability<ClientTaskRequests> {
    TasksCapability {
        list: object(),
        cancel: object(),
        requests: Some(ClientTaskRequests {
            sampling: Some(SamplingTaskRequests {
                create_message: object(),
            }),
            elicitation: Some(ElicitationTaskRequests { create: object() }),
        }),
    }
}

pub(super) fn server_capability() -> TasksCapability<ServerTaskRequests> {
    TasksCapability {
        list: object(),
        cancel: object(),
        requests: Some(ServerTaskRequests {
            tools: Some(ToolsTaskRequests { call: object() }),
        }),
    }
}

fn messages() -> Vec<Sample> {
    let get = GetTaskParams {
        meta: Some(request_meta()),
        ..GetTaskParams::new("t-1")
    };
    let page = with(ListTasksParams::default(), |it| {
        it.meta = Some(request_meta());
        it.cursor = Some("next".to_owned());
    });
    let created = CreateTaskResult {
        task: Task {
            meta: None,
            ..task(TaskStatus::Working)
        },
        meta: Some(plain_meta()),
    };
    let unlimited = Task {
        ttl: None,
        ..task(TaskStatus::Working)
    };
    let list = ListTasksResult {
        tasks: vec![task(TaskStatus::Completed), unlimited.clone()],
        next_cursor: Some("next".to_owned()),
        meta: Some(plain_meta()),
    };
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
    Task {
        task_id: "t-1".to_owned(),
        status,
        status_message: Some("Working hard".to_owned()),
        created_at: "2025-11-25T12:00:00Z".to_owned(),
        last_updated_at: "2025-11-25T12:00:01Z".to_owned(),
        ttl: Some(60_000),
        poll_interval: Some(1000),
        meta: Some(plain_meta()),
    }
}
