use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::sync::mpsc;
use std::thread;

use crate::fixture::{Home, Ran};

/// Authorization header that a server at `host` gets for a token in the variable.
fn seen(home: &Home, host: &str, token: &str) -> Option<String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, seen) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(&stream).lines().map_while(Result::ok);
            let mut head = lines.take_while(|line| !line.is_empty());
            let found =
                head.find_map(|line| Some(line.strip_prefix("authorization: ")?.to_owned()));
            // Only the first request matters.
            let _ = sender.send(found);
        }
    });
    let mut command = home.command(&["list", &format!("http://{host}:{port}/mcp")]);
    let ran = Ran::from(command.env("CALLGATE_TOKEN", token).output().unwrap());
    seen.try_recv()
        .unwrap_or_else(|_| panic!("no request came: {ran:?}"))
}

#[test]
fn the_token_of_our_own_server_stays_on_this_machine() {
    let home = Home::new();
    let own = home.run(&["token"]).stdout;
    let own = own.trim();
    // As an address of some other machine it reaches this one.
    let elsewhere = "0.0.0.0";
    for (host, token, is_sent) in [
        ("127.0.0.1", own, true),
        (elsewhere, own, false),
        (elsewhere, "another", true),
    ] {
        let expected = is_sent.then(|| format!("Bearer {token}"));
        assert_eq!(seen(&home, host, token), expected, "{host}");
    }
}

#[test]
fn what_is_no_token_or_header_is_said_without_repeating_it() {
    let home = Home::new();
    let url = "http://127.0.0.1:1/mcp";
    assert_eq!(
        home.run(&["list", url, "--header", "Authorization Bearer canary"]),
        Ran::failed(
            1,
            "error: the value of --header is not a header\nhint: write it as NAME: VALUE\n"
        )
    );
    let file = home.path().join("empty");
    fs::write(&file, "\n").unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(
        home.run(&["list", url, "--token-file", file]),
        Ran::failed(
            1,
            &format!("error: {file} holds no token\nhint: write the token into it\n")
        )
    );
}
