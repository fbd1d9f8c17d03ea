use callgate_hub::ServerName;

use super::add::Place;
use crate::config::LoadOptions;
use crate::config::edit::{self, Edited};
use crate::config::load::{ConfigFile, load};
use crate::config::read_file::FileContent;
use crate::config_args::EditArgs;
use crate::error::CommandError;

/// Change of a server that is in a configuration file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    Remove,
    Enable,
    Disable,
}

/// Removes a server, or turns it on or off, in the file that has it.
pub(crate) fn run(
    change: Change,
    args: &EditArgs,
    options: &LoadOptions,
    json: bool,
) -> Result<(), CommandError> {
    let name = ServerName::new(&args.name).map_err(CommandError::usage)?;
    let place = place(args, &name, options)?;
    let edited = change.apply(&place, &name)?;
    if !edited.found {
        let message = format!("{} has no server `{name}`", place.path.display());
        return Err(CommandError::usage(message).hint("run `callgate config show` to see all"));
    }
    place.report(change.verb(), &name, &edited, json)
}

impl Change {
    fn apply(self, place: &Place<'_>, name: &ServerName) -> Result<Edited, CommandError> {
        match self {
            Self::Remove => edit::remove_server(&place.path, name),
            Self::Enable => edit::set_enabled(&place.path, name, true),
            Self::Disable => edit::set_enabled(&place.path, name, false),
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Remove => "removed",
            Self::Enable => "enabled",
            Self::Disable => "disabled",
        }
    }
}

/// The file that is named, else the one that has the server.
fn place<'a>(
    args: &EditArgs,
    name: &ServerName,
    options: &'a LoadOptions,
) -> Result<Place<'a>, CommandError> {
    if args.file.scope.is_some() || options.config.is_some() {
        return Place::new(&args.file, options);
    }
    // A server can be removed from the file of the user although there is a mistake elsewhere in it.
    let Ok(configuration) = load(options) else {
        return Place::new(&args.file, options);
    };
    let has = |file: &&ConfigFile| {
        let FileContent {
            servers, faulty, ..
        } = &file.content;
        let is_faulty = faulty.iter().any(|(known, _)| known == name.as_str());
        is_faulty || servers.iter().any(|(known, _)| known == name)
    };
    let files: Vec<&ConfigFile> = configuration.files.iter().filter(has).collect();
    match files.as_slice() {
        [] => Err(configuration.unknown(name.as_str())),
        [file] => Ok(Place {
            path: file.origin.path.clone(),
            scope: file.origin.scope,
            options,
        }),
        files => {
            let paths: Vec<String> = files
                .iter()
                .map(|file| file.origin.path.display().to_string())
                .collect();
            let message = format!("the server `{name}` is in {}", paths.join(" and in "));
            Err(CommandError::usage(message).hint("add --scope user or --scope project"))
        }
    }
}
