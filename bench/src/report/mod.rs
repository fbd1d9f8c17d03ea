//! Report of the measurements, as a page to read.

#[cfg(test)]
mod example;
mod figures;
mod markdown;
mod page;
mod section;
mod tables;
mod target;

pub use figures::{ClientLevel, CommandTime, CostLevel, Figures, HeldMemory, LoadLevel};
pub use page::render;
pub use section::put_section;
pub use target::{Bound, Target};
