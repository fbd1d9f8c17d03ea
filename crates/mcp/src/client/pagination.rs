use std::collections::HashSet;

use callgate_wire::pagination::PaginatedParams;
use callgate_wire::{Method, RawJson, code};
use serde::de::DeserializeOwned;

use super::limits::ClientLimits;
use super::result_cache::Invalidation;
use super::typed_client::Client;
use crate::error::{Error, Kind};

impl Client {
    /// Lists all items, all pages, as the bytes the server sent, unknown members included.
    ///
    /// `method` is one of the methods that have a [`Method::list_member`], such as `tools/list`.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn list_raw(&self, method: &str) -> Result<Vec<RawJson>, Error> {
        let member = Method::new(method).list_member().ok_or_else(|| {
            Error::invalid_params(format!("`{method}` is not a method that lists items"))
        })?;
        let read = |page: &RawJson| self.raw_items(method, member, page);
        self.read_list(method, read).await
    }

    /// Returns one page of a list: the first, or the one of `cursor`.
    pub(super) async fn page<P>(&self, method: &str, cursor: Option<&str>) -> Result<P, Error>
    where
        P: DeserializeOwned,
    {
        let page = self.raw_page(method, cursor).await?;
        self.decode(method, &page)
    }

    async fn raw_page(&self, method: &str, cursor: Option<&str>) -> Result<RawJson, Error> {
        self.request_cached(method, &PaginatedParams::new(cursor))
            .await
    }

    /// Returns all items of a list; `split` splits a page into its items and the next cursor.
    pub(super) async fn all_pages<P, T>(
        &self,
        method: &str,
        split: impl Fn(P) -> (Vec<T>, Option<String>),
    ) -> Result<Vec<T>, Error>
    where
        P: DeserializeOwned,
    {
        let read = |page: &RawJson| self.decode(method, page).map(&split);
        self.read_list(method, read).await
    }

    fn raw_items(
        &self,
        method: &str,
        member: &str,
        page: &RawJson,
    ) -> Result<(Vec<RawJson>, Option<String>), Error> {
        let [items, next] = page.pick([member, "nextCursor"]);
        let next = next.map(|next| self.decode(method, &next)).transpose()?;
        match items.filter(|items| items.kind() == callgate_wire::Kind::Array) {
            Some(items) => Ok((items.elements(), next.flatten())),
            None => {
                let message = format!("malformed result of `{method}`: `{member}` is not an array");
                Err(self.server_error(Error::new(Kind::Protocol, message)))
            }
        }
    }

    /// Reads all pages of a list; `read` splits a page into its items and the next cursor.
    ///
    /// If the server no longer knows a cursor, the list is read again from its start, once.
    async fn read_list<T>(
        &self,
        method: &str,
        read: impl Fn(&RawJson) -> Result<(Vec<T>, Option<String>), Error>,
    ) -> Result<Vec<T>, Error> {
        match self.read_pages(method, &read).await {
            Err(ListError::Cursor(_)) => {
                // Cached pages have the cursor that is no longer valid.
                let list = Method::new(method);
                self.shared.cache.invalidate(Invalidation::Method(&list));
                self.read_pages(method, &read).await
            }
            outcome => outcome,
        }
        .map_err(ListError::into_error)
    }

    async fn read_pages<T>(
        &self,
        method: &str,
        read: impl Fn(&RawJson) -> Result<(Vec<T>, Option<String>), Error>,
    ) -> Result<Vec<T>, ListError> {
        let ClientLimits {
            pages, list_bytes, ..
        } = self.shared.limits;
        let refuse = |kind, message| ListError::Other(self.server_error(Error::new(kind, message)));
        let mut items = Vec::new();
        let mut bytes = 0_usize;
        let mut seen: HashSet<String> = HashSet::new();
        let mut cursor: Option<String> = None;
        for _ in 0..pages {
            let page = self.raw_page(method, cursor.as_deref()).await;
            let page = page.map_err(|error| ListError::new(cursor.as_deref(), error))?;
            bytes = bytes.saturating_add(page.as_bytes().len());
            // Before the page is decoded, which takes several times its bytes.
            if bytes > list_bytes {
                let message = format!("`{method}` has more than {list_bytes} bytes");
                return Err(refuse(Kind::TooLarge, message));
            }
            let (more, next) = read(&page).map_err(ListError::Other)?;
            items.extend(more);
            let Some(next) = next else {
                return Ok(items);
            };
            // Without this, a server in a loop would be asked for the maximum number of pages.
            if !seen.insert(next.clone()) {
                let message =
                    format!("`{method}` does not end: the server sent cursor {next:?} twice");
                return Err(refuse(Kind::Protocol, message));
            }
            cursor = Some(next);
        }
        let message = format!("`{method}` has more than {pages} pages");
        Err(refuse(Kind::TooLarge, message))
    }
}

/// Error on the way through the pages of a list.
enum ListError {
    /// The server refused a cursor, which may have expired.
    Cursor(Error),
    Other(Error),
}

impl ListError {
    fn new(cursor: Option<&str>, error: Error) -> Self {
        match cursor {
            Some(_) if error.code() == code::INVALID_PARAMS => Self::Cursor(error),
            _ => Self::Other(error),
        }
    }

    fn into_error(self) -> Error {
        match self {
            Self::Cursor(error) | Self::Other(error) => error,
        }
    }
}
