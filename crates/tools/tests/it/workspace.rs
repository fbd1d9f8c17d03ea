use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use callgate_tools::workspace::{Page, Workspace};
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

fn names(workspace: &Workspace, path: &str) -> Vec<String> {
    workspace.list(path, &Page::default()).unwrap().entries
}

#[test]
fn a_written_file_is_read_and_listed() {
    let (_directory, workspace) = workspace();
    let written = workspace.write("notes/today.md", "héllo").unwrap();
    assert_eq!(
        (written.path.as_str(), written.bytes),
        ("notes/today.md", 6)
    );
    let file = workspace.read("notes/../notes/today.md").unwrap();
    assert_eq!(file.path, "notes/../notes/today.md");
    assert_eq!((file.content.as_str(), file.size), ("héllo", 6));
    workspace.write("b.txt", "").unwrap();
    let listing = workspace.list(".", &Page::default()).unwrap();
    assert_eq!(listing.path, ".");
    assert_eq!(listing.entries, ["b.txt", "notes/"]);
    assert_eq!(listing.next_cursor, None);
    assert_eq!(names(&workspace, "notes"), ["today.md"]);
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
        let listed = workspace.list(path, &Page::default());
        assert_eq!(listed.unwrap_err().to_string(), escapes(path));
    }
}

#[test]
fn writing_over_a_link_writes_its_target() {
    let (directory, workspace) = workspace();
    let root = directory.path().join("root");
    fs::create_dir(root.join("notes")).unwrap();
    fs::write(root.join("notes/target"), "old").unwrap();
    symlink("notes/target", root.join("link")).unwrap();
    symlink("../link", root.join("notes/chain")).unwrap();
    for (path, content) in [("link", "first"), ("notes/chain", "second")] {
        workspace.write(path, content).unwrap();
        let target = fs::read_to_string(root.join("notes/target")).unwrap();
        assert_eq!(target, content, "{path}");
        assert!(root.join(path).is_symlink(), "{path}");
    }
}

#[test]
fn a_link_that_leads_out_or_nowhere_is_not_replaced() {
    let (directory, workspace) = workspace();
    let root = directory.path().join("root");
    for (path, target, expect) in [
        ("out", "../secret", "path escapes workspace: out"),
        (
            "nowhere",
            "missing",
            "the target of the link nowhere does not exist; write it by its own path",
        ),
        ("folder", ".", "not a file: folder is a directory"),
    ] {
        symlink(target, root.join(path)).unwrap();
        assert_eq!(
            workspace.write(path, "inside").unwrap_err().to_string(),
            expect
        );
        assert_eq!(fs::read_link(root.join(path)).unwrap(), Path::new(target));
    }
    assert_eq!(
        fs::read_to_string(directory.path().join("secret")).unwrap(),
        "outside"
    );
}

#[test]
fn named_pipes_and_sockets_are_not_replaced() {
    let (directory, workspace) = workspace();
    let root = directory.path().join("root");
    mkfifoat(CWD, root.join("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
    let _socket = UnixListener::bind(root.join("socket")).unwrap();
    for (path, expect) in [
        ("pipe", "not a file: pipe is a named pipe"),
        ("socket", "not a file: socket is a socket"),
    ] {
        for outcome in [
            workspace.write(path, "x").map(drop),
            workspace.read(path).map(drop),
        ] {
            assert_eq!(outcome.unwrap_err().to_string(), expect);
        }
    }
    assert!(
        fs::metadata(root.join("pipe"))
            .unwrap()
            .file_type()
            .is_fifo()
    );
}

#[test]
fn the_temporary_file_of_a_killed_write_is_hidden_and_swept() {
    let (directory, workspace) = workspace();
    let root = directory.path().join("root");
    let name = ".callgate-write-0123456789abcdef.tmp";
    let similar = ".callgate-write-mine.tmp";
    fs::create_dir_all(root.join("a/b")).unwrap();
    let left = ["", "a", "a/b"].map(|folder| root.join(folder).join(name));
    for file in &left {
        fs::write(file, "half").unwrap();
    }
    fs::write(root.join("a/b").join(similar), "whole").unwrap();
    assert_eq!(names(&workspace, "."), ["a/"]);
    assert_eq!(names(&workspace, "a/b"), [similar]);
    let reserved = format!("name is reserved for files that are being written: a/{name}");
    for outcome in [
        workspace.read(&format!("a/{name}")).map(drop),
        workspace.write(&format!("a/{name}"), "x").map(drop),
    ] {
        assert_eq!(outcome.unwrap_err().to_string(), reserved);
    }

    // A file that is locked is being written, by this process or another.
    let busy = fs::File::open(&left[1]).unwrap();
    busy.lock().unwrap();
    assert_eq!(workspace.remove_temporary_files().unwrap(), 2);
    assert_eq!(left.clone().map(|file| file.exists()), [false, true, false]);
    drop(busy);
    assert_eq!(workspace.remove_temporary_files().unwrap(), 1);
    assert!(!left[1].exists());
    assert!(root.join("a/b").join(similar).exists());
}

#[test]
fn a_workspace_that_was_replaced_is_refused() {
    let (directory, workspace) = workspace();
    let root = directory.path().join("root");
    workspace.write("file", "old").unwrap();
    fs::rename(&root, directory.path().join("elsewhere")).unwrap();
    let expect = "the workspace directory was removed, renamed or replaced; \
                  restart the server to use the one that is there now";
    let refused = || {
        for outcome in [
            workspace.list(".", &Page::default()).map(drop),
            workspace.read("file").map(drop),
            workspace.write("file", "new").map(drop),
        ] {
            assert_eq!(outcome.unwrap_err().to_string(), expect);
        }
    };
    refused();
    fs::create_dir(&root).unwrap();
    refused();
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
    fs::remove_dir(&root).unwrap();
    fs::rename(directory.path().join("elsewhere"), &root).unwrap();
    assert_eq!(workspace.read("file").unwrap().content, "old");
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
        ("folder", "not a file: folder is a directory"),
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
        "not a file: folder is a directory"
    );
    assert_eq!(
        workspace
            .list("none", &Page::default())
            .unwrap_err()
            .to_string(),
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
    assert_eq!(
        says.recv_timeout(limit),
        Ok("not a file: pipe is a named pipe".to_owned())
    );
}

#[test]
fn a_long_listing_comes_in_pages() {
    let (directory, workspace) = workspace();
    let mut expect: Vec<String> = (0..=10_000).map(|number| number.to_string()).collect();
    for name in &expect {
        fs::write(directory.path().join("root").join(name), "").unwrap();
    }
    expect.sort_unstable();
    for (limit, size) in [(None, 1_000), (Some(4_000), 4_000), (Some(99_999), 10_000)] {
        let mut page = Page::default();
        page.limit = limit;
        let mut listed = Vec::new();
        loop {
            let listing = workspace.list(".", &page).unwrap();
            listed.push(listing.entries);
            if listing.next_cursor.is_none() {
                break;
            }
            page.cursor = listing.next_cursor;
        }
        let pages: Vec<&[String]> = expect.chunks(size).collect();
        assert_eq!(listed, pages);
    }
}

#[test]
fn entries_that_come_and_go_between_pages_move_no_others() {
    let (directory, workspace) = workspace();
    let root = directory.path().join("root");
    for name in ["b", "d", "f"] {
        fs::write(root.join(name), "").unwrap();
    }
    let mut page = Page::default();
    page.limit = Some(2);
    let first = workspace.list(".", &page).unwrap();
    assert_eq!(first.entries, ["b", "d"]);
    fs::write(root.join("a"), "").unwrap();
    fs::remove_file(root.join("d")).unwrap();
    page.cursor = first.next_cursor;
    let last = workspace.list(".", &page).unwrap();
    assert_eq!(
        (last.entries, last.next_cursor),
        (vec!["f".to_owned()], None)
    );
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
