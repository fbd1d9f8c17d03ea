use std::borrow::Cow;

use callgate_wire::resource::{ReadResourceParams, ReadResourceResult, Resource};
use callgate_wire::skill::{
    self, GetSkillParams, GetSkillResult, ListSkillsResult, Skill, SkillResources, SkillsCapability,
};
use callgate_wire::{RawJson, method};

use super::typed_client::Client;
use crate::error::{Error, Kind};
use crate::percent;
use crate::skill::{SkillMismatch, check_contents, check_entry, check_frontmatter, is_path};

/// Skill whose `SKILL.md` was read and is what its entry says.
///
/// It keeps that entry: every further file is verified against it, however the server changes.
/// Treat what a skill says as untrusted: the digests come from the same server as the files.
#[derive(Debug, Clone)]
pub struct OpenSkill {
    client: Client,
    entry: Skill,
    skill_md: String,
}

/// Skills extension.
///
/// Listing reads no file; [`Client::open_skill`] reads `SKILL.md` and nothing else.
///
/// ```
/// # async fn example(client: callgate_mcp::Client) -> Result<(), callgate_mcp::Error> {
/// for entry in client.list_skills().await? {
///     println!("{}: {}", entry.frontmatter.name(), entry.frontmatter.description());
/// }
/// let entry = client.get_skill("skill://pdf-processing/SKILL.md").await?;
/// let skill = client.open_skill(&entry).await?;
/// println!("{}", skill.skill_md());
/// let form = skill.read("references/FORMS.md").await?;
/// # Ok(())
/// # }
/// ```
impl Client {
    /// Lists the entries of skills, all pages. A server may have more skills than it lists.
    ///
    /// Entries that break the form of the extension are left out, with a warning in the log.
    ///
    /// # Errors
    /// See [`Client::request`]. A server that does not offer skills is an error too.
    pub async fn list_skills(&self) -> Result<Vec<Skill>, Error> {
        self.skills_capability().await?;
        let entries: Vec<RawJson> = self.list(method::SKILLS_LIST).await?;
        let read = |entry: &RawJson| {
            let skill = self.decode(method::SKILLS_LIST, entry);
            skill
                .inspect_err(|error| tracing::warn!("a skill is left out: {error}"))
                .ok()
        };
        Ok(entries.iter().filter_map(read).collect())
    }

    /// Lists one page of skills: the first, or the one of `cursor`.
    ///
    /// # Errors
    /// See [`Client::request`].
    pub async fn list_skills_page(&self, cursor: Option<&str>) -> Result<ListSkillsResult, Error> {
        self.page(method::SKILLS_LIST, cursor).await
    }

    /// Gets the current entry of the skill with this URI of its `SKILL.md`, listed or not.
    ///
    /// # Errors
    /// See [`Client::request`]. A server that does not offer skills is an error too.
    pub async fn get_skill(&self, uri: &str) -> Result<Skill, Error> {
        self.skills_capability().await?;
        let params = GetSkillParams::new(uri);
        let result: GetSkillResult = self.request_typed(method::SKILLS_GET, &params).await?;
        Ok(result.skill)
    }

    /// Reads the `SKILL.md` of a skill and verifies it against `entry`: its size, its digest and
    /// each field of its frontmatter.
    ///
    /// # Errors
    /// See [`Client::request`]. If something differs, the source of the error is a
    /// [`SkillMismatch`]; an entry that is invalid or beyond the limits is refused before anything is
    /// read.
    pub async fn open_skill(&self, entry: &Skill) -> Result<OpenSkill, Error> {
        check_entry(entry).map_err(|mismatch| self.mismatch(mismatch))?;
        let skill_md = self.read_skill_file(entry, &entry.uri).await?;
        check_frontmatter(&skill_md, &entry.frontmatter)
            .map_err(|mismatch| self.mismatch(mismatch))?;
        Ok(OpenSkill {
            client: self.clone(),
            entry: entry.clone(),
            skill_md: String::from_utf8(skill_md).expect("frontmatter was read from it as text"),
        })
    }

    /// Lists the files and folders in a folder of the server, such as `skill://pdf/templates`.
    ///
    /// This is the server's current view. It adds nothing to the entry of a skill that was opened.
    ///
    /// # Errors
    /// See [`Client::request`]. A server that does not list folders is an error too.
    pub async fn read_directory(&self, uri: &str) -> Result<Vec<Resource>, Error> {
        if !self.skills_capability().await?.directory_read {
            return Err(self.not_offered("list folders"));
        }
        self.list_in(method::RESOURCES_DIRECTORY_READ, Some(uri))
            .await
    }

    /// Settings of the extension, or an error if the server does not offer skills.
    async fn skills_capability(&self) -> Result<SkillsCapability, Error> {
        let capabilities = self.discover().await?.capabilities;
        let settings = capabilities.extensions.as_ref();
        let settings = settings.and_then(|extensions| extensions.get(skill::EXTENSION));
        let settings = settings.ok_or_else(|| self.not_offered("offer skills"))?;
        Ok(settings.decode().unwrap_or_default())
    }

    /// Reads a file of a skill and verifies it against the entry.
    async fn read_skill_file(&self, entry: &Skill, uri: &str) -> Result<Vec<u8>, Error> {
        let expected = entry.file(uri);
        if expected.is_none() && entry.resources != SkillResources::Dynamic {
            return Err(self.mismatch(SkillMismatch::Unlisted(uri.to_owned())));
        }
        // Not from the cache, which may have the file as an older entry describes it.
        let params = ReadResourceParams::new(uri);
        let read: ReadResourceResult = self.request_typed(method::RESOURCES_READ, &params).await?;
        check_contents(uri, expected, read.contents).map_err(|mismatch| self.mismatch(mismatch))
    }

    fn mismatch(&self, mismatch: SkillMismatch) -> Error {
        let message = mismatch.to_string();
        self.server_error(Error::new(Kind::Protocol, message).with_source(mismatch))
    }

    fn not_offered(&self, what: &str) -> Error {
        let message = format!("the server does not {what}");
        self.server_error(Error::new(Kind::MethodNotFound, message))
    }
}

impl OpenSkill {
    /// The entry that everything is verified against.
    #[must_use]
    pub fn entry(&self) -> &Skill {
        &self.entry
    }

    /// The text of `SKILL.md`, frontmatter included.
    #[must_use]
    pub fn skill_md(&self) -> &str {
        &self.skill_md
    }

    /// Reads a file by its path in the folder of the skill, such as `references/FORMS.md`, and
    /// verifies it.
    ///
    /// # Errors
    /// See [`Client::open_skill`]. A file that the entry does not list is not asked for.
    pub async fn read(&self, path: &str) -> Result<Vec<u8>, Error> {
        let uri = self.uri(path);
        let uri = uri.ok_or_else(|| {
            let mismatch = SkillMismatch::Unlisted(path.to_owned());
            self.client.mismatch(mismatch)
        })?;
        self.client.read_skill_file(&self.entry, &uri).await
    }

    /// Paths of the files that can be read, as the entry lists them; none if they are generated.
    pub fn paths(&self) -> impl Iterator<Item = String> {
        self.listed().map(|(path, _)| path)
    }

    /// URI of the file with this path, as the entry writes it.
    fn uri(&self, path: &str) -> Option<Cow<'_, str>> {
        if self.entry.resources == SkillResources::Dynamic {
            // Nothing is listed, so the path itself must stay in the folder.
            let folder = self.entry.folder().filter(|_| is_path(path))?;
            return Some(format!("{folder}/{}", percent::encode_path(path)).into());
        }
        let found = self.listed().find(|(listed, _)| listed == path);
        found.map(|(_, uri)| uri.into())
    }

    /// Path and URI of each file that the entry lists.
    fn listed(&self) -> impl Iterator<Item = (String, &str)> {
        let files = match &self.entry.resources {
            SkillResources::Files(files) => files.as_slice(),
            _ => &[],
        };
        let folder = self.entry.folder().unwrap_or_default();
        files.iter().filter_map(move |file| {
            let inside = file.uri.strip_prefix(folder)?.strip_prefix('/')?;
            Some((percent::decode(inside)?, &*file.uri))
        })
    }
}
