//! One configuration of servers behind Callgate and behind other hubs, in one run.

mod hub_kind;
mod hub_process;
mod limited;
mod measure;
mod prepared_list;
mod requests;
mod server_process;
mod server_set;
mod servers_alone;

pub use hub_kind::HubKind;
pub use hub_process::HubProcess;
pub use limited::{Rate, Time};
pub use measure::{HubFigures, HubFloor, RECOVERY_LIMIT, measure};
pub use prepared_list::measure_prepared;
pub use requests::CLIENTS;
pub use server_set::{Probe, ServerSet};
pub use servers_alone::{AloneFigures, measure_alone};
