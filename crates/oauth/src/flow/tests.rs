//! The flow against a table of documents: its requests, their order and its refusals.

mod device;
mod discovery;
mod dpop;
mod login;
mod options;
mod registration;
mod unattended;
mod world;
