use std::net::SocketAddr;
use std::time::Duration;

use callgate_oauth::Secret;
use callgate_oauth::callback_listener::{
    BindError, CallbackLimits, CallbackListener, Config, Page, WaitError, WhenBusy,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_redirect_reaches_the_login_with_its_state() {
    let listener = listener(CallbackLimits::default()).await;
    let (one, two) = (Secret::new("state-1"), Secret::new("state-2"));
    let first = listener.wait_for(&one).expect("it is free");
    let second = listener.wait_for(&two).expect("it is free");
    assert_eq!(listener.wait_for(&one).err(), Some(WaitError::Taken));

    let (response, ()) = tokio::join!(get(&listener, "?code=secret-code&state=state-2"), async {
        let redirect = second.redirect().await.expect("it comes");
        assert_eq!(redirect.query().expose(), "code=secret-code&state=state-2");
        redirect.show(Page::Done).await;
    });
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(response.contains("<h1>Logged in</h1>"), "{response}");
    assert_shows_no_secret(&response);

    let again = get(&listener, "?code=secret-code&state=state-2").await;
    assert!(again.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{again}");
    drop(first);
    listener.wait_for(&one).expect("it is free again");
}

#[tokio::test]
async fn a_failed_login_is_explained_as_text() {
    let listener = listener(CallbackLimits::default()).await;
    let waiter = listener
        .wait_for(&Secret::new("state-1"))
        .expect("it is free");
    let (response, ()) = tokio::join!(
        get(&listener, "?error=access_denied&state=state-1"),
        async {
            let redirect = waiter.redirect().await.expect("it comes");
            let reason = "<img src=x onerror=alert(1)>".to_owned();
            redirect.show(Page::Failed(reason)).await;
        }
    );
    assert!(
        response.contains("<p>&lt;img src=x onerror=alert(1)&gt;</p>"),
        "{response}"
    );
    for header in [
        "content-type: text/html; charset=utf-8",
        "cache-control: no-store",
        "content-security-policy: default-src 'none'; style-src 'sha256-QdSDwokUdvKnGrAkg7mltejapcHAS9AZpgULRLXBklU='; frame-ancestors 'none'",
        "referrer-policy: no-referrer",
        "x-content-type-options: nosniff",
        "connection: close",
    ] {
        assert!(
            response.contains(&format!("\r\n{header}\r\n")),
            "{header}: {response}"
        );
    }
}

#[tokio::test]
async fn a_login_that_tells_nothing_still_answers_the_browser() {
    let listener = listener(CallbackLimits::default()).await;
    let waiter = listener
        .wait_for(&Secret::new("state-1"))
        .expect("it is free");
    let (response, ()) = tokio::join!(get(&listener, "?code=secret-code&state=state-1"), async {
        drop(waiter.redirect().await.expect("it comes"));
    });
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert!(!response.contains("Logged in"), "{response}");
    assert_shows_no_secret(&response);
}

#[tokio::test(start_paused = true)]
async fn a_login_that_takes_long_does_not_keep_the_browser_waiting() {
    let listener = listener(CallbackLimits::default()).await;
    let waiter = listener
        .wait_for(&Secret::new("state-1"))
        .expect("it is free");
    let (response, redirect) = tokio::join!(
        get(&listener, "?code=secret-code&state=state-1"),
        waiter.redirect()
    );
    assert!(response.contains("go back to the program"), "{response}");
    redirect.expect("it came").show(Page::Done).await;
}

#[tokio::test]
async fn other_requests_are_refused_and_change_nothing() {
    let listener = listener(CallbackLimits::default()).await;
    let waiter = listener
        .wait_for(&Secret::new("state-1"))
        .expect("it is free");
    for (rest, status) in [
        ("?code=secret-code&state=wrong", "400"),
        ("?code=secret-code", "400"),
        ("?state=state-1", "400"),
        ("?code=secret-code&state=state-1&state=state-1", "400"),
        ("/more?code=secret-code&state=state-1", "404"),
    ] {
        let response = get(&listener, rest).await;
        assert!(
            response.starts_with(&format!("HTTP/1.1 {status} ")),
            "{rest}: {response}"
        );
        assert_shows_no_secret(&response);
    }
    let head =
        "GET /mcp/oauth/callback?code=c&state=state-1 HTTP/1.1\r\nhost: evil.example\r\n\r\n";
    let response = send(address(&listener), head).await;
    assert!(response.starts_with("HTTP/1.1 403 "), "{response}");

    let (response, ()) = tokio::join!(get(&listener, "?code=secret-code&state=state-1"), async {
        let redirect = waiter.redirect().await.expect("it comes");
        redirect.show(Page::Done).await;
    });
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
}

#[tokio::test(start_paused = true)]
async fn a_login_has_five_minutes() {
    let listener = listener(CallbackLimits::default()).await;
    let start = tokio::time::Instant::now();
    let waiter = listener
        .wait_for(&Secret::new("state-1"))
        .expect("it is free");
    let five_minutes = Duration::from_secs(300);
    let error = waiter.redirect().await.err();
    assert_eq!(error, Some(WaitError::TimedOut(five_minutes)));
    assert!(start.elapsed() >= five_minutes);
    listener
        .wait_for(&Secret::new("state-1"))
        .expect("it is free again");
}

#[tokio::test]
async fn only_so_many_logins_are_under_way() {
    let limits = {
        let mut limits = CallbackLimits::default();
        limits.logins = 2;
        limits
    };
    let listener = listener(limits).await;
    let first = listener.wait_for(&Secret::new("1")).expect("it is free");
    let _second = listener.wait_for(&Secret::new("2")).expect("it is free");
    let third = listener.wait_for(&Secret::new("3"));
    assert_eq!(third.err(), Some(WaitError::TooMany { limit: 2 }));
    drop(first);
    listener
        .wait_for(&Secret::new("3"))
        .expect("there is room again");
}

#[tokio::test]
async fn only_so_many_connections_are_open() {
    let limits = {
        let mut limits = CallbackLimits::default();
        limits.connections = 1;
        limits
    };
    let listener = listener(limits).await;
    let _idle = TcpStream::connect(address(&listener))
        .await
        .expect("it listens");
    let response = send(address(&listener), "").await;
    assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
}

#[tokio::test(start_paused = true)]
async fn a_browser_that_sends_nothing_is_hung_up_on() {
    let listener = listener(CallbackLimits::default()).await;
    assert_eq!(send(address(&listener), "GET /mcp").await, "");
}

#[tokio::test]
async fn a_head_that_is_too_long_is_refused() {
    let listener = listener(CallbackLimits::default()).await;
    let response = get(
        &listener,
        &format!("?state=a&code={}", "c".repeat(33 * 1024)),
    )
    .await;
    assert!(response.starts_with("HTTP/1.1 4"), "{response}");
    let response = get(
        &listener,
        &format!("?state=a&code={}", "c".repeat(16 * 1024)),
    )
    .await;
    assert!(response.starts_with("HTTP/1.1 400 "), "{response}");
    assert!(response.contains("Invalid or expired state"), "{response}");
}

#[tokio::test]
async fn a_listener_that_is_dropped_ends_its_waits() {
    let listener = listener(CallbackLimits::default()).await;
    let waiter = listener.wait_for(&Secret::new("1")).expect("it is free");
    drop(listener);
    assert_eq!(waiter.redirect().await.err(), Some(WaitError::Stopped));
}

#[tokio::test]
async fn other_machines_are_kept_out() {
    for address in ["0.0.0.0:0", "192.168.1.1:0", "[::]:0"] {
        let config = {
            let mut config = Config::default();
            config.address = address.parse().expect("an address");
            config
        };
        let error = CallbackListener::bind(config)
            .await
            .expect_err("it is refused");
        assert!(matches!(error, BindError::NotLoopback(_)), "{error:?}");
    }
}

#[tokio::test]
async fn a_busy_port_is_an_error_at_once_or_another_port() {
    let first = listener(CallbackLimits::default()).await;
    let config = {
        let mut config = Config::default();
        config.address = address(&first);
        config
    };
    let error = CallbackListener::bind(config.clone())
        .await
        .expect_err("it is busy");
    assert!(
        matches!(error, BindError::Busy(busy) if busy == address(&first)),
        "{error:?}"
    );

    let when_busy = WhenBusy::TakeAnother;
    let second = CallbackListener::bind({
        let mut other = config;
        other.when_busy = when_busy;
        other
    })
    .await
    .expect("it is free");
    assert_ne!(second.redirect_uri(), first.redirect_uri());
    assert!(second.redirect_uri().starts_with("http://127.0.0.1:"));
    assert!(second.redirect_uri().ends_with("/mcp/oauth/callback"));
}

async fn listener(limits: CallbackLimits) -> CallbackListener {
    let config = {
        let mut config = Config::default();
        config.address = ([127, 0, 0, 1], 0).into();
        config.limits = limits;
        config
    };
    CallbackListener::bind(config)
        .await
        .expect("a port is free")
}

fn address(listener: &CallbackListener) -> SocketAddr {
    let uri = listener.redirect_uri();
    let authority = uri.trim_start_matches("http://").split('/').next();
    authority
        .expect("a URI has one")
        .parse()
        .expect("an address")
}

/// Requests the redirect path, with `rest` after it.
async fn get(listener: &CallbackListener, rest: &str) -> String {
    let address = address(listener);
    let head = format!("GET /mcp/oauth/callback{rest} HTTP/1.1\r\nhost: {address}\r\n\r\n");
    send(address, &head).await
}

/// Sends `text` and reads until the listener closes the connection.
async fn send(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(text.as_bytes()).await.expect("it reads");
    let mut response = Vec::new();
    // The listener may close with part of the request unread, which resets the connection.
    let _ = stream.read_to_end(&mut response).await;
    String::from_utf8(response).expect("it answers with text")
}

fn assert_shows_no_secret(response: &str) {
    for secret in ["secret-code", "state-1", "state-2"] {
        assert!(!response.contains(secret), "{response}");
    }
}
