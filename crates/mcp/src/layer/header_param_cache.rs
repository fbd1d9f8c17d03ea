use std::sync::Arc;

use callgate_wire::method;

use crate::error::Error;
use crate::header_param::HeaderParams;
use crate::service::{BoxFuture, Call, Reply, Service};
use crate::tool_headers::ToolHeaders;

/// Header parameters of the tools of a service, learned from each list of tools that passes.
///
/// A relay over HTTP needs them to check that the headers of a call equal its body. A tool whose
/// annotations are invalid is left out of the list, since it cannot be called over HTTP.
#[derive(Debug)]
pub struct HeaderParamCache<S> {
    service: S,
    known: Arc<ToolHeaders>,
}

impl<S: Service> HeaderParamCache<S> {
    /// Learns from the lists of `service`.
    pub fn new(service: S) -> Self {
        Self {
            service,
            known: Arc::default(),
        }
    }

    /// Lookup for the configuration of an HTTP server. It finds the tools that were listed, up to a
    /// limit. Before a call of another tool the server lists them if its option `list_unknown_tools` is
    /// set; else the headers of the call are not checked.
    #[must_use]
    pub fn header_params(&self) -> HeaderParams {
        let known = self.known.clone();
        Arc::new(move |tool| known.params_if_listed(tool))
    }
}

impl<S: Service> Service for HeaderParamCache<S> {
    fn call(&self, call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
        if call.method.as_str() != method::TOOLS_LIST {
            return self.service.call(call);
        }
        Box::pin(async move {
            Ok(match self.service.call(call).await? {
                Reply::Complete(result) => Reply::Complete(self.known.learn("upstream", result)),
                reply => reply,
            })
        })
    }

    fn notify(&self, notification: Call) -> BoxFuture<'_, ()> {
        self.service.notify(notification)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cx;
    use callgate_wire::{Id, Method, RawJson};

    struct Lists;

    const LIST: &str = r#"{"tools":[{"name":"good","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"Region"}}}}]}"#;

    impl Service for Lists {
        fn call(&self, _call: Call) -> BoxFuture<'_, Result<Reply, Error>> {
            let list = serde_json::from_str(LIST).unwrap();
            Box::pin(async { Ok(Reply::Complete(list)) })
        }
    }

    #[tokio::test]
    async fn a_tool_is_known_once_it_was_listed() {
        let cache = HeaderParamCache::new(Lists);
        let find = cache.header_params();
        for (method, expect) in [
            ("prompts/list", None),
            ("tools/list", Some("mcp-param-region")),
        ] {
            let cx = Cx::new(Id::number(1));
            let call = Call::new(Method::new(method), RawJson::empty_object(), cx);
            assert_eq!(cache.call(call).await.unwrap().result().as_str(), LIST);
            let found = find("good").map(|params| params[0].header.clone());
            assert_eq!(found.as_deref(), expect);
            assert!(find("other").is_none());
        }
    }
}
