use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::{DnsName, ServerName};
use url::{Host, Url};

use super::error::{FetchError, origin};
use super::resolve::Resolve;
use crate::guard::Guard;

/// A connection to the host of a URL.
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// The most addresses of a host that are tried.
const MAX_ADDRESSES: usize = 16;

/// How long an address may keep the next one waiting (RFC 8305, section 5).
const HEAD_START: Duration = Duration::from_millis(250);

/// Connects to the host of `url`, at an address that `guard` has seen.
pub(super) async fn connect(
    url: &Url,
    guard: Guard,
    resolver: &dyn Resolve,
    tls: &TlsConnector,
) -> Result<Stream, FetchError> {
    let addresses = addresses(url, guard, resolver).await?;
    let stream = connect_to_one(&addresses)
        .await
        .map_err(|source| FetchError::Connect {
            origin: origin(url),
            source,
        })?;
    // A request is written at once, and nothing is gained by holding any of it back.
    let _ = stream.set_nodelay(true);
    if url.scheme() != "https" {
        return Ok(Stream::Plain(stream));
    }
    let handshake = async {
        let name = server_name(url).ok_or(io::ErrorKind::InvalidInput)?;
        tls.connect(name, stream).await
    };
    match handshake.await {
        Ok(stream) => Ok(Stream::Tls(Box::new(stream))),
        Err(source) => Err(FetchError::Handshake {
            origin: origin(url),
            source,
        }),
    }
}

/// Where the host of `url` is. One address that is out of bounds makes the others suspect.
async fn addresses(
    url: &Url,
    guard: Guard,
    resolver: &dyn Resolve,
) -> Result<Vec<SocketAddr>, FetchError> {
    let failed = |source| FetchError::Resolve {
        origin: origin(url),
        source,
    };
    let found = match url.host() {
        Some(Host::Domain(name)) => resolver.resolve(name).await.map_err(failed)?,
        Some(Host::Ipv4(address)) => vec![IpAddr::V4(address)],
        Some(Host::Ipv6(address)) => vec![IpAddr::V6(address)],
        None => Vec::new(),
    };
    if found.is_empty() {
        return Err(failed(io::ErrorKind::NotFound.into()));
    }
    for address in &found {
        guard.check_address(url, *address)?;
    }
    let port = url.port_or_known_default().unwrap_or_default();
    let addresses = found.into_iter().take(MAX_ADDRESSES);
    Ok(addresses.map(|ip| SocketAddr::new(ip, port)).collect())
}

/// Connects to whichever address answers first; each has a head start before the next.
async fn connect_to_one(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut left = addresses.iter();
    let mut attempts = JoinSet::new();
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    loop {
        if let Some(address) = left.next() {
            attempts.spawn(TcpStream::connect(*address));
        }
        tokio::select! {
            ended = attempts.join_next() => match ended {
                Some(Ok(Ok(stream))) => return Ok(stream),
                Some(Ok(Err(error))) => failure = error,
                Some(Err(error)) => failure = error.into(),
                None => return Err(failure),
            },
            () = sleep(HEAD_START), if left.len() > 0 => {}
        }
    }
}

fn server_name(url: &Url) -> Option<ServerName<'static>> {
    match url.host()? {
        Host::Domain(name) => {
            let name = DnsName::try_from(name.to_owned()).ok()?;
            Some(ServerName::DnsName(name))
        }
        Host::Ipv4(address) => Some(IpAddr::V4(address).into()),
        Host::Ipv6(address) => Some(IpAddr::V6(address).into()),
    }
}
