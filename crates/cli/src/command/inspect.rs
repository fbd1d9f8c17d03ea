use anyhow::anyhow;
use callgate_mcp::client::Client;
use callgate_mcp::wire::discover::{DiscoverParams, DiscoverResult};
use callgate_mcp::wire::implementation::Implementation;
use callgate_mcp::wire::tool::{Tool, ToolAnnotations};
use callgate_mcp::wire::{ObjectWriter, RawJson, meta, method};

use super::browse::{Browse, Named, first_line, no_servers, text_of};
use crate::browse_args::Inspect;
use crate::config::Configuration;
use crate::error::{CommandError, Exit};
use crate::output::{self, argument};
use crate::render::call_line::example_arguments;
use crate::render::content::{Piece, text_piece};
use crate::render::line::{Color, Line, Style};
use crate::render::schema::schema;
use crate::render::screen::Screen;
use crate::render::table::{Table, draw};
use crate::render::wrap::wrap;
use crate::saved_catalog::SavedCatalog;
use crate::server_choice::{ToolWord, tool_choices, unknown_server};
use crate::suggestion::closest;
use crate::target::{Target, User};
use crate::visible::cut;

/// Maximum characters of a name or a short text.
const LABEL: usize = 200;
/// Maximum tools that are listed.
const TOOLS: usize = 500;

/// Shows a server or a tool.
pub(crate) async fn run(args: &Inspect, browse: Browse<'_>) -> Result<(), CommandError> {
    match browse.named(&args.words) {
        Named::Given(url, rest) => {
            let target = browse.connect(url, User::Away).await?;
            let client = target.client.clone();
            let place = browse.place(url);
            let work = async {
                match rest.first() {
                    Some(name) => {
                        let tools = client.list_raw(method::TOOLS_LIST).await?;
                        inspect_tool(&tools, &Place::Given(place), name, browse.json)
                    }
                    None => inspect_given(&target, &Place::Given(place), browse.json).await,
                }
            };
            // The connection is closed after the output, so that the user need not wait for that.
            let done = work.await;
            target.finish(async { done }).await
        }
        Named::Configured(word, rest) => inspect_configured(word, rest, browse).await,
        Named::Nothing => Err(no_servers()),
    }
}

/// Words that mean the same server in another command.
enum Place {
    /// A URL or a command, with the words before a tool.
    Given(String),
    /// The name of a configured server.
    Configured(String),
}

impl Place {
    fn server(&self) -> String {
        match self {
            Self::Given(words) => words.clone(),
            Self::Configured(name) => argument(name),
        }
    }

    /// The server in an error.
    fn in_words(&self) -> String {
        match self {
            Self::Given(_) => "the server".to_owned(),
            Self::Configured(name) => format!("server `{name}`"),
        }
    }

    fn tool(&self, tool: &str) -> String {
        match self {
            Self::Given(words) => format!("{words} {}", argument(tool)),
            Self::Configured(name) => argument(&format!("{name}/{tool}")),
        }
    }
}

async fn inspect_configured(
    word: &str,
    rest: &[String],
    browse: Browse<'_>,
) -> Result<(), CommandError> {
    let configuration = browse.configuration()?;
    let Some(server) = configuration.server(word) else {
        return inspect_chosen(word, &configuration, browse).await;
    };
    let offered = browse.offered(server).await?;
    let place = Place::Configured(server.name.to_string());
    if let Some(tool) = rest.first() {
        return inspect_tool(&offered.tools, &place, tool, browse.json);
    }
    let about = offered.catalog.as_ref().and_then(SavedCatalog::discovered);
    let about = about.unwrap_or_else(RawJson::empty_object);
    let items = |method: &str| {
        let catalog = offered.catalog.as_ref();
        catalog
            .map(|catalog| catalog.items(method))
            .unwrap_or_default()
    };
    let lists = Lists {
        prompts: items(method::PROMPTS_LIST),
        resources: items(method::RESOURCES_LIST),
        templates: items(method::RESOURCES_TEMPLATES_LIST),
        tools: offered.tools,
    };
    let facts = Facts {
        revision: offered.report.revision.clone(),
        transport: Some(offered.report.transport.clone()),
    };
    show_server(&about, &lists, &facts, &place, browse.json)
}

/// Shows the tool that a word means, which may begin with the names of several servers.
async fn inspect_chosen(
    word: &str,
    configuration: &Configuration,
    browse: Browse<'_>,
) -> Result<(), CommandError> {
    let choices = tool_choices(word, configuration);
    let Some(last) = choices.len().checked_sub(1) else {
        return Err(unknown_server(word, configuration));
    };
    for (index, choice) in choices.iter().enumerate() {
        let offered = browse.offered(choice.server).await?;
        let mut names = offered.report.tool_names.iter();
        let found = names.find(|name| name.is_meant_by(choice.tool));
        if found.is_none() && index < last {
            continue;
        }
        let (ToolWord::Own(word) | ToolWord::Exposed(word)) = choice.tool;
        let name = found.map_or(word, |name| &name.own);
        let place = Place::Configured(choice.server.name.to_string());
        return inspect_tool(&offered.tools, &place, name, browse.json);
    }
    Ok(())
}

fn inspect_tool(
    tools: &[RawJson],
    place: &Place,
    name: &str,
    json: bool,
) -> Result<(), CommandError> {
    let names: Vec<String> = tools.iter().map(name_of).collect();
    let found = names.iter().position(|known| known == name);
    let Some(raw) = found.and_then(|at| tools.get(at)) else {
        let server = place.in_words();
        let error = CommandError::new(Exit::ToolFailed, anyhow!("{server} has no tool `{name}`"));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return Err(match closest(name, &names) {
            Some(close) => error.hint(format!("did you mean `{close}`?")),
            None => error.hint(format!(
                "run `callgate inspect {}` to see its tools",
                place.server()
            )),
        });
    };
    if json {
        return Ok(output::json(raw)?);
    }
    let tool: Tool = raw.decode().map_err(anyhow::Error::from)?;
    let screen = Screen::of_stdout().unwrap_or(Screen::FILE);
    let call = format!("callgate call {}", place.tool(&tool.name));
    Ok(output::lines(&tool_lines(&tool, &call, &screen), &screen)?)
}

/// A tool with its arguments, its result, and `call`, the beginning of a command that calls it.
fn tool_lines(tool: &Tool, call: &str, screen: &Screen) -> Vec<Line> {
    let annotations = tool.annotations.clone().unwrap_or_default();
    let title = tool.title.as_ref().or(annotations.title.as_ref());
    let mut first = Line::of(&cut(&tool.name, LABEL), Style::BOLD);
    if let Some(title) = title.filter(|title| **title != tool.name) {
        first = first.add(&format!("  {}", cut(title, LABEL)), Style::DIM);
    }
    let mut lines = vec![first];
    let hints = hints(&annotations);
    if !hints.is_empty() {
        lines.push(Line::of(&hints.join(", "), Style::color(Color::Yellow)));
    }
    if let Some(description) = &tool.description {
        lines.push(Line::new());
        lines.extend(text_lines(description, screen));
    }
    lines.extend(section(
        "Arguments",
        &schema(&tool.input_schema, screen.width - 2),
    ));
    if let Some(output) = &tool.output_schema {
        lines.extend(section("Result", &schema(output, screen.width - 2)));
    }
    let words = [vec![call.to_owned()], example_arguments(&tool.input_schema)].concat();
    // The line is not wrapped: it has to stay one command.
    lines.extend(section(
        "Call it",
        &[Line::of(&words.join(" "), Style::color(Color::Green))],
    ));
    lines
}

/// The hints of a tool that say something.
fn hints(annotations: &ToolAnnotations) -> Vec<&'static str> {
    let hints = [
        (annotations.read_only_hint, "read-only", "changes things"),
        (
            annotations.destructive_hint,
            "may destroy",
            "destroys nothing",
        ),
        (annotations.idempotent_hint, "safe to repeat", ""),
        (
            annotations.open_world_hint,
            "reaches the outside world",
            "stays inside",
        ),
    ];
    // A tool that only reads neither destroys nor repeats a change.
    let is_read_only = annotations.read_only_hint == Some(true);
    let words = hints
        .iter()
        .enumerate()
        .filter_map(|(at, (hint, yes, no))| match hint {
            _ if is_read_only && matches!(at, 1 | 2) => None,
            Some(true) => Some(*yes),
            Some(false) => Some(*no),
            None => None,
        });
    words.filter(|word| !word.is_empty()).collect()
}

/// Facts about the connection to a server.
struct Facts {
    revision: Option<String>,
    transport: Option<String>,
}

async fn inspect_given(target: &Target, place: &Place, json: bool) -> Result<(), CommandError> {
    let client = &target.client;
    let raw = client
        .request(method::SERVER_DISCOVER, &DiscoverParams::default())
        .await?;
    let about: DiscoverResult = raw.decode().map_err(anyhow::Error::from)?;
    let lists = Lists::read(client, &about).await?;
    let facts = Facts {
        revision: target.revision(),
        transport: None,
    };
    show_server(&raw, &lists, &facts, place, json)
}

fn show_server(
    raw: &RawJson,
    lists: &Lists,
    facts: &Facts,
    place: &Place,
    json: bool,
) -> Result<(), CommandError> {
    if json {
        let object = ObjectWriter::new()
            .member("server", raw)
            .array("tools", &lists.tools)
            .array("prompts", &lists.prompts)
            .array("resources", &lists.resources)
            .array("resourceTemplates", &lists.templates);
        return Ok(output::json(&object.finish())?);
    }
    let about: DiscoverResult = raw.decode().map_err(anyhow::Error::from)?;
    let screen = Screen::of_stdout().unwrap_or(Screen::FILE);
    let lines = server_lines(&about, lists, facts, place, &screen);
    Ok(output::lines(&lines, &screen)?)
}

/// Items of a server, as the server sent them.
struct Lists {
    tools: Vec<RawJson>,
    prompts: Vec<RawJson>,
    resources: Vec<RawJson>,
    templates: Vec<RawJson>,
}

impl Lists {
    /// Reads the lists that the server says it has.
    async fn read(client: &Client, about: &DiscoverResult) -> Result<Self, CommandError> {
        let capabilities = &about.capabilities;
        let list = async |method: &str, has: bool| match has {
            true => client.list_raw(method).await,
            false => Ok(Vec::new()),
        };
        let has_resources = capabilities.resources.is_some();
        let templates = list(method::RESOURCES_TEMPLATES_LIST, has_resources).await;
        Ok(Self {
            tools: list(method::TOOLS_LIST, capabilities.tools.is_some()).await?,
            prompts: list(method::PROMPTS_LIST, capabilities.prompts.is_some()).await?,
            resources: list(method::RESOURCES_LIST, has_resources).await?,
            // Many servers with resources do not know of templates.
            templates: templates.unwrap_or_default(),
        })
    }
}

fn server_lines(
    about: &DiscoverResult,
    lists: &Lists,
    facts: &Facts,
    place: &Place,
    screen: &Screen,
) -> Vec<Line> {
    let info = about
        .meta
        .as_ref()
        .and_then(|all| all.get(meta::SERVER_INFO));
    let info: Option<Implementation> = info.and_then(|info| info.decode().ok());
    let name = info
        .as_ref()
        .map_or("server without a name", |info| &info.name);
    let title = info.as_ref().and_then(|info| info.title.as_deref());
    let mut first = Line::of(&cut(name, LABEL), Style::BOLD);
    if let Some(title) = title.filter(|title| *title != name) {
        first = first.add(&format!("  {}", cut(title, LABEL)), Style::DIM);
    }
    let rows = [
        ("version", info.as_ref().map(|info| info.version.clone())),
        ("revision", facts.revision.clone()),
        ("transport", facts.transport.clone()),
        ("offers", Some(offers(lists))),
        ("capabilities", Some(capabilities(about))),
    ];
    let mut lines = vec![first];
    for (name, value) in rows
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
    {
        let begin = Line::of(name, Style::DIM).pad(14);
        lines.extend(wrap(
            &Line::of(&cut(&value, LABEL), Style::PLAIN),
            screen.width,
            &begin,
            &Line::new().pad(14),
        ));
    }
    if let Some(instructions) = &about.instructions {
        lines.extend(section("Instructions", &text_lines(instructions, screen)));
    }
    if !lists.tools.is_empty() {
        lines.extend(section(
            "Tools",
            &tool_table(&lists.tools, screen.width - 2),
        ));
        let next = format!("callgate inspect {}", place.tool("TOOL"));
        lines.push(Line::new());
        lines.push(Line::of("one of them: ", Style::DIM).add(&next, Style::color(Color::Green)));
    }
    lines
}

fn offers(lists: &Lists) -> String {
    let counts = [
        (lists.tools.len(), "tool"),
        (lists.prompts.len(), "prompt"),
        (lists.resources.len(), "resource"),
        (lists.templates.len(), "resource template"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = counts.map(|(count, name)| plural(*count, name)).collect();
    match words.is_empty() {
        true => "nothing".to_owned(),
        false => words.join(", "),
    }
}

fn plural(count: usize, name: &str) -> String {
    match count {
        1 => format!("1 {name}"),
        _ => format!("{count} {name}s"),
    }
}

fn capabilities(about: &DiscoverResult) -> String {
    let raw = RawJson::encode(&about.capabilities).unwrap_or_else(|_| RawJson::empty_object());
    let mut words = Vec::new();
    for (name, value) in raw.members_besides(&["extensions", "experimental"]) {
        let details = value.members_besides(&[]);
        let details = details.iter().filter(|(_, value)| value.as_str() == "true");
        let details: Vec<&str> = details.map(|(name, _)| name.as_str()).collect();
        words.push(match details.is_empty() {
            true => name,
            false => format!("{name} ({})", details.join(", ")),
        });
    }
    for group in ["extensions", "experimental"] {
        let group = raw.get(group).unwrap_or_else(RawJson::empty_object);
        words.extend(group.members_besides(&[]).into_iter().map(|(name, _)| name));
    }
    match words.is_empty() {
        true => "none".to_owned(),
        false => words.join(", "),
    }
}

fn tool_table(tools: &[RawJson], width: usize) -> Vec<Line> {
    let row = |tool: &RawJson| {
        vec![
            Line::of(&cut(&name_of(tool), LABEL), Style::BOLD),
            Line::of(&first_line(tool), Style::PLAIN),
        ]
    };
    let table = Table {
        header: Vec::new(),
        rows: tools.iter().take(TOOLS).map(row).collect(),
        cell_lines: 1,
    };
    let mut lines = draw(&table, width).lines;
    if tools.len() > TOOLS {
        let note = format!("{} more; use --json to get all", tools.len() - TOOLS);
        lines.push(Line::of(&note, Style::DIM));
    }
    lines
}

fn name_of(item: &RawJson) -> String {
    text_of(item, "name")
}

/// Text of a server in lines; markdown is drawn.
fn text_lines(text: &str, screen: &Screen) -> Vec<Line> {
    match text_piece(text.trim(), None, screen) {
        Piece::Lines(lines) => lines,
        _ => {
            let lines = text.trim().lines().map(|line| Line::of(line, Style::PLAIN));
            lines
                .flat_map(|line| wrap(&line, screen.width, &Line::new(), &Line::new()))
                .collect()
        }
    }
}

fn section(title: &str, lines: &[Line]) -> Vec<Line> {
    let mut section = vec![
        Line::new(),
        Line::of(title, Style::BOLD.with(Style::UNDERLINED)),
    ];
    section.extend(lines.iter().map(|line| Line::new().pad(2).join(line)));
    section
}
