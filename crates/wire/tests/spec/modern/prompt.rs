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
use crate::sample::{Sample, request, response, value, with};

pub(super) fn samples() -> Vec<Sample> {
    let page = with(PaginatedParams::default(), |it| {
        it.meta = Some(request_meta());
        it.cursor = None;
    });
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
    with(Prompt::new("review", "Reviews code"), |it| {
        it.title = Some("Review".to_owned());
        it.arguments = Some(vec![argument()]);
        it.icons = Some(vec![icon()]);
        it.meta = Some(plain_meta());
    })
}

fn argument() -> PromptArgument {
    with(PromptArgument::required("code", "The code"), |it| {
        it.title = Some("Code".to_owned());
    })
}

fn prompts() -> ListPromptsResult {
    with(ListPromptsResult::new(vec![prompt()]), |it| {
        it.next_cursor = Some("next".to_owned());
        it.meta = Some(result_meta());
    })
}

fn get_params() -> GetPromptParams {
    with(GetPromptParams::new("review"), |it| {
        it.meta = Some(request_meta());
        it.arguments = Some([("code", "fn main() {}".to_owned())].into_iter().collect());
        it.input_responses = Some(InputResponses::new());
        it.request_state = Some("state".to_owned());
    })
}

fn message() -> PromptMessage {
    PromptMessage::assistant(content::blocks().remove(0))
}

fn get_result() -> GetPromptResult {
    with(
        GetPromptResult::new(
            content::blocks()
                .into_iter()
                .map(PromptMessage::user)
                .collect(),
        ),
        |it| {
            it.description = Some("Reviews code".to_owned());
            it.meta = Some(result_meta());
        },
    )
}

fn titled_reference() -> Reference {
    let Reference::Prompt(mut prompt) = Reference::prompt("review") else {
        panic!("a prompt is a prompt");
    };
    prompt.title = Some("Review".to_owned());
    Reference::Prompt(prompt)
}

fn complete_params(reference: Reference) -> CompleteParams {
    let argument = CompleteArgument::new("language", "py");
    with(CompleteParams::new(reference, argument), |it| {
        it.meta = Some(request_meta());
        it.context = Some(with(CompleteContext::default(), |it| {
            it.arguments = Some([("code", "x".to_owned())].into_iter().collect());
        }));
    })
}

fn complete_result() -> CompleteResult {
    with(
        CompleteResult::new(Completion::of(vec!["python".to_owned()])),
        |it| {
            it.meta = Some(result_meta());
        },
    )
}
