use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use callgate_wire::{Method, RawJson, code, method};
use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;

use crate::error::{Error, Kind};
use crate::layer::PanicGuard;
use crate::mutex::Mutex;
use crate::service::{Call, Caller, Cx, Service};
use crate::tool_headers::list_params;

/// Lists of tools for calls whose headers cannot be checked yet, one at a time for each caller.
///
/// Nothing of a list is kept here: the service below the endpoint learns from the lists that pass.
#[derive(Debug, Default)]
pub(super) struct ToolListing {
    /// Of callers with a request that lists or waits. Callers do not wait for each other: they may see
    /// different tools, and one of them may have a server that is slow.
    callers: Mutex<HashMap<Caller, CallerLists>>,
}

/// Lists of one caller.
#[derive(Debug)]
struct CallerLists {
    turn: Arc<Turn>,
    /// Number of requests that list or wait.
    requests: usize,
}

#[derive(Debug)]
struct Turn {
    permit: Semaphore,
    /// Notified when a list has ended.
    listed: Notify,
}

/// Part of a request in the lists of its caller. Dropping the last one forgets the caller.
struct TakenTurn<'a> {
    listing: &'a ToolListing,
    caller: Caller,
    turn: Arc<Turn>,
}

/// Time in which a list, and those that it waits for, must be complete.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of pages of one list, as many as a client of ours reads.
const MAX_PAGES: usize = 1000;

impl ToolListing {
    /// Lists the tools of `service` on behalf of the request of `cx`, whose `_meta` is `meta`, unless the
    /// tool of the request `is_known` after the lists of earlier requests of its caller.
    ///
    /// A service without tools has an empty list. Dropping the future cancels the list; a request that
    /// waited for it makes one itself.
    pub(super) async fn list(
        &self,
        service: &Arc<dyn Service>,
        meta: &RawJson,
        cx: Cx,
        is_known: impl Fn() -> bool,
    ) -> Result<(), Error> {
        let listing = self.list_in_turn(service, meta, cx, is_known);
        timeout(LIST_TIMEOUT, listing).await.unwrap_or_else(|_| {
            let text = "the tools took too long to list, so the headers cannot be checked";
            Err(Error::new(Kind::Timeout, text).retry_safe())
        })
    }

    async fn list_in_turn(
        &self,
        service: &Arc<dyn Service>,
        meta: &RawJson,
        cx: Cx,
        is_known: impl Fn() -> bool,
    ) -> Result<(), Error> {
        let taken = self.take_turn(cx.caller.clone());
        let turn = &*taken.turn;
        let mut permit = pin!(turn.permit.acquire());
        let _permit = loop {
            let mut listed = pin!(turn.listed.notified());
            // Registered before the check, so that no list is missed.
            listed.as_mut().enable();
            // A list of another request says nothing of a tool that it does not have: it may have been one for
            // other capabilities or another scope. A tool that it has need not wait for the lists of others.
            if is_known() {
                return Ok(());
            }
            tokio::select! {
                // It cannot fail: the semaphore is never closed.
                permit = &mut permit => break permit,
                () = listed => {}
            }
        };
        if is_known() {
            return Ok(());
        }
        let listed = read_pages(service, meta, &cx).await;
        turn.listed.notify_waiters();
        match listed {
            Err(error) if error.code() != code::METHOD_NOT_FOUND => Err(error),
            _ => Ok(()),
        }
    }

    fn take_turn(&self, caller: Caller) -> TakenTurn<'_> {
        let mut callers = self.callers.lock();
        let lists = callers.entry(caller.clone());
        let lists = lists.or_insert_with(|| CallerLists {
            turn: Arc::new(Turn {
                permit: Semaphore::new(1),
                listed: Notify::new(),
            }),
            requests: 0,
        });
        lists.requests += 1;
        TakenTurn {
            listing: self,
            caller,
            turn: lists.turn.clone(),
        }
    }
}

impl Drop for TakenTurn<'_> {
    fn drop(&mut self) {
        let mut callers = self.listing.callers.lock();
        if let Some(lists) = callers.get_mut(&self.caller) {
            lists.requests -= 1;
            if lists.requests == 0 {
                callers.remove(&self.caller);
            }
        }
    }
}

async fn read_pages(service: &Arc<dyn Service>, meta: &RawJson, cx: &Cx) -> Result<(), Error> {
    let service = PanicGuard::new(service.clone());
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let list = Call::new(
            Method::new(method::TOOLS_LIST),
            list_params(meta, cursor.as_ref())?,
            cx.clone(),
        );
        let page = service.call(list).await?.into_result();
        let next = page.get("nextCursor");
        cursor = next.filter(|next| next.kind() != callgate_wire::Kind::Null);
        if cursor.is_none() {
            return Ok(());
        }
    }
    // A tool on a later page would be let through unchecked.
    let text = format!(
        "the list of tools has more than {MAX_PAGES} pages, so the headers cannot be checked"
    );
    Err(Error::new(Kind::TooLarge, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{BoxFuture, Reply};
    use callgate_wire::Id;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Answers each page with the next cursor, after a signal if it is told to wait for one.
    #[derive(Default)]
    struct Endless {
        pages: AtomicUsize,
        is_held: bool,
        release: Notify,
    }

    impl Service for Endless {
        fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            assert_eq!(call.method.as_str(), "tools/list");
            let page = self.pages.fetch_add(1, Ordering::Relaxed);
            Box::pin(async move {
                let next = match self.is_held {
                    true => {
                        self.release.notified().await;
                        "{}".to_owned()
                    }
                    false => format!(r#"{{"nextCursor":"{page}"}}"#),
                };
                Ok(Reply::Complete(serde_json::from_str(&next).unwrap()))
            })
        }
    }

    async fn list(listing: &ToolListing, service: &Arc<Endless>) -> Result<(), String> {
        list_as(Caller::Anonymous, listing, service, || false).await
    }

    async fn list_as(
        caller: Caller,
        listing: &ToolListing,
        service: &Arc<Endless>,
        is_known: impl Fn() -> bool,
    ) -> Result<(), String> {
        let service: Arc<dyn Service> = service.clone();
        let cx = Cx::new(Id::number(1)).with_caller(caller);
        let meta = RawJson::empty_object();
        let listed = listing.list(&service, &meta, cx, is_known).await;
        listed.map_err(|error| error.to_string())
    }

    fn held() -> Arc<Endless> {
        Arc::new(Endless {
            is_held: true,
            ..Endless::default()
        })
    }

    #[tokio::test]
    async fn a_list_without_end_is_read_up_to_a_number_of_pages() {
        let (listing, service) = (ToolListing::default(), Arc::new(Endless::default()));
        let endless =
            "the list of tools has more than 1000 pages, so the headers cannot be checked";
        assert_eq!(list(&listing, &service).await, Err(endless.to_owned()));
        assert_eq!(service.pages.load(Ordering::Relaxed), MAX_PAGES);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_waited_lists_only_what_it_does_not_know_yet() {
        for (is_known, pages) in [(true, 1), (false, 3)] {
            let (listing, service) = (ToolListing::default(), held());
            let listed = || service.pages.load(Ordering::Relaxed);
            let is_known = || is_known && listed() == 1;
            let waiting = || list_as(Caller::Anonymous, &listing, &service, is_known);
            let release = async {
                for _ in 0..3 {
                    // The clock is paused: it moves when all others wait.
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    service.release.notify_one();
                }
            };
            let first = list(&listing, &service);
            let all = tokio::join!(first, waiting(), waiting(), release);
            assert_eq!(all, (Ok(()), Ok(()), Ok(()), ()));
            assert_eq!(listed(), pages);
            assert!(listing.callers.lock().is_empty());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_tool_that_a_list_has_does_not_wait_for_the_lists_of_other_tools() {
        let (listing, service) = (ToolListing::default(), held());
        let unknown = || list(&listing, &service);
        let is_known = || service.pages.load(Ordering::Relaxed) > 1;
        let known = list_as(Caller::Anonymous, &listing, &service, is_known);
        let others = async { tokio::join!(unknown(), unknown(), unknown()) };
        tokio::pin!(others);
        // Before the last one in the queue.
        let listed = tokio::select! {
            biased;
            _ = &mut others => panic!("no list is released"),
            listed = async {
                let release = async {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    service.release.notify_one();
                };
                tokio::join!(known, release).0
            } => listed,
        };
        assert_eq!(listed, Ok(()));
        assert_eq!(service.pages.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_does_not_wait_for_the_lists_of_another() {
        let (listing, slow) = (ToolListing::default(), held());
        let quick = held();
        quick.release.notify_one();
        let of_ann = list_as(Caller::named("ann"), &listing, &slow, || false);
        let of_bob = list_as(Caller::named("bob"), &listing, &quick, || false);
        tokio::pin!(of_ann);
        tokio::select! {
            biased;
            _ = &mut of_ann => panic!("the list is held"),
            listed = of_bob => assert_eq!(listed, Ok(())),
        }
        assert_eq!(listing.callers.lock().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_takes_too_long_is_an_error_and_ends() {
        let (listing, service) = (ToolListing::default(), held());
        let late = "the tools took too long to list, so the headers cannot be checked";
        assert_eq!(list(&listing, &service).await, Err(late.to_owned()));
        service.release.notify_one();
        assert_eq!(list(&listing, &service).await, Ok(()));
    }
}
