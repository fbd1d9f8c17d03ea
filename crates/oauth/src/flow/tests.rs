//! The flow against a world of documents: what it asks for, in which order, and what it refuses.

mod discovery;
mod login;
mod world;
