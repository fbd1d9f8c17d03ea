use std::path::PathBuf;
use std::time::Duration;

use callgate_mcp::transport::child::{
    ChildConfig, Environment, ExitTimeouts, InheritEnv, ModernChild,
};
use callgate_mcp::wire::Limits;
use callgate_mcp::{Kind, Reply, Retry};
use tokio::process::Command;

use crate::child_fixture::{PEER, Signs, ask, peer, supervised};
use crate::stdio_fixture::{json, soon};

/// What the child of `config` answers, with and without a supervisor.
async fn check(config: &ChildConfig, expect: &str) {
    for config in [config.clone(), supervised(config.clone())] {
        let child = ModernChild::spawn(&config).expect("the child works");
        let reply = ask(&child).await.expect("the child works");
        assert_eq!(reply, Reply::Complete(json(expect)));
    }
}

/// How a call of the child of `config` fails, with and without a supervisor.
async fn check_failure(config: &ChildConfig, kind: Kind, expect: &str) {
    for config in [config.clone(), supervised(config.clone())] {
        let child = ModernChild::spawn(&config).expect("the child works");
        let error = ask(&child).await.expect_err("the child fails");
        assert_eq!((error.kind(), error.to_string().as_str()), (kind, expect));
        assert_eq!(error.retry(), Retry::Never);
    }
}

#[tokio::test]
async fn arguments_pass_without_a_shell() {
    let config = peer(["evil", "args", "$HOME; echo *", "", "a b"]);
    check(&config, r#"{"seen":["$HOME; echo *", "", "a b"]}"#).await;
}

#[tokio::test]
async fn a_child_sees_the_allowed_environment_and_its_own() {
    let mut config = peer(["evil", "env"]);
    config.environment = Environment::from_pairs([
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("HOME", "/h"),
        ("LC_ALL", "C"),
    ]);
    config.env = vec![("TOKEN".into(), "t".into())];
    check(
        &config,
        r#"{"seen":{"HOME": "/h", "LC_ALL": "C", "TOKEN": "t"}}"#,
    )
    .await;
    config.inherit_env = InheritEnv::All;
    check(
        &config,
        r#"{"seen":{"AWS_SECRET_ACCESS_KEY": "secret", "HOME": "/h", "LC_ALL": "C", "TOKEN": "t"}}"#,
    )
    .await;
}

#[tokio::test]
async fn a_child_runs_where_it_is_told_to() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap();
    let mut config = peer(["evil", "cwd"]);
    config.cwd = Some(path.clone());
    check(&config, &format!(r#"{{"seen":{path:?}}}"#)).await;
}

#[tokio::test]
async fn a_program_is_found_from_a_working_directory_that_is_relative() {
    let here = std::env::current_dir().unwrap();
    let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
    let directory = tempfile::tempdir().unwrap();
    // Deeper than this one, so that the same steps up do not lead to the root from there.
    let deep = directory
        .path()
        .join(up.to_str().unwrap().replace("..", "a"));
    std::fs::create_dir_all(&deep).unwrap();
    std::os::unix::fs::symlink(PEER, deep.join("program")).unwrap();

    let mut config = peer(["evil", "complete"]);
    config.program = "./program".into();
    config.cwd = Some(up.join(deep.strip_prefix("/").unwrap()));
    check(&config, r#"{"seen":true}"#).await;
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_named() {
    let mut missing = ChildConfig::new("files", "no-such-program");
    missing.environment = Environment::from_pairs([("PATH", "/nowhere:/usr/bin")]);
    let path = ChildConfig::new("files", "/nowhere/program");
    let mut directory = peer(["evil", "args"]);
    directory.cwd = Some("/nowhere".into());
    for (config, expect) in [
        (
            missing,
            "cannot start server `files`: program `no-such-program` is in none of the directories of PATH (/nowhere:/usr/bin)",
        ),
        (
            path,
            "cannot start server `files`: there is no program `/nowhere/program`",
        ),
        (
            directory,
            "cannot start server `peer`: no directory `/nowhere`",
        ),
    ] {
        let error = ModernChild::spawn(&config).unwrap_err();
        assert_eq!(error.to_string(), expect);
        assert_eq!((error.kind(), error.retry()), (Kind::Connect, Retry::Safe));
    }
}

#[tokio::test]
async fn a_dead_child_fails_its_calls_with_its_last_words() {
    check_failure(
        &peer(["evil", "die"]),
        Kind::Closed,
        "server `peer` exited (exit status: 3); end of its standard error:\nthe disk is full",
    )
    .await;
}

#[tokio::test]
async fn a_child_that_was_killed_says_by_which_signal() {
    check_failure(
        &peer(["evil", "kill-itself"]),
        Kind::Closed,
        "server `peer` exited (signal: 9 (SIGKILL))",
    )
    .await;
}

#[tokio::test]
async fn a_dead_child_is_noticed_although_a_grandchild_holds_its_streams() {
    let mut signs = Signs::new();
    let child = ModernChild::spawn(&peer(["evil", "leave-a-grandchild", &signs.path()])).unwrap();
    ask(&child).await.unwrap();
    signs.born(&["stubborn"]).await;
    let error = ask(&child).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Closed);
    assert_eq!(
        error.to_string(),
        "server `peer` exited (exit status: 3); end of its standard error:\nmy work is done"
    );
    signs.gone().await;
}

#[tokio::test]
async fn a_child_that_closes_its_output_is_given_up_at_once() {
    let mut config = peer(["evil", "close-output"]);
    // It never exits by itself: waiting for that would take this long.
    config.exit_timeouts = ExitTimeouts::default();
    config.exit_timeouts.exit = Duration::from_secs(3600);
    for config in [config.clone(), supervised(config)] {
        let child = ModernChild::spawn(&config).unwrap();
        let error = ask(&child).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Closed);
        assert_eq!(error.to_string(), "server `peer` closed the connection");
    }
}

#[tokio::test]
async fn an_answer_over_the_limit_fails_its_call_and_no_other() {
    let mut config = peer(["evil", "long"]);
    config.line.limits = Limits::default().with_bytes(10_000).with_depth(16);
    for config in [config.clone(), supervised(config)] {
        let child = ModernChild::spawn(&config).unwrap();
        let error = ask(&child).await.unwrap_err();
        assert_eq!(error.kind(), Kind::TooLarge);
        let reply = ask(&child).await.unwrap();
        assert_eq!(reply, Reply::Complete(json(r#"{"seen":true}"#)));
    }
}

#[tokio::test]
async fn a_last_answer_without_a_line_break_counts() {
    check(&peer(["evil", "no-line-break"]), "{}").await;
}

#[tokio::test]
async fn a_child_may_write_to_standard_error_as_much_as_it_likes() {
    let child = ModernChild::spawn(&peer(["evil", "loud"])).unwrap();
    ask(&child).await.unwrap();
    soon(child.close()).await;
    let tail = child.stderr_tail();
    assert_eq!(tail.len(), 64 * 1024);
    assert!(tail.ends_with("noise\nnoise\n"));
}

#[tokio::test]
async fn a_closed_child_refuses_calls_and_says_why() {
    for config in [
        peer(["evil", "complete"]),
        supervised(peer(["evil", "complete"])),
    ] {
        let child = ModernChild::spawn(&config).unwrap();
        ask(&child).await.unwrap();
        soon(child.close()).await;
        let error = ask(&child).await.unwrap_err();
        assert_eq!((error.kind(), error.retry()), (Kind::Closed, Retry::Safe));
        assert_eq!(error.to_string(), "server `peer` exited (exit status: 0)");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_child_has_the_id_of_the_root_of_its_process_tree_until_it_is_closed() {
    let config = peer(["evil", "complete"]);
    for config in [config.clone(), supervised(config)] {
        let child = ModernChild::spawn(&config).unwrap();
        ask(&child).await.unwrap();
        let process = format!("/proc/{}/stat", child.process_id().unwrap());
        let stat = std::fs::read_to_string(process).unwrap();
        // The parent is the fourth field; the second may have spaces, but is in brackets.
        let after_name = stat.rsplit(')').next().unwrap();
        let parent = after_name.split_whitespace().nth(1);
        assert_eq!(parent, Some(&*std::process::id().to_string()));
        soon(child.close()).await;
        assert_eq!(child.process_id(), None);
    }
}

#[tokio::test]
async fn a_child_that_does_not_go_is_put_down() {
    let mut config = peer(["shape", "stubborn", "/dev/null"]);
    config.exit_timeouts = ExitTimeouts::default();
    config.exit_timeouts.exit = Duration::ZERO;
    config.exit_timeouts.terminate = Duration::ZERO;
    for config in [config.clone(), supervised(config)] {
        let child = ModernChild::spawn(&config).unwrap();
        soon(child.close()).await;
        let error = ask(&child).await.unwrap_err();
        assert_eq!(error.to_string(), "server `peer` was closed");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_thousand_failed_starts_leave_nothing_open() {
    let mut starter = Command::new(PEER);
    let output = soon(starter.arg("fail-to-start").output()).await.unwrap();
    assert!(output.status.success(), "{output:?}");
}
