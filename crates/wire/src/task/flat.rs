use serde::{Deserialize, Serialize};

use crate::input::InputRequests;
use crate::meta_object::Meta;
use crate::raw::RawJson;
use crate::result::ResultType;
use crate::rpc_error::RpcError;
use crate::task::{DetailedTask, Task, TaskStatus};

/// A task as it is written: its own members side by side with those of the message around it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Flat {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result_type: Option<ResultType>,
    task_id: String,
    status: TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    status_message: Option<String>,
    created_at: String,
    last_updated_at: String,
    ttl_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    poll_interval_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input_requests: Option<InputRequests>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RpcError>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub(super) meta: Option<Meta>,
}

impl Flat {
    pub(super) fn new(
        result_type: Option<ResultType>,
        detailed: DetailedTask,
        meta: Option<Meta>,
    ) -> Self {
        let task = detailed.task;
        Self {
            result_type,
            task_id: task.task_id,
            status: task.status,
            status_message: task.status_message,
            created_at: task.created_at,
            last_updated_at: task.last_updated_at,
            ttl_ms: task.ttl_ms,
            poll_interval_ms: task.poll_interval_ms,
            input_requests: detailed.input_requests,
            result: detailed.result,
            error: detailed.error,
            meta,
        }
    }
}

impl From<Flat> for DetailedTask {
    fn from(flat: Flat) -> Self {
        Self {
            task: Task {
                task_id: flat.task_id,
                status: flat.status,
                status_message: flat.status_message,
                created_at: flat.created_at,
                last_updated_at: flat.last_updated_at,
                ttl_ms: flat.ttl_ms,
                poll_interval_ms: flat.poll_interval_ms,
            },
            input_requests: flat.input_requests,
            result: flat.result,
            error: flat.error,
        }
    }
}
