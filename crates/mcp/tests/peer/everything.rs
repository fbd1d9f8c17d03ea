//! The server of the interoperation tests, on standard input and output.

use std::sync::Arc;

use callgate_mcp::transport::stdio;

use crate::our_server::{Signals, everything};

pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let router = everything(&Signals::default());
    runtime
        .block_on(stdio::serve(Arc::new(router)))
        .expect("the peer leaves in peace");
}
