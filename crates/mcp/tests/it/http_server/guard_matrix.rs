//! Every host with every origin, and every origin with every site.

use callgate_mcp::transport::http::server::{Guard, HttpServerConfig};

use super::post::Post;
use super::subject::Subject;

/// What one header says about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It may pass.
    Pass,
    /// It may pass whatever the site.
    PassFromAnywhere,
    /// 403
    Forbid,
    /// 400
    Malformed,
}
use Verdict::{Forbid, Malformed, Pass, PassFromAnywhere};

/// Values of `Host`; `{p}` is the port, `|` parts two headers, `-` is no header.
const HOSTS: &[(&str, Verdict)] = &[
    ("127.0.0.1:{p}", Pass),
    ("localhost:{p}", Pass),
    ("[::1]:{p}", Pass),
    ("LOCALHOST:{p}", Pass),
    ("LocalHost:{p}", Pass),
    ("gateway.example.com", Pass),
    ("Gateway.Example.COM", Pass),
    ("127.0.0.1", Forbid),
    ("localhost", Forbid),
    ("[::1]", Forbid),
    ("localhost:", Forbid),
    ("localhost:1", Forbid),
    ("localhost:0{p}", Forbid),
    ("localhost:{p}0", Forbid),
    ("localhost:http", Forbid),
    ("localhost:{p}:{p}", Forbid),
    ("localhost.:{p}", Forbid),
    (".localhost:{p}", Forbid),
    ("localhost.evil.com:{p}", Forbid),
    ("localhost:{p}.evil.com", Forbid),
    ("evil.com", Forbid),
    ("evil.com:{p}", Forbid),
    ("evil-localhost:{p}", Forbid),
    ("127.0.0.1.evil.com:{p}", Forbid),
    ("127.0.0.2:{p}", Forbid),
    ("127.1:{p}", Forbid),
    ("0177.0.0.1:{p}", Forbid),
    ("0x7f000001:{p}", Forbid),
    ("2130706433:{p}", Forbid),
    ("0.0.0.0:{p}", Forbid),
    ("192.168.0.1:{p}", Forbid),
    ("[::]:{p}", Forbid),
    ("[0:0:0:0:0:0:0:1]:{p}", Forbid),
    ("[::ffff:127.0.0.1]:{p}", Forbid),
    ("[::1%25lo]:{p}", Forbid),
    ("::1:{p}", Forbid),
    ("[::1:{p}", Forbid),
    ("localhost%00:{p}", Forbid),
    ("localhost:{p},evil.com", Forbid),
    ("gateway.example.com:{p}", Forbid),
    ("gateway.example.com.", Forbid),
    ("xgateway.example.com", Forbid),
    ("*", Forbid),
    ("-", Malformed),
    ("", Malformed),
    ("localhost:{p}|localhost:{p}", Malformed),
    ("localhost:{p}|evil.com", Malformed),
    ("evil.com|localhost:{p}", Malformed),
    ("user@localhost:{p}", Malformed),
    ("user:pw@localhost:{p}", Malformed),
    ("evil.com@localhost:{p}", Malformed),
    ("http://localhost:{p}", Malformed),
    ("localhost:{p}/", Malformed),
    ("localhost:{p}?x", Malformed),
    ("localhost:{p}#x", Malformed),
    ("localhost\\:{p}", Malformed),
    ("\"localhost\":{p}", Malformed),
    ("localhost {p}", Malformed),
    ("localhost:{p}, evil.com", Malformed),
    ("l\u{43e}calhost:{p}", Malformed),
];

/// Values of `Origin`, spelled likewise.
const ORIGINS: &[(&str, Verdict)] = &[
    ("-", Pass),
    ("http://127.0.0.1:{p}", Pass),
    ("http://localhost:{p}", Pass),
    ("http://[::1]:{p}", Pass),
    ("HTTP://LOCALHOST:{p}", Pass),
    ("http://gateway.example.com", Pass),
    ("https://app.example.com", PassFromAnywhere),
    ("null", Forbid),
    ("", Forbid),
    ("localhost:{p}", Forbid),
    ("http://localhost", Forbid),
    ("https://localhost:{p}", Forbid),
    ("http://localhost:{p}/", Forbid),
    ("http://localhost:1", Forbid),
    ("http://localhost:{p}.evil.com", Forbid),
    ("http://localhost.evil.com:{p}", Forbid),
    ("http://localhost.:{p}", Forbid),
    ("http://user@localhost:{p}", Forbid),
    ("http://evil.com", Forbid),
    ("http://evil.com:{p}", Forbid),
    ("http://[0:0:0:0:0:0:0:1]:{p}", Forbid),
    ("https://gateway.example.com", Forbid),
    ("http://app.example.com", Forbid),
    ("https://app.example.com:443", Forbid),
    ("https://app.example.com.evil.com", Forbid),
    ("https://xapp.example.com", Forbid),
    ("file://", Forbid),
    ("chrome-extension://abcdef", Forbid),
    ("http://localhost:{p} http://evil.com", Forbid),
    ("http://localhost:{p}, http://evil.com", Forbid),
    ("http://localhost:{p}|http://evil.com", Forbid),
    ("http://localhost:{p}|http://localhost:{p}", Forbid),
];

/// Values of `Sec-Fetch-Site`, spelled likewise.
const SITES: &[(&str, Verdict)] = &[
    ("-", Pass),
    ("same-origin", Pass),
    ("none", Pass),
    ("same-site", Forbid),
    ("cross-site", Forbid),
    ("", Forbid),
    ("Cross-Site", Forbid),
    ("same-origin, cross-site", Forbid),
    ("same-origin|cross-site", Forbid),
    ("same-origin|same-origin", Forbid),
];

/// The status of a request that is `passed` with `status` where nothing is wrong.
fn status(host: Verdict, origin: Verdict, site: Verdict, passed: u16) -> u16 {
    match (host, origin, site) {
        (Malformed, _, _) => 400,
        (Forbid, _, _) | (_, Forbid, _) => 403,
        (Pass, PassFromAnywhere, _) | (Pass, Pass, Pass) => passed,
        _ => 403,
    }
}

/// Requests of every method, and the status that each one gets if it may pass.
fn requests() -> [(Post, u16); 3] {
    let old = Post::message("").set("mcp-protocol-version", "2025-11-25");
    // Sessions that are not there: nothing has to be ended after each try.
    let old = old.set("mcp-session-id", "gone");
    // Without old clients there are no sessions, and no methods of theirs.
    let passed = if cfg!(feature = "legacy") { 404 } else { 405 };
    [
        (Post::tool("echo"), 200),
        (old.clone().by("GET"), passed),
        (old.by("DELETE"), passed),
    ]
}

/// Sends every combination over one connection and counts them.
async fn check(
    (request, passes): (Post, u16),
    hosts: &[(&str, Verdict)],
    origins: &[(&str, Verdict)],
    sites: &[(&str, Verdict)],
) -> usize {
    let mut guard = Guard::default();
    guard.hosts = vec!["gateway.example.com".to_owned()];
    guard.origins = vec!["https://app.example.com".to_owned()];
    let mut config = HttpServerConfig::default();
    config.guard = guard;
    let subject = Subject::start(config).await;
    let mut peer = subject.connect().await;
    let (mut combinations, mut passed) = (0, 0);
    for (host, of_host) in hosts {
        for (origin, of_origin) in origins {
            for (site, of_site) in sites {
                let mut request = request.clone().without("host");
                for (name, value) in [("host", host), ("origin", origin), ("sec-fetch-site", site)]
                {
                    let value = value.replace("{p}", &subject.address.port().to_string());
                    for value in value.split('|').filter(|value| *value != "-") {
                        request = request.and(name, value);
                    }
                }
                peer.send(request.bytes_without_host()).await;
                let expect = status(*of_host, *of_origin, *of_site, passes);
                let seen = peer.answer().await.status;
                assert_eq!(seen, expect, "host {host} origin {origin} site {site}");
                combinations += 1;
                passed += usize::from(expect == 200);
            }
        }
    }
    assert_eq!(subject.seen.calls(), passed);
    combinations
}

#[tokio::test]
async fn every_host_with_every_origin() {
    for request in requests() {
        assert_eq!(check(request, HOSTS, ORIGINS, &[("-", Pass)]).await, 1920);
    }
}

#[tokio::test]
async fn every_origin_with_every_site() {
    let hosts = [("localhost:{p}", Pass), ("evil.com", Forbid)];
    for request in requests() {
        assert_eq!(check(request, &hosts, ORIGINS, SITES).await, 640);
    }
}
