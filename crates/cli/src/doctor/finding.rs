use serde::Serialize;

/// A mistake, with the way to repair it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) code: Code,
    /// Server, file or address that has the mistake.
    pub(crate) subject: String,
    /// The mistake, in a sentence.
    pub(crate) problem: String,
    /// Next step of the user.
    pub(crate) repair: String,
}

/// Kind of a mistake. The names are stable: `docs/doctor.md` has a section for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Code {
    /// A configuration file cannot be used.
    InvalidConfiguration,
    /// A project file has servers that the user has not trusted.
    UntrustedFile,
    /// A value of the configuration has a variable without a value.
    UnsetVariable,
    /// The program of a server is not installed.
    MissingProgram,
    /// The directory of a server does not exist.
    MissingDirectory,
    /// Node.js is older than what the servers of today need.
    OldNode,
    /// The program of a server ended or did not answer.
    ServerFailed,
    /// The server at a URL cannot be reached.
    Unreachable,
    /// The URL answers, and not as an MCP server.
    WrongUrl,
    /// The certificate of a server has an unknown issuer.
    UnknownCertificate,
    /// A server wants a login.
    LoginRequired,
    /// A server wants a client that is registered by hand.
    ClientRegistrationRequired,
    /// A stored login has ended and cannot be renewed.
    LoginExpired,
    /// The clock of this machine is wrong.
    WrongClock,
    /// Another program listens on the port of `serve`.
    PortInUse,
    /// Another program listens on the port of logins.
    CallbackPortInUse,
    /// Other users can read or change the data directory.
    OpenPermissions,
    /// A proxy of the environment cannot be used.
    UnsupportedProxy,
    /// Several clients start the same server.
    StartedTwice,
}

/// Weight of a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    /// Something does not work.
    Error,
    /// Something works, and could be better or fail later.
    Warning,
}

impl Finding {
    pub(crate) fn new(
        code: Code,
        subject: impl Into<String>,
        problem: impl Into<String>,
        repair: impl Into<String>,
    ) -> Self {
        Self {
            code,
            subject: subject.into(),
            problem: problem.into(),
            repair: repair.into(),
        }
    }
}

impl Code {
    /// All codes, in the order of the documentation.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 19] = [
        Self::InvalidConfiguration,
        Self::UntrustedFile,
        Self::UnsetVariable,
        Self::MissingProgram,
        Self::MissingDirectory,
        Self::OldNode,
        Self::ServerFailed,
        Self::Unreachable,
        Self::WrongUrl,
        Self::UnknownCertificate,
        Self::LoginRequired,
        Self::ClientRegistrationRequired,
        Self::LoginExpired,
        Self::WrongClock,
        Self::PortInUse,
        Self::CallbackPortInUse,
        Self::OpenPermissions,
        Self::UnsupportedProxy,
        Self::StartedTwice,
    ];

    /// The stable name, which is a heading of `docs/doctor.md` too.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::InvalidConfiguration => "invalid-configuration",
            Self::UntrustedFile => "untrusted-file",
            Self::UnsetVariable => "unset-variable",
            Self::MissingProgram => "missing-program",
            Self::MissingDirectory => "missing-directory",
            Self::OldNode => "old-node",
            Self::ServerFailed => "server-failed",
            Self::Unreachable => "unreachable",
            Self::WrongUrl => "wrong-url",
            Self::UnknownCertificate => "unknown-certificate",
            Self::LoginRequired => "login-required",
            Self::ClientRegistrationRequired => "client-registration-required",
            Self::LoginExpired => "login-expired",
            Self::WrongClock => "wrong-clock",
            Self::PortInUse => "port-in-use",
            Self::CallbackPortInUse => "callback-port-in-use",
            Self::OpenPermissions => "open-permissions",
            Self::UnsupportedProxy => "unsupported-proxy",
            Self::StartedTwice => "started-twice",
        }
    }

    pub(crate) fn severity(self) -> Severity {
        match self {
            Self::UntrustedFile
            | Self::OldNode
            | Self::LoginExpired
            | Self::CallbackPortInUse
            | Self::UnsupportedProxy
            | Self::StartedTwice => Severity::Warning,
            _ => Severity::Error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../../docs/doctor.md");

    #[test]
    fn the_page_has_a_section_for_each_code_and_for_nothing_else() {
        let sections: Vec<&str> = PAGE
            .lines()
            .filter_map(|line| line.strip_prefix("### "))
            .collect();
        assert_eq!(sections, Code::ALL.map(Code::as_str));
    }

    #[test]
    fn the_name_in_json_is_the_same() {
        for code in Code::ALL {
            let json = serde_json::to_string(&code).unwrap();
            assert_eq!(json, format!("\"{}\"", code.as_str()));
        }
    }
}
