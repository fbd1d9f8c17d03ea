//! The compared implementations, and their programs.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;

use crate::workload::{Era, Transport};

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

    /// Returns the command that serves this variant, given the directory of the programs.
    #[must_use]
    pub fn server(self, transport: Transport, era: Era, programs: &Path) -> Vec<OsString> {
        let transport = match transport {
            Transport::Http | Transport::Hub => "http",
            Transport::Stdio => "stdio",
        };
        let mut command = vec![self.program(transport, programs)];
        // The official SDK serves each revision fastest with a configuration of its own; the floor
        // has to know which one to refuse.
        if era == Era::Session && self != Self::Ours {
            command.push("session".into());
        }
        command
    }

    /// Returns the program of this variant that acts as `role`.
    #[must_use]
    pub fn program(self, role: &str, programs: &Path) -> OsString {
        let program = format!("{}_{role}", self.prefix());
        programs.join(program).into_os_string()
    }

    fn prefix(self) -> &'static str {
        match self {
            Self::Bare => "bare",
            Self::Ours => "ours",
            Self::Rmcp => "rmcp",
        }
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
