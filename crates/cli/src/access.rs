use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use callgate_mcp::transport::http::server::{Auth, BearerToken, Document, Guard};
use callgate_oauth::Scopes;
use callgate_oauth::resource::{Config, Introspection, ResourceName, Verifier};

use crate::args::HttpArgs;
use crate::client_choice::secret_in;
use crate::data_dir::DataDir;
use crate::error::{CommandError, Exit};
use crate::network::Network;
use crate::{output, token};

/// Authentication of an HTTP endpoint, and the documents that it publishes about it.
pub(crate) struct Access {
    pub(crate) auth: Auth,
    pub(crate) documents: Vec<Document>,
    pub(crate) guard: Guard,
    /// Notice for the user.
    pub(crate) notice: Option<String>,
}

/// The path of the endpoint.
const PATH: &str = "/mcp";

impl Access {
    /// Authentication that the arguments ask for; by default the token in the data directory.
    pub(crate) async fn new(
        args: &HttpArgs,
        address: SocketAddr,
        data_dir: Option<&Path>,
    ) -> Result<Self, CommandError> {
        match &args.issuer {
            Some(issuer) => Self::of_issuer(issuer, args, address).await,
            None if args.no_auth => Ok(Self::plain(Auth::Open, None)),
            None => Self::of_token(data_dir),
        }
    }

    /// Accepts the token in the data directory.
    pub(crate) fn of_token(data_dir: Option<&Path>) -> Result<Self, CommandError> {
        let token = token::load_or_create(&DataDir::locate(data_dir)?)?;
        let notice = "clients must send the token that `callgate token` prints";
        let auth = Auth::Bearer(BearerToken::new(&token, "operator"));
        Ok(Self::plain(auth, Some(notice.to_owned())))
    }

    fn plain(auth: Auth, notice: Option<String>) -> Self {
        Self {
            auth,
            documents: Vec::new(),
            guard: Guard::default(),
            notice,
        }
    }

    /// Accepts the access tokens of `issuer`.
    async fn of_issuer(
        issuer: &str,
        args: &HttpArgs,
        address: SocketAddr,
    ) -> Result<Self, CommandError> {
        let resource = resource(args, address)?;
        let mut guard = Guard::default();
        guard.hosts.extend(host(&resource));
        let notice = format!("clients must send a token of {issuer} for {resource}");
        let mut config = Config::new(issuer, resource, PATH);
        config.scopes = scopes(&args.scope)?;
        config.audiences.clone_from(&args.audience);
        config.introspection = introspection(args)?;
        config.fetch = Network::new(None)?.fetch_config();
        let verifier =
            Verifier::new(config).with_context(|| format!("cannot trust the issuer {issuer}"))?;
        load(&verifier, issuer).await?;
        let documents = verifier
            .documents()
            .map(|(path, json)| Document::new(path, json));
        Ok(Self {
            documents: documents.collect(),
            auth: Auth::Verifier(Arc::new(verifier)),
            guard,
            notice: Some(notice),
        })
    }
}

/// The name of the server in tokens.
fn resource(args: &HttpArgs, address: SocketAddr) -> Result<ResourceName, CommandError> {
    let name = match &args.resource {
        Some(name) => name.clone(),
        None if address.port() == 0 => {
            let message =
                "the name of this server in tokens is unknown, because --listen has port 0";
            return Err(CommandError::usage(message)
                .hint("name the server with --resource URL, or pick a port with --listen"));
        }
        None => format!("http://{address}{PATH}"),
    };
    ResourceName::parse(&name)
        .with_context(|| format!("`{name}` cannot be the name of a server"))
        .map_err(|error| {
            CommandError::from(error)
                .hint("pass --resource with the URL that clients use, for example https://gate.example/mcp")
        })
}

/// Value of the `Host` header in requests through a proxy.
fn host(resource: &ResourceName) -> Option<String> {
    let url = resource.url();
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

/// Introspection of opaque tokens, if the arguments ask for it.
fn introspection(args: &HttpArgs) -> Result<Option<Introspection>, CommandError> {
    let client = args.introspection_client_id.as_ref();
    let Some((id, path)) = client.zip(args.introspection_client_secret_file.as_deref()) else {
        return Ok(None);
    };
    let secret = secret_in(path)?.ok_or_else(|| {
        let message = format!("{} holds no secret", path.display());
        CommandError::usage(message).hint("write the secret of the client into it")
    })?;
    let introspection = Introspection::new(id, secret);
    let Some(url) = &args.introspection_endpoint else {
        return Ok(Some(introspection));
    };
    let introspection = introspection
        .at(url)
        .with_context(|| format!("`{url}` cannot be an introspection endpoint"))?;
    Ok(Some(introspection))
}

fn scopes(words: &[String]) -> Result<Scopes, CommandError> {
    let scopes: Scopes = words.iter().collect();
    match words.iter().find(|word| !scopes.contains(word)) {
        Some(word) => Err(CommandError::usage(format!("`{word}` is not a scope"))
            .hint("pass --scope once for each scope")),
        None => Ok(scopes),
    }
}

/// Fetches the keys, so that a mistake shows now and not when the first client is refused.
async fn load(verifier: &Verifier, issuer: &str) -> Result<(), CommandError> {
    match verifier.load().await {
        Ok(()) => Ok(()),
        Err(error) if error.is_transient() => {
            let error = anyhow!(error);
            output::note(&format!(
                "warning: the keys of {issuer} cannot be fetched yet: {error:#}"
            ));
            Ok(())
        }
        Err(error) => {
            let error = anyhow!(error).context(format!("cannot fetch the keys of {issuer}"));
            Err(CommandError::new(Exit::Unexpected, error)
                .hint("pass --issuer exactly as the issuer writes itself in its metadata"))
        }
    }
}
