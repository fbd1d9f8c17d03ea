use crate::clients::file;
use crate::clients::places::Places;
use crate::clients::table::{Client, ClientFile, Scope};

/// Clients whose files are on this machine, with the file that gets our entry.
///
/// Some clients keep their servers in a file of another one, such as extensions of an editor, and two versions of
/// OpenCode share one. Of those that share a file, the one is found whose members are in it.
pub(crate) fn found(
    clients: &'static [Client],
    places: &Places,
) -> Vec<(&'static Client, ClientFile)> {
    let candidates: Vec<_> = clients
        .iter()
        .filter_map(|client| Some((client, client.main_file(places)?)))
        .filter(|(_, file)| file.path.symlink_metadata().is_ok())
        .collect();
    let is_shared = |client: &Client, file: &ClientFile| {
        let mut others = clients.iter().filter(|other| other.id != client.id);
        others.any(|other| {
            let files = other.files(Scope::User, places);
            files.iter().any(|other| other.path == file.path)
        })
    };
    let depth = |client: &Client, file: &ClientFile| match has_members(client, file) {
        true => file.servers.len(),
        false => 0,
    };
    let is_best = |client: &Client, file: &ClientFile| {
        let own = depth(client, file);
        let rivals = candidates
            .iter()
            .filter(|(_, rival)| rival.path == file.path);
        own > 0 && rivals.map(|(client, file)| depth(client, file)).max() == Some(own)
    };
    let found = candidates
        .iter()
        .filter(|(client, file)| !is_shared(client, file) || is_best(client, file));
    found
        .map(|(client, file)| (*client, file.clone()))
        .collect()
}

/// True if the file has the members that lead to the servers of the client.
fn has_members(client: &Client, file: &ClientFile) -> bool {
    let Ok(Some(bytes)) = file::read(&file.path) else {
        return false;
    };
    let Ok(text) = file::text(&file.path, &bytes) else {
        return false;
    };
    let root = client.format.parse(text);
    root.is_ok_and(|root| root.at(&file.servers).is_some())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::clients::table;

    #[test]
    fn of_clients_that_share_a_file_the_one_with_its_members_is_found() {
        for (text, expect) in [
            (r#"{ "mcp": { "a": {} } }"#, vec!["opencode"]),
            (r#"{ "mcp": { "servers": {} } }"#, vec!["opencode-v2"]),
            ("{}", vec![]),
            ("{ broken", vec![]),
        ] {
            let home = tempfile::tempdir().unwrap();
            let directory = home.path().join(".config/opencode");
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("opencode.json"), text).unwrap();
            let places = Places::below(home.path(), "linux");
            let found = found(table::all(), &places);
            let ids: Vec<_> = found.iter().map(|(client, _)| client.id.as_str()).collect();
            assert_eq!(ids, expect, "{text}");
        }
    }

    #[test]
    fn settings_of_an_editor_do_not_mean_that_its_extensions_are_there() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join(".config/Code/User");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("settings.json"), "{}").unwrap();
        let places = Places::below(home.path(), "linux");
        assert_eq!(found(table::all(), &places).len(), 0);
    }
}
