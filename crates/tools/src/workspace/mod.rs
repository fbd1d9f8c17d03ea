//! Read, write and list the files of one directory.

mod error;
mod list;
mod path;
mod read;
mod root;
mod write;

pub use error::WorkspaceError;
pub use list::Listing;
pub use read::File;
pub use root::Workspace;
pub use write::Written;
