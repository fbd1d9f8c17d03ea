//! A server on standard input and output whose tools print.

use std::process::Command;
use std::sync::Arc;

use callgate_mcp::transport::stdio;
use callgate_mcp::wire::RawJson;
use callgate_mcp::{BoxFuture, Call, Error, Reply, Service};

pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime
        .block_on(stdio::serve(Arc::new(Tools)))
        .expect("the peer leaves in peace");
}

struct Tools;

impl Service for Tools {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        Box::pin(async move {
            match call.method.as_str() {
                "print" => print(),
                "panic" => panic!("as the test wants"),
                "later" => tokio::task::yield_now().await,
                _ => {}
            }
            let text = "x".repeat(1000);
            let result = RawJson::encode(&text).expect("a string is JSON");
            Ok(Reply::Complete(result))
        })
    }
}

/// Prints in every way a careless tool does.
fn print() {
    println!("printed by a tool");
    let child = Command::new("/bin/sh")
        .args(["-c", "echo printed by a child; cat"])
        .status();
    assert!(child.expect("there is a shell").success());
}
