use super::clock::{seconds, whole_seconds};
use crate::Scopes;
use crate::registration::Client;
use crate::store::ClientInfo;

impl From<&ClientInfo> for Client {
    fn from(info: &ClientInfo) -> Self {
        let end = info.client_secret_expires_at.filter(|end| *end > 0.0);
        Self {
            id: info.client_id.clone(),
            secret: info.client_secret.clone(),
            key: None,
            auth_method: info.auth_method,
            secret_expires_at: end.map(whole_seconds),
            scopes: info.scope.as_deref().map(Scopes::parse),
        }
    }
}

impl From<&Client> for ClientInfo {
    fn from(client: &Client) -> Self {
        Self {
            client_secret: client.secret.clone(),
            client_secret_expires_at: client.secret_expires_at.map(seconds),
            auth_method: client.auth_method,
            scope: client.scopes.as_ref().map(ToString::to_string),
            ..Self::public(client.id.clone())
        }
    }
}
