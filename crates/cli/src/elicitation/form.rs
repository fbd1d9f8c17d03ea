use callgate_mcp::wire::elicitation::{ElicitFormParams, ElicitResult};
use callgate_mcp::wire::{ObjectWriter, RawJson};

use super::field::Field;
use super::terminal::{Decision, ask, decide, quote};
use crate::output;
use crate::visible::{cut, visible_line};

/// Maximum fields of a form. A person would not fill in more, and a server must not fill the screen.
const MAX_FIELDS: usize = 64;

/// Maximum choices of a field that are shown; any other can be typed.
const MAX_CHOICES: usize = 64;

/// Maximum characters of an answer in the review.
const MAX_SHOWN: usize = 200;

/// Asks the user to fill in a form, shows the answers, and sends them only after a yes.
pub(crate) async fn ask_form(server: String, params: ElicitFormParams) -> ElicitResult {
    output::note(&format!(
        "the server `{}` asks for input:",
        visible_line(&server)
    ));
    quote(&params.message);
    let fields = Field::all(&params.requested_schema);
    if fields.len() > MAX_FIELDS {
        output::note(&format!(
            "the form has more than {MAX_FIELDS} fields; the server is told that you declined"
        ));
        return ElicitResult::decline();
    }
    output::note("never enter passwords or keys here: the server may see and store the answers");
    let words = [
        ("yes", Decision::Yes),
        ("no", Decision::No),
        ("cancel", Decision::Cancel),
    ];
    match decide("answer?", &words, Some(Decision::Yes)).await {
        Decision::Yes | Decision::Edit => {}
        Decision::No => return ElicitResult::decline(),
        Decision::Cancel => return ElicitResult::cancel(),
    }
    let mut answers = vec![None; fields.len()];
    loop {
        for (field, answer) in fields.iter().zip(&mut answers) {
            let before = answer.take().or_else(|| field.default.clone());
            match fill_in(field, before).await {
                Some(value) => *answer = value,
                None => return ElicitResult::cancel(),
            }
        }
        match review(&fields, &answers).await {
            Decision::Yes => return ElicitResult::accept(content(&fields, &answers)),
            Decision::Edit => {}
            Decision::No => return ElicitResult::decline(),
            Decision::Cancel => return ElicitResult::cancel(),
        }
    }
}

/// Asks for one field until the answer fits. An empty answer means `before`, or that the field is left
/// out; at the end of the input there is no answer.
async fn fill_in(field: &Field, before: Option<RawJson>) -> Option<Option<RawJson>> {
    output::note(&format!(
        "\n{}",
        visible_line(&cut(&field.heading(), MAX_SHOWN))
    ));
    if let Some(description) = &field.description {
        quote(description);
    }
    let choices = field.choices();
    for (number, choice) in choices.iter().take(MAX_CHOICES).enumerate() {
        let title = visible_line(&cut(&choice.title, MAX_SHOWN));
        output::note(&format!("  {:2}  {title}", number + 1));
    }
    if choices.len() > MAX_CHOICES {
        output::note("      and more, which you can type");
    }
    let question = match &before {
        Some(value) => format!("[{}] > ", shown(value)),
        None => "> ".to_owned(),
    };
    loop {
        let answer = ask(&question).await?;
        match (answer.is_empty(), &before) {
            (true, Some(before)) => return Some(Some(before.clone())),
            (true, None) if !field.is_required => return Some(None),
            (true, None) => output::note("an answer is needed; to cancel, press Ctrl-D"),
            (false, _) => match field.parse(&answer) {
                Ok(value) => return Some(Some(value)),
                Err(problem) => output::note(&problem),
            },
        }
    }
}

async fn review(fields: &[Field], answers: &[Option<RawJson>]) -> Decision {
    output::note("\nyour answers:");
    for (field, answer) in fields.iter().zip(answers) {
        let answer = answer.as_ref().map_or_else(|| "-".to_owned(), shown);
        let name = visible_line(&cut(&field.name, MAX_SHOWN));
        output::note(&format!("  {name}: {answer}"));
    }
    let words = [
        ("yes", Decision::Yes),
        ("edit", Decision::Edit),
        ("no", Decision::No),
        ("cancel", Decision::Cancel),
    ];
    decide("send them?", &words, Some(Decision::Yes)).await
}

fn content(fields: &[Field], answers: &[Option<RawJson>]) -> RawJson {
    let answers = fields.iter().zip(answers);
    let content = answers.fold(
        ObjectWriter::new(),
        |content, (field, answer)| match answer {
            Some(answer) => content.member(&field.name, answer),
            None => content,
        },
    );
    content.finish()
}

/// A value as the user sees it: text without its quotes.
fn shown(value: &RawJson) -> String {
    let text = value.text();
    let text = text.as_deref().unwrap_or_else(|| value.as_str());
    visible_line(&cut(text, MAX_SHOWN))
}
