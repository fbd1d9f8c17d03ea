use super::source::numbered;
use super::tree::{File, Finding, Tree};

/// Relative links in Markdown lead to a file of the repository and, if they name one, to a heading in it.
pub(crate) fn links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| file.path.ends_with(".md")) {
        for (line, text) in prose(&file.text) {
            for target in targets(text) {
                if let Some(problem) = problem(tree, file, target) {
                    findings.push(file.finding(line, format!("`{target}`: {problem}")));
                }
            }
        }
    }
    findings
}

/// The numbered lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    numbered(text).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// The relative targets of the inline links in a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let targets = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next());
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
}

/// Why a link does not resolve.
fn problem(tree: &Tree, from: &File, target: &str) -> Option<&'static str> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() {
        from.path.clone()
    } else {
        resolve(&from.path, path)?
    };
    let Some(file) = tree.file(&path) else {
        let folder = format!("{}/", path.trim_end_matches('/'));
        let exists = tree.files().any(|file| file.path.starts_with(&folder));
        return (!exists).then_some("no such file");
    };
    let found = anchor.is_empty()
        || !path.ends_with(".md")
        || headings(&file.text).any(|heading| heading == anchor);
    (!found).then_some("no such heading")
}

/// The path of `link` as seen from the file `from`; a link out of the repository stays as it is.
fn resolve(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." => {}
            ".." if parts.pop().is_none() => return Some(link.to_owned()),
            ".." => {}
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The anchors that a forge makes of the headings.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let headings = prose(text).filter(|(_, line)| line.starts_with('#'));
    headings.map(|(_, line)| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::links;
    use crate::tidy::tree::check;

    #[test]
    fn links_resolve_to_files_folders_and_headings() {
        let docs = "# The `wire` crate, 2\n[up](../README.md) [web](https://x.y) [here](#the-wire-crate-2)\n\
                    ```text\n[code](nowhere)\n```\n";
        let readme =
            "[a](docs/a.md#the-wire-crate-2 \"title\") [folder](docs) [mail](mailto:a@b)\n";
        check(links, &[("README.md", readme), ("docs/a.md", docs)], &[]);
    }

    #[test]
    fn dead_links_are_found() {
        let docs = "# A\n[a](b.md) [b](../../c) [c](#b)\n";
        let expected = [
            "docs/a.md:2: `b.md`: no such file",
            "docs/a.md:2: `../../c`: no such file",
            "docs/a.md:2: `#b`: no such heading",
        ];
        check(links, &[("docs/a.md", docs)], &expected);
    }
}
