use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use callgate_oauth::browser::{Browser, OpenError};
use tempfile::TempDir;

use crate::hostile_urls::HOSTILE_URLS;

/// A program with a name of its own, in a directory of its own.
struct Program {
    directory: TempDir,
    name: &'static str,
}

impl Program {
    fn new(name: &'static str) -> Self {
        let directory = TempDir::new().expect("a directory");
        let program = env!("CARGO_BIN_EXE_callgate-oauth-peer");
        symlink(program, directory.path().join(name)).expect("a link");
        Self { directory, name }
    }

    fn browser(&self) -> Browser {
        Browser::new(self.directory.path().join(self.name))
    }

    /// The arguments of each start.
    fn starts(&self) -> String {
        let log = self.directory.path().join(format!("{}.log", self.name));
        fs::read_to_string(log).unwrap_or_default()
    }
}

#[tokio::test]
async fn a_browser_gets_the_url_as_its_only_argument() {
    let program = Program::new("browser");
    let url = "https://login.example.com/authorize?client_id=a%20b&scope=x+y&state=%24(id)";
    let refused = program.browser().open(url).await;
    assert!(matches!(refused, Err(OpenError::Url(_))), "{refused:?}");

    let url = "https://login.example.com/authorize?client_id=a%20b&scope=x+y&state=%24%28id%29";
    program.browser().open(url).await.expect("it opens");
    program
        .browser()
        .open("http://127.0.0.1:1/")
        .await
        .expect("it opens");
    assert_eq!(
        program.starts(),
        format!("[{url:?}]\n[\"http://127.0.0.1:1/\"]\n")
    );
}

#[tokio::test]
async fn hostile_urls_start_nothing() {
    let program = Program::new("browser");
    for url in HOSTILE_URLS {
        let result = program.browser().open(url).await;
        assert!(
            matches!(result, Err(OpenError::Url(_))),
            "{url:?}: {result:?}"
        );
    }
    assert_eq!(program.starts(), "");
}

#[tokio::test]
async fn a_browser_that_fails_is_reported() {
    let program = Program::new("failing-browser");
    let error = program
        .browser()
        .open("https://example.com/")
        .await
        .expect_err("it fails");
    assert!(
        error
            .to_string()
            .ends_with("failing-browser` failed: exit status: 3"),
        "{error}"
    );
}

#[tokio::test]
async fn a_browser_that_is_missing_is_reported() {
    let missing = Browser::new("/nonexistent/browser");
    let error = missing
        .open("https://example.com/")
        .await
        .expect_err("it is missing");
    assert_eq!(error.to_string(), "cannot start `/nonexistent/browser`");
}

#[tokio::test]
async fn a_browser_that_stays_in_the_foreground_is_not_waited_for() {
    let program = Program::new("foreground-browser");
    let socket = program.directory.path().join("foreground-browser.socket");
    let listener = UnixListener::bind(socket).expect("a socket");
    program
        .browser()
        .open("https://example.com/")
        .await
        .expect("it runs");
    let (_running, _) = listener.accept().expect("it was started");
}
