//! The echo tool, written once for each variant that does not come with a server of its own.

pub mod bare;
pub mod rmcp;
