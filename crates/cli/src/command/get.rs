use crate::config::{LoadOptions, load};
use crate::config_args::Get;
use crate::error::CommandError;
use crate::{definition_text, output};

/// Shows a server as it is written.
pub(crate) fn run(args: &Get, options: &LoadOptions, json: bool) -> Result<(), CommandError> {
    let configuration = load(options)?;
    let server = configuration
        .server(&args.name)
        .ok_or_else(|| configuration.unknown(&args.name))?;
    match json {
        true => Ok(output::value(&definition_text::as_json(server)?)?),
        false => Ok(output::table(&definition_text::rows(server))?),
    }
}
