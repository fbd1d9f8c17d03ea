//! Consent of the user, by browser and by paste.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_oauth::Secret;
use callgate_oauth::browser::{Browser, PageUrl};
use callgate_oauth::callback_listener::{
    BindError, CallbackListener, Config, Page, WaitError, WhenBusy,
};
use callgate_oauth::consent::{BrowserConsent, Consent, ConsentError, Notice, PasteConsent};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, duplex};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::browser::Program;

const PAGE: &str = "https://as.example/authorize?state=state-1";

/// Text that the user would read.
#[derive(Clone, Default)]
struct Terminal(Arc<Mutex<Vec<String>>>);

impl Terminal {
    /// Keeps each URL that the user is told.
    fn keep(&self) -> impl Fn(&str) + Send + Sync + 'static {
        let lines = self.0.clone();
        move |url| lines.lock().expect("not poisoned").push(url.to_owned())
    }

    /// Keeps the URLs alone.
    fn pages(&self) -> impl Fn(Notice<'_>) + Send + Sync + 'static {
        let keep = self.keep();
        move |notice| {
            if let Notice::Page(url) = notice {
                keep(url);
            }
        }
    }

    /// Keeps the URLs and sends failures of the browser to `failures`.
    fn notify(
        &self,
        failures: mpsc::UnboundedSender<String>,
    ) -> impl Fn(Notice<'_>) + Send + Sync + 'static {
        let keep = self.keep();
        move |notice| match notice {
            Notice::Page(url) => keep(url),
            Notice::NotOpened(error) => failures.send(error.to_string()).expect("it is received"),
            other => panic!("{other:?}"),
        }
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().expect("not poisoned").clone()
    }

    /// Visits `redirect` once the user was told the page: the listener waits for the state by then.
    async fn visit_when_told(&self, redirect: &str) -> String {
        while self.lines().is_empty() {
            tokio::task::yield_now().await;
        }
        visit(redirect).await
    }
}

fn page() -> PageUrl {
    PageUrl::parse(PAGE).expect("it is safe")
}

async fn listener() -> CallbackListener {
    let config = {
        let mut config = Config::default();
        config.address = ([127, 0, 0, 1], 0).into();
        config
    };
    CallbackListener::bind(config)
        .await
        .expect("a port is free")
}

fn missing_browser() -> Browser {
    Browser::new("/nonexistent/browser")
}

/// Request of a browser that is redirected to `uri`.
async fn visit(uri: &str) -> String {
    let (authority, path) = uri
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .expect("an http URL");
    let mut stream = TcpStream::connect(authority).await.expect("it listens");
    let head = format!("GET /{path} HTTP/1.1\r\nhost: {authority}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("it reads");
    let mut response = String::new();
    stream
        .read_to_string(&mut response)
        .await
        .expect("it answers");
    response
}

#[tokio::test]
async fn a_browser_opens_the_page_and_comes_back() {
    let program = Program::new("recording-browser");
    // A pipe instead of the log file: reading it waits for the program.
    let log = program.pipe("log");
    let terminal = Terminal::default();
    let consent = BrowserConsent::new(listener().await, program.browser(), terminal.pages());

    let redirect = format!("{}?code=c&state=state-1", consent.redirect_uri());
    let (page, state) = (page(), Secret::new("state-1"));
    let (seen, ()) = tokio::join!(terminal.visit_when_told(&redirect), async {
        let answer = consent.ask(&page, &state).await.expect("it comes back");
        assert_eq!(answer, "code=c&state=state-1");
        consent.conclude(&state, Page::Done).await;
        drop(consent);
    });
    assert!(seen.contains("<h1>Logged in</h1>"), "{seen}");
    assert_eq!(terminal.lines(), [PAGE]);
    let log = spawn_blocking(move || fs::read_to_string(log)).await;
    let log = log.expect("no panic").expect("it ran");
    assert_eq!(log, format!("1\n{PAGE}\n"));
}

#[tokio::test]
async fn a_browser_that_fails_after_the_login_is_still_reported() {
    let program = Program::new("foreground-browser");
    let pipe = program.pipe("pipe");
    let terminal = Terminal::default();
    let (failures, mut failed) = mpsc::unbounded_channel();
    let notify = terminal.notify(failures);
    let consent = BrowserConsent::new(listener().await, program.browser(), notify);
    let redirect = format!("{}?code=c&state=s", consent.redirect_uri());
    let (page, state) = (page(), Secret::new("s"));
    let (_seen, ()) = tokio::join!(terminal.visit_when_told(&redirect), async {
        consent.ask(&page, &state).await.expect("it comes back");
        consent.conclude(&state, Page::Done).await;
    });
    drop(consent);
    assert!(failed.try_recv().is_err());
    let close = spawn_blocking(move || fs::write(pipe, "3\n")).await;
    close.expect("no panic").expect("the program runs");
    let failure = failed.recv().await.expect("it is reported");
    assert!(failure.ends_with("failed: exit status: 3"), "{failure}");
    assert!(failed.recv().await.is_none());
}

#[tokio::test]
async fn a_page_can_be_opened_by_hand() {
    let terminal = Terminal::default();
    let (failures, mut failed) = mpsc::unbounded_channel();
    let notify = terminal.notify(failures);
    let consent = BrowserConsent::new(listener().await, missing_browser(), notify);
    let redirect = format!("{}?error=access_denied&state=s", consent.redirect_uri());
    let (page, state) = (page(), Secret::new("s"));
    let (seen, ()) = tokio::join!(terminal.visit_when_told(&redirect), async {
        let answer = consent.ask(&page, &state).await.expect("it comes back");
        assert_eq!(answer, "error=access_denied&state=s");
        let other = Secret::new("other");
        consent.conclude(&other, Page::Done).await;
        let reason = Page::Failed("access was not granted".to_owned());
        consent.conclude(&state, reason).await;
    });
    assert!(seen.contains("<p>access was not granted</p>"), "{seen}");
    let failure = failed.try_recv().expect("it is reported");
    assert_eq!(failure, "cannot start `/nonexistent/browser`");
}

#[tokio::test(start_paused = true)]
async fn a_login_that_is_not_concluded_leaves_nothing_behind() {
    let terminal = Terminal::default();
    let consent = BrowserConsent::new(listener().await, missing_browser(), terminal.pages());
    let (page, state) = (page(), Secret::new("s"));
    for _ in 0..100 {
        let redirect = format!("{}?code=c&state=s", consent.redirect_uri());
        let before = terminal.lines().len();
        let (seen, answer) = tokio::join!(
            async {
                while terminal.lines().len() == before {
                    tokio::task::yield_now().await;
                }
                visit(&redirect).await
            },
            consent.ask(&page, &state)
        );
        assert!(seen.contains("go back to the program"), "{seen}");
        assert_eq!(answer.expect("it comes back"), "code=c&state=s");
    }
    let start = Instant::now();
    consent.conclude(&state, Page::Done).await;
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_browser_that_does_not_come_back_is_given_five_minutes() {
    let consent = BrowserConsent::new(listener().await, missing_browser(), |_| {});
    let (page, state) = (page(), Secret::new("s"));
    let error = consent.ask(&page, &state).await.expect_err("nobody comes");
    let five_minutes = Duration::from_secs(300);
    let expect = WaitError::TimedOut(five_minutes);
    assert!(
        matches!(error, ConsentError::Wait(found) if found == expect),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_busy_port_is_replaced_only_where_the_client_allows_it() {
    let first = listener().await;
    let authority = first.redirect_uri();
    let authority = authority
        .trim_start_matches("http://")
        .split('/')
        .next()
        .expect("an authority");
    let config = |when_busy| {
        let mut config = Config::default();
        config.address = authority.parse().expect("an address");
        config.when_busy = when_busy;
        config
    };
    let refused = CallbackListener::bind(config(WhenBusy::Fail)).await;
    assert!(matches!(refused, Err(BindError::Busy(_))), "{refused:?}");

    let elsewhere = CallbackListener::bind(config(WhenBusy::TakeAnother)).await;
    let elsewhere = elsewhere.expect("a port is free");
    let elsewhere = BrowserConsent::new(elsewhere, missing_browser(), |_| {});
    assert!(!elsewhere.has_usual_redirect_uri());

    drop(first);
    let usual = loop {
        // The port is free once the task that had it has ended.
        match CallbackListener::bind(config(WhenBusy::Fail)).await {
            Err(BindError::Busy(_)) => tokio::task::yield_now().await,
            bound => break bound.expect("the port is free"),
        }
    };
    let usual = BrowserConsent::new(usual, missing_browser(), |_| {});
    assert!(usual.has_usual_redirect_uri());
    let redirect_uri = config(WhenBusy::Fail).redirect_uri();
    assert_eq!(usual.redirect_uri(), redirect_uri);
}

fn pasting(input: &'static str) -> (PasteConsent, Terminal) {
    let terminal = Terminal::default();
    let redirect_uri = Config::default().redirect_uri();
    let consent = PasteConsent::new(redirect_uri, terminal.keep(), input.as_bytes());
    (consent, terminal)
}

#[tokio::test]
async fn the_pasted_url_is_the_answer() {
    let first = "http://127.0.0.1:19876/mcp/oauth/callback?code=c&state=s";
    let input =
        "\n  \r\n http://127.0.0.1:19876/mcp/oauth/callback?code=c&state=s \r\ncode=d&state=t";
    let (consent, terminal) = pasting(input);
    let uri = "http://127.0.0.1:19876/mcp/oauth/callback";
    assert_eq!(consent.redirect_uri(), uri);
    assert!(consent.has_usual_redirect_uri());

    let (page, state) = (page(), Secret::new("s"));
    for expect in [first, "code=d&state=t"] {
        let answer = consent.ask(&page, &state).await.expect("it is pasted");
        assert_eq!(answer, expect);
    }
    let error = consent.ask(&page, &state).await.expect_err("that was all");
    assert!(matches!(error, ConsentError::Ended), "{error:?}");
    assert_eq!(terminal.lines(), [PAGE; 3]);
    consent.conclude(&state, Page::Done).await;
}

#[tokio::test]
async fn a_pasted_line_may_be_as_long_as_the_limit() {
    let limit = PasteConsent::MAX_BYTES;
    for (length, fits) in [(limit, true), (limit + 1, false)] {
        let line = "x".repeat(length);
        let input = std::io::Cursor::new(line.clone());
        let consent = PasteConsent::new("", |_| {}, input);
        let (page, state) = (page(), Secret::new("s"));
        let answer = consent.ask(&page, &state).await;
        match answer {
            Ok(answer) => assert_eq!((answer, fits), (line, true)),
            Err(error) => {
                let too_long =
                    matches!(error, ConsentError::TooLong { limit: found } if found == limit);
                assert!(too_long && !fits, "{error:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_paste_has_five_minutes() {
    let (_terminal, input) = duplex(64);
    let consent = PasteConsent::new("", |_| {}, BufReader::new(input));
    let start = Instant::now();
    let (page, state) = (page(), Secret::new("s"));
    let error = consent.ask(&page, &state).await.expect_err("nobody pastes");
    let timed_out = matches!(error, ConsentError::TimedOut(PasteConsent::TIMEOUT));
    assert!(timed_out, "{error:?}");
    assert_eq!(start.elapsed(), Duration::from_secs(300));
}
