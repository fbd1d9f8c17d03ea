//! Addresses that are connected to.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use callgate_mcp::BoxFuture;
use callgate_oauth::fetch::{FetchError, Resolve};
use callgate_oauth::guard::{Guard, GuardRefusal, Network};
use callgate_oauth::http_message::Response;

use super::peer::Peer;
use super::{LOOPBACK, fetcher, fetcher_with, get};

/// Resolves names to one list of addresses after the other, and then to nothing.
#[derive(Debug)]
pub(super) struct Names {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    /// Each answer is a list that is separated by spaces.
    pub(super) fn new(answers: &[&str]) -> Arc<Self> {
        let parse = |answer: &&str| {
            let addresses = answer.split_whitespace();
            addresses
                .map(|it| it.parse().expect("an address"))
                .collect()
        };
        Arc::new(Self {
            answers: Mutex::new(answers.iter().map(parse).collect()),
            asked: Mutex::default(),
        })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("not poisoned").clone()
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let mut asked = self.asked.lock().expect("not poisoned");
        asked.push(host.to_owned());
        let answer = self.answers.lock().expect("not poisoned").pop_front();
        Box::pin(async move { answer.ok_or(io::ErrorKind::HostUnreachable.into()) })
    }
}

fn refused(network: Network) -> impl Fn(&FetchError) -> bool {
    move |error| {
        let FetchError::Refused(GuardRefusal::Network { network: found, .. }) = error else {
            return false;
        };
        *found == network && !error.is_transient()
    }
}

#[tokio::test]
async fn a_name_is_resolved_once_and_its_address_connected_to() {
    let peer = Peer::answering("200 OK", "{}").await;
    let names = Names::new(&["127.0.0.1", "169.254.169.254"]);
    let request = get(&peer.url_of("http://as.example", "/"));
    let fetched = fetcher_with(names.clone()).fetch(LOOPBACK, &request).await;
    assert_eq!(fetched.expect("it comes"), Response::new(200, "{}"));
    assert_eq!(names.asked(), ["as.example"]);
    let host = format!("host: as.example:{}\r\n", peer.address.port());
    assert!(peer.requests()[0].contains(&host), "{:?}", peer.requests());
}

#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_not_followed_there() {
    let peer = Peer::answering("200 OK", "{}").await;
    for (answer, network) in [
        ("127.0.0.1", Network::Loopback),
        ("::1", Network::Loopback),
        ("::ffff:127.0.0.1", Network::Loopback),
        ("127.0.0.1 8.8.8.8", Network::Loopback),
        ("8.8.8.8 127.0.0.1", Network::Loopback),
        ("10.0.0.1", Network::Private),
        ("100.64.0.1", Network::Private),
        ("fd12::1", Network::Private),
        ("169.254.169.254", Network::Reserved),
        ("0.0.0.0", Network::Reserved),
        ("64:ff9b::7f00:1", Network::Reserved),
        ("2002:7f00:1::", Network::Reserved),
        ("2001::1", Network::Reserved),
        ("224.0.0.1", Network::Reserved),
    ] {
        let names = Names::new(&[answer]);
        let request = get(&peer.url_of("https://as.example", "/"));
        let fetched = fetcher_with(names).fetch(Guard::public(), &request).await;
        let error = fetched.expect_err("it is refused");
        assert!(refused(network)(&error), "{answer}: {error:?}");
    }
    assert_eq!(peer.connections(), 0);
}

#[tokio::test]
async fn no_notation_of_this_machine_is_connected_to() {
    let peer = Peer::answering("200 OK", "{}").await;
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "127。0。0。1",
        "１２７.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "a.localhost",
        "0.0.0.0",
        "0",
        "[::]",
    ] {
        for scheme in ["http", "https"] {
            let request = get(&peer.url_of(&format!("{scheme}://{host}"), "/"));
            let fetched = fetcher().fetch(Guard::public(), &request).await;
            let error = fetched.expect_err("it is refused");
            let is_refused = matches!(error, FetchError::Refused(_));
            assert!(is_refused, "{scheme} {host}: {error:?}");
        }
    }
    assert_eq!(peer.connections(), 0);
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_checked_again() {
    let names = Names::new(&["127.0.0.1", "169.254.169.254"]);
    let peer = Peer::answering("302 Found\r\nlocation: /b", "").await;
    let request = get(&peer.url_of("http://as.example", "/a"));
    let fetched = fetcher_with(names.clone()).fetch(LOOPBACK, &request).await;
    let error = fetched.expect_err("it is refused");
    assert!(refused(Network::Reserved)(&error), "{error:?}");
    assert_eq!(names.asked(), ["as.example", "as.example"]);
    assert_eq!(peer.connections(), 1);
}

#[tokio::test]
async fn an_address_that_does_not_answer_is_passed_over() {
    let peer = Peer::answering("200 OK", "{}").await;
    let dead: Vec<String> = (2..18).map(|last| format!("127.0.0.{last}")).collect();
    let request = get(&peer.url_of("http://as.example", "/"));
    let fetch = |answer: String| {
        let fetcher = fetcher_with(Names::new(&[&answer]));
        let request = &request;
        async move { fetcher.fetch(LOOPBACK, request).await }
    };
    let one_of_16 = fetch(format!("{} 127.0.0.1", dead[1..].join(" "))).await;
    assert_eq!(one_of_16.expect("it comes"), Response::new(200, "{}"));
    let one_of_17 = fetch(format!("{} 127.0.0.1", dead.join(" "))).await;
    let error = one_of_17.expect_err("that is too many");
    assert!(matches!(error, FetchError::Connect { .. }), "{error:?}");
    assert!(error.is_transient());
}

#[tokio::test]
async fn a_name_without_an_address_may_have_one_later() {
    for (names, kind) in [
        (Names::new(&[]), io::ErrorKind::HostUnreachable),
        (Names::new(&[""]), io::ErrorKind::NotFound),
    ] {
        let request = get("https://as.example/");
        let fetched = fetcher_with(names).fetch(Guard::public(), &request).await;
        let error = fetched.expect_err("there is none");
        let found = matches!(&error, FetchError::Resolve { source, .. } if source.kind() == kind);
        assert!(found && error.is_transient(), "{error:?}");
    }
}

#[tokio::test]
async fn the_system_knows_this_machine() {
    let peer = Peer::answering("200 OK", "{}").await;
    let request = get(&peer.url_of("http://localhost", "/"));
    let fetched = fetcher().fetch(LOOPBACK, &request).await;
    assert_eq!(fetched.expect("it comes"), Response::new(200, "{}"));
}
