//! A server with one tool that a client starts and speaks to by standard input and output.
//!
//! In this folder, after `cargo build`:
//! `cargo run --bin client -- target/debug/stdio_server add '{"a":2,"b":3}'`

use std::sync::Arc;

use callgate_mcp::{Error, Implementation, Json, Router, ToolError, stdio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// The first number.
    a: i64,
    /// The second number.
    b: i64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: i64,
}

/// The schemas of the tool come from the types; a failure is a result that the model reads.
async fn add(Add { a, b }: Add) -> Result<Json<Sum>, ToolError> {
    let sum = a.checked_add(b);
    let sum = sum.ok_or_else(|| ToolError::failed("the sum is too large"))?;
    Ok(Json(Sum { sum }))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let router = Router::new(Implementation::new("calculator", "1.0"))
        .instructions("Use it instead of counting on your fingers.")
        .tool("add", "Adds two numbers", add);
    stdio::serve(Arc::new(router)).await
}
