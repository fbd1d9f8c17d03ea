use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::fixture::{Home, LoggingIn, Ran};
use crate::provider::{Provider, Settings};

/// Everything that happens to logins, told as loudly as possible.
struct Story {
    home: Home,
    provider: Provider,
    told: String,
    /// Arguments of processes that were certainly alive when they were looked at.
    seen: BTreeSet<String>,
}

/// Looks at the arguments of all processes for as long as the story goes on.
struct Watch {
    is_over: Arc<AtomicBool>,
    seen: JoinHandle<BTreeSet<String>>,
}

#[test]
fn secrets_are_not_leaked() {
    let watch = Watch::start();
    let mut story = Story {
        home: Home::new(),
        provider: Provider::start(Settings::default()),
        told: String::new(),
        seen: BTreeSet::new(),
    };
    let file = story.home.path().join("client-secret");
    fs::write(&file, Settings::default().secret).unwrap();
    let by_hand = [
        "--client-id",
        "configured",
        "--client-secret-file",
        file.to_str().unwrap(),
    ];
    story.log_in(&by_hand);
    story.lose_and_regain();
    story.run("logout", &[], 0);

    story.paste();
    story.lose_and_regain();
    story.log_in(&["--again", "--scope", "read", "--scope", "admin"]);
    story.run("call", &["purge"], 0);
    story.log_in_in_vain(&["--again", "--scope", "forbidden"]);
    story.provider.end_logins();
    story.run("call", &["whoami"], 3);

    story.log_in(&["--device"]);
    story.run("call", &["whoami"], 0);
    story.run("logout", &[], 0);
    story.log_in_as_client();
    story.run("call", &["whoami"], 0);
    story.run("logout", &[], 0);
    story.log_in_by_identity();
    story.run("call", &["whoami"], 0);
    story.provider.end_access_tokens();
    story.run("call", &["whoami"], 3);
    story.tell(&["auth", "list"], 0);
    story.tell(&["--json", "auth", "list"], 0);

    let mut seen = watch.end();
    seen.append(&mut story.seen);
    let secrets = story.secrets();
    let leaked: Vec<_> = secrets
        .iter()
        .filter(|it| story.told.contains(*it))
        .collect();
    assert!(leaked.is_empty(), "told: {leaked:?}\n{}", story.told);
    let leaked: Vec<_> = seen.iter().filter(|it| holds(it, &secrets)).collect();
    assert!(leaked.is_empty(), "arguments: {leaked:?}");
    assert_eq!(
        files_with(story.home.path(), &secrets),
        ["client-secret", "identity", "mcp-auth.json"]
    );

    // What has been looked for is what was there to be found.
    let kinds = [
        "code-",
        "access-token-",
        "refresh-token-",
        "device-code-",
        "secret-of-",
        "identity-",
    ];
    for kind in kinds.map(|kind| format!("canary-{kind}")) {
        assert!(secrets.iter().any(|it| it.contains(&kind)), "{kind}");
    }
    assert!(seen.iter().any(|arguments| arguments.contains("--device")));
    assert!(story.told.contains("TRACE"), "{}", story.told);
}

impl Story {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        command.env("CALLGATE_LOG", "trace");
        command
    }

    fn hear(&mut self, ran: &Ran, exit: i32) {
        self.told += &ran.stdout;
        self.told += &ran.stderr;
        assert_eq!(ran.exit, Some(exit), "{ran:?}");
    }

    fn tell(&mut self, args: &[&str], exit: i32) {
        let ran = Ran::from(self.command(args).output().unwrap());
        self.hear(&ran, exit);
    }

    /// Has a command do something at the server.
    fn run(&mut self, command: &str, args: &[&str], exit: i32) {
        let url = self.provider.url.clone();
        self.tell(&[&[command, &url], args].concat(), exit);
    }

    fn start_login(&mut self, args: &[&str]) -> LoggingIn {
        let login = ["auth", &self.provider.url, "--callback-port", "0"];
        let login = LoggingIn::start(&mut self.command(&[&login, args].concat()));
        // It waits for a browser, so it is seen here even if the watch never gets to run meanwhile.
        self.seen.extend(arguments_of_all());
        login
    }

    fn log_in(&mut self, args: &[&str]) {
        let ran = self.start_login(args).consent();
        self.hear(&ran, 0);
    }

    fn log_in_in_vain(&mut self, args: &[&str]) {
        let ran = self.start_login(args).consent();
        self.hear(&ran, 3);
    }

    fn paste(&mut self) {
        let mut command = self.command(&["auth", &self.provider.url, "--no-browser"]);
        let ran = LoggingIn::start(command.stdin(Stdio::piped())).paste();
        self.hear(&ran, 0);
    }

    fn log_in_as_client(&mut self) {
        let client = ["--client-credentials", "--client-id", "configured"];
        let mut command = self.command(&[&["auth", &self.provider.url], &client[..]].concat());
        command.env("CALLGATE_CLIENT_SECRET", Settings::default().secret);
        let ran = Ran::from(command.output().unwrap());
        self.hear(&ran, 0);
    }

    fn log_in_by_identity(&mut self) {
        let file = self.home.path().join("identity");
        fs::write(&file, "canary-identity-of-the-workload").unwrap();
        let file = file.to_str().unwrap().to_owned();
        let identity = ["--client-id", "machine", "--workload-identity", &file];
        self.run("auth", &identity, 0);
    }

    /// Everything that goes wrong while a login lasts.
    fn lose_and_regain(&mut self) {
        self.run("call", &["whoami"], 0);
        self.provider.end_access_tokens();
        self.provider.be_unavailable(true);
        self.run("call", &["whoami"], 4);
        self.provider.be_unavailable(false);
        self.run("call", &["whoami"], 0);
        self.run("call", &["purge"], 3);
        self.run("call", &["fail"], 1);
    }

    /// All secrets of the story, in every form in which they are sent.
    fn secrets(&self) -> Vec<String> {
        let mut secrets = self.provider.secrets();
        let secret = Settings::default().secret;
        secrets.push(secret.to_owned());
        secrets.push(BASE64_STANDARD.encode(format!("configured:{secret}")));
        secrets
    }
}

impl Watch {
    fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = thread::spawn({
            let is_over = is_over.clone();
            move || {
                let mut seen = BTreeSet::new();
                while !is_over.load(Ordering::Relaxed) {
                    seen.extend(arguments_of_all());
                    thread::sleep(Duration::from_millis(1));
                }
                seen
            }
        });
        Self { is_over, seen }
    }

    fn end(self) -> BTreeSet<String> {
        self.is_over.store(true, Ordering::Relaxed);
        self.seen.join().unwrap()
    }
}

/// The command lines of all processes there are.
fn arguments_of_all() -> impl Iterator<Item = String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.filter_map(|process| {
        let arguments = fs::read(process.path().join("cmdline")).ok()?;
        let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
        arguments.contains("callgate").then_some(arguments)
    })
}

fn holds(text: &str, secrets: &[String]) -> bool {
    secrets.iter().any(|secret| text.contains(secret))
}

/// The names of all files that hold a secret.
fn files_with(directory: &Path, secrets: &[String]) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            names.extend(files_with(&entry.path(), secrets));
        } else if holds(
            &String::from_utf8_lossy(&fs::read(entry.path()).unwrap()),
            secrets,
        ) {
            names.push(entry.file_name().into_string().unwrap());
        }
    }
    names.sort();
    names
}
