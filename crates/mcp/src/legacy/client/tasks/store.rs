use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use callgate_wire::Id;

use super::entry::TaskEntry;
use crate::error::{Error, Kind};
use crate::legacy::client::config::Config;
use crate::legacy::client::flight::Flight;
use crate::service::Caller;

/// The tasks at an old server that anybody here knows of.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<State>);

#[derive(Default)]
struct State {
    entries: HashMap<String, Arc<TaskEntry>>,
    /// The calls that wait for their task, by its id.
    held: HashMap<String, Arc<Flight>>,
}

impl Tasks {
    /// Keeps a task for its caller, unless there are too many.
    pub(super) fn insert(&self, entry: Arc<TaskEntry>, config: &Config) -> Result<(), Error> {
        let mut state = self.state();
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
        let mut state = self.state();
        state.entries.retain(|_, entry| !entry.has_expired());
        let entry = state.entries.get(id).cloned();
        entry.filter(|entry| entry.caller == *caller)
    }

    /// Remembers the call that waits for a task, while it does.
    pub(super) fn hold(&self, id: &str, flight: Arc<Flight>) {
        self.state().held.insert(id.to_owned(), flight);
    }

    /// Forgets the call that waited for a task.
    pub(super) fn release(&self, id: &str) {
        self.state().held.remove(id);
    }

    /// Who is asked on behalf of the task with this id.
    pub(crate) fn flight(&self, id: &str) -> Option<Arc<Flight>> {
        let state = self.state();
        let entry = state.entries.get(id).map(|entry| entry.flight.clone());
        entry.or_else(|| state.held.get(id).cloned())
    }

    /// Forgets a question that the server takes back.
    pub(crate) fn withdraw(&self, id: &Id) {
        for entry in self.state().entries.values() {
            entry.flight.withdraw(id);
        }
    }

    /// Forgets everything, so that nobody works on it any more.
    pub(crate) fn clear(&self) {
        let entries = std::mem::take(&mut self.state().entries);
        drop(entries);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
