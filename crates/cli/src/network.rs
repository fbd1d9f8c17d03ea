//! The way to other machines: proxies and certificate authorities of the environment and of a login.

use std::env;
use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow};
use bytes::Bytes;
use callgate_mcp::transport::http::client::HttpConfig;
use callgate_mcp::transport::http::connect::{
    CertificateFileError, Proxies, ProxySettings, certificates_in_pem,
};
use callgate_oauth::fetch::{self, Fetcher};
use callgate_oauth::token_source;

use crate::error::CommandError;

const CA_VARIABLE: &str = "CALLGATE_CA_FILE";
const SYSTEM_CA_VARIABLE: &str = "SSL_CERT_FILE";

/// Proxies, and the certificates that are trusted besides those of the system.
#[derive(Debug)]
pub(crate) struct Network {
    roots: Vec<Bytes>,
    proxies: Proxies,
}

impl Network {
    /// Settings of the environment, and the certificates in `ca_file`.
    pub(crate) fn new(ca_file: Option<&Path>) -> Result<Self, CommandError> {
        let mut roots = Vec::new();
        if let Some(path) = ca_file {
            roots.extend(certificates(path)?.map_err(|error| unusable(path, error))?);
        }
        if let Some(path) = env::var_os(CA_VARIABLE).filter(|path| !path.is_empty()) {
            let path = Path::new(&path);
            roots.extend(certificates(path)?.map_err(|error| unusable(path, error))?);
        }
        if let Some(path) = env::var_os(SYSTEM_CA_VARIABLE).filter(|path| !path.is_empty()) {
            let path = Path::new(&path);
            match certificates(path)? {
                Ok(found) => roots.extend(found),
                // The file of a whole system often has a certificate that only some programs can
                // read. The TLS library, which reads the file too, passes over it.
                Err(CertificateFileError::Damaged(number)) => {
                    tracing::warn!(
                        "certificate {number} in {}, which {SYSTEM_CA_VARIABLE} names, is damaged",
                        path.display()
                    );
                }
                Err(error) => return Err(unusable(path, error)),
            }
        }
        Ok(Self {
            roots,
            proxies: proxies(),
        })
    }

    /// Proxies of the environment.
    pub(crate) fn proxies(&self) -> &Proxies {
        &self.proxies
    }

    /// Applies the settings to connections with an MCP server.
    pub(crate) fn apply(&self, config: &mut HttpConfig) {
        config.extra_roots.clone_from(&self.roots);
        config.proxies = self.proxies.clone();
    }

    /// Applies the settings to the requests of a login.
    pub(crate) fn apply_to_login(&self, config: &mut token_source::Config) {
        config.extra_roots.clone_from(&self.roots);
        config.proxies = self.proxies.clone();
    }

    /// Settings of the HTTP client of logins.
    pub(crate) fn fetch_config(&self) -> fetch::Config {
        let mut config = fetch::Config::default();
        config.extra_roots.clone_from(&self.roots);
        config.proxies = self.proxies.clone();
        config
    }

    /// HTTP client of logins.
    pub(crate) fn fetcher(&self) -> Result<Fetcher, CommandError> {
        let fetcher = Fetcher::new(self.fetch_config());
        Ok(fetcher.map_err(anyhow::Error::from)?)
    }
}

fn certificates(path: &Path) -> Result<Result<Vec<Bytes>, CertificateFileError>, CommandError> {
    let text = fs::read(path)
        .with_context(|| format!("cannot read the certificates in {}", path.display()))
        .map_err(|error| CommandError::from(error).hint(NAME_ANOTHER))?;
    Ok(certificates_in_pem(&text))
}

fn unusable(path: &Path, error: CertificateFileError) -> CommandError {
    let error = anyhow!(error).context(format!("cannot use {}", path.display()));
    CommandError::from(error).hint(NAME_ANOTHER)
}

const NAME_ANOTHER: &str = "name a file with certificates in PEM format by --ca-file FILE or by the variables CALLGATE_CA_FILE and SSL_CERT_FILE";

fn proxies() -> Proxies {
    let (https, http) = (variable("HTTPS_PROXY"), variable("HTTP_PROXY"));
    let (all, no) = (variable("ALL_PROXY"), variable("NO_PROXY"));
    let settings = ProxySettings::default().with_https(&https).with_http(&http);
    Proxies::new(&settings.with_all(&all).with_no(&no))
}

/// A variable that programs read in lower case and in upper case. Lower case comes first, as in curl.
fn variable(name: &str) -> String {
    let names = [name.to_ascii_lowercase(), name.to_owned()];
    let mut values = names.iter().filter_map(|name| env::var(name).ok());
    values.find(|value| !value.is_empty()).unwrap_or_default()
}
