use callgate_wire::discover::DiscoverResult;
use callgate_wire::implementation::Implementation;
use callgate_wire::legacy::initialize::InitializeParams;
use callgate_wire::legacy::method as old;
use callgate_wire::subscription::SubscriptionFilter;
use callgate_wire::task::EXTENSION;
use callgate_wire::{Id, RawJson, Request, Version, meta, method};
use serde::Serialize;

use super::convert;
use super::forward::{ClientIdentity, SessionService};
use crate::error::{Error, Kind};

/// Request of a client to open a session.
pub(super) struct HandshakeRequest {
    pub(super) version: Version,
    pub(super) identity: ClientIdentity,
}

/// Features of a server that a session depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ServerFeatures {
    /// Changes of lists that it announces.
    pub(super) changes: SubscriptionFilter,
    /// True if it announces changes of single resources.
    pub(super) subscribe: bool,
    /// True if it has the tasks of the extension.
    pub(super) tasks: bool,
}

/// True if the request opens a session.
pub(super) fn is_handshake(request: &Request) -> bool {
    request.method.as_str() == old::INITIALIZE
}

/// Maximum bytes of what the handshake says of a client, which its session keeps. Icons may be in it.
const MAX_IDENTITY: usize = 128 * 1024;

/// Reads the params of `initialize` and chooses the revision.
pub(super) fn read(params: &RawJson) -> Result<HandshakeRequest, Error> {
    let params = &own_identity(params)?;
    let hello: InitializeParams = params.decode().map_err(|error| {
        let message = format!("malformed params of the handshake: {error}");
        Error::invalid_params(message).with_source(error)
    })?;
    let version = negotiate(&hello.protocol_version);
    let capabilities = convert::client_capabilities(version, hello.capabilities);
    let unknown = UnknownCapabilities::read(params.get("capabilities"), &CLIENT_CAPABILITIES);
    Ok(HandshakeRequest {
        version,
        identity: ClientIdentity::new(capabilities, unknown, params.get("clientInfo")),
    })
}

/// Copies the members that a session keeps, or that are read with them: a part of the message would
/// keep all of it in memory, uncounted.
fn own_identity(params: &RawJson) -> Result<RawJson, Error> {
    const MEMBERS: [&str; 3] = ["protocolVersion", "capabilities", "clientInfo"];
    let member = |name: &str| Some((name.to_owned(), params.get(name)?));
    let members: Vec<_> = MEMBERS.into_iter().filter_map(member).collect();
    let bytes: usize = members
        .iter()
        .map(|(_, value)| value.as_bytes().len())
        .sum();
    if bytes > MAX_IDENTITY {
        let text =
            format!("`capabilities` and `clientInfo` may have {MAX_IDENTITY} bytes together");
        return Err(Error::invalid_params(text));
    }
    Ok(RawJson::empty_object().with_members(&members))
}

/// Asks the service for its capabilities; returns its features and the `InitializeResult`.
pub(super) async fn discover(
    upstream: &SessionService,
) -> Result<(ServerFeatures, RawJson), Error> {
    let version = upstream.version;
    let context = |peer| upstream.origin.context(Id::text("handshake"), peer);
    let params = RawJson::empty_object();
    let result = upstream
        .result(context, method::SERVER_DISCOVER, &params)
        .await?;
    let found: DiscoverResult = result.decode().map_err(|error| {
        Error::new(Kind::Protocol, "malformed result of `server/discover`").with_source(error)
    })?;
    Ok((features(&found), answer(version, &found, &result)))
}

/// Members of the result of `server/discover` that are read, or that an old client must not get.
const KNOWN: [&str; 9] = [
    "resultType",
    "supportedVersions",
    "capabilities",
    "instructions",
    "ttlMs",
    "cacheScope",
    "_meta",
    "protocolVersion",
    "serverInfo",
];

/// The `InitializeResult` for the result of `server/discover`, which was `found` in it. Members
/// that this server does not know pass.
fn answer(version: Version, found: &DiscoverResult, result: &RawJson) -> RawJson {
    let unknown = |object: Option<RawJson>, known: &[&str]| {
        object.map_or_else(Vec::new, |object| object.members_besides(known))
    };
    let capabilities = convert::server_capabilities(version, found.capabilities.clone());
    let capabilities = RawJson::encode(&capabilities).expect("capabilities are always JSON");
    let of_server = UnknownCapabilities::read(result.get("capabilities"), &SERVER_CAPABILITIES);
    let own = || {
        let info = Implementation::new("callgate", env!("CARGO_PKG_VERSION"));
        RawJson::encode(&info).expect("a name is always JSON")
    };
    let info = result.at(&["_meta", meta::SERVER_INFO]);
    let of_meta = unknown(result.get("_meta"), &[meta::SERVER_INFO]);
    let answer = Answer {
        protocol_version: version.as_str(),
        capabilities: of_server.added_to(capabilities),
        // Old clients require the name of a server; in the newest revision it may be missing.
        server_info: info.filter(RawJson::is_object).unwrap_or_else(own),
        instructions: found.instructions.as_deref(),
        meta: (!of_meta.is_empty()).then(|| RawJson::empty_object().with_members(&of_meta)),
    };
    let answer = RawJson::encode(&answer).expect("a result is always JSON");
    answer.with_members(&result.members_besides(&KNOWN))
}

/// An `InitializeResult` with members that are not decoded.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    protocol_version: &'a str,
    capabilities: RawJson,
    server_info: RawJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<RawJson>,
}

/// Capabilities of a server that are translated, with the members that are; none where the whole
/// value passes or none of it. `tasks` is one of older revisions only.
const SERVER_CAPABILITIES: [KnownCapability; 8] = [
    ("experimental", &[]),
    ("logging", &[]),
    ("completions", &[]),
    ("prompts", &["listChanged"]),
    ("resources", &["listChanged", "subscribe"]),
    ("tools", &["listChanged"]),
    ("tasks", &[]),
    ("extensions", &[]),
];

/// The same of a client.
const CLIENT_CAPABILITIES: [KnownCapability; 6] = [
    ("experimental", &[]),
    ("roots", &["listChanged"]),
    ("sampling", &["context", "tools"]),
    ("elicitation", &["form", "url"]),
    ("tasks", &[]),
    ("extensions", &[]),
];

/// Name of a capability and of its members.
type KnownCapability = (&'static str, &'static [&'static str]);

/// Capabilities of a peer, and members of its capabilities, that this server does not know. They pass.
#[derive(Debug, Clone, Default)]
pub(super) struct UnknownCapabilities {
    capabilities: Vec<(String, RawJson)>,
    /// Members of these known capabilities.
    members: Vec<(&'static str, Vec<(String, RawJson)>)>,
}

impl UnknownCapabilities {
    fn read(declared: Option<RawJson>, known: &[KnownCapability]) -> Self {
        let Some(declared) = declared else {
            return Self::default();
        };
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        let translated = known.iter().filter(|(_, members)| !members.is_empty());
        let members = translated.filter_map(|(name, members)| {
            let unknown = declared.get(name)?.members_besides(members);
            (!unknown.is_empty()).then_some((*name, unknown))
        });
        Self {
            members: members.collect(),
            capabilities: declared.members_besides(&names),
        }
    }

    /// The translated capabilities with those that are unknown. Members of a capability that was not
    /// translated, because the other side has none like it, are left out with it.
    pub(super) fn added_to(&self, translated: RawJson) -> RawJson {
        let added = |all: RawJson, (name, members): &(&'static str, Vec<(String, RawJson)>)| {
            let capability = all.get(name).filter(RawJson::is_object);
            let with_unknown = capability.map(|known| known.with_members(members));
            match with_unknown {
                Some(capability) => all.with_members(&[((*name).to_owned(), capability)]),
                None => all,
            }
        };
        let all = self.members.iter().fold(translated, added);
        all.with_members(&self.capabilities)
    }
}

/// The revision for a client that asks for `name`.
///
/// The newest revision has no handshake, so a client that performs one cannot get it.
fn negotiate(name: &str) -> Version {
    Version::parse(name)
        .filter(|version| !version.is_modern())
        .unwrap_or(Version::V2025_11_25)
}

fn features(found: &DiscoverResult) -> ServerFeatures {
    let capabilities = &found.capabilities;
    let told = |changes: Option<bool>| changes.filter(|changes| *changes);
    let tools = capabilities.tools.as_ref();
    let prompts = capabilities.prompts.as_ref();
    let resources = capabilities.resources.as_ref();
    let mut changes = SubscriptionFilter::default();
    changes.tools_list_changed = told(tools.and_then(|tools| tools.list_changed));
    changes.prompts_list_changed = told(prompts.and_then(|prompts| prompts.list_changed));
    changes.resources_list_changed = told(resources.and_then(|resources| resources.list_changed));
    ServerFeatures {
        changes,
        subscribe: resources.is_some_and(|resources| resources.subscribe == Some(true)),
        tasks: capabilities.has_extension(EXTENSION),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_members_of_the_handshake_pass() {
        let json = |text: &str| serde_json::from_str::<RawJson>(text).unwrap();
        let found = json(
            r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0,"cacheScope":"private",
                "capabilities":{"tools":{"listChanged":true,"x":1.0},"completions":{"z":1},"vendor":{"a":10000000000000000001}},"vendor":1,
                "_meta":{"v/k":2,"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1","x":1}}}"#,
        );
        let result = answer(Version::V2025_06_18, &found.decode().unwrap(), &found);
        assert_eq!(
            result.as_str(),
            concat!(
                r#"{"protocolVersion":"2025-06-18","#,
                r#""capabilities":{"completions":{"z":1},"tools":{"listChanged":true,"x":1.0},"vendor":{"a":10000000000000000001}},"#,
                r#""serverInfo":{"name":"s","version":"1","x":1},"_meta":{"v/k":2},"vendor":1}"#,
            )
        );
        // Before 2025-06-18 there is no elicitation, so nothing of it passes.
        let hello = r#"{"protocolVersion":"2025-03-26","capabilities":{"roots":{"listChanged":true,"x":1.0},"sampling":{"tools":{},"y":2},"elicitation":{"z":3},"vendor":{"b":2}},"clientInfo":{"name":"c","version":"1","y":1}}"#;
        let identity = read(&json(hello)).unwrap().identity;
        assert_eq!(
            (
                identity.encoded.as_str(),
                identity.client_info.unwrap().as_str()
            ),
            (
                r#"{"roots":{"x":1.0},"sampling":{"y":2},"vendor":{"b":2}}"#,
                r#"{"name":"c","version":"1","y":1}"#
            )
        );
    }

    #[test]
    fn a_session_keeps_nothing_of_the_message_but_the_identity() {
        use std::sync::Arc;

        struct Tracked(
            Vec<u8>,
            #[expect(dead_code, reason = "it counts owners")] Arc<()>,
        );

        impl AsRef<[u8]> for Tracked {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }

        let hello = |of_client: usize, padding: usize| {
            let (x, y) = ("x".repeat(of_client), "y".repeat(padding));
            let text = format!(
                r#"{{"protocolVersion":"2025-11-25","capabilities":{{"roots":{{"x":1}},"experimental":{{"e":{{}}}},"extensions":{{"a/b":{{}}}},"vendor":{{}}}},"clientInfo":{{"name":"c","version":"{x}"}},"padding":"{y}"}}"#
            );
            let alive = Arc::new(());
            let bytes = bytes::Bytes::from_owner(Tracked(text.into_bytes(), alive.clone()));
            let params = RawJson::parse(bytes, &callgate_wire::Limits::default()).unwrap();
            (read(&params), alive)
        };
        let (request, message) = hello(1, 1_000_000);
        let identity = request.unwrap().identity;
        assert!(identity.encoded.as_str().contains(r#""vendor":{}"#));
        assert_eq!(
            identity.client_info.as_ref().map(RawJson::as_str),
            Some(r#"{"name":"c","version":"x"}"#)
        );
        assert_eq!(Arc::strong_count(&message), 1);
        let refused = hello(MAX_IDENTITY, 0).0.err().unwrap();
        assert_eq!(
            refused.to_string(),
            "`capabilities` and `clientInfo` may have 131072 bytes together"
        );
    }

    #[test]
    fn hc_19_a_handshake_gets_an_old_revision() {
        for (asked, spoken) in [
            ("2024-11-05", Version::V2024_11_05),
            ("2025-03-26", Version::V2025_03_26),
            ("2025-06-18", Version::V2025_06_18),
            ("2025-11-25", Version::V2025_11_25),
            ("2026-07-28", Version::V2025_11_25),
            ("2099-01-01", Version::V2025_11_25),
            ("", Version::V2025_11_25),
        ] {
            assert_eq!(negotiate(asked), spoken, "{asked}");
        }
    }
}
