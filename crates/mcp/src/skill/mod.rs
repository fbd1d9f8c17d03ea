//! Skills: folders of instructions for agents (the extension `io.modelcontextprotocol/skills`).
//!
//! A server offers [`SkillFiles`] with [`Router::add_skill`](crate::router::Router::add_skill). A
//! client lists entries with [`Client::list_skills`](crate::client::Client::list_skills), which reads
//! no file, and opens one with [`Client::open_skill`](crate::client::Client::open_skill); a file is
//! read when it is asked for, and is returned only if it is what the entry says.
//!
//! # Layout
//! - [`SkillFiles`]: the files of a skill, from a folder or from memory.
//! - `frontmatter`: the YAML at the start of a `SKILL.md`, as JSON.
//! - `verify`: entries against the rules of the extension, files against their entry.

mod files;
mod frontmatter;
mod verify;

pub(crate) use files::is_path;
pub(crate) use verify::{check_contents, check_entry, check_frontmatter};

pub use files::{SkillError, SkillFiles};
pub use frontmatter::FrontmatterError;
pub use verify::SkillMismatch;
