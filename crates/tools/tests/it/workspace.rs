use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use callgate_tools::workspace::{File, Listing, Workspace, Written};
use rustix::fs::{CWD, Mode, mkfifoat};
use tempfile::TempDir;

fn workspace() -> (TempDir, Workspace) {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(directory.path().join("secret"), "outside").unwrap();
    let workspace = Workspace::open(&root).unwrap();
    (directory, workspace)
}

#[test]
fn a_written_file_is_read_and_listed() {
    let (_directory, workspace) = workspace();
    assert_eq!(
        workspace.write("notes/today.md", "héllo").unwrap(),
        Written {
            path: "notes/today.md".to_owned(),
            bytes: 6
        }
    );
    assert_eq!(
        workspace.read("notes/../notes/today.md").unwrap(),
        File {
            path: "notes/../notes/today.md".to_owned(),
            content: "héllo".to_owned(),
            size: 6
        }
    );
    workspace.write("b.txt", "").unwrap();
    assert_eq!(
        workspace.list(".").unwrap(),
        Listing {
            path: ".".to_owned(),
            entries: vec!["b.txt".to_owned(), "notes/".to_owned()],
            truncated: false
        }
    );
    assert_eq!(workspace.list("notes").unwrap().entries, ["today.md"]);
}

#[test]
fn nothing_outside_can_be_named() {
    let (directory, workspace) = workspace();
    let root = directory.path().join("root");
    symlink("../secret", root.join("link")).unwrap();
    symlink("..", root.join("up")).unwrap();
    symlink(directory.path(), root.join("absolute")).unwrap();
    let escapes = |path: &str| format!("path escapes workspace: {path}");
    for path in [
        "../secret",
        "/etc/hostname",
        "link",
        "up/secret",
        "absolute/secret",
    ] {
        assert_eq!(workspace.read(path).unwrap_err().to_string(), escapes(path));
    }
    for path in ["../new", "up/new", "absolute/new"] {
        assert_eq!(
            workspace.write(path, "x").unwrap_err().to_string(),
            escapes(path)
        );
        assert!(!directory.path().join("new").exists());
    }
    for path in ["..", "up", "absolute"] {
        assert_eq!(workspace.list(path).unwrap_err().to_string(), escapes(path));
    }
}

#[test]
fn writing_over_a_link_replaces_the_link_and_not_its_target() {
    let (directory, workspace) = workspace();
    symlink("../secret", directory.path().join("root/link")).unwrap();
    workspace.write("link", "inside").unwrap();
    assert_eq!(workspace.read("link").unwrap().content, "inside");
    assert_eq!(
        fs::read_to_string(directory.path().join("secret")).unwrap(),
        "outside"
    );
}

#[test]
fn a_path_that_is_no_text_file_is_named_in_the_error() {
    let (directory, workspace) = workspace();
    let root = directory.path().join("root");
    fs::write(root.join("binary"), b"\xff\xfe").unwrap();
    fs::File::create(root.join("large"))
        .unwrap()
        .set_len(1024 * 1024 + 1)
        .unwrap();
    fs::create_dir(root.join("folder")).unwrap();
    for (path, expect) in [
        ("binary", "file is not UTF-8 text: binary"),
        ("large", "file is larger than 1048576 bytes: large"),
        ("folder", "not a file: folder"),
        (
            "none",
            "failed to read none: No such file or directory (os error 2)",
        ),
        ("", "path is required"),
    ] {
        assert_eq!(workspace.read(path).unwrap_err().to_string(), expect);
    }
    assert_eq!(
        workspace.write("folder", "x").unwrap_err().to_string(),
        "not a file: folder"
    );
    assert_eq!(
        workspace.list("none").unwrap_err().to_string(),
        "failed to list none: No such file or directory (os error 2)"
    );
}

#[test]
fn every_file_that_can_be_written_can_be_read() {
    let (_directory, workspace) = workspace();
    let largest = "x".repeat(1024 * 1024);
    workspace.write("large", &largest).unwrap();
    assert_eq!(workspace.read("large").unwrap().content, largest);
    let too_large = largest.clone() + "x";
    assert_eq!(
        workspace
            .write("large", &too_large)
            .unwrap_err()
            .to_string(),
        "file is larger than 1048576 bytes: large"
    );
    assert_eq!(workspace.read("large").unwrap().content, largest);
}

#[test]
fn a_named_pipe_without_a_writer_is_refused_at_once() {
    let (directory, workspace) = workspace();
    let pipe = directory.path().join("root/pipe");
    mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).unwrap();
    let (said, says) = channel();
    thread::spawn(move || said.send(workspace.read("pipe").unwrap_err().to_string()));
    // Only a read that waits for a writer reaches it.
    let limit = Duration::from_secs(300);
    assert_eq!(says.recv_timeout(limit), Ok("not a file: pipe".to_owned()));
}

#[test]
fn a_long_listing_is_cut_and_says_so() {
    let (directory, workspace) = workspace();
    for number in 0..=10_000 {
        fs::write(directory.path().join(format!("root/{number}")), "").unwrap();
    }
    let listing = workspace.list(".").unwrap();
    assert_eq!((listing.entries.len(), listing.truncated), (10_000, true));
}

#[test]
fn writing_keeps_the_permissions_of_the_file() {
    let (directory, workspace) = workspace();
    let script = directory.path().join("root/script.sh");
    fs::write(&script, "old").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).unwrap();
    workspace.write("script.sh", "new").unwrap();
    workspace.write("fresh", "new").unwrap();
    let mode = |name: &str| {
        fs::metadata(directory.path().join("root").join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(mode("script.sh"), 0o750);
    fs::write(directory.path().join("root/plain"), "").unwrap();
    assert_eq!(mode("fresh"), mode("plain"));
}
