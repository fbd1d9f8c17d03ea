use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgate_mcp::Service;
use callgate_mcp::client::{CallOptions, Client, ClientBuilder};
use callgate_mcp::wire::RawJson;
use callgate_mcp::wire::content::Content;
use callgate_mcp::wire::elicitation::{ElicitFormParams, ElicitResult};
use callgate_mcp::wire::roots::Root;
use callgate_mcp::wire::sampling::CreateMessageResult;
use serde_json::json;

/// Ada, who visits every URL, declines what she is asked to, and whose model is a parrot.
#[derive(Clone, Default)]
pub(crate) struct User {
    asked: Arc<Mutex<Vec<String>>>,
}

impl User {
    /// Her client, which can answer everything and knows of no tasks.
    pub(crate) fn client(&self, server: Arc<dyn Service>) -> ClientBuilder {
        let (form, url, model, roots) = (self.clone(), self.clone(), self.clone(), self.clone());
        Client::builder(server)
            // Hundreds of pairs at once may take their time.
            .options(CallOptions::default().idle(Duration::from_secs(90)))
            .elicitation(move |params| std::future::ready(form.fill_in(&params)))
            .elicitation_url(move |params| {
                url.note(&format!("{} {}", params.message, params.url));
                std::future::ready(ElicitResult::consent())
            })
            .sampling(move |params| {
                let said = params
                    .messages
                    .iter()
                    .flat_map(|message| message.content.blocks());
                let said: String = said.filter_map(Content::as_text).collect();
                model.note(&said);
                let message = CreateMessageResult::new("parrot", Content::text(said));
                std::future::ready(Ok(message))
            })
            .roots(move || {
                roots.note("roots");
                std::future::ready(Ok(vec![Root::new("file:///project")]))
            })
    }

    /// What she has been asked so far, sorted: of two questions at once either may come first.
    pub(crate) fn asked(&self) -> Vec<String> {
        let mut asked = self.asked.lock().unwrap().clone();
        asked.sort();
        asked
    }

    fn fill_in(&self, form: &ElicitFormParams) -> ElicitResult {
        self.note(&form.message);
        match form.message.as_str() {
            "Say no" => ElicitResult::decline(),
            _ => ElicitResult::accept(RawJson::encode(&json!({"name": "Ada"})).unwrap()),
        }
    }

    fn note(&self, question: &str) {
        self.asked.lock().unwrap().push(question.to_owned());
    }
}
