//! Requests that a server is measured with.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Error, Result, bail};

/// Requests that a server is measured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workload {
    /// Transport between load generator and server.
    pub transport: Transport,
    /// Revision of the requests.
    pub era: Era,
    /// Sizes of the argument and of the result.
    pub shape: Shape,
    /// Number of requests in flight.
    pub concurrency: usize,
}

/// Transport between load generator and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP on loopback, one outstanding request per connection.
    Http,
    /// The same to a hub, which shows the tools of its server [`HUB_SERVER`].
    Hub,
    /// Lines on standard input and output, several requests in flight.
    Stdio,
}

/// Protocol revision of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// Revision 2026-07-28: no handshake, no session.
    Stateless,
    /// Revision 2025-11-25: a handshake opens a session.
    Session,
}

/// Sizes of the argument and of the result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The tool `echo`: 32 bytes of text each way.
    Echo,
    /// The tool `measure`: an argument of this many bytes, a short result.
    Argument(usize),
    /// The tool `produce`: a short argument, a result of this many bytes.
    Result(usize),
}

/// Name of the server that is called through a hub.
pub const HUB_SERVER: &str = "bench";

impl Transport {
    /// Every transport of a server.
    pub const ALL: [Self; 2] = [Self::Http, Self::Stdio];
}

impl Era {
    /// Every revision, the newest first.
    pub const ALL: [Self; 2] = [Self::Stateless, Self::Session];

    /// Returns the name of the revision.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Self::Stateless => "2026-07-28",
            Self::Session => "2025-11-25",
        }
    }
}

impl Shape {
    /// Text of the echo tool.
    pub const TEXT: &str = "abcdefghijklmnopqrstuvwxyz012345";

    /// Every shape that is measured, by size.
    pub const ALL: [Self; 9] = [
        Self::Echo,
        Self::Argument(1 << 10),
        Self::Result(1 << 10),
        Self::Argument(10 << 10),
        Self::Result(10 << 10),
        Self::Argument(100 << 10),
        Self::Result(100 << 10),
        Self::Argument(1 << 20),
        Self::Result(1 << 20),
    ];

    /// Returns the bytes of the larger side.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::Echo => Self::TEXT.len(),
            Self::Argument(size) | Self::Result(size) => size,
        }
    }

    /// Returns the name of the tool.
    #[must_use]
    pub fn tool(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Argument(_) => "measure",
            Self::Result(_) => "produce",
        }
    }

    /// Returns the arguments of the tool.
    #[must_use]
    pub fn arguments(self) -> serde_json::Value {
        match self {
            Self::Echo => serde_json::json!({"text": Self::TEXT}),
            Self::Argument(size) => serde_json::json!({"text": text(size)}),
            Self::Result(size) => serde_json::json!({"length": size}),
        }
    }

    /// Returns the text that the tool answers with.
    #[must_use]
    pub fn answer(self) -> String {
        match self {
            Self::Echo => Self::TEXT.to_owned(),
            Self::Argument(size) => size.to_string(),
            Self::Result(size) => text(size),
        }
    }
}

/// A text of `length` bytes in lines of 64 bytes: line breaks are escaped in JSON, as those of the
/// files that tools read and write.
#[must_use]
pub fn text(length: usize) -> String {
    const LINE: &str = "A line of a text file, as a tool reads and writes it all day...\n";
    let mut text = LINE.repeat(length.div_ceil(LINE.len()));
    text.truncate(length);
    text
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Http => "HTTP",
            Self::Hub => "hub",
            Self::Stdio => "stdio",
        })
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.version())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |size: usize| match size >> 20 {
            0 => format!("{} KB", size >> 10),
            megabytes => format!("{megabytes} MB"),
        };
        f.pad(&match self {
            Self::Echo => "32 B both ways".to_owned(),
            Self::Argument(bytes) => format!("{} argument", size(*bytes)),
            Self::Result(bytes) => format!("{} result", size(*bytes)),
        })
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            transport,
            era,
            shape,
            concurrency,
        } = self;
        write!(f, "{transport}, {era}, {shape}, {concurrency} in flight")
    }
}

/// Reads `session`, the argument of this process; without it, a server serves the newest revision.
pub fn era_argument() -> Result<Era> {
    match std::env::args().nth(1).as_deref() {
        None => Ok(Era::Stateless),
        Some("session") => Ok(Era::Session),
        Some(other) => bail!("unknown argument: {other}"),
    }
}

impl FromStr for Shape {
    type Err = Error;

    /// Reads `echo`, `measure:1024` or `produce:1024`.
    fn from_str(text: &str) -> Result<Self> {
        if text == "echo" {
            return Ok(Self::Echo);
        }
        let (tool, size) = text.split_once(':').context("a tool and a size")?;
        let size = size.parse()?;
        match tool {
            "measure" => Ok(Self::Argument(size)),
            "produce" => Ok(Self::Result(size)),
            _ => bail!("unknown tool: {tool}"),
        }
    }
}

impl Shape {
    /// Returns the text that [`Shape::from_str`] reads.
    #[must_use]
    pub fn argument(self) -> String {
        match self {
            Self::Echo => self.tool().to_owned(),
            Self::Argument(size) | Self::Result(size) => format!("{}:{size}", self.tool()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_read_as_they_are_written() {
        for shape in Shape::ALL {
            assert_eq!(shape.argument().parse::<Shape>().unwrap(), shape);
        }
        assert!("other:7".parse::<Shape>().is_err());
    }

    #[test]
    fn a_text_has_its_length_and_line_breaks() {
        assert_eq!(text(0), "");
        assert_eq!(text(200).len(), 200);
        assert_eq!(text(1024).matches('\n').count(), 16);
    }

    #[test]
    fn shapes_are_named_by_their_size() {
        assert_eq!(
            [
                Shape::Echo,
                Shape::Argument(10 << 10),
                Shape::Result(1 << 20)
            ]
            .map(|s| s.to_string()),
            ["32 B both ways", "10 KB argument", "1 MB result"]
        );
    }
}
