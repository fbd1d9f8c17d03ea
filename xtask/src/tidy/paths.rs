use super::source::numbered;
use super::tree::{Finding, Tree};

/// The users that examples may name.
const EXAMPLE_USERS: &[&str] = &["alice", "bob", "u", "user", "you"];

/// No file names a path that exists on the machine of its author only; this file has to.
pub(crate) fn machine_paths(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree
        .files()
        .filter(|file| !file.path.ends_with("tidy/paths.rs"))
    {
        for (number, line) in numbered(&file.text) {
            if let Some(path) = machine_path(line) {
                findings.push(file.finding(number, format!("`{path}` exists on one machine only")));
            }
        }
    }
    findings
}

fn machine_path(line: &str) -> Option<&str> {
    ["/work/", "/root/", "/home/"].into_iter().find_map(|root| {
        line.match_indices(root).find_map(|(at, _)| {
            let (before, found) = line.split_at(at);
            let relative = before.ends_with(|c: char| c.is_alphanumeric() || "._-$}".contains(c));
            let rest = found.strip_prefix(root)?;
            let name = rest.split(|c: char| !c.is_alphanumeric()).next()?;
            let example = root == "/home/" && (name.is_empty() || EXAMPLE_USERS.contains(&name));
            (!relative && !example).then(|| found.get(..root.len() + name.len()))?
        })
    })
}

#[cfg(test)]
mod tests {
    use super::machine_paths;
    use crate::tidy::tree::check;

    #[test]
    fn absolute_paths_of_one_machine_are_found() {
        let text = "cd /work/main\nHOME=/root/\n`/home/carol/x`\nfile:///work/x\n";
        let expected = [
            "README.md:1: `/work/main` exists on one machine only",
            "README.md:2: `/root/` exists on one machine only",
            "README.md:3: `/home/carol` exists on one machine only",
            "README.md:4: `/work/x` exists on one machine only",
        ];
        check(machine_paths, &[("README.md", text)], &expected);
    }

    #[test]
    fn examples_and_relative_paths_pass() {
        let text = "/home/user/project\nsrc/work/a\n$HOME/work/a\n../root/b\n/workspace/c\n";
        check(machine_paths, &[("README.md", text)], &[]);
    }
}
