use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgate_wire::RawJson;
use callgate_wire::legacy::task::Task;
use callgate_wire::task::TaskStatus;

use crate::error::{Error, Kind};

/// The tasks of one session, oldest first.
#[derive(Debug)]
pub(super) struct Registry {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: Vec<Arc<Entry>>,
    /// How many calls may still become one.
    reserved: usize,
    last: u64,
}

/// Room for a task. Dropping it gives the room back.
#[derive(Debug)]
pub(super) struct Slot<'a>(&'a Registry);

/// One task.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its place in the order of the tasks.
    pub(super) number: u64,
    state: Mutex<EntryState>,
}

#[derive(Debug)]
struct EntryState {
    /// What was last known of it.
    task: Task,
    /// The result of a task of ours.
    result: Option<RawJson>,
    /// Questions that somebody is asking, or has asked.
    asked: HashSet<String>,
}

/// Questions of a task that nobody else asks. Dropping it lets others ask them.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    entry: &'a Entry,
    keys: Vec<String>,
}

/// The most bytes that the results of our own tasks have together; the newest is always kept.
const MOST_KEPT: usize = 4 * 1024 * 1024;

impl Registry {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            state: Mutex::default(),
        }
    }

    /// Makes room for another task; the oldest that has ended makes way.
    pub(super) fn reserve(&self) -> Result<Slot<'_>, Error> {
        let mut state = self.state();
        if state.entries.len() + state.reserved >= self.most {
            let ended = state.entries.iter().position(|entry| entry.has_ended());
            let Some(ended) = ended else {
                return Err(Error::new(Kind::Busy, "too many tasks").retry_safe());
            };
            state.entries.remove(ended);
        }
        state.reserved += 1;
        Ok(Slot(self))
    }

    pub(super) fn find(&self, id: &str) -> Result<Arc<Entry>, Error> {
        let state = self.state();
        let entry = state
            .entries
            .iter()
            .find(|entry| entry.task().task_id == id);
        entry
            .cloned()
            .ok_or_else(|| Error::invalid_params("there is no such task in this session"))
    }

    /// Up to `count` tasks after the one with this number.
    pub(super) fn page(&self, after: u64, count: usize) -> Vec<Arc<Entry>> {
        let state = self.state();
        let later = state.entries.iter().filter(|entry| entry.number > after);
        later.take(count).cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot<'_> {
    /// Adds a task, with the result it has if it is ours.
    pub(super) fn fill(self, task: Task, result: Option<RawJson>) {
        let mut state = self.0.state();
        state.last += 1;
        let entry = Entry::new(state.last, task, result);
        let mut kept = entry.bytes();
        let mut keep = Vec::new();
        for older in state.entries.iter().rev() {
            kept += older.bytes();
            keep.push(older.bytes() == 0 || kept <= MOST_KEPT);
        }
        state.entries.retain(|_| keep.pop().unwrap_or(true));
        state.entries.push(Arc::new(entry));
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.state().reserved -= 1;
    }
}

impl Entry {
    /// A task with its number, and with the result it has if it is ours.
    pub(super) fn new(number: u64, task: Task, result: Option<RawJson>) -> Self {
        Self {
            number,
            state: Mutex::new(EntryState {
                task,
                result,
                asked: HashSet::new(),
            }),
        }
    }

    /// What was last known of the task.
    pub(super) fn task(&self) -> Task {
        self.state().task.clone()
    }

    /// The result, if the task is ours.
    pub(super) fn result(&self) -> Option<RawJson> {
        self.state().result.clone()
    }

    /// Whether nothing more can be learned of the task.
    pub(super) fn has_ended(&self) -> bool {
        self.state().task.status.is_terminal()
    }

    /// Remembers what is known of the task, unless it was canceled: what a client has been told
    /// stays true.
    pub(super) fn learn(&self, task: Task) -> Task {
        let mut state = self.state();
        if state.task.status != TaskStatus::Cancelled {
            state.task = task;
        }
        state.task.clone()
    }

    /// Takes over those of these questions that nobody asks.
    pub(super) fn claim(&self, open: &RawJson) -> Claim<'_> {
        let mut state = self.state();
        let open: Vec<String> = open
            .members()
            .filter_map(|member| member.key().ok().map(std::borrow::Cow::into_owned))
            .collect();
        state.asked.retain(|key| open.contains(key));
        let keys = open.into_iter();
        let keys = keys.filter(|key| state.asked.insert(key.clone())).collect();
        Claim { entry: self, keys }
    }

    fn bytes(&self) -> usize {
        let state = self.state();
        state
            .result
            .as_ref()
            .map_or(0, |result| result.as_bytes().len())
    }

    fn state(&self) -> MutexGuard<'_, EntryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim<'_> {
    pub(super) fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The questions have been answered.
    pub(super) fn done(mut self) {
        self.keys.clear();
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut state = self.entry.state();
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
        Task {
            task_id: id.to_owned(),
            status,
            status_message: None,
            created_at: String::new(),
            last_updated_at: String::new(),
            ttl: None,
            poll_interval: None,
            meta: None,
        }
    }

    fn ids(registry: &Registry) -> Vec<String> {
        let page = registry.page(0, usize::MAX);
        page.iter().map(|entry| entry.task().task_id).collect()
    }

    #[test]
    fn tasks_that_have_ended_make_way_and_others_do_not() {
        let registry = Registry::new(2);
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
        let registry = Registry::new(1);
        let slot = registry.reserve().unwrap();
        assert!(registry.reserve().is_err());
        drop(slot);
        assert!(registry.reserve().is_ok());
    }

    #[test]
    fn results_of_our_own_are_kept_within_limits_and_the_newest_always() {
        let registry = Registry::new(8);
        let large = RawJson::string(&"x".repeat(MOST_KEPT * 2 / 3));
        let fill = |id: &str, result: Option<&RawJson>| {
            let slot = registry.reserve().unwrap();
            slot.fill(task(id, TaskStatus::Completed), result.cloned());
        };
        fill("a", Some(&large));
        fill("b", None);
        fill("c", Some(&large));
        assert_eq!(ids(&registry), ["b", "c"]);
        let too_large = RawJson::string(&"x".repeat(MOST_KEPT));
        fill("d", Some(&too_large));
        assert_eq!(ids(&registry), ["b", "d"]);
    }

    #[test]
    fn a_question_is_asked_by_one_at_a_time_and_once() {
        let registry = Registry::new(1);
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
