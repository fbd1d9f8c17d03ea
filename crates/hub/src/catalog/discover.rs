use callgate_mcp::wire::Meta;
use callgate_mcp::wire::capabilities::{ListCapability, ResourcesCapability, ServerCapabilities};
use callgate_mcp::wire::discover::DiscoverResult;
use callgate_mcp::wire::task;
use callgate_mcp::{Implementation, RawJson, Version};

use crate::server_name::ServerName;

/// Maximum bytes of the merged instructions; what is beyond is cut at the end of a server.
const MAX_INSTRUCTIONS: usize = 64 * 1024;

/// Merges what the servers say about themselves.
///
/// Tools, prompts and resources are always offered: a server that has them may connect later, and
/// clients read the capabilities only once. Tasks are offered once a server has them.
pub(crate) fn merge<'a>(
    info: &Implementation,
    servers: impl Iterator<Item = (&'a ServerName, &'a DiscoverResult)>,
) -> RawJson {
    let mut capabilities = ServerCapabilities::default();
    capabilities.logging = Some(RawJson::empty_object());
    capabilities.tools = Some(ListCapability::with_notifications());
    capabilities.prompts = Some(ListCapability::with_notifications());
    capabilities.resources = Some(ResourcesCapability::with_notifications());
    capabilities.completions = Some(RawJson::empty_object());
    let mut instructions = String::new();
    for (name, discovered) in servers {
        if discovered.capabilities.has_extension(task::EXTENSION) {
            let settings = RawJson::empty_object();
            capabilities = capabilities.with_extension(task::EXTENSION, settings);
        }
        let Some(text) = discovered.instructions.as_deref() else {
            continue;
        };
        let section = format!("## {name}\n\n{}\n\n", text.trim());
        if instructions.len() + section.len() > MAX_INSTRUCTIONS {
            tracing::warn!(server = %name, "the instructions of a server are left out: all together are too long");
            continue;
        }
        instructions.push_str(&section);
    }
    let versions = vec![Version::LATEST.as_str().to_owned()];
    let mut result = DiscoverResult::new(versions, capabilities);
    let instructions = instructions.trim_end();
    result.instructions = (!instructions.is_empty()).then(|| instructions.to_owned());
    result.ttl_ms = Some(0);
    result.meta = Some(Meta::result(info));
    RawJson::encode(&result).expect("the result is JSON")
}
