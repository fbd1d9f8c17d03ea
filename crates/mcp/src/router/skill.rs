use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;

use callgate_wire::resource::Resource;
use callgate_wire::skill::{DIRECTORY, GetSkillResult};

use super::catalog::{Catalog, Registry};
use super::resource::{ResourceRoute, refuse};
use super::service::RouterState;
use super::{list, params};
use crate::error::Error;
use crate::percent;
use crate::service::{Call, Reply};
use crate::skill::SkillFiles;

/// Answers `skills/get`.
pub(crate) fn get(router: &RouterState, catalog: &Catalog, call: &Call) -> Result<Reply, Error> {
    let uri = call.params().get("uri");
    let uri = params::text(uri.as_ref(), "uri")?;
    let skill = catalog.skills.get(&uri);
    let skill = skill.ok_or_else(|| refuse(&uri, "no skill has this URI"))?;
    let mut result = GetSkillResult::new(skill.entry().clone());
    result.ttl_ms = Some(catalog.cache.ttl_ms);
    result.cache_scope = Some(catalog.cache.scope);
    router.results.complete(&result, None)
}

/// Answers `resources/directory/read` for the folders of skills and those above them.
pub(crate) fn read_directory(
    router: &RouterState,
    catalog: &Catalog,
    call: &Call,
) -> Result<Reply, Error> {
    let uri = call.params().get("uri");
    let uri = params::text(uri.as_ref(), "uri")?;
    let children = children(catalog, &uri);
    if children.is_empty() {
        return Err(refuse(&uri, "no folder has this URI"));
    }
    let mut folder = Registry::default();
    for (uri, resource) in children {
        folder.insert(&uri, &resource, ());
    }
    list::list(router, catalog, call, &folder)
}

/// Files and folders in the folder `uri`, by URI.
fn children(catalog: &Catalog, uri: &str) -> BTreeMap<String, Resource> {
    let mut children = BTreeMap::new();
    // A scheme is not a folder.
    let is_path = |uri: &str| {
        uri.split_once("://")
            .is_some_and(|(_, path)| !path.is_empty())
    };
    let skills = catalog.skills.iter().filter(|_| is_path(uri));
    for (file, _) in skills.flat_map(|skill| &skill.files) {
        let inside = file.uri.strip_prefix(uri);
        let Some(inside) = inside.and_then(|path| path.strip_prefix('/')) else {
            continue;
        };
        let child = match inside.split_once('/') {
            None => file.clone(),
            Some((name, _)) => {
                let uri = format!("{uri}/{name}");
                let name = percent::decode(name).unwrap_or_else(|| name.to_owned());
                Resource::new(uri, name).with_mime_type(DIRECTORY)
            }
        };
        children.insert(child.uri.clone(), child);
    }
    children
}

/// Registers a skill and its files.
pub(crate) fn insert(catalog: &mut Catalog, skill: SkillFiles) {
    let skill = Arc::new(skill);
    let uri = &skill.entry().uri;
    let replaced = catalog.skills.get(uri).cloned();
    catalog.skills.insert(uri, skill.entry(), skill.clone());
    for (index, (resource, _)) in skill.files.iter().enumerate() {
        let skill = skill.clone();
        let read = move || {
            let file = skill.files.get(index);
            ready(file.map(|(_, contents)| contents.clone()))
        };
        let route = ResourceRoute::new(resource.mime_type.clone(), read);
        let resources = &mut catalog.resources;
        resources.insert(&resource.uri, resource, Arc::new(route));
    }
    // After the new files were added, so that those which both have stay.
    if let Some(replaced) = replaced {
        remove_files(catalog, &replaced);
    }
}

/// Removes a skill, and its files but those that another skill has too.
pub(crate) fn remove(catalog: &mut Catalog, uri: &str) -> bool {
    let Some(skill) = catalog.skills.get(uri).cloned() else {
        return false;
    };
    catalog.skills.remove(uri);
    remove_files(catalog, &skill);
    true
}

/// Removes the files of a skill that is no longer registered, but those that another skill has.
fn remove_files(catalog: &mut Catalog, skill: &SkillFiles) {
    for (file, _) in &skill.files {
        let mut skills = catalog.skills.iter();
        if !skills.any(|other| other.entry().file(&file.uri).is_some()) {
            catalog.resources.remove(&file.uri);
        }
    }
}
