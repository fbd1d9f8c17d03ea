use std::env;
use std::path::Path;

use super::definition::{Connection, ServerDefinition};
use super::digest::{ContentHash, sha256};
use super::load::ConfiguredServer;
use super::template::Template;

impl ConfiguredServer {
    /// Hash of what two processes of a server have in common if one can stand for the other: the definition, and the
    /// current directory if a relative path of the definition starts there.
    ///
    /// Best-effort: a program that looks at its directory by itself does not say so. It needs a `cwd`.
    pub(crate) fn process_hash(&self) -> ContentHash {
        self.hash_in(&env::current_dir().unwrap_or_default())
    }

    fn hash_in(&self, directory: &Path) -> ContentHash {
        let definition = self.definition_hash();
        match has_relative_path(&self.definition) {
            true => {
                let text = format!("{}\0{}", definition.as_str(), directory.display());
                sha256(text.as_bytes())
            }
            false => definition,
        }
    }
}

/// True if a program would find other files in another directory: `.`, or a path that begins with `./` or `../`, also
/// behind the `=` of an option.
fn has_relative_path(definition: &ServerDefinition) -> bool {
    let Connection::Command(command) = &definition.connection else {
        return false;
    };
    let mut words = command
        .args
        .iter()
        .chain(command.env.iter().map(|(_, value)| value));
    let is_relative = |word: &Template| {
        let word = word.as_str();
        let value = word.split_once('=').map_or(word, |(_, value)| value);
        [word, value]
            .iter()
            .any(|path| matches!(path.split('/').next(), Some("." | "..")))
    };
    command.cwd.is_none() && words.any(is_relative)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depends_on_directory(definition: &str) -> bool {
        let (definition, _) = ServerDefinition::from_text(definition).unwrap();
        let server = ConfiguredServer {
            definition,
            ..ConfiguredServer::example("s")
        };
        server.hash_in(Path::new("/a")) != server.hash_in(Path::new("/b"))
    }

    #[test]
    fn a_relative_path_means_something_else_in_another_directory() {
        for definition in [
            r#"{"command":"x","args":["."]}"#,
            r#"{"command":"x","args":["-y","../y"]}"#,
            r#"{"command":"x","args":["--root=./y"]}"#,
            r#"{"command":"x","env":{"ROOT":".."}}"#,
        ] {
            assert!(depends_on_directory(definition), "{definition}");
        }
        for definition in [
            r#"{"command":"x","args":["y",".hidden","...","a=b"]}"#,
            r#"{"command":"x","args":["."],"cwd":"/srv"}"#,
            r#"{"type":"http","url":"https://x.example/./mcp"}"#,
        ] {
            assert!(!depends_on_directory(definition), "{definition}");
        }
    }
}
