//! One configuration of servers behind Callgate and behind other hubs, in one run.

mod hub_kind;
mod hub_process;
mod measure;
mod server_process;
mod server_set;
mod servers_alone;

pub use hub_kind::HubKind;
pub use hub_process::HubProcess;
pub use measure::{CLIENTS, HubFigures, RECOVERY_LIMIT, measure};
pub use server_set::{Probe, ServerSet};
pub use servers_alone::start_alone;
