use std::sync::Arc;

use callgate_mcp::transport::child::{CloseBy, InheritEnv};

use super::spec::{LoginSpec, ProcessSpec, RemoteSpec, ServerSpec};
use crate::args::ServerArgs;
use crate::config::definition::UrlTransport;
use crate::error::CommandError;
use crate::logins::http_url;

/// The server that is given on the command line: a command, or a URL with options.
pub(crate) fn of_args(args: &ServerArgs, url: Option<&str>) -> Result<ServerSpec, CommandError> {
    match (&args.stdio, url) {
        (Some(command), _) => Ok(ServerSpec::Process(process(command, &args.env)?)),
        (None, Some(url)) => Ok(ServerSpec::Remote(Box::new(remote(args, url)?))),
        (None, None) => {
            Err(CommandError::usage("no server is given")
                .hint("name a URL, or a command with --stdio"))
        }
    }
}

/// The argument is not a URL.
fn not_a_url(text: &str) -> CommandError {
    CommandError::usage(format!("`{text}` is not an http(s) URL")).hint(
        "begin a URL with http:// or https://; for a server that is a command, use --stdio COMMAND",
    )
}

fn process(command: &str, variables: &[(String, String)]) -> Result<ProcessSpec, CommandError> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    let mut words = words.unwrap_or_default().into_iter();
    let program = words.next().ok_or_else(|| {
        CommandError::usage(format!("`{command}` is not a command"))
            .hint("quote it as one word, for example --stdio \"npx -y some-server\"")
    })?;
    Ok(ProcessSpec {
        name: Arc::from(program.as_str()),
        program,
        args: words.collect(),
        env: variables.to_vec(),
        file_values: Vec::new(),
        cwd: None,
        inherit_env: InheritEnv::AllowList,
        // The next command could not know that this server is still ending.
        close_by: CloseBy::ThisProcess,
    })
}

fn remote(args: &ServerArgs, url: &str) -> Result<RemoteSpec, CommandError> {
    let parsed = http_url(url).ok_or_else(|| not_a_url(url))?;
    let headers = args.header.iter().map(|header| {
        let (name, value) = header.split_once(':').ok_or_else(|| {
            // The text is not repeated: it may be a secret without its name.
            CommandError::usage("the value of --header is not a header")
                .hint("write it as NAME: VALUE")
        })?;
        Ok((name.trim().to_owned(), value.trim().to_owned()))
    });
    Ok(RemoteSpec {
        name: Arc::from(url),
        url: parsed,
        transport: UrlTransport::Http,
        headers: headers.collect::<Result<_, CommandError>>()?,
        headers_helper: None,
        file_values: Vec::new(),
        login: LoginSpec {
            token_file: args.token_file.clone(),
            account: args.account.clone(),
            uses_local_token: true,
            ..LoginSpec::default()
        },
        ca_file: args.ca_file.clone(),
    })
}
