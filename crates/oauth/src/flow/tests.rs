//! The flow against a world of documents: what it asks for, in which order, and what it refuses.

mod device;
mod discovery;
mod dpop;
mod login;
mod unattended;
mod world;
