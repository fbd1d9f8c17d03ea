use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use callgate_mcp::BoxFuture;
use callgate_oauth::Secret;
use callgate_oauth::browser::PageUrl;
use callgate_oauth::callback_listener::Page;
use callgate_oauth::consent::{Consent, ConsentError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

/// User who consents to everything, at once.
#[derive(Debug)]
pub(super) struct Person {
    redirect_uri: String,
    asked: AtomicU32,
    shown: Mutex<Vec<Page>>,
}

/// Usual redirect URI.
pub(super) const REDIRECT: &str = "http://127.0.0.1:19876/mcp/oauth/callback";

impl Default for Person {
    fn default() -> Self {
        Self::at(REDIRECT)
    }
}

impl Person {
    /// User whose browser is redirected to this URI.
    pub(super) fn at(redirect_uri: &str) -> Self {
        Self {
            redirect_uri: redirect_uri.to_owned(),
            asked: AtomicU32::new(0),
            shown: Mutex::default(),
        }
    }

    /// Number of questions to the user.
    pub(super) fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Pages at the end of each login.
    pub(super) fn shown(&self) -> Vec<Page> {
        self.shown.lock().unwrap().clone()
    }
}

impl Consent for Person {
    fn redirect_uri(&self) -> String {
        self.redirect_uri.clone()
    }

    fn ask<'a>(
        &'a self,
        page: &'a PageUrl,
        _state: &'a Secret,
    ) -> BoxFuture<'a, Result<String, ConsentError>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move { Ok(visit(page.as_str()).await) })
    }

    fn conclude<'a>(&'a self, _state: &'a Secret, page: Page) -> BoxFuture<'a, ()> {
        self.shown.lock().unwrap().push(page);
        Box::pin(async {})
    }
}

/// Redirect of the page at `url`.
async fn visit(url: &str) -> String {
    let url = Url::parse(url).unwrap();
    let address = url.socket_addrs(|| None).unwrap();
    let mut stream = TcpStream::connect(address.as_slice()).await.unwrap();
    let target = &url[url::Position::BeforePath..];
    let request = format!("GET {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let location = response
        .lines()
        .find_map(|line| line.strip_prefix("location: "));
    location.expect("a redirect").to_owned()
}
