//! The object `_meta`.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::capabilities::ClientCapabilities;
use crate::decode::DecodeError;
use crate::id::Id;
use crate::implementation::Implementation;
use crate::logging::LogLevel;
use crate::meta;
use crate::raw::{Kind, RawJson};
use crate::splice::Splice;
use crate::version::Version;

/// The object `_meta`: an open map that keeps what it does not know as it came, in order.
///
/// The keys that the specification reserves are in [`crate::meta`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "RawJson")]
pub struct Meta(RawJson);

/// A `_meta` is not an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`_meta` must be an object")]
#[non_exhaustive]
pub struct MetaError;

impl Meta {
    /// The object without members.
    #[must_use]
    pub const fn new() -> Self {
        Self(RawJson::empty_object())
    }

    /// Metadata of a request.
    #[must_use]
    pub fn request(
        version: Version,
        client_info: &Implementation,
        client_capabilities: &ClientCapabilities,
    ) -> Self {
        Self::new()
            .with(meta::PROTOCOL_VERSION, &version.as_str())
            .with(meta::CLIENT_INFO, client_info)
            .with(meta::CLIENT_CAPABILITIES, client_capabilities)
    }

    /// Metadata of a result.
    #[must_use]
    pub fn result(server_info: &Implementation) -> Self {
        Self::new().with(meta::SERVER_INFO, server_info)
    }

    /// Metadata of everything on the subscription with this id.
    #[must_use]
    pub fn subscription(id: &Id) -> Self {
        Self::new().with(meta::SUBSCRIPTION_ID, id)
    }

    /// The same object with `key` set to `value`, where it stood or at the end.
    ///
    /// # Panics
    /// If the `Serialize` of `value` fails; those of this crate never do.
    #[must_use]
    pub fn with<T: Serialize + ?Sized>(self, key: &str, value: &T) -> Self {
        let value = RawJson::encode(value).expect("a value for `_meta` is JSON");
        let path = [key];
        let edited = Splice::new(&self.0).set(&path, &value).finish();
        Self(edited.expect("a member of an object can be set"))
    }

    /// The object as JSON.
    #[must_use]
    pub fn as_raw(&self) -> &RawJson {
        &self.0
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<RawJson> {
        self.0.get(key)
    }

    /// Reads the value of `key` as a `T`.
    ///
    /// # Errors
    /// The value does not have the shape of a `T`.
    pub fn read<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, DecodeError> {
        self.get(key).map(|value| value.decode()).transpose()
    }

    /// The revision that a request speaks.
    ///
    /// # Errors
    /// The value is not a string.
    pub fn protocol_version(&self) -> Result<Option<String>, DecodeError> {
        self.read(meta::PROTOCOL_VERSION)
    }

    /// Capabilities of the client that sent a request.
    ///
    /// # Errors
    /// The value has another shape.
    pub fn client_capabilities(&self) -> Result<Option<ClientCapabilities>, DecodeError> {
        self.read(meta::CLIENT_CAPABILITIES)
    }

    /// Name and version of the client that sent a request, as it says.
    ///
    /// # Errors
    /// The value has another shape.
    pub fn client_info(&self) -> Result<Option<Implementation>, DecodeError> {
        self.read(meta::CLIENT_INFO)
    }

    /// The lowest level of log messages that a request wants.
    ///
    /// # Errors
    /// The value is not a level.
    pub fn log_level(&self) -> Result<Option<LogLevel>, DecodeError> {
        self.read(meta::LOG_LEVEL)
    }

    /// The token that progress notifications of a request carry.
    ///
    /// # Errors
    /// The value is neither a string nor an integer.
    pub fn progress_token(&self) -> Result<Option<Id>, DecodeError> {
        self.read(meta::PROGRESS_TOKEN)
    }

    /// Name and version of the server that sent a result, as it says.
    ///
    /// # Errors
    /// The value has another shape.
    pub fn server_info(&self) -> Result<Option<Implementation>, DecodeError> {
        self.read(meta::SERVER_INFO)
    }

    /// The subscription that a notification belongs to.
    ///
    /// # Errors
    /// The value is neither a string nor an integer.
    pub fn subscription_id(&self) -> Result<Option<Id>, DecodeError> {
        self.read(meta::SUBSCRIPTION_ID)
    }
}

impl Default for Meta {
    fn default() -> Self {
        Self::new()
    }
}

impl TryFrom<RawJson> for Meta {
    type Error = MetaError;

    fn try_from(raw: RawJson) -> Result<Self, MetaError> {
        match raw.kind() {
            Kind::Object => Ok(Self(raw)),
            _ => Err(MetaError),
        }
    }
}

impl From<Meta> for RawJson {
    fn from(meta: Meta) -> Self {
        meta.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_members_stay_as_they_came() {
        let text = r#"{"z":1.0,"progressToken":7,"com.example/a":{"b":[]}}"#;
        let meta: Meta = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&meta).unwrap(), text);
        assert_eq!(meta.progress_token().unwrap(), Some(Id::number(7)));
        assert_eq!(meta.log_level().unwrap(), None);
        assert_eq!(
            meta.with("progressToken", &8)
                .with("n", "x")
                .as_raw()
                .as_str(),
            r#"{"z":1.0,"progressToken":8,"com.example/a":{"b":[]},"n":"x"}"#
        );
        assert!(serde_json::from_str::<Meta>("[]").is_err());
    }
}
