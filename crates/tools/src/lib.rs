//! The built-in tools, as a `Router`.
//!
//! # Layout
//! - [`workspace`]: read, write and list the files of one directory.
//!
//! # Invariants
//! - File tools hold a directory handle, never a path: nothing outside it can be named, whatever
//!   links are there or are swapped in meanwhile. The path is kept only to notice that the directory
//!   was replaced.

pub mod workspace;
