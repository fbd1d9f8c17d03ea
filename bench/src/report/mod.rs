//! Report of the measurements, as a page to read.

mod commands;
#[cfg(test)]
mod example;
mod figures;
mod hop;
mod hubs;
mod markdown;
mod page;
mod section;
mod tables;
mod target;
mod verdicts;

pub use commands::commands_section;
pub use figures::{ClientLevel, CommandTime, CostLevel, Figures, HeldMemory, LoadLevel};
pub use hop::hop_section;
pub use hubs::hubs_section;
pub use page::render;
pub use section::put_section;
pub use target::{Bound, Floor, Target};
