use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::logins;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Auth {
    #[command(subcommand)]
    pub(crate) command: Option<AuthCommand>,

    #[command(flatten)]
    pub(crate) login: LogIn,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuthCommand {
    /// List the stored logins
    List,
    /// Import the logins of OpenCode
    Import {
        /// The file mcp-auth.json of OpenCode, if it is not in the default place
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Show or change where the secrets of logins are stored: in a file or in the keychain
    Store {
        /// The new place of the secrets
        place: Option<StorePlace>,
    },
}

/// Place of the secrets of all logins.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum StorePlace {
    /// The login file, which only you can read
    File,
    /// The login file, sealed with a key in the keychain of the system
    Keychain,
}

#[derive(Debug, Args)]
pub(crate) struct LogIn {
    /// The server: the name of a configured one, its http(s) URL, or the name of a login
    #[arg(value_name = "SERVER", required = true)]
    pub(crate) server: Option<String>,

    /// Name the account, if you have several at this server
    #[arg(long, value_name = "NAME", value_parser = account)]
    pub(crate) account: Option<String>,

    /// Log in again from the start, with a new registration, although there is a login that works
    #[arg(long)]
    pub(crate) again: bool,

    /// Ask for this scope; may be repeated
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,

    /// Print the page to open, and read the address that it leads to from standard input
    #[arg(long)]
    pub(crate) no_browser: bool,

    /// Print a code to enter in a browser on another device
    #[arg(long, conflicts_with = "no_browser")]
    pub(crate) device: bool,

    #[command(flatten)]
    pub(crate) client: Client,

    /// Redirect the browser to this port, now and at later logins [default: 19876]
    #[arg(long, value_name = "PORT", conflicts_with = "redirect_uri")]
    pub(crate) callback_port: Option<u16>,

    #[command(flatten)]
    pub(crate) provider: Provider,
}

/// Options for a provider that does not follow the specification. They are stored with the login.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options for unusual providers, stored with the login")]
pub(crate) struct Provider {
    /// Add this parameter to the authorization page; an empty value leaves it out; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) auth_param: Vec<String>,

    /// Add this parameter to token requests; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) token_param: Vec<String>,

    /// Leave out the parameter `resource`, because the provider refuses it
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) no_resource: Option<bool>,

    /// Redirect the browser to this URI, with which the client is registered; without a port, to any port
    #[arg(long, value_name = "URI")]
    pub(crate) redirect_uri: Option<String>,

    /// Use this authorization page instead of the one in the metadata
    #[arg(long, value_name = "URL")]
    pub(crate) authorization_endpoint: Option<String>,

    /// Use this token endpoint instead of the one in the metadata
    #[arg(long, value_name = "URL")]
    pub(crate) token_endpoint: Option<String>,

    /// Register under this name, because the provider registers only names that it knows
    #[arg(long, value_name = "NAME")]
    pub(crate) client_name: Option<String>,

    /// Authenticate the client in this way: none, client_secret_basic, client_secret_post or private_key_jwt
    #[arg(long, value_name = "METHOD")]
    pub(crate) client_auth_method: Option<String>,

    /// Register with the token in this file; the variable CALLGATE_INITIAL_ACCESS_TOKEN does the same
    #[arg(long, value_name = "FILE")]
    pub(crate) initial_access_token_file: Option<PathBuf>,

    /// Log in although the metadata of the provider does not list PKCE, which is used all the same
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) allow_missing_pkce_metadata: Option<bool>,

    /// Separate scopes by this character instead of a space
    #[arg(long, value_name = "CHARACTER")]
    pub(crate) scope_separator: Option<String>,

    /// Allow login endpoints on this machine and on private networks, now and at later logins
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) allow_private_addresses: Option<bool>,

    /// Trust the certificate authorities in this PEM file, besides those of the system, now and in later commands
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}

/// Client identity at the authorization server; without these options the client registers itself.
#[derive(Debug, Args)]
pub(crate) struct Client {
    /// Log in as the client with this id, which was registered by hand
    #[arg(long, value_name = "ID", conflicts_with = "client_metadata_url")]
    pub(crate) client_id: Option<String>,

    /// Read the secret of the client from this file; the variable CALLGATE_CLIENT_SECRET does the same
    #[arg(long, value_name = "FILE", requires = "client_id")]
    pub(crate) client_secret_file: Option<PathBuf>,

    /// Authenticate the client by the private key in this file, in PEM
    #[arg(long, value_name = "FILE", requires = "client_id")]
    pub(crate) private_key: Option<PathBuf>,

    /// Log in as the client itself, without a person
    #[arg(long, requires = "client_id", conflicts_with_all = ["no_browser", "device"])]
    pub(crate) client_credentials: bool,

    /// Log in without a person, by the identity token that the platform keeps in this file
    #[arg(
        long,
        value_name = "FILE",
        requires = "client_id",
        conflicts_with_all = ["no_browser", "device", "client_credentials"]
    )]
    pub(crate) workload_identity: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) enterprise: Enterprise,

    /// Log in as the client whose metadata document is at this https URL
    #[arg(long, value_name = "URL")]
    pub(crate) client_metadata_url: Option<String>,
}

/// An employer's identity provider, which decides who may use a server.
#[derive(Debug, Args)]
pub(crate) struct Enterprise {
    /// Log in by the identity token of your employer in this file
    #[arg(
        long,
        value_name = "FILE",
        requires_all = ["client_id", "enterprise_token_endpoint", "enterprise_client_id"],
        conflicts_with_all = ["no_browser", "device", "client_credentials", "workload_identity"]
    )]
    pub(crate) enterprise_token: Option<PathBuf>,

    /// Token endpoint of the identity provider of your employer
    #[arg(long, value_name = "URL", requires = "enterprise_token")]
    pub(crate) enterprise_token_endpoint: Option<String>,

    /// Client id at that identity provider
    #[arg(long, value_name = "ID", requires = "enterprise_token")]
    pub(crate) enterprise_client_id: Option<String>,

    /// The file with the secret of that client, if it has one
    #[arg(long, value_name = "FILE", requires = "enterprise_token")]
    pub(crate) enterprise_client_secret_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Logout {
    /// The server: the name of a configured one, its http(s) URL, or the name of a login
    #[arg(value_name = "SERVER")]
    pub(crate) server: String,

    /// Log out of the login that was stored with `callgate auth --account NAME`
    #[arg(long, value_name = "NAME", value_parser = account)]
    pub(crate) account: Option<String>,
}

/// An account name. It is part of the name of a login, which the user may have to type.
pub(crate) fn account(text: &str) -> Result<String, &'static str> {
    match logins::is_account_name(text) {
        true => Ok(text.to_owned()),
        false => Err("use up to 64 letters, digits and the characters . _ @ + -"),
    }
}
