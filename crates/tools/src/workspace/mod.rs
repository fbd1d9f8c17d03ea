//! Read, write and list the files of one directory.

mod error;
mod excluded;
mod job;
mod kind;
mod list;
mod path;
mod read;
mod root;
mod temporary;
mod tools;
mod write;

pub use error::WorkspaceError;
pub use list::{Listing, Page};
pub use read::File;
pub use root::Workspace;
pub use tools::{TOOL_NAMES, add_tools};
pub use write::Written;
