use callgate_oauth::options::{EndpointUrl, ProviderOptions, RedirectUri};

use super::super::document::{Node, Value};
use super::members::{Members, wrong};
use crate::config::definition::{OAuthDefinition, OAuthSettings};
use crate::config::template::Template;

/// Reads the login settings of an entry: `oauth`, or `auth` of Cursor and `oauthClient` of Cline.
///
/// State of a login, such as tokens, stays with the client.
pub(super) fn read(members: &mut Members<'_>) -> Result<Option<OAuthDefinition>, String> {
    for name in ["oauth", "auth", "oauthClient"] {
        match members.node(name) {
            None => {}
            Some(Node {
                value: Value::Bool(false),
                ..
            }) => return Ok(Some(OAuthDefinition::Off)),
            Some(Node {
                value: Value::Bool(true),
                ..
            }) => return Ok(None),
            Some(_) => {
                let Some(mut inner) = members.inner(name)? else {
                    continue;
                };
                let settings = settings(&mut inner)?;
                members.adopt(name, inner);
                return Ok(settings);
            }
        }
    }
    Ok(None)
}

fn settings(inner: &mut Members<'_>) -> Result<Option<OAuthDefinition>, String> {
    if inner.bool("enabled")? == Some(false) {
        return Ok(Some(OAuthDefinition::Off));
    }
    let settings = OAuthSettings {
        account: None,
        client_id: first(inner, &["clientId", "client_id", "CLIENT_ID"])?,
        client_secret: first(inner, &["clientSecret", "client_secret", "CLIENT_SECRET"])?,
        scopes: scopes(inner)?,
        callback_port: port(inner)?,
        options: options(inner)?,
    };
    match settings == OAuthSettings::default() {
        true => Ok(None),
        false => Ok(Some(OAuthDefinition::On(Box::new(settings)))),
    }
}

/// Addresses that are given by hand; one that cannot be used is told of and left out.
fn options(inner: &mut Members<'_>) -> Result<ProviderOptions, String> {
    let mut options = ProviderOptions::default();
    for name in ["redirectUri", "redirect_uri", "callback_url"] {
        if let Some(text) = inner.text(name)? {
            options.redirect_uri = RedirectUri::parse(text).ok();
            if options.redirect_uri.is_none() {
                inner.note(format!(
                    "`{name}` is not a redirect URI that can be used, and is left out"
                ));
            }
        }
    }
    for (name, endpoint) in [
        ("authorizationUrl", &mut options.authorization_endpoint),
        ("tokenUrl", &mut options.token_endpoint),
    ] {
        if let Some(text) = inner.text(name)? {
            *endpoint = EndpointUrl::parse(text).ok();
            if endpoint.is_none() {
                inner.note(format!(
                    "`{name}` is not a URL that can be used, and is left out"
                ));
            }
        }
    }
    Ok(options)
}

fn first(inner: &mut Members<'_>, names: &[&'static str]) -> Result<Option<Template>, String> {
    let mut found = None;
    for name in names {
        found = found.or(inner.template(name)?);
    }
    Ok(found)
}

/// Scopes as a list, or as one text with spaces.
fn scopes(inner: &mut Members<'_>) -> Result<Vec<String>, String> {
    for name in ["scopes", "scope"] {
        match inner.node(name) {
            Some(Node {
                value: Value::Text(text),
                ..
            }) => {
                return Ok(text.split_whitespace().map(str::to_owned).collect());
            }
            Some(_) => return Ok(inner.texts(name)?.unwrap_or_default()),
            None => {}
        }
    }
    Ok(Vec::new())
}

fn port(inner: &mut Members<'_>) -> Result<Option<u16>, String> {
    for name in ["callbackPort", "callback_port"] {
        if let Some(node) = inner.node(name) {
            let port = match &node.value {
                Value::Number(text) => text.parse().ok(),
                _ => None,
            };
            return port.map(Some).ok_or_else(|| wrong(name, "a port"));
        }
    }
    Ok(None)
}
