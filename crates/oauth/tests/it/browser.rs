use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use callgate_oauth::browser::{Browser, OpenError};
use tempfile::TempDir;
use tokio::task::spawn_blocking;

use crate::hostile_urls::HOSTILE_URLS;

/// Program of `tests/programs`, linked into a directory of its own, with its log and its pipe beside it.
pub(crate) struct Program {
    directory: TempDir,
    name: &'static str,
}

impl Program {
    pub(crate) fn new(name: &'static str) -> Self {
        let directory = TempDir::new().expect("a directory");
        let programs = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs"));
        symlink(programs.join(name), directory.path().join(name)).expect("a link");
        Self { directory, name }
    }

    pub(crate) fn browser(&self) -> Browser {
        Browser::new(self.directory.path().join(self.name))
    }

    /// The arguments of each start, with their number before them.
    fn starts(&self) -> String {
        fs::read_to_string(self.beside("log")).unwrap_or_default()
    }

    /// Named pipe, which both sides open and each waits for the other.
    pub(crate) fn pipe(&self, suffix: &str) -> PathBuf {
        let pipe = self.beside(suffix);
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("the system has named pipes").success());
        pipe
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        self.directory
            .path()
            .join(format!("{}.{suffix}", self.name))
    }
}

#[tokio::test]
async fn a_browser_gets_the_url_as_its_only_argument() {
    let program = Program::new("recording-browser");
    let url = "https://login.example.com/authorize?client_id=a%20b&scope=x+y&state=%24(id)";
    let refused = program.browser().open(url);
    assert!(matches!(refused, Err(OpenError::Url(_))), "{refused:?}");

    let url = "https://login.example.com/authorize?client_id=a%20b&scope=x+y&state=%24%28id%29";
    for url in [url, "http://127.0.0.1:1/"] {
        let process = program.browser().open(url).expect("it starts");
        process.exit().await.expect("it opens");
    }
    assert_eq!(
        program.starts(),
        format!("1\n{url}\n1\nhttp://127.0.0.1:1/\n")
    );
}

#[tokio::test]
async fn hostile_urls_start_nothing() {
    let program = Program::new("recording-browser");
    for url in HOSTILE_URLS {
        let result = program.browser().open(url);
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
    let process = program.browser().open("https://example.com/");
    let error = process.expect("it starts").exit().await;
    assert_failed(&error.expect_err("it fails"), "failing-browser");
}

#[tokio::test]
async fn a_browser_that_is_missing_is_reported() {
    let missing = Browser::new("/nonexistent/browser");
    let error = missing
        .open("https://example.com/")
        .expect_err("it is missing");
    assert_eq!(error.to_string(), "cannot start `/nonexistent/browser`");
}

#[tokio::test]
async fn a_browser_that_stays_in_the_foreground_is_not_waited_for_but_watched() {
    let program = Program::new("foreground-browser");
    let pipe = program.pipe("pipe");
    let process = program.browser().open("https://example.com/");
    let process = process.expect("it runs");
    // Opening the pipe succeeds only while the program has it open, so it is running now.
    let write = spawn_blocking(move || fs::write(pipe, "3\n"));
    write.await.expect("no panic").expect("the program reads");
    let error = process.exit().await;
    assert_failed(&error.expect_err("it fails"), "foreground-browser");
}

fn assert_failed(error: &OpenError, name: &str) {
    let expected = format!("{name}` failed: exit status: 3");
    assert!(error.to_string().ends_with(&expected), "{error}");
}
