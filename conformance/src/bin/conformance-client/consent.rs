use std::io;

use callgate_mcp::BoxFuture;
use callgate_oauth::Secret;
use callgate_oauth::browser::PageUrl;
use callgate_oauth::consent::{Consent, ConsentError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// User who consents to every login: the suite's page redirects at once, without a browser.
#[derive(Debug)]
pub(crate) struct Agreement;

impl Consent for Agreement {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:19876/mcp/oauth/callback".to_owned()
    }

    fn ask<'a>(
        &'a self,
        page: &'a PageUrl,
        _state: &'a Secret,
    ) -> BoxFuture<'a, Result<String, ConsentError>> {
        Box::pin(async { redirect(page.as_str()).await.map_err(ConsentError::Input) })
    }
}

/// Requests the page and returns the URL that it redirects to.
async fn redirect(page: &str) -> io::Result<String> {
    let malformed = || io::Error::from(io::ErrorKind::InvalidData);
    let rest = page.strip_prefix("http://").ok_or_else(malformed)?;
    let (host, path) = rest.split_once('/').ok_or_else(malformed)?;
    let mut stream = TcpStream::connect(host).await?;
    let request = format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    let location = response.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location").then(|| value.trim())
    });
    location.map(str::to_owned).ok_or_else(malformed)
}
