//! The skills extension.

use callgate_mcp::Error;
use callgate_mcp::skill::SkillFiles;
use callgate_mcp::wire::skill::Skill;
use serde_json::{Value, json};

use super::pair::{Pair, check};

#[tokio::test]
async fn skills_are_listed_found_and_verified() {
    async fn skills(pair: Pair) -> Result<Value, Error> {
        let skill_md = "---\nname: pdf\ndescription: Reads PDFs\n---\nbody";
        let files = SkillFiles::new("pdf", [("SKILL.md", skill_md), ("a/b.md", "B")]);
        // Before the first request, since an old client learns of capabilities only once.
        pair.server.router.add_skill(files.unwrap());
        let client = &pair.client;
        let [entry] = <[Skill; 1]>::try_from(client.list_skills().await?).unwrap();
        assert_eq!(client.get_skill(&entry.uri).await?, entry);
        let skill = client.open_skill(&entry).await?;
        assert_eq!(skill.skill_md(), skill_md);
        let file = String::from_utf8(skill.read("a/b.md").await?).unwrap();
        let folder = client.read_directory("skill://pdf").await?;
        let folder: Vec<_> = folder.into_iter().map(|child| child.uri).collect();
        let unknown = client.get_skill("skill://doc/SKILL.md").await.unwrap_err();
        Ok(json!([file, folder, unknown.code()]))
    }
    let folder = ["skill://pdf/SKILL.md", "skill://pdf/a"];
    check(skills, |_, _| json!(["B", folder, -32602])).await;
}
