//! Old servers as services: scripted ones over in-memory streams, and processes.

mod calls;
mod detection;
mod errors;
mod fixture;
mod flood;
mod input;
mod input_outside;
mod listen;
mod logs;
#[cfg(unix)]
mod process;
mod tasks;
