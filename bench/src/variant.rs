//! The compared servers: three implementations on two transports.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

/// One implementation of the echo tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Variant {
    /// The floor: parses the envelope, checks the headers, answers the same bytes.
    Bare,
    /// Callgate.
    Ours,
    /// The official Rust SDK.
    Rmcp,
}

impl Variant {
    /// Every variant, in the order in which they take turns.
    pub const ALL: [Self; 3] = [Self::Bare, Self::Ours, Self::Rmcp];

    /// Returns the command that serves this variant on `transport`, given the directory of the
    /// programs.
    #[must_use]
    pub fn command(self, transport: Transport, programs: &Path) -> [OsString; 1] {
        let program = match (self, transport) {
            (Self::Bare, Transport::Http) => "bare_http",
            (Self::Bare, Transport::Stdio) => "bare_stdio",
            (Self::Ours, Transport::Http) => "ours_http",
            (Self::Ours, Transport::Stdio) => "ours_stdio",
            (Self::Rmcp, Transport::Http) => "rmcp_http",
            (Self::Rmcp, Transport::Stdio) => "rmcp_stdio",
        };
        [programs.join(program).into_os_string()]
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Bare => "bare",
            Self::Ours => "callgate",
            Self::Rmcp => "rmcp",
        })
    }
}

/// Transport between load generator and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Streamable HTTP on loopback, one outstanding request per connection.
    Http,
    /// Lines on standard input and output, several requests in flight.
    Stdio,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Http => "HTTP",
            Self::Stdio => "stdio",
        })
    }
}

/// One value for each variant.
#[derive(Debug, Clone, Default)]
pub struct Series<T> {
    /// The floor's value.
    pub bare: T,
    /// Callgate's value.
    pub ours: T,
    /// The official SDK's value.
    pub rmcp: T,
}

impl<T> Series<T> {
    /// Returns the value of one variant.
    pub fn get(&self, variant: Variant) -> &T {
        match variant {
            Variant::Bare => &self.bare,
            Variant::Ours => &self.ours,
            Variant::Rmcp => &self.rmcp,
        }
    }

    /// Returns the value of one variant for writing.
    pub fn get_mut(&mut self, variant: Variant) -> &mut T {
        match variant {
            Variant::Bare => &mut self.bare,
            Variant::Ours => &mut self.ours,
            Variant::Rmcp => &mut self.rmcp,
        }
    }

    /// Maps each value.
    pub fn map<U>(&self, derive: impl Fn(&T) -> U) -> Series<U> {
        Series {
            bare: derive(&self.bare),
            ours: derive(&self.ours),
            rmcp: derive(&self.rmcp),
        }
    }
}

impl Series<f64> {
    /// Returns Callgate's share of the floor's value.
    #[must_use]
    pub fn to_bare(&self) -> f64 {
        self.ours / self.bare
    }

    /// Returns Callgate's share of the official SDK's value.
    #[must_use]
    pub fn to_rmcp(&self) -> f64 {
        self.ours / self.rmcp
    }
}
