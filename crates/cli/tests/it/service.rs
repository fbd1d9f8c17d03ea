//! `service`.

use std::fs;

use crate::client_machine::Machine;
use crate::fixture::Home;

#[test]
fn the_service_is_installed_shown_and_removed() {
    let machine = Machine::new();
    let before = machine.tree();
    let install = [
        "--config",
        "my config.json",
        "service",
        "install",
        "--workspace",
        ".",
    ];
    insta::assert_snapshot!(machine.said(&install), @r#"
    installed and started the service (HOME/.config/systemd/user/callgate.service)
    it runs: CALLGATE serve --workspace HOME/workspace --config 'HOME/workspace/my config.json'
    hint: `callgate service status` shows its address, `journalctl --user -u callgate` its log
    hint: run `loginctl enable-linger` to keep it running after you log out
    exit 0
    "#);
    insta::assert_snapshot!(machine.told(), @r#"
    --user daemon-reload
    --user reset-failed callgate.service
    --user enable --now callgate.service
    --user show --property=MainPID callgate.service
    "#);
    insta::assert_snapshot!(machine.read(".config/systemd/user/callgate.service"), @r#"
    # Written by `callgate service install`; `callgate service uninstall` removes it.
    [Unit]
    Description=Callgate, the one process for the tools of AI agents
    # At most 10 starts in 5 minutes: a wrong configuration does not start forever.
    StartLimitIntervalSec=300
    StartLimitBurst=10

    [Service]
    ExecStart="CALLGATE" "serve" "--workspace" "HOME/workspace" "--config" "HOME/workspace/my config.json"
    Environment="PATH=HOME/bin:/usr/bin:/bin"
    Restart=on-failure
    RestartSec=2
    TimeoutStopSec=20
    NoNewPrivileges=yes
    LockPersonality=yes
    RestrictRealtime=yes

    [Install]
    WantedBy=default.target
    "#);
    insta::assert_snapshot!(machine.said(&["service", "status"]), @r#"
    installed  yes (HOME/.config/systemd/user/callgate.service)
    enabled    yes
    running    yes (pid PID), http://127.0.0.1:3000/mcp
    exit 0
    "#);
    insta::assert_snapshot!(machine.told(), @r#"
    --user is-enabled callgate.service
    "#);
    insta::assert_snapshot!(machine.said(&["service", "uninstall"]), @r#"
    removed the service
    exit 0
    "#);
    insta::assert_snapshot!(machine.told(), @r#"
    --user disable --now callgate.service
    --user daemon-reload
    "#);
    let data = machine.path(".local");
    let mut after = machine.tree();
    after.retain(|path, _| !path.starts_with(&data));
    assert_eq!(after, before);
    insta::assert_snapshot!(machine.said(&["service", "uninstall"]), @r#"
    the service is not installed
    exit 0
    "#);
    insta::assert_snapshot!(machine.said(&["service", "status"]), @r#"
    installed  no
    enabled    no
    running    no
    hint: run `callgate service install` to install it
    exit 0
    "#);
}

#[test]
fn a_service_that_ended_is_shown_with_the_command_for_its_log() {
    let machine = Machine::new();
    machine.said(&["service", "install"]);
    machine.stop_service();
    insta::assert_snapshot!(machine.said(&["service", "status"]), @r#"
    installed  yes (HOME/.config/systemd/user/callgate.service)
    enabled    yes
    running    no
    hint: run `callgate service install` to start it, `journalctl --user -u callgate` shows why it ended
    exit 0
    "#);
}

#[test]
fn another_command_replaces_the_unit_and_restarts_the_service() {
    let machine = Machine::new();
    machine.said(&["service", "install", "--workspace", "."]);
    machine.told();
    insta::assert_snapshot!(machine.said(&["service", "install"]), @r#"
    installed and started the service (HOME/.config/systemd/user/callgate.service)
    it runs: CALLGATE serve --no-workspace
    hint: `callgate service status` shows its address, `journalctl --user -u callgate` its log
    hint: run `loginctl enable-linger` to keep it running after you log out
    exit 0
    "#);
    insta::assert_snapshot!(machine.told(), @r#"
    --user daemon-reload
    --user reset-failed callgate.service
    --user enable --now callgate.service
    --user restart callgate.service
    --user show --property=MainPID callgate.service
    "#);
}

#[test]
fn a_service_that_ends_at_once_is_a_failure() {
    let machine = Machine::new();
    machine.services_end();
    insta::assert_snapshot!(machine.said(&["service", "install"]), @r#"
    error: HOME/.config/systemd/user/callgate.service is written, but the service does not run: its process has ended
    hint: `journalctl --user -u callgate` shows why
    hint: correct that, then run the same command again
    exit 1
    "#);
    machine.systemctl("");
    let said = machine.said(&["service", "install"]);
    assert!(
        said.starts_with("installed and started the service"),
        "{said}"
    );
}

#[test]
fn a_serve_that_is_not_the_service_is_named() {
    let machine = Machine::new();
    // A `serve` of the user, which has the address of the service.
    machine.said(&["service", "install"]);
    machine.services_end();
    let said = machine.said(&["service", "install"]);
    let said = said.replace(&format!("process {}", std::process::id()), "process PID");
    insta::assert_snapshot!(said, @r#"
    error: HOME/.config/systemd/user/callgate.service is written, but the service does not run: its process has ended
    hint: another `callgate serve` runs, as process PID at http://127.0.0.1:3000/mcp: end it if the service needs its address
    hint: `journalctl --user -u callgate` shows why
    hint: correct that, then run the same command again
    exit 1
    "#);
}

#[test]
fn a_system_that_does_not_start_it_is_reported_with_the_next_command() {
    let machine = Machine::new();
    machine.systemctl("echo 'Failed to connect to bus: No medium found' >&2; exit 1");
    insta::assert_snapshot!(machine.said(&["service", "install"]), @r#"
    error: HOME/.config/systemd/user/callgate.service is written, but the service was not started: `systemctl --user daemon-reload` failed: Failed to connect to bus: No medium found
    hint: run `systemctl --user daemon-reload && systemctl --user enable --now callgate.service` in a login session of yours
    hint: where there is none, such as in a container, run `callgate serve` yourself
    exit 1
    "#);
    assert!(
        machine
            .path(".config/systemd/user/callgate.service")
            .exists()
    );
    insta::assert_snapshot!(machine.said(&["service", "uninstall"]), @r#"
    removed the service
    warning: the service was not stopped: `systemctl --user disable --now callgate.service` failed: Failed to connect to bus: No medium found
    exit 0
    "#);
    assert!(!machine.path(".config/systemd").exists());
}

#[test]
fn a_unit_of_the_user_is_left_alone() {
    let machine = Machine::new();
    machine.write(".config/systemd/user/callgate.service", "[Unit]\n");
    insta::assert_snapshot!(machine.said(&["service", "install"]), @r#"
    error: HOME/.config/systemd/user/callgate.service was not written by this program
    hint: move it away, then run the same command again
    exit 1
    "#);
    insta::assert_snapshot!(machine.said(&["service", "uninstall"]), @r#"
    error: HOME/.config/systemd/user/callgate.service was not written by this program
    hint: move it away, then run the same command again
    exit 1
    "#);
    let unit = machine.path(".config/systemd/user/callgate.service");
    assert_eq!(fs::read_to_string(unit).unwrap(), "[Unit]\n");
    assert_eq!(machine.told(), "");
}

#[test]
fn a_dry_run_shows_the_unit() {
    let machine = Machine::new();
    let before = machine.tree();
    insta::assert_snapshot!(machine.said(&["service", "install", "--dry-run"]), @r#"
    HOME/.config/systemd/user/callgate.service
    # Written by `callgate service install`; `callgate service uninstall` removes it.
    [Unit]
    Description=Callgate, the one process for the tools of AI agents
    # At most 10 starts in 5 minutes: a wrong configuration does not start forever.
    StartLimitIntervalSec=300
    StartLimitBurst=10

    [Service]
    ExecStart="CALLGATE" "serve" "--no-workspace"
    Environment="PATH=HOME/bin:/usr/bin:/bin"
    Restart=on-failure
    RestartSec=2
    TimeoutStopSec=20
    NoNewPrivileges=yes
    LockPersonality=yes
    RestrictRealtime=yes

    [Install]
    WantedBy=default.target
    exit 0
    "#);
    assert_eq!(machine.tree(), before);
}

#[test]
fn a_running_gateway_is_shown_with_its_url() {
    let home = Home::new();
    let serving = home.serve(&[]);
    let ran = home.run(&["--json", "service", "status"]);
    let expect = format!(
        "{{\"installed\":false,\"file\":\"{}/.config/systemd/user/callgate.service\",\"enabled\":false,\"running\":true,\"pid\":{},\"url\":\"{}\"}}\n",
        home.path().display(),
        serving.pid(),
        serving.url
    );
    assert_eq!(ran.stdout, expect);
}
