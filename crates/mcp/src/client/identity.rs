use callgate_wire::{Id, ObjectEdit, RawJson, RawParams, Version, meta};

use super::call_options::CallOptions;
use crate::error::Error;
use crate::service::{PeerInfo, PeerMeta};

/// Name and capabilities of a client, which the `_meta` of each request has.
#[derive(Debug)]
pub(super) struct ClientIdentity {
    /// An `Implementation`.
    info: RawJson,
    /// The `ClientCapabilities`.
    capabilities: RawJson,
    /// The newest revision.
    version: RawJson,
    /// The `_meta` of a request of the newest revision, but for its progress token; written once.
    usual: RawJson,
}

impl ClientIdentity {
    pub(super) fn new(info: RawJson, capabilities: RawJson) -> Self {
        let version = RawJson::string(Version::LATEST.as_str());
        let empty = RawJson::empty_object();
        let mut usual = ObjectEdit::new(&empty);
        usual.set(meta::PROTOCOL_VERSION, version.clone());
        usual.set(meta::CLIENT_INFO, info.clone());
        usual.set(meta::CLIENT_CAPABILITIES, capabilities.clone());
        Self {
            usual: usual.finish(),
            info,
            capabilities,
            version,
        }
    }

    /// Makes the `_meta` of a request with these `params`: the members of the client and of the
    /// options, and any others that the `_meta` of `params` has, as they are.
    ///
    /// # Errors
    /// `params` or their `_meta` are no object.
    pub(super) fn claims(
        &self,
        params: &RawParams,
        version: Version,
        token: &Id,
        options: &CallOptions,
    ) -> Result<PeerInfo, Error> {
        let given = params.get("_meta");
        let is_object = given.as_ref().is_none_or(RawJson::is_object);
        if !params.is_object() || !is_object {
            let text = "params and their `_meta` must be objects";
            return Err(Error::invalid_params(text));
        }
        let is_usual = given.is_none() && options.log_level.is_none() && options.meta.is_empty();
        if is_usual
            && version == Version::LATEST
            && let Some(whole) = self.usual_meta(token)
        {
            return Ok(self.known(whole, token).of(version));
        }
        let given = given.unwrap_or_else(RawJson::empty_object);
        Ok(PeerInfo::new(
            version,
            self.merged_meta(&given, version, token, options),
        ))
    }

    fn usual_meta(&self, token: &Id) -> Option<RawJson> {
        let token = token.as_raw();
        self.usual.with_appended(meta::PROGRESS_TOKEN, token)
    }

    /// The usual metadata `whole`, whose members need not be searched.
    fn known(&self, whole: RawJson, token: &Id) -> PeerMeta {
        let members = [
            Some(self.version.clone()),
            Some(self.capabilities.clone()),
            Some(self.info.clone()),
            None,
            Some(token.as_raw().clone()),
        ];
        PeerMeta::new(whole, members)
    }

    fn merged_meta(
        &self,
        given: &RawJson,
        version: Version,
        token: &Id,
        options: &CallOptions,
    ) -> RawJson {
        let version = RawJson::string(version.as_str());
        let level = options
            .log_level
            .map(|level| RawJson::encode(&level).expect("a level is JSON"));
        let own = [
            (meta::PROTOCOL_VERSION, Some(&version)),
            (meta::CLIENT_INFO, Some(&self.info)),
            (meta::CLIENT_CAPABILITIES, Some(&self.capabilities)),
            (meta::PROGRESS_TOKEN, Some(token.as_raw())),
            (meta::LOG_LEVEL, level.as_ref()),
        ];
        let mut edit = ObjectEdit::new(given);
        for (key, value) in own {
            if let Some(value) = value {
                edit.set(key, value.clone());
            }
        }
        // The client's own members win: a wrong revision or progress token would break the request.
        for (key, value) in &options.meta {
            let is_own = |(own, set): &(&str, Option<_>)| own == key && set.is_some();
            if !own.iter().any(is_own) {
                edit.set(key, value.clone());
            }
        }
        edit.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_wire::logging::LogLevel;

    fn check(params: &str, options: &CallOptions, expect: Option<&str>) {
        let json = |text: &str| serde_json::from_str::<RawJson>(text).unwrap();
        let info = json(r#"{"name":"me","version":"1"}"#);
        let identity = ClientIdentity::new(info, json(r#"{"roots":{}}"#));
        let params = RawParams::from(json(params));
        let version = Version::V2026_07_28;
        let claims = identity.claims(&params, version, &Id::number(7), options);
        let claims = claims.ok();
        assert_eq!(claims.as_ref().map(|it| it.meta().as_str()), expect);
        // Members that were not searched are those that a search finds.
        let searched = expect.map(|meta| PeerInfo::new(version, json(meta)));
        assert_eq!(claims, searched);
    }

    #[test]
    fn every_request_has_the_members_of_the_client_and_keeps_those_of_the_caller() {
        check(
            r#"{"a":49E-31}"#,
            &CallOptions::default(),
            Some(concat!(
                r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                r#""io.modelcontextprotocol/clientInfo":{"name":"me","version":"1"},"#,
                r#""io.modelcontextprotocol/clientCapabilities":{"roots":{}},"progressToken":7}"#,
            )),
        );
        check(
            r#"{"_meta":{"x":[1.0],"progressToken":"theirs"},"a":1}"#,
            &CallOptions::default()
                .on_log(LogLevel::Info, |_| {})
                .meta("y", &1)
                .meta("y", &2)
                .meta("progressToken", "ignored"),
            Some(concat!(
                r#"{"x":[1.0],"progressToken":7,"#,
                r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                r#""io.modelcontextprotocol/clientInfo":{"name":"me","version":"1"},"#,
                r#""io.modelcontextprotocol/clientCapabilities":{"roots":{}},"#,
                r#""io.modelcontextprotocol/logLevel":"info","y":2}"#,
            )),
        );
    }

    #[test]
    fn params_that_are_no_object_are_refused() {
        check("[]", &CallOptions::default(), None);
        check(r#"{"_meta":1}"#, &CallOptions::default(), None);
    }
}
