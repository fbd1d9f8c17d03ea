use std::fs;
use std::path::Path;

use super::data::{BY_HAND, Profile, all};

/// Fewest providers that the page promises.
const AT_LEAST: usize = 25;

#[test]
fn the_page_has_a_row_for_every_provider() {
    let profiles = all();
    assert!(profiles.len() >= AT_LEAST, "{}", profiles.len());
    let rows: String = profiles.iter().map(row).collect();
    let table =
        format!("| provider | options of `callgate auth URL` | remarks |\n|---|---|---|\n{rows}");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/login.md");
    let page = fs::read_to_string(page).unwrap();
    let section = page.split("\n## ").find(|it| it.starts_with("Providers\n"));
    let found = section.and_then(|it| it.find("| provider |").map(|at| &it[at..]));
    assert_eq!(found.map(str::trim_end), Some(table.trim_end()));
}

fn row(profile: &Profile) -> String {
    let Profile { name, note, .. } = profile;
    let options: Vec<_> = profile.options.iter().map(|it| shown(it)).collect();
    let mut options = match options.is_empty() {
        true => "none".to_owned(),
        false => format!("`{}`", options.join(" ")),
    };
    if profile.secret.is_some() {
        options += ", and the client secret";
    }
    format!("| {name} | {options} | {note} |\n")
}

/// Values that are the user's own.
fn shown(option: &str) -> &str {
    match option {
        BY_HAND => "ID",
        "Approved Client" => "NAME",
        _ => option,
    }
}
