//! Completions in real shells.

mod completions;
