//! Old clients of our services, over stdio.

mod ask;
mod batch;
mod fixture;
mod handshake;
mod listen;
mod log;
mod requests;
mod tasks;
