use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use callgate_wire::resource::{Resource, ResourceContents};
use callgate_wire::skill::{Digest, Skill, SkillResource, SkillResources};
use sha2::{Digest as _, Sha256};

use super::frontmatter::{self, FrontmatterError};
use crate::percent;

/// The file that every skill has.
const SKILL_MD: &str = "SKILL.md";

/// Files of a skill for a server to offer, with their entry.
///
/// The files are kept in memory, so that the digests of the entry are always those of the files.
///
/// ```
/// # use callgate_mcp::skill::{SkillError, SkillFiles};
/// let skill_md = "---\nname: refunds\ndescription: Process refunds\n---\nAsk for the receipt.";
/// let files = [("SKILL.md", skill_md.as_bytes()), ("examples/email.md", b"Dear customer")];
/// let skill = SkillFiles::new("acme/billing/refunds", files)?;
/// assert_eq!(skill.entry().uri, "skill://acme/billing/refunds/SKILL.md");
/// # Ok::<(), SkillError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SkillFiles {
    entry: Skill,
    /// Each file as the list of resources has it, and its contents.
    pub(crate) files: Vec<(Resource, ResourceContents)>,
}

/// Refusal of a skill that a server wants to offer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SkillError {
    /// The path of the skill or of a file is not one that a URI can have.
    #[error("`{0}` must be a path of names between `/`, without `.` and `..`")]
    Path(String),
    /// There is no `SKILL.md`.
    #[error("skill `{0}` has no file SKILL.md")]
    NoSkillMd(String),
    /// The `SKILL.md` does not begin with valid frontmatter.
    #[error("SKILL.md of skill `{skill}` was refused")]
    Frontmatter {
        /// Path of the skill.
        skill: String,
        /// Reason of the refusal.
        #[source]
        source: FrontmatterError,
    },
    /// The name is not one that a skill may have, or not the last segment of its path.
    #[error(
        "the name `{name}` of skill `{skill}` must be 1 to 64 lowercase letters, digits and single hyphens, and the last segment of its path"
    )]
    Name {
        /// Path of the skill.
        skill: String,
        /// Name in the frontmatter.
        name: String,
    },
    /// The skill is larger than clients have to support.
    #[error(
        "skill `{0}` has more than {files} files or {bytes} bytes, which clients may refuse",
        files = Skill::MAX_FILES,
        bytes = Skill::MAX_BYTES
    )]
    TooLarge(String),
    /// A file of the folder cannot be read.
    #[error("cannot read {path}", path = .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Reason.
        #[source]
        source: io::Error,
    },
    /// The folder has something that is neither a file nor a folder, such as a symbolic link.
    #[error("{path} is neither a file nor a folder; replace a link with the file it leads to", path = .0.display())]
    NotAFile(PathBuf),
}

impl SkillFiles {
    /// The skill with the URI `skill://PATH/SKILL.md` and these files, each with its path in the
    /// folder of the skill.
    ///
    /// # Errors
    /// There is no `SKILL.md` with valid frontmatter, its `name` is not the last segment of `path`,
    /// or the files exceed the limits of the extension ([`Skill::MAX_FILES`], [`Skill::MAX_BYTES`]).
    pub fn new<P: Into<String>, B: Into<Vec<u8>>>(
        path: &str,
        files: impl IntoIterator<Item = (P, B)>,
    ) -> Result<Self, SkillError> {
        let mut budget = Budget::new(path);
        let mut sorted = BTreeMap::new();
        for (name, bytes) in files {
            let bytes = bytes.into();
            budget.take(bytes.len())?;
            sorted.insert(name.into(), bytes);
        }
        Self::of_sorted(path, sorted)
    }

    /// The skill in a folder of the file system, as it is now; blocks while it reads. Later changes
    /// have no effect until the skill is read and added again.
    ///
    /// # Errors
    /// See [`SkillFiles::new`]. A symbolic link is refused too, since it could lead out of the
    /// folder.
    pub fn from_folder(path: &str, folder: &Path) -> Result<Self, SkillError> {
        let mut files = BTreeMap::new();
        let mut budget = Budget::new(path);
        let mut folders = vec![(folder.to_owned(), String::new())];
        while let Some((folder, prefix)) = folders.pop() {
            let failed = |path: &Path| {
                let path = path.to_owned();
                |source| SkillError::Io { path, source }
            };
            for item in fs::read_dir(&folder).map_err(failed(&folder))? {
                let item = item.map_err(failed(&folder))?;
                let place = item.path();
                // This does not follow links, which could lead out of the folder.
                let kind = item.file_type().map_err(failed(&place))?;
                let name = item.file_name().into_string();
                let name = name.map_err(|name| SkillError::Path(name.display().to_string()))?;
                let name = format!("{prefix}{name}");
                if kind.is_dir() {
                    folders.push((place, name + "/"));
                } else if kind.is_file() {
                    let bytes = read_within(&place).map_err(failed(&place))?;
                    budget.take(bytes.len())?;
                    files.insert(name, bytes);
                } else {
                    return Err(SkillError::NotAFile(place));
                }
            }
        }
        Self::of_sorted(path, files)
    }

    /// The entry of the skill, as clients get it.
    #[must_use]
    pub fn entry(&self) -> &Skill {
        &self.entry
    }

    fn of_sorted(path: &str, mut files: BTreeMap<String, Vec<u8>>) -> Result<Self, SkillError> {
        let skill_md = files
            .remove(SKILL_MD)
            .ok_or_else(|| SkillError::NoSkillMd(path.to_owned()))?;
        let frontmatter =
            frontmatter::read(&skill_md).map_err(|source| SkillError::Frontmatter {
                skill: path.to_owned(),
                source,
            })?;
        let name = frontmatter.name();
        if !is_skill_name(name) || path.rsplit('/').next() != Some(name) {
            return Err(SkillError::Name {
                skill: path.to_owned(),
                name: name.to_owned(),
            });
        }
        let folder = format!("skill://{}", encoded_path(path)?);
        let mut entries = Vec::with_capacity(files.len() + 1);
        let mut served = Vec::with_capacity(files.len() + 1);
        let first = std::iter::once((SKILL_MD.to_owned(), skill_md));
        for (file, bytes) in first.chain(files) {
            let uri = format!("{folder}/{}", encoded_path(&file)?);
            let size = bytes.len() as u64;
            entries.push(SkillResource::new(&uri, digest(&bytes), size));
            let (name, contents, mime_type) = match file == SKILL_MD {
                true => (name, as_contents(&uri, bytes), "text/markdown"),
                false => {
                    let contents = as_contents(&uri, bytes);
                    let mime_type = mime_type(&file, &contents);
                    (
                        file.rsplit('/').next().unwrap_or(&file),
                        contents,
                        mime_type,
                    )
                }
            };
            let mut resource = Resource::new(&uri, name).with_mime_type(mime_type);
            resource.size = Some(size);
            resource.description = (file == SKILL_MD).then(|| frontmatter.description().to_owned());
            served.push((resource, contents.with_mime_type(mime_type)));
        }
        let uri = format!("{folder}/{SKILL_MD}");
        Ok(Self {
            entry: Skill::new(uri, frontmatter, SkillResources::Files(entries)),
            files: served,
        })
    }
}

/// Files and bytes that a skill may still have.
struct Budget<'a> {
    skill: &'a str,
    files: usize,
    bytes: u64,
}

impl<'a> Budget<'a> {
    fn new(skill: &'a str) -> Self {
        Self {
            skill,
            files: Skill::MAX_FILES,
            bytes: Skill::MAX_BYTES,
        }
    }

    fn take(&mut self, bytes: usize) -> Result<(), SkillError> {
        let files = self.files.checked_sub(1);
        match files.zip(self.bytes.checked_sub(bytes as u64)) {
            Some((files, bytes)) => (self.files, self.bytes) = (files, bytes),
            None => return Err(SkillError::TooLarge(self.skill.to_owned())),
        }
        Ok(())
    }
}

/// Reads a file, but not much more of it than a skill may have.
fn read_within(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than is allowed, so that the budget notices a file that is too large.
    let mut limited = fs::File::open(path)?.take(Skill::MAX_BYTES + 1);
    limited.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Digest of the bytes of a file.
pub(super) fn digest(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

/// True if the rules of Agent Skills allow the name.
pub(super) fn is_skill_name(name: &str) -> bool {
    let valid = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    (1..=64).contains(&name.len())
        && name.bytes().all(valid)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// True if a path consists of names and so cannot lead out of its folder.
pub(crate) fn is_path(path: &str) -> bool {
    path.split('/').all(|name| !matches!(name, "" | "." | ".."))
}

/// Path as a URI has it.
fn encoded_path(path: &str) -> Result<String, SkillError> {
    match is_path(path) {
        true => Ok(percent::encode_path(path)),
        false => Err(SkillError::Path(path.to_owned())),
    }
}

fn as_contents(uri: &str, bytes: Vec<u8>) -> ResourceContents {
    match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text(uri, text),
        Err(error) => ResourceContents::blob(uri, error.as_bytes()),
    }
}

/// Media type by the extension of the file, for the kinds of files that skills usually have.
fn mime_type(file: &str, contents: &ResourceContents) -> &'static str {
    match (file.rsplit_once('.').map(|(_, end)| end), contents) {
        (Some("md"), _) => "text/markdown",
        (Some("json"), _) => "application/json",
        (Some("html"), _) => "text/html",
        (Some("css"), _) => "text/css",
        (Some("csv"), _) => "text/csv",
        (Some("svg"), _) => "image/svg+xml",
        (Some("png"), _) => "image/png",
        (Some("jpg" | "jpeg"), _) => "image/jpeg",
        (Some("pdf"), _) => "application/pdf",
        (_, ResourceContents::Text(_)) => "text/plain",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SKILL: &str = "---\nname: pdf\ndescription: Reads PDFs\n---\nbody";

    fn made(path: &str, files: &[(&str, &[u8])]) -> Result<SkillFiles, SkillError> {
        SkillFiles::new(path, files.iter().copied())
    }

    #[test]
    fn an_entry_has_every_file_with_digest_and_size() {
        let files: &[(&str, &[u8])] = &[
            ("a b/\u{e9}.py", b"print()"),
            ("SKILL.md", SKILL.as_bytes()),
            ("data.bin", b"\xff"),
        ];
        let skill = made("acme/pdf", files).unwrap();
        let file = |path: &str, bytes: &[u8]| {
            let uri = format!("skill://acme/pdf/{path}");
            SkillResource::new(uri, digest(bytes), bytes.len() as u64)
        };
        assert_eq!(
            skill.entry().resources,
            SkillResources::Files(vec![
                file("SKILL.md", SKILL.as_bytes()),
                file("a%20b/%C3%A9.py", b"print()"),
                file("data.bin", b"\xff"),
            ])
        );
        let served: Vec<_> = skill
            .files
            .iter()
            .map(|(resource, _)| (&*resource.name, resource.mime_type.as_deref()))
            .collect();
        assert_eq!(
            served,
            [
                ("pdf", Some("text/markdown")),
                ("\u{e9}.py", Some("text/plain")),
                ("data.bin", Some("application/octet-stream")),
            ]
        );
        assert_eq!(
            digest(b"").to_string(),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    #[test]
    fn a_skill_that_breaks_the_rules_is_refused() {
        let skill_md: (&str, &[u8]) = ("SKILL.md", SKILL.as_bytes());
        for (path, files, expect) in [
            ("pdf", vec![], "skill `pdf` has no file SKILL.md"),
            (
                "pdf",
                vec![("SKILL.md", &b"body"[..])],
                "SKILL.md of skill `pdf` was refused",
            ),
            (
                "acme/docs",
                vec![skill_md],
                "the name `pdf` of skill `acme/docs` must be 1 to 64 lowercase letters, digits and single hyphens, and the last segment of its path",
            ),
            (
                "../pdf",
                vec![skill_md],
                "`../pdf` must be a path of names between `/`, without `.` and `..`",
            ),
            (
                "pdf",
                vec![skill_md, ("a//b", b"")],
                "`a//b` must be a path of names between `/`, without `.` and `..`",
            ),
        ] {
            let error = made(path, &files).unwrap_err();
            assert_eq!(error.to_string(), expect);
        }
        for name in ["", "-a", "a-", "a--b", "A", "a_b", &"a".repeat(65)] {
            assert!(!is_skill_name(name), "{name}");
        }
        assert!(is_skill_name(&"a-1".repeat(21)));
    }

    #[test]
    fn a_skill_has_at_most_512_files_and_16_mebibytes() {
        let files = |count: usize, bytes: usize| {
            let others = (1..count).map(|number| (number.to_string(), Vec::new()));
            let first = ("SKILL.md".to_owned(), SKILL.as_bytes().to_vec());
            let second = ("big".to_owned(), vec![b'x'; bytes]);
            SkillFiles::new("pdf", [first, second].into_iter().chain(others.skip(1)))
        };
        let rest = usize::try_from(Skill::MAX_BYTES).unwrap() - SKILL.len();
        assert!(files(512, rest).is_ok());
        assert!(matches!(files(513, 0), Err(SkillError::TooLarge(_))));
        assert!(matches!(files(2, rest + 1), Err(SkillError::TooLarge(_))));
    }

    #[test]
    fn a_folder_is_read_with_its_subfolders() {
        let folder = tempfile::tempdir().unwrap();
        let place = |path: &str| folder.path().join(path);
        fs::create_dir_all(place("scripts/deep")).unwrap();
        fs::write(place("SKILL.md"), SKILL).unwrap();
        fs::write(place("scripts/deep/run.sh"), "true").unwrap();
        let read = SkillFiles::from_folder("pdf", folder.path()).unwrap();
        let files: &[(&str, &[u8])] = &[
            ("SKILL.md", SKILL.as_bytes()),
            ("scripts/deep/run.sh", b"true"),
        ];
        assert_eq!(read.entry(), made("pdf", files).unwrap().entry());

        let missing = SkillFiles::from_folder("pdf", &place("none")).unwrap_err();
        assert!(matches!(missing, SkillError::Io { path, .. } if path == place("none")));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/etc/passwd", place("scripts/link")).unwrap();
            let error = SkillFiles::from_folder("pdf", folder.path()).unwrap_err();
            assert!(matches!(error, SkillError::NotAFile(path) if path == place("scripts/link")));
        }
    }
}
