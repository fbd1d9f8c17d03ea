//! The skills extension, `io.modelcontextprotocol/skills`: folders of instructions for agents.
//!
//! A skill is a folder with a `SKILL.md`. Each of its files is a resource, and its [`Skill`] entry
//! has the digest and the size of each of them, so that a client can verify every file it reads.

mod digest;
mod entry;
mod request;

pub use digest::{Digest, DigestError};
pub use entry::{Frontmatter, Skill, SkillResource, SkillResources};
pub use request::{
    DIRECTORY, EXTENSION, GetSkillParams, GetSkillResult, ListSkillsParams, ListSkillsResult,
    ReadResourceDirectoryParams, ReadResourceDirectoryResult, SkillsCapability,
};
