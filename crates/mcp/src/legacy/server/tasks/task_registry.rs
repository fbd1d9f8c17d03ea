use std::collections::HashSet;
use std::sync::Arc;

use callgate_wire::RawJson;
use callgate_wire::legacy::task::Task;
use callgate_wire::task::TaskStatus;

use crate::error::{Error, Kind};
use crate::mutex::Mutex;

/// Tasks of one session, oldest first.
#[derive(Debug)]
pub(super) struct TaskRegistry {
    most: usize,
    state: Mutex<RegistryState>,
}

#[derive(Debug, Default)]
struct RegistryState {
    entries: Vec<Arc<TaskEntry>>,
    /// Number of calls that may still become a task.
    reserved: usize,
    last: u64,
}

/// Reserved place for a task, free again when dropped.
#[derive(Debug)]
pub(super) struct TaskSlot<'a>(&'a TaskRegistry);

/// One task.
#[derive(Debug)]
pub(super) struct TaskEntry {
    /// Position in the order of the tasks.
    pub(super) number: u64,
    state: Mutex<TaskEntryState>,
}

#[derive(Debug)]
struct TaskEntryState {
    /// Last known state.
    task: Task,
    /// Result of a task that ended at once, which the service does not know.
    result: Option<RawJson>,
    /// Keys of the questions that are being asked, or were.
    asked: HashSet<String>,
}

/// Questions of a task that one request asks. Dropping it lets other requests ask them.
#[derive(Debug)]
pub(super) struct QuestionClaim<'a> {
    entry: &'a TaskEntry,
    keys: Vec<String>,
}

/// Maximum bytes of the results that are kept for tasks that ended at once; the newest always is.
const MAX_RESULT_BYTES: usize = 4 * 1024 * 1024;

impl TaskRegistry {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            state: Mutex::default(),
        }
    }

    /// Reserves a place for a task; the oldest finished task is removed for it.
    pub(super) fn reserve(&self) -> Result<TaskSlot<'_>, Error> {
        let mut state = self.state.lock();
        if state.entries.len() + state.reserved >= self.most {
            let ended = state.entries.iter().position(|entry| entry.has_ended());
            let Some(ended) = ended else {
                return Err(Error::new(Kind::Busy, "too many tasks").retry_safe());
            };
            state.entries.remove(ended);
        }
        state.reserved += 1;
        Ok(TaskSlot(self))
    }

    pub(super) fn find(&self, id: &str) -> Result<Arc<TaskEntry>, Error> {
        let state = self.state.lock();
        let entry = state
            .entries
            .iter()
            .find(|entry| entry.task().task_id == id);
        entry
            .cloned()
            .ok_or_else(|| Error::invalid_params("there is no such task in this session"))
    }

    /// Up to `count` tasks after the one with this number.
    pub(super) fn page(&self, after: u64, count: usize) -> Vec<Arc<TaskEntry>> {
        let state = self.state.lock();
        let later = state.entries.iter().filter(|entry| entry.number > after);
        later.take(count).cloned().collect()
    }
}

impl TaskSlot<'_> {
    /// Adds a task, with its result if it ended at once.
    pub(super) fn fill(self, task: Task, result: Option<RawJson>) {
        let mut state = self.0.state.lock();
        state.last += 1;
        let entry = TaskEntry::new(state.last, task, result);
        let mut kept = entry.bytes();
        let mut keep = Vec::new();
        // From the newest on, so that the oldest results are dropped.
        for older in state.entries.iter().rev() {
            kept += older.bytes();
            keep.push(older.bytes() == 0 || kept <= MAX_RESULT_BYTES);
        }
        state.entries.retain(|_| keep.pop().unwrap_or(true));
        state.entries.push(Arc::new(entry));
    }
}

impl Drop for TaskSlot<'_> {
    fn drop(&mut self) {
        self.0.state.lock().reserved -= 1;
    }
}

impl TaskEntry {
    /// A task with its number, and with its result if it ended at once.
    pub(super) fn new(number: u64, task: Task, result: Option<RawJson>) -> Self {
        Self {
            number,
            state: Mutex::new(TaskEntryState {
                task,
                result,
                asked: HashSet::new(),
            }),
        }
    }

    /// The last known state.
    pub(super) fn task(&self) -> Task {
        self.state.lock().task.clone()
    }

    /// The result, if the task ended at once.
    pub(super) fn result(&self) -> Option<RawJson> {
        self.state.lock().result.clone()
    }

    /// True if the state is final.
    pub(super) fn has_ended(&self) -> bool {
        self.state.lock().task.status.is_terminal()
    }

    /// Updates the state, unless the task was canceled: the client was told so, and it stays true.
    pub(super) fn update(&self, task: Task) -> Task {
        let mut state = self.state.lock();
        if state.task.status != TaskStatus::Cancelled {
            state.task = task;
        }
        state.task.clone()
    }

    /// Claims those of these questions that no other request asks.
    pub(super) fn claim(&self, open: &RawJson) -> QuestionClaim<'_> {
        let mut state = self.state.lock();
        let open: Vec<String> = open
            .members()
            .filter_map(|member| member.key().ok().map(std::borrow::Cow::into_owned))
            .collect();
        // A key whose question is settled may come back with another question.
        state.asked.retain(|key| open.contains(key));
        let keys = open.into_iter();
        let keys = keys.filter(|key| state.asked.insert(key.clone())).collect();
        QuestionClaim { entry: self, keys }
    }

    fn bytes(&self) -> usize {
        let state = self.state.lock();
        state
            .result
            .as_ref()
            .map_or(0, |result| result.as_bytes().len())
    }
}

impl QuestionClaim<'_> {
    pub(super) fn keys(&self) -> &[String] {
        &self.keys
    }

    /// Ends the claim: the questions have been answered.
    pub(super) fn done(mut self) {
        self.keys.clear();
    }
}

impl Drop for QuestionClaim<'_> {
    fn drop(&mut self) {
        let mut state = self.entry.state.lock();
        for key in &self.keys {
            state.asked.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::Limits;

    fn task(id: &str, status: TaskStatus) -> Task {
        Task::new(id.to_owned(), status, String::new(), String::new(), None)
    }

    fn ids(registry: &TaskRegistry) -> Vec<String> {
        let page = registry.page(0, usize::MAX);
        page.iter().map(|entry| entry.task().task_id).collect()
    }

    #[test]
    fn tasks_that_have_ended_make_way_and_others_do_not() {
        let registry = TaskRegistry::new(2);
        let fill = |id: &str, status| {
            registry
                .reserve()
                .map(|slot| slot.fill(task(id, status), None))
        };
        fill("a", TaskStatus::Working).unwrap();
        fill("b", TaskStatus::Completed).unwrap();
        fill("c", TaskStatus::Working).unwrap();
        assert_eq!(ids(&registry), ["a", "c"]);
        let full = fill("d", TaskStatus::Working).unwrap_err();
        assert_eq!(full.kind(), Kind::Busy);
    }

    #[test]
    fn room_that_is_not_used_is_given_back() {
        let registry = TaskRegistry::new(1);
        let slot = registry.reserve().unwrap();
        assert!(registry.reserve().is_err());
        drop(slot);
        assert!(registry.reserve().is_ok());
    }

    #[test]
    fn results_of_our_own_are_kept_within_limits_and_the_newest_always() {
        let registry = TaskRegistry::new(8);
        let large = RawJson::string(&"x".repeat(MAX_RESULT_BYTES * 2 / 3));
        let fill = |id: &str, result: Option<&RawJson>| {
            let slot = registry.reserve().unwrap();
            slot.fill(task(id, TaskStatus::Completed), result.cloned());
        };
        fill("a", Some(&large));
        fill("b", None);
        fill("c", Some(&large));
        assert_eq!(ids(&registry), ["b", "c"]);
        let too_large = RawJson::string(&"x".repeat(MAX_RESULT_BYTES));
        fill("d", Some(&too_large));
        assert_eq!(ids(&registry), ["b", "d"]);
    }

    #[test]
    fn a_question_is_asked_by_one_at_a_time_and_once() {
        let registry = TaskRegistry::new(1);
        let slot = registry.reserve().unwrap();
        slot.fill(task("a", TaskStatus::InputRequired), None);
        let entry = registry.find("a").unwrap();
        let open = RawJson::parse(r#"{"k":{},"l":{}}"#.into(), &Limits::default()).unwrap();
        let first = entry.claim(&open);
        assert_eq!(first.keys(), ["k", "l"]);
        assert!(entry.claim(&open).keys().is_empty());
        drop(first);
        entry.claim(&open).done();
        assert!(entry.claim(&open).keys().is_empty());
    }
}
