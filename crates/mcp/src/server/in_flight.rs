use std::collections::HashMap;

use callgate_wire::Id;
use tokio::task::AbortHandle;

use crate::mutex::Mutex;

/// Requests of one client that run in tasks of their own.
///
/// A client may use an id for several requests at once, so each request has a number of its own.
#[derive(Debug)]
pub(crate) struct InFlight {
    max_requests: usize,
    max_bytes: usize,
    requests: Mutex<RequestTable>,
}

#[derive(Debug, Default)]
struct RequestTable {
    running: HashMap<u64, RunningRequest>,
    next: u64,
    bytes: usize,
}

#[derive(Debug)]
pub(crate) struct RunningRequest {
    /// Id that the client gave it.
    pub(crate) id: Id,
    pub(crate) bytes: usize,
    /// True for a subscription, which ends only when one side ends it.
    pub(crate) endless: bool,
    /// Aborts its task.
    pub(crate) abort: AbortHandle,
}

impl InFlight {
    pub(crate) fn new(max_requests: usize, max_bytes: usize) -> Self {
        Self {
            max_requests,
            max_bytes,
            requests: Mutex::default(),
        }
    }

    /// True if another request of this size may run. A client may always have one.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        let table = self.requests.lock();
        table.running.is_empty()
            || table.running.len() < self.max_requests && table.bytes + bytes <= self.max_bytes
    }

    /// Adds the request that `start` starts under the number it is given.
    pub(crate) fn add(&self, start: impl FnOnce(u64) -> RunningRequest) {
        // Locked while the task starts: on another thread it could finish before it is added.
        let mut table = self.requests.lock();
        let number = table.next;
        table.next += 1;
        let request = start(number);
        table.bytes += request.bytes;
        table.running.insert(number, request);
    }

    /// Sends a message of a request, unless the request has been canceled.
    pub(crate) fn send(&self, number: u64, send: impl FnOnce()) {
        // Locked while sending: after a cancellation nothing more may be sent for a request.
        let table = self.requests.lock();
        if table.running.contains_key(&number) {
            send();
        }
    }

    /// Sends the response of a request and removes it, unless it has been canceled.
    pub(crate) fn finish(&self, number: u64, send: impl FnOnce()) {
        let mut table = self.requests.lock();
        // One step: a cancellation comes before it, and nothing is sent, or finds nothing to cancel.
        if table.remove(number).is_some() {
            send();
        }
    }

    /// Cancels the requests that `unwanted` selects.
    pub(crate) fn cancel(&self, unwanted: impl Fn(&RunningRequest) -> bool) {
        let mut table = self.requests.lock();
        let canceled: Vec<_> = table
            .running
            .extract_if(|_, request| unwanted(request))
            .map(|(_, request)| request)
            .collect();
        for request in canceled {
            table.bytes -= request.bytes;
            request.abort.abort();
        }
    }

    /// Cancels the request with this id, if there is exactly one.
    ///
    /// Over HTTP several clients may share a session and its ids. If several requests have the id,
    /// all go on: a cancellation may be lost, but must not hit the request of another client.
    #[cfg(feature = "legacy")]
    pub(crate) fn cancel_unique(&self, id: &Id) {
        let mut table = self.requests.lock();
        let mut with_id = table.running.iter().filter(|(_, it)| it.id == *id);
        let (Some((&number, _)), None) = (with_id.next(), with_id.next()) else {
            return;
        };
        if let Some(request) = table.remove(number) {
            request.abort.abort();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.requests.lock().running.len()
    }
}

impl RequestTable {
    fn remove(&mut self, number: u64) -> Option<RunningRequest> {
        let request = self.running.remove(&number)?;
        self.bytes -= request.bytes;
        Some(request)
    }
}
