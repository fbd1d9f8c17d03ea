use anyhow::{Context, Result, bail};
use callgate_mcp::client::Client;
use callgate_mcp::wire::tool::Tool;
use callgate_mcp::wire::{Map, RawJson};
use serde_json::json;

/// Runs a scenario: makes the requests that the suite expects.
pub(crate) async fn run(name: &str, client: &Client, context: &RawJson) -> Result<()> {
    match name {
        "tools_call" => tools_call(client).await,
        "elicitation-sep1034-client-defaults" => {
            call(client, "test_client_elicitation_defaults").await
        }
        "sse-retry" => call(client, "test_reconnection").await,
        // The server of this scenario implements the handshake only.
        "initialize" => {
            client.discover().await?;
            Ok(())
        }
        "request-metadata" | "json-schema-ref-no-deref" => {
            client.list_tools().await?;
            Ok(())
        }
        "http-standard-headers" => every_method(client).await,
        "http-custom-headers" => custom_headers(client, context).await,
        "http-invalid-tool-headers" => only_valid_tools(client).await,
        "sep-2322-client-request-state" => request_state(client).await,
        "json-schema-2020-12-preservation" => echo_schema(client).await,
        "sep-2640-client-no-prefetch" => {
            client.list_skills().await?;
            Ok(())
        }
        _ if name.starts_with("sep-2640-client-verify-") => every_skill(client).await,
        // The login happens when the client connects; any call triggers it.
        _ if name.starts_with("auth/") => call(client, "test-tool").await,
        _ => bail!("unknown scenario `{name}`"),
    }
}

async fn call(client: &Client, tool: &str) -> Result<()> {
    client.list_tools().await?;
    client.call_tool(tool, &json!({})).await?;
    Ok(())
}

async fn tools_call(client: &Client) -> Result<()> {
    client.list_tools().await?;
    client
        .call_tool("add_numbers", &json!({ "a": 5, "b": 3 }))
        .await?;
    Ok(())
}

/// Uses all tools, resources and prompts: each of these methods mirrors a parameter in headers.
async fn every_method(client: &Client) -> Result<()> {
    for tool in client.list_tools().await? {
        client.call_tool(&tool.name, &json!({})).await?;
    }
    for resource in client.list_resources().await? {
        client.read_resource(&resource.uri).await?;
    }
    for prompt in client.list_prompts().await? {
        client.get_prompt(&prompt.name, Map::default()).await?;
    }
    Ok(())
}

/// Makes the calls that the suite lists, with unchanged arguments.
async fn custom_headers(client: &Client, context: &RawJson) -> Result<()> {
    client.list_tools().await?;
    let calls = context
        .get("toolCalls")
        .context("the context has no `toolCalls`")?;
    for call in calls.elements() {
        let name = call.get("name").context("a tool call has no `name`")?;
        let name = name.text().context("the name of a tool must be text")?;
        let arguments = call.get("arguments").unwrap_or_else(RawJson::empty_object);
        client.call_tool(&name, &arguments).await?;
    }
    Ok(())
}

/// Calls every tool that the client lists: it leaves out those with invalid annotations.
async fn only_valid_tools(client: &Client) -> Result<()> {
    for tool in client.list_tools().await? {
        client
            .call_tool(&tool.name, &sample_arguments(&tool))
            .await?;
    }
    Ok(())
}

/// Makes arguments with a text for every parameter.
fn sample_arguments(tool: &Tool) -> serde_json::Value {
    let properties = tool
        .input_schema
        .get("properties")
        .unwrap_or_else(RawJson::empty_object);
    let names = properties.members().filter_map(|member| member.key().ok());
    names
        .map(|name| (name.into_owned(), json!("value")))
        .collect()
}

async fn request_state(client: &Client) -> Result<()> {
    for tool in [
        "test_mrtr_echo_state",
        "test_mrtr_unrelated",
        "test_mrtr_no_state",
        "test_mrtr_no_result_type",
    ] {
        client.call_tool(tool, &json!({})).await?;
    }
    Ok(())
}

/// Sends the schema of one tool to another tool, which checks that it is unchanged.
async fn echo_schema(client: &Client) -> Result<()> {
    let tools = client.list_tools().await?;
    let tool = tools
        .iter()
        .find(|tool| tool.name == "json_schema_2020_12_tool");
    let schema = &tool
        .context("the server does not list json_schema_2020_12_tool")?
        .input_schema;
    let arguments: Map<RawJson> = [("schema", schema.clone())].into_iter().collect();
    client.call_tool("json_schema_echo", &arguments).await?;
    Ok(())
}

/// Opens every skill and reads all of its files; the first one that differs from its entry ends it.
async fn every_skill(client: &Client) -> Result<()> {
    for entry in client.list_skills().await? {
        let skill = client.open_skill(&entry).await?;
        for path in skill.paths() {
            skill.read(&path).await?;
        }
    }
    Ok(())
}
