use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::peek;
use crate::raw::{Kind, RawJson};
use crate::skill::Digest;

/// Entry of a skill: its metadata, and the digest and size of each of its files.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Skill {
    /// The URI of its `SKILL.md`, which identifies the skill within its server.
    pub uri: String,
    /// The frontmatter of its `SKILL.md`.
    pub frontmatter: Frontmatter,
    /// Its files.
    pub resources: SkillResources,
}

/// Frontmatter of a `SKILL.md` as a JSON object, with every field that the author wrote.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Frontmatter {
    json: RawJson,
    name: String,
    description: String,
}

/// Files of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkillResources {
    /// All files, `SKILL.md` included.
    Files(Vec<SkillResource>),
    /// The files are generated, so they have no digests and cannot be verified.
    Dynamic,
}

/// File of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SkillResource {
    /// The URI to read it by.
    pub uri: String,
    /// Digest of its bytes.
    pub digest: Digest,
    /// Number of its bytes.
    pub size: u64,
}

/// The value of `resources` if the files are generated.
const DYNAMIC: &str = "dynamic";

impl Skill {
    /// Maximum number of files that every client supports, `SKILL.md` included.
    pub const MAX_FILES: usize = 512;
    /// Maximum sum of the sizes of all files that every client supports.
    pub const MAX_BYTES: u64 = 16 * 1024 * 1024;

    /// The skill with this `SKILL.md` and these files.
    #[must_use]
    pub fn new(
        uri: impl Into<String>,
        frontmatter: Frontmatter,
        resources: SkillResources,
    ) -> Self {
        Self {
            uri: uri.into(),
            frontmatter,
            resources,
        }
    }

    /// The URI of the folder of the skill, without a slash at its end; `None` if the URI of the
    /// skill does not end in `/SKILL.md`.
    #[must_use]
    pub fn folder(&self) -> Option<&str> {
        self.uri.strip_suffix("/SKILL.md")
    }

    /// The file with this URI, if the entry has it.
    #[must_use]
    pub fn file(&self, uri: &str) -> Option<&SkillResource> {
        match &self.resources {
            SkillResources::Files(files) => files.iter().find(|file| file.uri == uri),
            SkillResources::Dynamic => None,
        }
    }
}

impl SkillResource {
    /// The file with this URI, digest and size.
    #[must_use]
    pub fn new(uri: impl Into<String>, digest: Digest, size: u64) -> Self {
        Self {
            uri: uri.into(),
            digest,
            size,
        }
    }
}

impl Frontmatter {
    /// The frontmatter with these fields; `None` if they are not an object with a `name` and a
    /// `description` that are texts and not empty.
    #[must_use]
    pub fn new(json: RawJson) -> Option<Self> {
        let [name, description] = json.pick(["name", "description"]).map(|field| {
            let text = field?.text()?.into_owned();
            (!text.is_empty()).then_some(text)
        });
        Some(Self {
            name: name?,
            description: description?,
            json,
        })
    }

    /// All fields, as they came.
    #[must_use]
    pub fn as_json(&self) -> &RawJson {
        &self.json
    }

    /// The name, a label that several skills may share.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Purpose of the skill and the situations to use it in.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }
}

impl Serialize for Frontmatter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Frontmatter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(RawJson::deserialize(deserializer)?).ok_or_else(|| {
            D::Error::custom("`frontmatter` must be an object with `name` and `description`")
        })
    }
}

impl Serialize for SkillResources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Files(files) => files.serialize(serializer),
            Self::Dynamic => serializer.serialize_str(DYNAMIC),
        }
    }
}

impl<'de> Deserialize<'de> for SkillResources {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = RawJson::deserialize(deserializer)?;
        match raw.kind() {
            Kind::Array => peek::decode(&raw).map(Self::Files),
            _ if raw.is(DYNAMIC) => Ok(Self::Dynamic),
            _ => Err(D::Error::custom(
                "`resources` must be an array or \"dynamic\"",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(frontmatter: &str, resources: &str) -> Result<Skill, serde_json::Error> {
        serde_json::from_str(&format!(
            r#"{{"uri":"skill://a/b/SKILL.md","frontmatter":{frontmatter},"resources":{resources}}}"#
        ))
    }

    const FRONTMATTER: &str = r#"{"description":"d","x":1.50,"name":"b"}"#;

    #[test]
    fn an_entry_keeps_every_field_of_the_frontmatter() {
        let skill = read(FRONTMATTER, r#""dynamic""#).unwrap();
        assert_eq!(skill.frontmatter.name(), "b");
        assert_eq!(skill.frontmatter.description(), "d");
        assert_eq!(skill.folder(), Some("skill://a/b"));
        assert_eq!(skill.resources, SkillResources::Dynamic);
        assert_eq!(
            serde_json::to_string(&skill).unwrap(),
            format!(
                r#"{{"uri":"skill://a/b/SKILL.md","frontmatter":{FRONTMATTER},"resources":"dynamic"}}"#
            )
        );
    }

    #[test]
    fn an_entry_lists_its_files() {
        let digest = Digest::new([7; 32]);
        let files = format!(r#"[{{"uri":"skill://a/b/SKILL.md","digest":"{digest}","size":5}}]"#);
        let skill = read(FRONTMATTER, &files).unwrap();
        let file = SkillResource::new("skill://a/b/SKILL.md", digest, 5);
        assert_eq!(skill.file("skill://a/b/SKILL.md"), Some(&file));
        assert_eq!(skill.file("skill://a/b/other"), None);
        assert_eq!(serde_json::to_string(&skill.resources).unwrap(), files);
    }

    #[test]
    fn an_entry_without_its_required_members_is_refused() {
        for (frontmatter, resources) in [
            (FRONTMATTER, "null"),
            (FRONTMATTER, r#""static""#),
            (
                FRONTMATTER,
                r#"[{"uri":"u","digest":"sha256:00","size":1}]"#,
            ),
            (r#"{"name":"b"}"#, "[]"),
            (r#"{"name":"","description":"d"}"#, "[]"),
            (r#"{"name":"b","description":7}"#, "[]"),
            (r#"["name"]"#, "[]"),
        ] {
            assert!(
                read(frontmatter, resources).is_err(),
                "{frontmatter} {resources}"
            );
        }
    }
}
