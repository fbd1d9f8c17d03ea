use std::sync::Arc;

use callgate_mcp::wire::discover::DiscoverResult;
use callgate_mcp::wire::{DecodeError, Limits, ObjectWriter, ScanError};
use callgate_mcp::{RawJson, Version};

use super::item::{ListKind, PerKind};

/// Catalog of one server as its owner keeps it across starts: what the server says of itself, and its
/// lists as it sent them.
pub(crate) struct SavedCatalog {
    pub(crate) discovered: DiscoverResult,
    /// Revision that the server spoke; catalogs of earlier versions of this program have none.
    pub(crate) version: Option<Version>,
    /// `None` for a list that was never read.
    pub(crate) lists: PerKind<Option<Vec<RawJson>>>,
    /// Own names of the tools that lost their plain names to others.
    pub(crate) outranked: Vec<Arc<str>>,
}

/// A kept catalog that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SavedCatalogError {
    #[error("it has {0} bytes, which is more than {MAX_BYTES}")]
    TooLarge(usize),
    #[error("it is not JSON")]
    Json(#[from] ScanError),
    #[error("it is not a catalog of this format")]
    Format,
    #[error("it belongs to another definition of the server")]
    Foreign,
    #[error("the server's description of itself cannot be read")]
    Discovered(#[from] DecodeError),
}

/// Maximum bytes of a kept catalog. A larger one is neither kept nor read, and the server is asked instead.
pub(crate) const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Member with the tools that lost their plain names to others.
const OUTRANKED: &str = "outrankedTools";
/// Name and version of the format.
const FORMAT: &str = "callgate-catalog-1";

/// Writes a catalog; the items are copied.
///
/// # Errors
/// The catalog is too large to be kept.
pub(crate) fn encode(
    key: &str,
    version: Option<Version>,
    discovered: &DiscoverResult,
    lists: &PerKind<Option<Vec<RawJson>>>,
    outranked: &[Arc<str>],
) -> Result<RawJson, SavedCatalogError> {
    let discovered = RawJson::encode(discovered)?;
    let items = ListKind::ALL
        .iter()
        .flat_map(|kind| lists.get(*kind).iter().flatten());
    let bytes = items.map(|item| item.as_bytes().len() + 1).sum::<usize>();
    let bytes = bytes + discovered.as_bytes().len();
    if bytes > MAX_BYTES {
        return Err(SavedCatalogError::TooLarge(bytes));
    }
    let catalog = ObjectWriter::with_capacity(bytes + key.len() + OVERHEAD)
        .member("format", &RawJson::string(FORMAT))
        .member("key", &RawJson::string(key))
        .member("discovered", &discovered);
    let catalog = match version {
        Some(version) => catalog.member("revision", &RawJson::string(version.as_str())),
        None => catalog,
    };
    let catalog = ListKind::ALL
        .iter()
        .fold(catalog, |catalog, kind| match lists.get(*kind) {
            Some(list) => catalog.array(kind.method(), list),
            None => catalog,
        });
    let outranked: Vec<_> = outranked.iter().map(|own| RawJson::string(own)).collect();
    let catalog = match outranked.is_empty() {
        true => catalog,
        false => catalog.array(OUTRANKED, &outranked),
    };
    Ok(catalog.finish())
}

/// Reads a catalog that was kept under this key.
///
/// # Errors
/// It is not a catalog, or belongs to another key.
pub(crate) fn decode(bytes: Vec<u8>, key: &str) -> Result<SavedCatalog, SavedCatalogError> {
    if bytes.len() > MAX_BYTES + OVERHEAD + key.len() {
        return Err(SavedCatalogError::TooLarge(bytes.len()));
    }
    let limits = Limits::default().with_bytes(bytes.len());
    let catalog = RawJson::parse(bytes.into(), &limits)?;
    let [format, found_key, discovered, version] =
        catalog.pick(["format", "key", "discovered", "revision"]);
    if !format.is_some_and(|format| format.is(FORMAT)) {
        return Err(SavedCatalogError::Format);
    }
    if !found_key.is_some_and(|found| found.is(key)) {
        return Err(SavedCatalogError::Foreign);
    }
    let discovered = discovered.ok_or(SavedCatalogError::Format)?.decode()?;
    let items = |kind: ListKind| {
        let list = catalog.get(kind.method());
        list.map(|list| list.elements())
    };
    let version = version.as_ref().and_then(RawJson::text);
    let outranked = catalog.get(OUTRANKED);
    let outranked = outranked.iter().flat_map(RawJson::elements);
    let outranked = outranked.filter_map(|own| Some(Arc::from(&*own.text()?)));
    Ok(SavedCatalog {
        discovered,
        version: version.and_then(|version| Version::parse(&version)),
        lists: PerKind::of(items),
        outranked: outranked.collect(),
    })
}

/// Bytes of a catalog besides its items and its key.
const OVERHEAD: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_mcp::wire::capabilities::ServerCapabilities;

    fn discovered() -> DiscoverResult {
        DiscoverResult::new(Vec::new(), ServerCapabilities::default())
    }

    fn lists(tool: &str) -> PerKind<Option<Vec<RawJson>>> {
        let mut lists = PerKind::default();
        let tools = vec![serde_json::from_str(tool).unwrap()];
        lists.set(ListKind::Tools, Some(tools));
        lists
    }

    fn error(bytes: &[u8]) -> String {
        let error = decode(bytes.to_vec(), "key").map(drop).unwrap_err();
        error.to_string()
    }

    #[test]
    fn items_come_back_byte_for_byte() {
        let tool = r#"{"name":"a", "x":1e2,"_meta":{"k":10000000000000000001}}"#;
        let version = Some(Version::V2025_06_18);
        let saved = encode(
            "k\"ey",
            version,
            &discovered(),
            &lists(tool),
            &[Arc::from("a")],
        )
        .unwrap();
        let found = decode(saved.as_bytes().to_vec(), "k\"ey").unwrap();
        assert_eq!(found.discovered, discovered());
        assert_eq!(found.version, Some(Version::V2025_06_18));
        let tools = found.lists.get(ListKind::Tools).iter().flatten();
        assert_eq!(tools.map(RawJson::as_str).collect::<Vec<_>>(), [tool]);
        assert_eq!(*found.lists.get(ListKind::Prompts), None);
        assert_eq!(found.outranked, [Arc::from("a")]);
    }

    #[test]
    fn a_damaged_or_foreign_catalog_is_refused_with_the_reason() {
        let saved = encode("key", None, &discovered(), &lists("{}"), &[]).unwrap();
        let whole = saved.as_bytes();
        assert!(decode(whole.to_vec(), "key").is_ok());
        for length in 0..whole.len() {
            assert_eq!(error(&whole[..length]), "it is not JSON", "{length}");
        }
        assert_eq!(error(b"\xff"), "it is not JSON");
        for other in ["[]", "{}", r#"{"format":"callgate-catalog-0"}"#] {
            assert_eq!(
                error(other.as_bytes()),
                "it is not a catalog of this format"
            );
        }
        let foreign = encode("other", None, &discovered(), &lists("{}"), &[]).unwrap();
        assert_eq!(
            error(foreign.as_bytes()),
            "it belongs to another definition of the server"
        );
        assert_eq!(
            error(br#"{"format":"callgate-catalog-1","key":"key","discovered":[]}"#),
            "the server's description of itself cannot be read"
        );
    }

    #[test]
    fn a_catalog_of_more_than_16_mib_is_neither_written_nor_read() {
        let tool = format!("\"{}\"", "x".repeat(MAX_BYTES));
        let error = encode("key", None, &discovered(), &lists(&tool), &[]).unwrap_err();
        assert!(matches!(error, SavedCatalogError::TooLarge(_)), "{error}");
        let error = decode(vec![b' '; MAX_BYTES + 1_000], "key").map(drop);
        let error = error.unwrap_err();
        assert!(matches!(error, SavedCatalogError::TooLarge(_)), "{error}");
    }
}
