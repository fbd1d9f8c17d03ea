//! Types of the revisions before 2026-07-28 that it no longer has.
//!
//! Whatever those revisions share with it is in the modules above, with two differences: their
//! results have no `resultType`, and their lists no `ttlMs` and `cacheScope`.

pub mod batch;
pub mod cancel;
pub mod capabilities;
pub mod code;
pub mod elicitation;
pub mod initialize;
pub mod logging;
pub mod meta;
pub mod method;
pub mod ping;
pub mod result;
pub mod roots;
pub mod subscription;
pub mod task;
pub mod tool;
