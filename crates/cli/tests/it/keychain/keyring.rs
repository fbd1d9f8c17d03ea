use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Session bus, until this is dropped. Keyrings end with their bus.
pub(super) struct Keyring {
    bus: Child,
    pub(super) address: String,
    dir: TempDir,
}

/// Bus that starts no services by itself, so that no dialog of the desktop is involved.
const BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=DIR</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;

const COLLECTION: &str = "/org/freedesktop/secrets/collection/login";

impl Keyring {
    /// Bus with an unlocked keyring.
    pub(super) fn start() -> Self {
        let keyring = Self::bus_only();
        keyring.unlock();
        keyring
    }

    /// Bus without a keyring.
    pub(super) fn bus_only() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join("bus.conf");
        fs::write(&config, BUS.replace("DIR", dir.path().to_str().unwrap())).unwrap();
        let mut bus = Command::new("dbus-daemon")
            .args(["--nofork", "--nopidfile", "--print-address"])
            .arg(format!("--config-file={}", config.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut address = String::new();
        let mut lines = BufReader::new(bus.stdout.take().unwrap());
        lines.read_line(&mut address).unwrap();
        Self {
            bus,
            address: address.trim_end().to_owned(),
            dir,
        }
    }

    /// Starts an unlocked keyring, or replaces a locked one, as the hint of a command says.
    pub(super) fn unlock(&self) {
        let before = self.owner();
        let run = self.dir.path().join("run");
        fs::create_dir_all(&run).unwrap();
        let mut daemon = self.command("gnome-keyring-daemon");
        daemon.args(["--replace", "--unlock", "--daemonize"]);
        daemon.args(["--components=secrets"]);
        let mut daemon = daemon
            .env("HOME", self.dir.path())
            .env("XDG_RUNTIME_DIR", run)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        daemon.stdin.take().unwrap().write_all(b"password").unwrap();
        assert!(daemon.wait().unwrap().success());
        let start = Instant::now();
        while self.owner().is_none() || self.owner() == before {
            assert!(start.elapsed() < Duration::from_secs(60), "no keyring");
            sleep(Duration::from_millis(20));
        }
    }

    pub(super) fn lock(&self) {
        let objects = format!("array:objpath:{COLLECTION}");
        let service = "/org/freedesktop/secrets";
        let locked = self.call(service, "org.freedesktop.Secret.Service.Lock", &[&objects]);
        assert!(locked.is_some());
    }

    /// Object paths of all secrets.
    pub(super) fn items(&self) -> Vec<String> {
        let arguments = ["string:org.freedesktop.Secret.Collection", "string:Items"];
        let reply = self.call(
            COLLECTION,
            "org.freedesktop.DBus.Properties.Get",
            &arguments,
        );
        let reply = reply.unwrap();
        let words = reply.split('"').filter(|word| word.starts_with('/'));
        words.map(str::to_owned).collect()
    }

    pub(super) fn delete(&self, item: &str) {
        let deleted = self.call(item, "org.freedesktop.Secret.Item.Delete", &[]);
        assert!(deleted.is_some());
    }

    /// Connection on the bus that is the keyring.
    fn owner(&self) -> Option<String> {
        let mut send = self.command("dbus-send");
        send.args([
            "--session",
            "--print-reply=literal",
            "--dest=org.freedesktop.DBus",
        ]);
        send.args([
            "/",
            "org.freedesktop.DBus.GetNameOwner",
            "string:org.freedesktop.secrets",
        ]);
        output(&mut send)
    }

    fn call(&self, object: &str, method: &str, arguments: &[&str]) -> Option<String> {
        let mut send = self.command("dbus-send");
        send.args([
            "--session",
            "--print-reply",
            "--dest=org.freedesktop.secrets",
        ]);
        output(send.args([object, method]).args(arguments))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("DBUS_SESSION_BUS_ADDRESS", &self.address)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

impl Drop for Keyring {
    fn drop(&mut self) {
        let _ = self.bus.kill();
        let _ = self.bus.wait();
    }
}

fn output(command: &mut Command) -> Option<String> {
    let output = command.stdout(Stdio::piped()).output().unwrap();
    let is_good = output.status.success();
    is_good.then(|| String::from_utf8(output.stdout).unwrap())
}
