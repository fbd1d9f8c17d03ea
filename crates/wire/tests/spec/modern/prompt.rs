use callgate_wire::completion::{
    CompleteArgument, CompleteContext, CompleteParams, CompleteResult, Completion, Reference,
};
use callgate_wire::input::InputResponses;
use callgate_wire::method;
use callgate_wire::pagination::PaginatedParams;
use callgate_wire::prompt::{
    GetPromptParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage,
};

use super::{client, content, icon, plain_meta, request_meta, result_meta};
use crate::sample::{Sample, request, response, value};

pub(super) fn samples() -> Vec<Sample> {
    let page = PaginatedParams {
        meta: Some(request_meta()),
        cursor: None,
    };
    let template = Reference::resource_template("file:///{path}");
    vec![
        value("Prompt", &prompt()),
        value("PromptArgument", &argument()),
        value("PromptArgument", &PromptArgument::optional("a", "An a")),
        request("ListPromptsRequest", method::PROMPTS_LIST, &page),
        value("ListPromptsResult", &prompts()),
        response("ListPromptsResultResponse", &prompts()),
        value("GetPromptRequestParams", &get_params()),
        request("GetPromptRequest", method::PROMPTS_GET, &get_params()),
        value("PromptMessage", &message()),
        value("GetPromptResult", &get_result()),
        response("GetPromptResultResponse", &get_result()),
        response("GetPromptResultResponse", &client::input_required()),
        value("PromptReference", &titled_reference()),
        value("ResourceTemplateReference", &template),
        value(
            "CompleteRequestParams",
            &complete_params(titled_reference()),
        ),
        value("CompleteRequestParams", &complete_params(template)),
        request(
            "CompleteRequest",
            method::COMPLETION_COMPLETE,
            &complete_params(titled_reference()),
        ),
        value("CompleteResult", &complete_result()),
        response("CompleteResultResponse", &complete_result()),
    ]
}

fn prompt() -> Prompt {
    Prompt {
        title: Some("Review".to_owned()),
        arguments: Some(vec![argument()]),
        icons: Some(vec![icon()]),
        meta: Some(plain_meta()),
        ..Prompt::new("review", "Reviews code")
    }
}

fn argument() -> PromptArgument {
    PromptArgument {
        title: Some("Code".to_owned()),
        ..PromptArgument::required("code", "The code")
    }
}

fn prompts() -> ListPromptsResult {
    ListPromptsResult {
        next_cursor: Some("next".to_owned()),
        meta: Some(result_meta()),
        ..ListPromptsResult::new(vec![prompt()])
    }
}

fn get_params() -> GetPromptParams {
    GetPromptParams {
        meta: Some(request_meta()),
        arguments: Some([("code", "fn main() {}".to_owned())].into_iter().collect()),
        input_responses: Some(InputResponses::new()),
        request_state: Some("state".to_owned()),
        ..GetPromptParams::new("review")
    }
}

fn message() -> PromptMessage {
    PromptMessage::assistant(content::blocks().remove(0))
}

fn get_result() -> GetPromptResult {
    GetPromptResult {
        description: Some("Reviews code".to_owned()),
        meta: Some(result_meta()),
        ..GetPromptResult::new(
            content::blocks()
                .into_iter()
                .map(PromptMessage::user)
                .collect(),
        )
    }
}

fn titled_reference() -> Reference {
    let Reference::Prompt(mut prompt) = Reference::prompt("review") else {
        panic!("a prompt is a prompt");
    };
    prompt.title = Some("Review".to_owned());
    Reference::Prompt(prompt)
}

fn complete_params(reference: Reference) -> CompleteParams {
    let argument = CompleteArgument {
        name: "language".to_owned(),
        value: "py".to_owned(),
    };
    CompleteParams {
        meta: Some(request_meta()),
        context: Some(CompleteContext {
            arguments: Some([("code", "x".to_owned())].into_iter().collect()),
        }),
        ..CompleteParams::new(reference, argument)
    }
}

fn complete_result() -> CompleteResult {
    CompleteResult {
        meta: Some(result_meta()),
        ..CompleteResult::new(Completion::of(vec!["python".to_owned()]))
    }
}
