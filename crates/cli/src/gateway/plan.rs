use callgate_hub::ServerName;

use crate::config::load::{Configuration, ConfiguredServer};
use crate::instance::InstanceRecord;

/// A server of the hub of this process.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) name: ServerName,
    /// Equal for servers that need not be connected anew.
    pub(crate) fingerprint: String,
    pub(crate) connection: MemberConnection,
}

/// Way in which this process reaches a server.
#[derive(Debug, Clone)]
pub(crate) enum MemberConnection {
    /// It connects the server itself.
    Own(Box<ConfiguredServer>),
    /// A gateway that runs already stands for all servers that it has.
    Attached,
}

/// Name of a running gateway as a server of this process. It is not part of any name that agents see.
pub(crate) const GATEWAY: &str = "callgate gateway";

/// Decides which servers this process connects itself. `gateway` is one that runs already.
///
/// Its servers are used through it if they have the same definitions here. A gateway that has other servers too
/// is not used, since agents of this process would see them.
pub(crate) fn plan(configuration: &Configuration, gateway: Option<&InstanceRecord>) -> Vec<Member> {
    let servers = &configuration.servers;
    let is_known = |gateway: &&InstanceRecord| {
        let mut theirs = gateway.servers.iter();
        !gateway.servers.is_empty()
            && theirs.all(|theirs| {
                let mut ours = servers.iter().filter(|ours| is_used(ours));
                ours.any(|ours| {
                    ours.name.as_str() == theirs.name
                        && ours.definition_hash().as_str() == theirs.definition
                })
            })
    };
    let gateway = gateway.filter(is_known);
    let mut members = Vec::new();
    if let Some(gateway) = gateway {
        members.push(Member {
            name: ServerName::new(GATEWAY).expect("the name is valid"),
            fingerprint: format!("{:?}", gateway.process),
            connection: MemberConnection::Attached,
        });
    }
    for server in servers {
        let definition = server.definition_hash();
        if gateway.is_some_and(|gateway| gateway.has(server.name.as_str(), definition.as_str())) {
            continue;
        }
        members.push(Member::own(server));
    }
    members
}

impl Member {
    /// A server that this process connects itself.
    pub(crate) fn own(server: &ConfiguredServer) -> Self {
        let definition = server.definition_hash();
        Self {
            name: server.name.clone(),
            // A server that the user has trusted meanwhile has the same definition.
            fingerprint: format!("{definition} {}", server.trusted),
            connection: MemberConnection::Own(Box::new(server.clone())),
        }
    }
}

fn is_used(server: &ConfiguredServer) -> bool {
    server.definition.enabled && server.trusted
}

#[cfg(test)]
impl ConfiguredServer {
    /// A server of a user's file, for tests.
    pub(crate) fn example(name: &str) -> Self {
        use crate::config::definition::ServerDefinition;
        use crate::config::load::Origin;
        use crate::config::places::Scope;
        let (definition, _) = ServerDefinition::from_text(r#"{"command":"true"}"#).unwrap();
        Self {
            name: ServerName::new(name).unwrap(),
            definition,
            origin: Origin {
                path: "/etc/callgate/config.json".into(),
                scope: Scope::User,
            },
            trusted: true,
            neighbors: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{EndpointAuth, ProcessIdentity, ServerRecord};

    fn configuration(names: &[&str]) -> Configuration {
        let mut configuration = Configuration::default();
        for name in names {
            configuration.servers.push(ConfiguredServer::example(name));
        }
        configuration
    }

    fn gateway(configuration: &Configuration) -> InstanceRecord {
        let servers = configuration.servers.iter().map(|server| ServerRecord {
            name: server.name.to_string(),
            definition: server.definition_hash().to_string(),
            pid: None,
            since: None,
            restarts: 0,
            status: None,
        });
        InstanceRecord {
            process: ProcessIdentity {
                pid: 1,
                start_ticks: None,
            },
            command: "serve".to_owned(),
            since: 0,
            url: Some("http://127.0.0.1:3000/mcp".to_owned()),
            auth: EndpointAuth::Token,
            servers: servers.collect(),
        }
    }

    fn check(ours: &[&str], theirs: Option<&[&str]>, expect: &[&str]) {
        let gateway = theirs.map(|theirs| gateway(&configuration(theirs)));
        let members = plan(&configuration(ours), gateway.as_ref());
        let names: Vec<_> = members.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names, expect, "{ours:?} beside {theirs:?}");
    }

    #[test]
    fn servers_of_a_running_gateway_are_not_connected_again() {
        check(&["a", "b"], None, &["a", "b"]);
        check(&["a", "b"], Some(&["a", "b"]), &[GATEWAY]);
        check(&["a", "b", "c"], Some(&["a", "b"]), &[GATEWAY, "c"]);
    }

    #[test]
    fn a_gateway_with_other_servers_is_not_used() {
        check(&["a"], Some(&["a", "b"]), &["a"]);
        check(&["a"], Some(&[]), &["a"]);
        check(&[], Some(&["a"]), &[]);
    }

    #[test]
    fn a_server_with_another_definition_is_connected_here() {
        let mut ours = configuration(&["a"]);
        let theirs = gateway(&ours);
        if let Some(server) = ours.servers.first_mut() {
            server.definition.disabled_tools.push("x".to_owned());
        }
        let members = plan(&ours, Some(&theirs));
        assert!(matches!(
            members.as_slice(),
            [Member {
                connection: MemberConnection::Own(_),
                ..
            }]
        ));
    }
}
