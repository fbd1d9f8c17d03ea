use std::collections::HashMap;
use std::sync::Arc;

use callgate_wire::Id;

use super::entry::TaskEntry;
use crate::error::{Error, Kind};
use crate::legacy::client::call_table::OldCall;
use crate::mutex::Mutex;
use crate::service::Caller;
use crate::upstream::Config;

/// Table of the tasks at an old server.
#[derive(Default)]
pub(crate) struct TaskTable(Mutex<TaskState>);

#[derive(Default)]
struct TaskState {
    entries: HashMap<String, Arc<TaskEntry>>,
    /// Calls that wait for the result of a task, by its id.
    waiting_calls: HashMap<String, Arc<OldCall>>,
}

impl TaskTable {
    /// Adds a task, unless there are too many.
    pub(super) fn insert(&self, entry: Arc<TaskEntry>, config: &Config) -> Result<(), Error> {
        let mut state = self.0.lock();
        state.entries.retain(|_, entry| !entry.has_expired());
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
        entry.filter(|entry| entry.caller == *caller)
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
