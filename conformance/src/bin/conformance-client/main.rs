//! The client that the official conformance suite drives, one process per scenario.
//!
//! The suite appends the URL of its server to the command and names the scenario in the environment.

mod consent;
mod login;
mod scenario;

use std::env;
use std::sync::Arc;

use anyhow::{Context, Result};
use callgate_mcp::client::{Client, InputRefused, with_defaults};
use callgate_mcp::transport::http::client::HttpConfig;
use callgate_mcp::upstream::{Era, Remote};
use callgate_mcp::wire::content::Content;
use callgate_mcp::wire::elicitation::{ElicitFormParams, ElicitResult};
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::roots::Root;
use callgate_mcp::wire::sampling::{CreateMessageParams, CreateMessageResult};
use callgate_mcp::wire::{Limits, RawJson, Version};

#[tokio::main]
async fn main() -> Result<()> {
    let url = env::args()
        .next_back()
        .context("usage: conformance-client URL")?;
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO")
        .context("the suite must name the scenario in MCP_CONFORMANCE_SCENARIO")?;
    let context = match env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => RawJson::parse(text.into(), &Limits::default())?,
        Err(_) => RawJson::empty_object(),
    };
    let server = Arc::new(server(&scenario, &url, &context)?);
    let outcome = scenario::run(&scenario, &client(server.clone()), &context).await;
    server.close().await;
    outcome
}

/// Server of the suite, in the revision that the environment names, with a login in `auth/` scenarios.
fn server(scenario: &str, url: &str, context: &RawJson) -> Result<Remote> {
    let version = version()?;
    let mut config = HttpConfig::new("suite");
    if scenario.starts_with("auth/") {
        config.authorizer = Some(login::keeper(scenario, url, version, context)?);
    }
    Ok(Remote::new(url, config)?.assume(match version.is_modern() {
        true => Era::Modern,
        false => Era::Old(version),
    }))
}

fn version() -> Result<Version> {
    let name = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION")
        .context("the suite must name the revision in MCP_CONFORMANCE_PROTOCOL_VERSION")?;
    Version::parse(&name).with_context(|| format!("there is no revision `{name}`"))
}

/// Client that answers every kind of input request.
fn client(server: Arc<Remote>) -> Client {
    Client::builder(server)
        .info(Implementation::new(
            "callgate-conformance-client",
            env!("CARGO_PKG_VERSION"),
        ))
        .elicitation(fill_in)
        .sampling(sample)
        .roots(async || Ok(vec![Root::new("file:///workspace")]))
        .build()
}

/// Accepts a form with its defaults, and confirms where it asks for a confirmation.
async fn fill_in(form: ElicitFormParams) -> ElicitResult {
    let confirmed = RawJson::encode(&serde_json::json!({ "confirmed": true }));
    let given = match confirmed {
        Ok(given) if form.requested_schema.properties.get("confirmed").is_some() => given,
        _ => RawJson::empty_object(),
    };
    ElicitResult::accept(with_defaults(&form.requested_schema, &given))
}

async fn sample(_request: CreateMessageParams) -> Result<CreateMessageResult, InputRefused> {
    Ok(CreateMessageResult::new(
        "conformance-model",
        Content::text("Paris"),
    ))
}
