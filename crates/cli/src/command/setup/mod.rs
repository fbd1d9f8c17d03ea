//! `setup`: the servers of other clients, the clients themselves and the service, step by step.

mod conversation;
mod report;
mod steps;
mod undo;

pub(crate) use steps::run;
