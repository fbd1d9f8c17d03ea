//! Content of servers as lines of a terminal.
//!
//! # Layout
//! - `line`: styled text; [`wrap`]: its width; [`screen`]: the abilities of a terminal.
//! - [`markdown`], [`structured`], [`table`], [`columns`], [`schema`]: text, JSON, tables, lists and JSON Schema as
//!   lines.
//! - [`image`], [`sixel`]: images in the protocols of terminals; [`media`]: content that becomes a file.
//! - [`content`]: blocks of a result, each in the best form that the terminal has.
//! - [`call_line`]: a command that calls a tool, with values to replace.
//!
//! # Invariants
//! - Text of a server becomes a [`line::Span`] only in its visible form: it holds no control character, so that
//!   every escape sequence of a line is one of our styles.
//! - An image becomes an escape sequence only of base64 or sixel data that we have encoded.
//! - Lines, columns, depth and bytes are bounded, and a note says where the rest is.
//! - All of it is pure; printing and writing files is done by others.

pub(crate) mod call_line;
pub(crate) mod columns;
pub(crate) mod content;
pub(crate) mod image;
pub(crate) mod line;
pub(crate) mod markdown;
pub(crate) mod media;
pub(crate) mod schema;
pub(crate) mod screen;
pub(crate) mod sixel;
pub(crate) mod structured;
pub(crate) mod table;
pub(crate) mod wrap;
