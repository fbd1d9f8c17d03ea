//! The skills extension has no schema here, so its messages are checked as what they extend.

use callgate_wire::skill::{
    Digest, Frontmatter, GetSkillParams, GetSkillResult, ListSkillsParams, ListSkillsResult,
    ReadResourceDirectoryParams, ReadResourceDirectoryResult, Skill, SkillResource, SkillResources,
};
use callgate_wire::{RawJson, method};

use super::{request_meta, resource, result_meta};
use crate::sample::{Sample, request, value, with};

pub(super) fn samples() -> Vec<Sample> {
    let list = with(ListSkillsParams::new(Some("c")), |it| {
        it.meta = Some(request_meta());
    });
    let get = with(GetSkillParams::new(URI), |it| {
        it.meta = Some(request_meta());
    });
    let read = with(
        ReadResourceDirectoryParams::new("skill://pdf", Some("c")),
        |it| it.meta = Some(request_meta()),
    );
    let listed = with(ListSkillsResult::new(skills()), |it| {
        it.next_cursor = Some("d".to_owned());
        it.meta = Some(result_meta());
    });
    let [skill, _] = <[Skill; 2]>::try_from(skills()).unwrap();
    let got = with(GetSkillResult::new(skill), |it| {
        it.meta = Some(result_meta());
    });
    let folder = with(
        ReadResourceDirectoryResult::new(vec![resource::resource()]),
        |it| {
            it.next_cursor = Some("d".to_owned());
            it.meta = Some(result_meta());
        },
    );
    vec![
        request("JSONRPCRequest", method::SKILLS_LIST, &list),
        request("JSONRPCRequest", method::SKILLS_GET, &get),
        request("JSONRPCRequest", method::RESOURCES_DIRECTORY_READ, &read),
        value("PaginatedResult", &listed),
        value("CacheableResult", &listed),
        value("CacheableResult", &got),
        value("PaginatedResult", &folder),
    ]
}

const URI: &str = "skill://pdf/SKILL.md";

/// A skill of each kind.
fn skills() -> Vec<Skill> {
    let fields = serde_json::json!({"name": "pdf", "description": "Reads PDFs"});
    let frontmatter = Frontmatter::new(RawJson::encode(&fields).unwrap()).unwrap();
    let file = SkillResource::new(URI, Digest::new([7; 32]), 5);
    [SkillResources::Files(vec![file]), SkillResources::Dynamic]
        .map(|resources| Skill::new(URI, frontmatter.clone(), resources))
        .to_vec()
}
