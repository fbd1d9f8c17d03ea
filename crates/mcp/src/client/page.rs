use std::collections::HashSet;

use callgate_wire::pagination::PaginatedParams;
use callgate_wire::{Method, RawJson, code};
use serde::de::DeserializeOwned;

use super::cache::Stale;
use super::handle::{Client, Limits};
use crate::error::{Error, Kind};

impl Client {
    /// One page of a list: the first, or the one that `cursor` leads to.
    pub(super) async fn page<P>(&self, method: &str, cursor: Option<&str>) -> Result<P, Error>
    where
        P: DeserializeOwned,
    {
        let page = self.raw_page(method, cursor).await?;
        self.decode(method, &page)
    }

    async fn raw_page(&self, method: &str, cursor: Option<&str>) -> Result<RawJson, Error> {
        let params = PaginatedParams {
            meta: None,
            cursor: cursor.map(str::to_owned),
        };
        self.ask_cacheable(method, &params).await
    }

    /// All items of a list, page by page; `split` takes a page apart.
    ///
    /// A cursor that the server no longer knows makes the list start over, once.
    pub(super) async fn all_pages<P, T>(
        &self,
        method: &str,
        split: impl Fn(P) -> (Vec<T>, Option<String>),
    ) -> Result<Vec<T>, Error>
    where
        P: DeserializeOwned,
    {
        match self.pages(method, &split).await {
            Err(Stopped::Cursor(_)) => {
                let stale = Method::new(method);
                self.shared.cache.forget(Stale::Method(&stale));
                self.pages(method, &split).await
            }
            outcome => outcome,
        }
        .map_err(Stopped::into_error)
    }

    async fn pages<P, T>(
        &self,
        method: &str,
        split: impl Fn(P) -> (Vec<T>, Option<String>),
    ) -> Result<Vec<T>, Stopped>
    where
        P: DeserializeOwned,
    {
        let Limits {
            pages, list_bytes, ..
        } = self.shared.limits;
        let refuse = |kind, message| Stopped::Other(self.of_server(Error::new(kind, message)));
        let mut items = Vec::new();
        let mut bytes = 0_usize;
        let mut seen: HashSet<String> = HashSet::new();
        let mut cursor: Option<String> = None;
        for _ in 0..pages {
            let page = self.raw_page(method, cursor.as_deref()).await;
            let page = page.map_err(|error| Stopped::at(cursor.as_deref(), error))?;
            bytes = bytes.saturating_add(page.as_bytes().len());
            if bytes > list_bytes {
                let message = format!("`{method}` has more than {list_bytes} bytes");
                return Err(refuse(Kind::TooLarge, message));
            }
            let (more, next) = split(self.decode(method, &page).map_err(Stopped::Other)?);
            items.extend(more);
            let Some(next) = next else {
                return Ok(items);
            };
            if !seen.insert(next.clone()) {
                let message = format!("`{method}` leads in circles: cursor {next:?} came twice");
                return Err(refuse(Kind::Protocol, message));
            }
            cursor = Some(next);
        }
        let message = format!("`{method}` has more than {pages} pages");
        Err(refuse(Kind::TooLarge, message))
    }
}

/// Why a list was not read to its end.
enum Stopped {
    /// The server may not know the cursor any more.
    Cursor(Error),
    Other(Error),
}

impl Stopped {
    fn at(cursor: Option<&str>, error: Error) -> Self {
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
