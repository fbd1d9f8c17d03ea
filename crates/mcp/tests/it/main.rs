//! Behavior of the crate as its users see it.

#![cfg(test)]

mod router;
