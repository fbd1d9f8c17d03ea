//! A tool that asks the user, and a client that shows the form; both in one process.
//!
//! In this folder: `cargo run --bin elicitation`

use std::sync::Arc;

use callgate_mcp::wire::elicitation::{ElicitFormParams, ElicitResult};
use callgate_mcp::{
    Client, Elicited, Error, Implementation, RawJson, RequestCx, Router, ToolError, memory,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The fields of the form.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Order {
    dish: String,
    /// How many.
    #[serde(default)]
    portions: Option<u8>,
}

/// The question ends the request, and the answer comes with the next one, which runs the function
/// from the top: ask first, act later.
async fn order(cx: RequestCx) -> Result<String, ToolError> {
    match cx
        .elicit_form::<Order>("order", "What would you like?")
        .await?
    {
        Elicited::Accepted(Order { dish, portions }) => {
            Ok(format!("{} x {dish}, coming up", portions.unwrap_or(1)))
        }
        _ => Err(ToolError::failed("no appetite")),
    }
}

/// A real client would let its user fill in the form, or decline.
async fn fill_in(form: ElicitFormParams) -> ElicitResult {
    println!("the server asks: {}", form.message);
    for (field, _) in form.requested_schema.properties.iter() {
        println!("- {field}");
    }
    let order = Order {
        dish: "soup".to_owned(),
        portions: Some(2),
    };
    ElicitResult::accept(RawJson::encode(&order).expect("an order is JSON"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let router = Router::new(Implementation::new("kitchen", "1.0")).tool("order", "Orders", order);
    let (connection, serving) = memory::pair(Arc::new(router));
    tokio::spawn(serving);

    let client = Client::builder(Arc::new(connection))
        .elicitation(fill_in)
        .build();
    let result = client.call_tool("order", &json!({})).await?;
    for content in &result.content {
        println!("the tool says: {}", content.as_text().unwrap_or_default());
    }
    Ok(())
}
