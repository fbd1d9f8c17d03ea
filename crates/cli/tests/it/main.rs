//! The binary as its users meet it.

#![cfg(all(test, unix))]

mod call;
mod fixture;
mod serve;
