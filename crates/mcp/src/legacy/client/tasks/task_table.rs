use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use callgate_wire::legacy::task as old;
use callgate_wire::task::{DetailedTask, Task, TaskStatus};
use callgate_wire::{Id, RawJson, RpcError};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::error::{Error, Kind};
use crate::legacy::client::call_table::OldCall;
use crate::mutex::Mutex;
use crate::service::Caller;
use crate::upstream::UpstreamConfig;

/// Table of the tasks at an old server.
#[derive(Default)]
pub(crate) struct TaskTable(Mutex<TableState>);

#[derive(Default)]
struct TableState {
    entries: HashMap<String, Arc<TaskEntry>>,
    /// Calls that wait for the result of a task, by its id.
    waiting_calls: HashMap<String, Arc<OldCall>>,
    /// Number of tasks that have ended: the clock of their order.
    ended: u64,
}

/// Maximum bytes of the outcomes of all tasks; the newest is always kept.
const MAX_OUTCOME_BYTES: usize = 64 * 1024 * 1024;

/// Maximum bytes of the outcomes of one caller's tasks; its newest is always kept.
const MAX_CALLER_OUTCOME_BYTES: usize = 16 * 1024 * 1024;

/// Time after which a task that its client does not ask about is abandoned. A server may never end it,
/// and the session that it runs in must not stay for ever.
const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

impl TaskTable {
    /// Adds a task, unless there are too many.
    pub(super) fn insert(
        &self,
        entry: Arc<TaskEntry>,
        config: &UpstreamConfig,
    ) -> Result<(), Error> {
        let mut state = self.0.lock();
        state.entries.retain(|_, entry| !entry.has_expired());
        // Tasks that have ended give way only at the limit: their clients may still ask for the outcome.
        if state.entries.len() >= config.tasks {
            state.entries.retain(|_, entry| !entry.has_ended());
        }
        let of_caller = state.entries.values();
        let of_caller = of_caller
            .filter(|known| known.caller == entry.caller)
            .count();
        if state.entries.len() >= config.tasks || of_caller >= config.tasks_per_caller {
            return Err(Error::new(Kind::Busy, "too many tasks"));
        }
        state.entries.insert(entry.id.clone(), entry);
        Ok(())
    }

    /// The task with this id, if it is `caller`'s.
    pub(super) fn get(&self, id: &str, caller: &Caller) -> Option<Arc<TaskEntry>> {
        let mut state = self.0.lock();
        state.entries.retain(|_, entry| !entry.has_expired());
        let entry = state.entries.get(id).cloned();
        let entry = entry.filter(|entry| entry.caller == *caller)?;
        entry.touch();
        Some(entry)
    }

    /// Ends a task. Those that ended first are removed if the outcomes take too much memory.
    pub(super) fn end(&self, entry: &TaskEntry, outcome: Outcome) {
        let mut state = self.0.lock();
        state.ended += 1;
        entry.end(outcome, state.ended);
        // The caller's own limit comes first: its outcomes should not be why those of others are removed.
        let mut removed =
            state.limit_outcomes(MAX_CALLER_OUTCOME_BYTES, |it| it.caller == entry.caller);
        removed.extend(state.limit_outcomes(MAX_OUTCOME_BYTES, |_| true));
        drop(state);
        drop(removed);
    }

    /// True if a task has not ended, and its client may still ask about it.
    #[cfg_attr(
        not(feature = "http-client"),
        expect(dead_code, reason = "only sessions over HTTP are replaced")
    )]
    pub(crate) fn has_running(&self) -> bool {
        let state = self.0.lock();
        state.entries.values().any(|entry| entry.is_running())
    }

    /// Adds the call that waits for a task.
    pub(super) fn add_waiting_call(&self, id: &str, old_call: Arc<OldCall>) {
        self.0.lock().waiting_calls.insert(id.to_owned(), old_call);
    }

    /// Removes the call that waited for a task.
    pub(super) fn remove_waiting_call(&self, id: &str) {
        self.0.lock().waiting_calls.remove(id);
    }

    /// The call whose client is asked the questions of a task.
    pub(crate) fn old_call(&self, id: &str) -> Option<Arc<OldCall>> {
        let state = self.0.lock();
        let entry = state.entries.get(id).map(|entry| entry.old_call.clone());
        entry.or_else(|| state.waiting_calls.get(id).cloned())
    }

    /// Removes a question that the server has cancelled.
    pub(crate) fn withdraw(&self, id: &Id) {
        for entry in self.0.lock().entries.values() {
            entry.old_call.withdraw(id);
        }
    }

    /// Removes all tasks, which ends their background tasks.
    pub(crate) fn clear(&self) {
        let entries = std::mem::take(&mut self.0.lock().entries);
        drop(entries);
    }
}

impl TableState {
    /// Removes the tasks that ended first until the outcomes of those that count fit, but never the one
    /// that ended last.
    fn limit_outcomes(
        &mut self,
        max: usize,
        counts: impl Fn(&TaskEntry) -> bool,
    ) -> Vec<Arc<TaskEntry>> {
        let entries = self.entries.iter().filter(|(_, entry)| counts(entry));
        let mut ended: Vec<(u64, usize, String)> = entries
            .filter_map(|(id, entry)| {
                let (order, bytes) = entry.outcome_bytes()?;
                Some((order, bytes, id.clone()))
            })
            .collect();
        ended.sort_unstable_by(|one, other| other.cmp(one));
        let mut kept = 0;
        let mut removed = Vec::new();
        for (place, (_, bytes, id)) in ended.into_iter().enumerate() {
            kept += bytes;
            if place > 0 && kept > max {
                removed.extend(self.entries.remove(&id));
            }
        }
        removed
    }
}

/// Task at an old server, and the caller that it belongs to.
pub(super) struct TaskEntry {
    pub(super) id: String,
    pub(super) caller: Caller,
    /// Questions of the server for the task.
    pub(super) old_call: Arc<OldCall>,
    expires: Option<Instant>,
    state: watch::Sender<TaskState>,
    /// Background task that ends with this entry.
    pub(super) runner: OnceLock<AbortHandle>,
}

struct TaskState {
    task: old::Task,
    outcome: Option<Outcome>,
    /// Position in the order in which the tasks ended.
    end_order: u64,
    last_use: Instant,
}

/// Outcome of a task: a result of this revision, or an error.
pub(super) type Outcome = Result<RawJson, RpcError>;

impl TaskEntry {
    pub(super) fn new(caller: Caller, old_call: Arc<OldCall>, task: old::Task) -> Self {
        let ttl = task.ttl.map(Duration::from_millis);
        Self {
            id: task.task_id.clone(),
            caller,
            old_call,
            expires: ttl.and_then(|ttl| Instant::now().checked_add(ttl)),
            state: watch::Sender::new(TaskState {
                task,
                outcome: None,
                end_order: 0,
                last_use: Instant::now(),
            }),
            runner: OnceLock::new(),
        }
    }

    /// Updates the task as the server describes it.
    pub(super) fn update(&self, task: old::Task) {
        self.state.send_modify(|state| state.task = task);
    }

    fn end(&self, outcome: Outcome, order: u64) {
        self.state.send_modify(|state| {
            state.outcome = Some(outcome);
            state.end_order = order;
        });
    }

    /// Notes that the client asks about the task.
    fn touch(&self) {
        self.state.send_if_modified(|state| {
            state.last_use = Instant::now();
            // It says nothing to those that wait for the outcome.
            false
        });
    }

    /// Position in the order of ends, and memory of the outcome, if it is known.
    fn outcome_bytes(&self) -> Option<(u64, usize)> {
        let state = self.state.borrow();
        let bytes = match state.outcome.as_ref()? {
            Ok(result) => result.as_bytes().len(),
            Err(error) => {
                let data = error.data.as_ref();
                error.message.len() + data.map_or(0, |data| data.as_bytes().len())
            }
        };
        Some((state.end_order, bytes))
    }

    /// True if the server works on the task, as far as is known, and its client may still ask about it.
    fn is_running(&self) -> bool {
        let state = self.state.borrow();
        let is_over = state.outcome.is_some() || state.task.status == TaskStatus::Cancelled;
        !is_over && !self.has_expired() && state.last_use.elapsed() < ABANDONED_AFTER
    }

    /// True if the outcome is known.
    pub(super) fn has_ended(&self) -> bool {
        self.state.borrow().outcome.is_some()
    }

    /// True if the time to live has passed, after which the server forgets the task.
    pub(super) fn has_expired(&self) -> bool {
        self.expires
            .is_some_and(|expires| expires <= Instant::now())
    }

    /// Waits for the outcome of a task that has ended by its status.
    pub(super) async fn settled(&self) {
        let is_settled = |state: &TaskState| {
            let status = state.task.status;
            let is_over = matches!(status, TaskStatus::Completed | TaskStatus::Failed);
            !is_over || state.outcome.is_some()
        };
        let mut state = self.state.subscribe();
        // It cannot fail: the sender lives as long as `self`.
        let _ = state.wait_for(is_settled).await;
    }

    /// The task as this revision has it.
    pub(super) fn snapshot(&self) -> DetailedTask {
        let questions = self.old_call.questions();
        let state = self.state.borrow();
        let mut detailed = DetailedTask::from(modern(&state.task));
        // An error of a tool makes an old task `failed`; a task of today is `completed` with
        // `isError`. So the outcome decides, not the status.
        detailed.task.status = match (&state.outcome, state.task.status) {
            (_, TaskStatus::Cancelled) => TaskStatus::Cancelled,
            (Some(Ok(result)), _) => {
                detailed.result = Some(result.clone());
                TaskStatus::Completed
            }
            (Some(Err(error)), _) => {
                detailed.error = Some(error.clone());
                TaskStatus::Failed
            }
            (None, _) if !questions.is_empty() => {
                let decoded = questions
                    .iter()
                    .filter_map(|(key, question)| Some((key.to_owned(), question.decode().ok()?)));
                detailed.input_requests = Some(decoded.collect());
                TaskStatus::InputRequired
            }
            (None, _) => TaskStatus::Working,
        };
        detailed
    }
}

impl Drop for TaskEntry {
    fn drop(&mut self) {
        if let Some(runner) = self.runner.get() {
            runner.abort();
        }
    }
}

/// A task in the terms of the extension.
pub(super) fn modern(task: &old::Task) -> Task {
    let mut modern = Task::new(&task.task_id, task.status, &task.created_at);
    modern.status_message.clone_from(&task.status_message);
    modern.last_updated_at.clone_from(&task.last_updated_at);
    (modern.ttl_ms, modern.poll_interval_ms) = (task.ttl, task.poll_interval);
    modern
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{Call, Cx};
    use callgate_wire::{Method, method};
    use tokio::time::advance;

    /// Adds a task of a caller.
    fn add(table: &TaskTable, id: &str, caller: &str) -> Arc<TaskEntry> {
        let cx = Cx::new(Id::number(1));
        let call = Call::new(Method::new(method::TOOLS_CALL), RawJson::empty_object(), cx);
        let old_call = Arc::new(OldCall::of_task(&call));
        let (time, status) = (String::new(), TaskStatus::Working);
        let task = old::Task::new(id.to_owned(), status, time.clone(), time, None);
        let entry = Arc::new(TaskEntry::new(Caller::named(caller), old_call, task));
        let config = UpstreamConfig::default();
        table.insert(entry.clone(), &config).unwrap();
        entry
    }

    fn ids(table: &TaskTable) -> Vec<String> {
        let mut ids: Vec<String> = table.0.lock().entries.keys().cloned().collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn outcomes_are_kept_within_limits_and_those_that_ended_first_make_way() {
        let table = TaskTable::default();
        let end = |id: &str, caller: &str, outcome: Outcome| {
            table.end(&add(&table, id, caller), outcome);
        };
        add(&table, "running", "ada");
        let half = RawJson::string(&"x".repeat(MAX_CALLER_OUTCOME_BYTES / 2));
        end("a", "ada", Ok(half.clone()));
        end("b", "bob", Ok(half.clone()));
        let error = RpcError::new(0, "x").with_data(half);
        end("c", "ada", Err(error));
        assert_eq!(ids(&table), ["b", "c", "running"]);

        // The newest of a caller is kept, whatever its size.
        let whole = RawJson::string(&"x".repeat(MAX_CALLER_OUTCOME_BYTES));
        for (id, caller) in [("d", "ada"), ("e", "cid"), ("f", "dan")] {
            end(id, caller, Ok(whole.clone()));
        }
        assert_eq!(ids(&table), ["b", "d", "e", "f", "running"]);
        // Of all callers, the task that ended first makes way.
        end("g", "eve", Ok(whole));
        assert_eq!(ids(&table), ["e", "f", "g", "running"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_runs_until_it_ends_or_is_abandoned() {
        let table = TaskTable::default();
        assert!(!table.has_running());
        let entry = add(&table, "a", "ada");
        advance(ABANDONED_AFTER / 2).await;
        assert!(table.get("a", &Caller::named("bob")).is_none());
        assert!(table.get("a", &Caller::named("ada")).is_some());
        advance(ABANDONED_AFTER - Duration::from_secs(1)).await;
        assert!(table.has_running());
        advance(Duration::from_secs(1)).await;
        assert!(!table.has_running());

        assert!(table.get("a", &Caller::named("ada")).is_some());
        assert!(table.has_running());
        table.end(&entry, Ok(RawJson::empty_object()));
        assert!(!table.has_running());
    }
}
