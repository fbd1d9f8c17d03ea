use callgate_wire::capabilities::{
    ClientCapabilities, ElicitationCapability, SamplingCapability, ServerCapabilities,
};
use callgate_wire::legacy::capabilities as old;
use callgate_wire::task::EXTENSION;
use callgate_wire::{Map, RawJson, Version};

/// Capabilities of an old client, for the metadata of each request.
///
/// Only those of its revision count, and tasks are never passed on: those of 2025-11-25 are not
/// those of the extension.
pub(crate) fn client_capabilities(
    version: Version,
    declared: old::ClientCapabilities,
) -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    capabilities.experimental = declared.experimental;
    // Without `listChanged`: a server of the newest revision asks for the roots when it needs them.
    capabilities.roots = declared.roots.map(|_| RawJson::empty_object());
    capabilities.sampling = declared.sampling.map(|sampling| match version {
        Version::V2025_11_25 => sampling,
        _ => SamplingCapability::default(),
    });
    capabilities.elicitation = declared
        .elicitation
        .filter(|_| version >= Version::V2025_06_18)
        .map(|mut elicitation| {
            elicitation.form = elicitation.has_form().then(RawJson::empty_object);
            elicitation.url = elicitation.url.filter(|_| has_urls(version));
            elicitation
        })
        .filter(|elicitation| *elicitation != ElicitationCapability::default());
    capabilities.extensions = declared.extensions.map(without_tasks);
    capabilities
}

/// Capabilities of a server, for an old client.
pub(crate) fn server_capabilities(
    version: Version,
    offered: ServerCapabilities,
) -> old::ServerCapabilities {
    let tasks = has_tasks(version) && offered.has_extension(EXTENSION);
    let mut capabilities = old::ServerCapabilities::default();
    capabilities.experimental = offered.experimental;
    capabilities.logging = offered.logging;
    capabilities.completions = offered
        .completions
        .filter(|_| version >= Version::V2025_03_26);
    capabilities.prompts = offered.prompts;
    capabilities.resources = offered.resources;
    capabilities.tools = offered.tools;
    capabilities.tasks = tasks.then(old::TasksCapability::of_tool_calls);
    capabilities.extensions = offered
        .extensions
        .map(without_tasks)
        .filter(|extensions| !extensions.is_empty());
    capabilities
}

/// True if clients of this revision open URLs for their user.
fn has_urls(version: Version) -> bool {
    version == Version::V2025_11_25
}

/// True if this revision has tasks of its own.
fn has_tasks(version: Version) -> bool {
    version == Version::V2025_11_25
}

fn without_tasks(extensions: Map<RawJson>) -> Map<RawJson> {
    let others = |(name, _): &(String, RawJson)| name != EXTENSION;
    extensions.into_iter().filter(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::Limits;

    fn raw(text: &'static str) -> RawJson {
        RawJson::parse(text.into(), &Limits::default()).unwrap()
    }

    #[test]
    fn a_client_keeps_the_capabilities_of_its_revision() {
        let declared = raw(
            r#"{"experimental":{"x":1},"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"tasks":{"list":{}},"extensions":{"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/ui":{"a":1}}}"#,
        );
        for (version, expect) in [
            (
                Version::V2024_11_05,
                r#"{"experimental":{"x":1},"roots":{},"sampling":{},"extensions":{"io.modelcontextprotocol/ui":{"a":1}}}"#,
            ),
            (
                Version::V2025_06_18,
                r#"{"experimental":{"x":1},"roots":{},"sampling":{},"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/ui":{"a":1}}}"#,
            ),
            (
                Version::V2025_11_25,
                r#"{"experimental":{"x":1},"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/ui":{"a":1}}}"#,
            ),
        ] {
            let seen = client_capabilities(version, declared.decode().unwrap());
            assert_eq!(RawJson::encode(&seen).unwrap().as_str(), expect);
        }
    }

    #[test]
    fn elicitation_without_a_mode_means_forms() {
        for (declared, expect) in [
            (r#"{"elicitation":{}}"#, r#"{"elicitation":{"form":{}}}"#),
            (
                r#"{"elicitation":{"url":{}}}"#,
                r#"{"elicitation":{"url":{}}}"#,
            ),
            ("{}", "{}"),
        ] {
            let seen = client_capabilities(Version::V2025_11_25, raw(declared).decode().unwrap());
            assert_eq!(RawJson::encode(&seen).unwrap().as_str(), expect);
        }
        let only_url = raw(r#"{"elicitation":{"url":{}}}"#).decode().unwrap();
        let seen = client_capabilities(Version::V2025_06_18, only_url);
        assert_eq!(RawJson::encode(&seen).unwrap().as_str(), "{}");
    }

    #[test]
    fn a_server_offers_the_capabilities_of_the_revision() {
        let offered = raw(
            r#"{"logging":{},"completions":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{},"x/y":{}}}"#,
        );
        for (version, expect) in [
            (
                Version::V2024_11_05,
                r#"{"logging":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{},"extensions":{"x/y":{}}}"#,
            ),
            (
                Version::V2025_03_26,
                r#"{"logging":{},"completions":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{},"extensions":{"x/y":{}}}"#,
            ),
            (
                Version::V2025_11_25,
                r#"{"logging":{},"completions":{},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"tools":{},"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}},"extensions":{"x/y":{}}}"#,
            ),
        ] {
            let seen = server_capabilities(version, offered.decode().unwrap());
            assert_eq!(RawJson::encode(&seen).unwrap().as_str(), expect);
        }
    }
}
