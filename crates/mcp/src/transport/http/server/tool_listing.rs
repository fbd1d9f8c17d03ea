use std::sync::Arc;
use std::time::Duration;

use callgate_wire::{Method, RawJson, code, method};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::error::{Error, Kind};
use crate::layer::PanicGuard;
use crate::mutex::Mutex;
use crate::service::{Call, Cx, Service};
use crate::tool_headers::list_params;

/// Lists of tools for calls whose headers cannot be checked yet, one at a time for all of them.
///
/// Nothing of a list is kept here: the service below the endpoint learns from the lists that pass.
#[derive(Debug)]
pub(super) struct ToolListing {
    turn: Semaphore,
    listings: Mutex<Listings>,
}

/// Numbers of listings, which are counted from one.
#[derive(Debug, Default)]
struct Listings {
    begun: u64,
    /// The last one that reached its end.
    complete: u64,
}

/// Time in which a list, and the one that it waits for, must be complete.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum number of pages of one list, as many as a client of ours reads.
const MAX_PAGES: usize = 1000;

impl Default for ToolListing {
    fn default() -> Self {
        Self {
            turn: Semaphore::new(1),
            listings: Mutex::default(),
        }
    }
}

impl ToolListing {
    /// Lists the tools of `service` on behalf of the request of `cx`, whose `_meta` is `meta`, or waits
    /// for another request that does.
    ///
    /// A service without tools has an empty list. Dropping the future cancels the list; a request that
    /// waited for it makes one itself.
    pub(super) async fn list(
        &self,
        service: &Arc<dyn Service>,
        meta: &RawJson,
        cx: Cx,
    ) -> Result<(), Error> {
        let listing = self.list_in_turn(service, meta, cx);
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
    ) -> Result<(), Error> {
        let begun_before = self.listings.lock().begun;
        // It cannot fail: the semaphore is never closed.
        let _turn = self.turn.acquire().await;
        let number = {
            let mut listings = self.listings.lock();
            // It began after this request came, so it has every tool that the request can mean.
            if listings.complete > begun_before {
                return Ok(());
            }
            listings.begun += 1;
            listings.begun
        };
        match read_pages(service, meta, &cx).await {
            Err(error) if error.code() != code::METHOD_NOT_FOUND => return Err(error),
            _ => {}
        }
        self.listings.lock().complete = number;
        Ok(())
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
    use tokio::sync::Notify;

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
        let service: Arc<dyn Service> = service.clone();
        let cx = Cx::new(Id::number(1));
        let listed = listing.list(&service, &RawJson::empty_object(), cx).await;
        listed.map_err(|error| error.to_string())
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
    async fn requests_that_wait_for_a_list_share_the_next_one() {
        let held = Endless {
            is_held: true,
            ..Endless::default()
        };
        let (listing, service) = (ToolListing::default(), Arc::new(held));
        let first = list(&listing, &service);
        let others = async {
            tokio::join!(list(&listing, &service), list(&listing, &service), async {
                // One for the request that came first, and one for all that came later.
                service.release.notify_one();
                tokio::task::yield_now().await;
                service.release.notify_one();
            })
        };
        let (first, (second, third, ())) = tokio::join!(first, others);
        assert_eq!([first, second, third], [Ok(()), Ok(()), Ok(())]);
        assert_eq!(service.pages.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_takes_too_long_is_an_error_and_ends() {
        let held = Endless {
            is_held: true,
            ..Endless::default()
        };
        let (listing, service) = (ToolListing::default(), Arc::new(held));
        let late = "the tools took too long to list, so the headers cannot be checked";
        assert_eq!(list(&listing, &service).await, Err(late.to_owned()));
        service.release.notify_one();
        assert_eq!(list(&listing, &service).await, Ok(()));
    }
}
