//! A directory that no tool may use, inside the workspace.

use std::fs;
use std::os::unix::fs::symlink;

use callgate_tools::workspace::{Page, Workspace};
use tempfile::TempDir;

/// A workspace with a secret in an excluded directory.
fn workspace() -> (TempDir, Workspace) {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("state/data");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("token"), "secret").unwrap();
    // Named by way of a link: its identity counts.
    symlink("state", directory.path().join("alias")).unwrap();
    let workspace = Workspace::open(directory.path()).unwrap();
    let excluded = directory.path().join("alias/data");
    (directory, workspace.excluding(&excluded))
}

#[test]
fn no_path_leads_into_an_excluded_directory() {
    let (directory, workspace) = workspace();
    let root = directory.path();
    symlink("state/data", root.join("link")).unwrap();
    symlink("state/data/token", root.join("file")).unwrap();
    symlink("link", root.join("second")).unwrap();
    fs::hard_link(root.join("state/data/token"), root.join("copy")).unwrap();
    let refused = |path: &str| format!("tools cannot use the data directory of Callgate: {path}");
    for path in [
        "state/data/token",
        "./state//data/../data/token",
        "alias/data/token",
        "link/token",
        "second/token",
        "file",
        "copy",
    ] {
        assert_eq!(workspace.read(path).unwrap_err().to_string(), refused(path));
    }
    for path in ["state/data", "alias/data/.", "link", "second"] {
        assert_eq!(
            workspace
                .list(path, &Page::default())
                .unwrap_err()
                .to_string(),
            refused(path)
        );
    }
    for path in [
        "state/data/token",
        "state/data/new",
        "link/deep/new",
        "alias/data/deep/er/new",
        "file",
    ] {
        let written = workspace.write(path, "mine");
        assert_eq!(written.unwrap_err().to_string(), refused(path));
    }
    let token = fs::read_to_string(root.join("state/data/token")).unwrap();
    assert_eq!(token, "secret");
    assert_eq!(fs::read_dir(root.join("state/data")).unwrap().count(), 1);

    workspace.write("state/other/new", "mine").unwrap();
    assert_eq!(workspace.read("state/other/new").unwrap().content, "mine");
    // A file of two names that has nothing to do with it.
    fs::hard_link(root.join("state/other/new"), root.join("twin")).unwrap();
    assert_eq!(workspace.read("twin").unwrap().content, "mine");
}

#[test]
fn an_excluded_directory_may_be_made_later_and_may_be_the_workspace() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let workspace = Workspace::open(directory.path()).unwrap();
    let workspace = workspace.excluding(&data);
    workspace.write("file", "mine").unwrap();
    fs::create_dir(&data).unwrap();
    fs::write(data.join("token"), "secret").unwrap();
    let error = workspace.read("data/token").unwrap_err();
    assert_eq!(
        error.to_string(),
        "tools cannot use the data directory of Callgate: data/token"
    );

    let inside = Workspace::open(&data).unwrap().excluding(&data);
    let error = inside.read("token").unwrap_err();
    assert_eq!(
        error.to_string(),
        "tools cannot use the data directory of Callgate: token"
    );
    let error = inside.list(".", &Page::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "tools cannot use the data directory of Callgate: ."
    );
}

#[test]
fn an_excluded_directory_that_is_renamed_stays_excluded() {
    let (directory, workspace) = workspace();
    let root = directory.path();
    let refused = |path: &str| format!("tools cannot use the data directory of Callgate: {path}");
    let read = |path: &str| workspace.read(path).unwrap_err().to_string();
    fs::rename(root.join("state/data"), root.join("moved")).unwrap();
    fs::hard_link(root.join("moved/token"), root.join("copy")).unwrap();
    for path in ["moved/token", "copy"] {
        assert_eq!(read(path), refused(path));
    }
    // A directory that takes its place is excluded beside it, under all of its later names.
    fs::create_dir(root.join("state/data")).unwrap();
    fs::write(root.join("state/data/token"), "new secret").unwrap();
    assert_eq!(read("state/data/token"), refused("state/data/token"));
    fs::rename(root.join("state/data"), root.join("second")).unwrap();
    for path in ["moved/token", "second/token", "copy"] {
        assert_eq!(read(path), refused(path));
    }
    let listed = workspace.list("moved", &Page::default()).unwrap_err();
    assert_eq!(listed.to_string(), refused("moved"));
    let written = workspace.write("second/token", "mine").unwrap_err();
    assert_eq!(written.to_string(), refused("second/token"));
}

#[test]
fn only_so_many_renamed_directories_are_remembered_and_the_present_one_is_always_excluded() {
    let (directory, workspace) = workspace();
    let data = directory.path().join("state/data");
    let is_refused = |path: &str| workspace.read(path).is_err();
    for n in 0..20 {
        assert!(is_refused("state/data/token"), "{n}");
        fs::rename(&data, directory.path().join(format!("moved{n}"))).unwrap();
        fs::create_dir(&data).unwrap();
        fs::write(data.join("token"), "secret").unwrap();
    }
    let refused: Vec<bool> = (0..20)
        .map(|n| is_refused(&format!("moved{n}/token")))
        .collect();
    assert_eq!(refused, (0..20).map(|n| n < 16).collect::<Vec<_>>());
    assert!(is_refused("state/data/token"));
}
