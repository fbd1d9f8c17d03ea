use std::collections::HashSet;

use callgate_wire::pagination::PaginatedParams;
use callgate_wire::skill::ReadResourceDirectoryParams;
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
        self.list(method).await
    }

    /// Returns one page of a list: the first, or the one of `cursor`.
    pub(super) async fn page<P: DeserializeOwned>(
        &self,
        method: &str,
        cursor: Option<&str>,
    ) -> Result<P, Error> {
        let page = self.raw_page(method, None, cursor).await?;
        self.decode(method, &page)
    }

    /// Lists all items, all pages.
    pub(super) async fn list<T: DeserializeOwned>(&self, method: &str) -> Result<Vec<T>, Error> {
        self.list_in(method, None).await
    }

    /// Lists all items, all pages, of the folder with this URI if there is one.
    ///
    /// If the server no longer knows a cursor, the list is read again from its start, once.
    pub(super) async fn list_in<T: DeserializeOwned>(
        &self,
        method: &str,
        folder: Option<&str>,
    ) -> Result<Vec<T>, Error> {
        let list = Method::new(method);
        let member = list.list_member().ok_or_else(|| {
            Error::invalid_params(format!("`{method}` is not a method that lists items"))
        })?;
        let mut cursor = None;
        let target = (method, folder);
        match self.read_pages(target, member, &mut cursor).await {
            // Without a cursor the first page was refused, and reading it again would not help.
            Err(error) if cursor.is_some() && error.code() == code::INVALID_PARAMS => {
                // Cached pages have the cursor that is no longer valid.
                self.shared.cache.invalidate(Invalidation::Method(&list));
                self.read_pages(target, member, &mut None).await
            }
            outcome => outcome,
        }
    }

    async fn raw_page(
        &self,
        method: &str,
        folder: Option<&str>,
        cursor: Option<&str>,
    ) -> Result<RawJson, Error> {
        match folder {
            None => {
                let params = PaginatedParams::new(cursor);
                self.request_cached(method, &params).await
            }
            Some(folder) => {
                let params = ReadResourceDirectoryParams::new(folder, cursor);
                self.request_cached(method, &params).await
            }
        }
    }

    /// Reads all pages of a list, whose items are in `member`. Leaves the last cursor in `cursor`.
    async fn read_pages<T: DeserializeOwned>(
        &self,
        (method, folder): (&str, Option<&str>),
        member: &str,
        cursor: &mut Option<String>,
    ) -> Result<Vec<T>, Error> {
        let ClientLimits {
            pages, list_bytes, ..
        } = self.shared.limits;
        let refuse = |kind, message| self.server_error(Error::new(kind, message));
        let mut items = Vec::new();
        let mut bytes = 0_usize;
        let mut seen: HashSet<String> = HashSet::new();
        for _ in 0..pages {
            let page = self.raw_page(method, folder, cursor.as_deref()).await?;
            bytes = bytes.saturating_add(page.as_bytes().len());
            // Before the page is decoded, which takes several times its bytes.
            if bytes > list_bytes {
                let message = format!("`{method}` has more than {list_bytes} bytes");
                return Err(refuse(Kind::TooLarge, message));
            }
            let [more, next] = page.pick([member, "nextCursor"]);
            let Some(more) = more.filter(|more| more.kind() == callgate_wire::Kind::Array) else {
                let message = format!("malformed result of `{method}`: `{member}` is not an array");
                return Err(refuse(Kind::Protocol, message));
            };
            for item in more.elements() {
                items.push(self.decode(method, &item)?);
            }
            let next: Option<Option<String>> =
                next.map(|next| self.decode(method, &next)).transpose()?;
            let Some(next) = next.flatten() else {
                return Ok(items);
            };
            // Without this, a server in a loop would be asked for the maximum number of pages.
            if !seen.insert(next.clone()) {
                let message =
                    format!("`{method}` does not end: the server sent cursor {next:?} twice");
                return Err(refuse(Kind::Protocol, message));
            }
            *cursor = Some(next);
        }
        let message = format!("`{method}` has more than {pages} pages");
        Err(refuse(Kind::TooLarge, message))
    }
}
