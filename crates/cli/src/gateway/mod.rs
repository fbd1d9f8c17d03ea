//! The servers of the configuration as one service, in this process or in another one that runs already.
//!
//! # Layout
//! - `plan`: which servers this process connects itself, and which it reaches through another process.
//! - [`Gateway`]: the hub with these servers, and the private method that tells about them.
//! - `entry`: a server of it. [`ServerReport`]: the state of a server, as that method returns it.
//! - `builtin`: servers inside this process. `attach`: another process as a server.
//! - `call_idle`: the time limit that a command gives to its call.
//! - `failure_kind`: the kinds of failures, for the commands of the user.
//! - `moves`: calls while servers go from one process to another. [`Sharing`]: the servers of this process for others.
//! - [`LimitedResults`]: long texts of results as links. `catalog_files`: catalogs that are kept across starts.
//! - `keep_current`: applies changes of the configuration and of logins. `keep_recorded`: tells other processes
//!   about this one. `log_states`: tells the user of `serve` which servers fail and are back.

mod attach;
mod builtin;
mod call_idle;
mod catalog_files;
mod entry;
mod failure_kind;
mod keep_current;
mod keep_recorded;
mod limited_results;
mod log_states;
mod member_config;
mod moves;
mod plan;
mod report;
mod service;
mod sharing;

pub(crate) use attach::gateway_spec;
pub(crate) use call_idle::CALL_IDLE;
pub(crate) use catalog_files::CatalogFiles;
pub(crate) use failure_kind::{ReadsKinds, TellsKinds};
pub(crate) use keep_current::{Loaded, Reload, keep_current};
pub(crate) use keep_recorded::{
    PublishedRecord, RecordedEndpoint, keep_recorded, record_at, record_ending,
};
pub(crate) use limited_results::{LimitedResults, WHOLE_RESULTS};
pub(crate) use log_states::{SERVERS_LOG, log_states};
pub(crate) use member_config::{call_limits, spec_of, tool_policy};
pub(crate) use plan::Member;
pub(crate) use report::{
    SERVERS_METHOD, ServerReport, ServersParams, ServersResult, Status, ToolName,
};
pub(crate) use service::{Gateway, GatewaySettings, PublicServers, SharedServers, WORKSPACE};
pub(crate) use sharing::Sharing;
