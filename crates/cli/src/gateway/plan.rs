use std::collections::HashSet;

use callgate_hub::ServerName;

use super::service::WORKSPACE;
use crate::config::load::{Configuration, ConfiguredServer};
use crate::instance::{InstanceRecord, ProcessIdentity};

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
    /// Another process stands for all servers that it runs.
    Attached {
        process: ProcessIdentity,
        /// True if it may have workspace tools, which are for the directory of its own.
        has_workspace_tools: bool,
    },
}

/// The servers that this process has when it plans anew.
#[derive(Debug, Clone, Default)]
pub(crate) struct Current {
    /// Names and hashes of the definitions of those that it runs.
    pub(crate) own: HashSet<(String, String)>,
    /// The processes whose servers it uses.
    pub(crate) attached: Vec<ProcessIdentity>,
}

/// Begin of the name of another process as a server of this one. It is not part of any name that agents see.
pub(super) const GATEWAY: &str = "callgate gateway";

/// Decides which servers this process connects itself. `gateways` are the other processes that it can use, the best
/// one first.
///
/// The servers of another process are used through it if they have the same definitions here. A process that has
/// other servers too is not used, since agents of this process would see them.
///
/// A server that runs here is handed over to a `serve` over HTTP only, which does not end with a client: between two
/// processes of clients, each would otherwise leave it to the other.
pub(crate) fn plan(
    configuration: &Configuration,
    mut gateways: Vec<InstanceRecord>,
    current: &Current,
) -> Vec<Member> {
    // One that is used already comes before another one of its kind.
    gateways.sort_by_key(|gateway| {
        let is_attached = current.attached.contains(&gateway.process);
        (!gateway.is_serve(), !is_attached)
    });
    let used = configuration
        .servers
        .iter()
        .filter(|server| is_used(server));
    let mut ours: HashSet<(String, String)> = used.map(key_of).collect();
    if !current.own.is_empty() {
        gateways.retain(|gateway| {
            let mut theirs = gateway.definitions().map(owned);
            gateway.is_serve() || !theirs.any(|theirs| current.own.contains(&theirs))
        });
    }
    let mut members = Vec::new();
    let mut attached = HashSet::new();
    for gateway in &gateways {
        let theirs: Vec<_> = gateway.definitions().map(owned).collect();
        if theirs.is_empty() || !theirs.iter().all(|theirs| ours.contains(theirs)) {
            continue;
        }
        for theirs in theirs {
            // A server is used through one process.
            ours.remove(&theirs);
            attached.insert(theirs);
        }
        members.push(Member::attached(gateway));
    }
    let servers = configuration.servers.iter();
    let own = servers.filter(|server| !attached.contains(&key_of(server)));
    members.extend(own.map(Member::own));
    members
}

fn key_of(server: &ConfiguredServer) -> (String, String) {
    owned((server.name.as_str(), server.process_hash().as_str()))
}

fn owned((name, definition): (&str, &str)) -> (String, String) {
    (name.to_owned(), definition.to_owned())
}

impl Member {
    /// The servers of another process.
    fn attached(gateway: &InstanceRecord) -> Self {
        let process = gateway.process;
        let name = format!("{GATEWAY} {}", process.pid);
        // A process has either the built-in tools or a server with their name.
        let mut names = gateway.definitions().map(|(name, _)| name);
        let has_workspace_tools = names.all(|name| name != WORKSPACE);
        Self {
            name: ServerName::new(&name).expect("the name is valid"),
            fingerprint: format!("{process:?} {has_workspace_tools}"),
            connection: MemberConnection::Attached {
                process,
                has_workspace_tools,
            },
        }
    }

    /// True if another process stands for its servers.
    pub(super) fn is_attached(&self) -> bool {
        matches!(self.connection, MemberConnection::Attached { .. })
    }

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
    use crate::instance::{EndpointAuth, SERVE, SERVE_STDIO, ServerRecord};

    fn configuration(names: &[&str]) -> Configuration {
        let mut configuration = Configuration::default();
        for name in names {
            configuration.servers.push(ConfiguredServer::example(name));
        }
        configuration
    }

    /// A process with these servers. The number 1 serves over HTTP, the others serve their clients.
    fn gateway(pid: u32, configuration: &Configuration) -> InstanceRecord {
        let servers = configuration.servers.iter().map(|server| ServerRecord {
            name: server.name.to_string(),
            definition: server.definition_hash().to_string(),
            pid: None,
            since: None,
            restarts: 0,
            status: None,
        });
        InstanceRecord {
            process: process(pid),
            command: match pid {
                1 => SERVE.to_owned(),
                _ => SERVE_STDIO.to_owned(),
            },
            since: 0,
            url: Some("http://127.0.0.1:3000/mcp".to_owned()),
            auth: EndpointAuth::Token,
            servers: servers.collect(),
        }
    }

    fn process(pid: u32) -> ProcessIdentity {
        ProcessIdentity {
            pid,
            start_ticks: None,
        }
    }

    const HTTP: &str = "callgate gateway 1";
    const SECOND: &str = "callgate gateway 2";
    const THIRD: &str = "callgate gateway 3";

    fn check(ours: &[&str], theirs: &[(u32, &[&str])], expect: &[&str]) {
        check_change(ours, theirs, &[], &[], expect);
    }

    /// Checks the plan of a process that runs the servers `own` and uses those of the processes `attached`.
    fn check_change(
        ours: &[&str],
        theirs: &[(u32, &[&str])],
        own: &[&str],
        attached: &[u32],
        expect: &[&str],
    ) {
        let gateways = theirs.iter();
        let gateways = gateways.map(|(pid, names)| gateway(*pid, &configuration(names)));
        let current = Current {
            own: configuration(own).servers.iter().map(key_of).collect(),
            attached: attached.iter().copied().map(process).collect(),
        };
        let members = plan(&configuration(ours), gateways.collect(), &current);
        let names: Vec<_> = members.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names, expect, "{ours:?} beside {theirs:?}");
    }

    #[test]
    fn servers_of_a_running_process_are_not_connected_again() {
        check(&["a", "b"], &[], &["a", "b"]);
        check(&["a", "b"], &[(1, &["a", "b"])], &[HTTP]);
        check(&["a", "b", "c"], &[(1, &["a", "b"])], &[HTTP, "c"]);
        check(&["a", "b"], &[(2, &["a", "b"])], &[SECOND]);
    }

    #[test]
    fn a_process_with_other_servers_is_not_used() {
        check(&["a"], &[(1, &["a", "b"])], &["a"]);
        check(&["a"], &[(1, &[])], &["a"]);
        check(&[], &[(1, &["a"])], &[]);
    }

    #[test]
    fn a_server_is_used_through_one_process() {
        check(&["a"], &[(2, &["a"]), (1, &["a"])], &[HTTP]);
        check(&["a"], &[(2, &["a"]), (3, &["a"])], &[SECOND]);
        check(
            &["a", "b", "c"],
            &[(2, &["a"]), (3, &["b"])],
            &[SECOND, THIRD, "c"],
        );
        check(
            &["a", "b", "c"],
            &[(2, &["a", "b"]), (3, &["b", "c"])],
            &[SECOND, "c"],
        );
    }

    #[test]
    fn a_server_that_runs_here_is_left_to_none_but_a_serve_over_http() {
        check_change(&["a"], &[(2, &["a"])], &["a"], &[], &["a"]);
        check_change(&["a"], &[(1, &["a"])], &["a"], &[], &[HTTP]);
        check_change(&["a", "b"], &[(2, &["b"])], &["a"], &[], &[SECOND, "a"]);
    }

    #[test]
    fn a_process_that_is_used_stays_the_one() {
        let theirs: [(u32, &[&str]); 2] = [(2, &["a"]), (3, &["a"])];
        check_change(&["a"], &theirs, &[], &[3], &[THIRD]);
        let theirs: [(u32, &[&str]); 2] = [(1, &["a"]), (3, &["a"])];
        check_change(&["a"], &theirs, &[], &[3], &[HTTP]);
    }

    #[test]
    fn a_server_with_another_definition_is_connected_here() {
        let mut ours = configuration(&["a"]);
        let theirs = gateway(1, &ours);
        if let Some(server) = ours.servers.first_mut() {
            server.definition.disabled_tools.push("x".to_owned());
        }
        let members = plan(&ours, vec![theirs], &Current::default());
        assert!(matches!(
            members.as_slice(),
            [Member {
                connection: MemberConnection::Own(_),
                ..
            }]
        ));
    }

    #[test]
    fn the_tools_of_a_server_that_is_called_workspace_are_not_built_in() {
        for (names, expect) in [
            (&["a"][..], true),
            (&["workspace_x"], true),
            (&["a", WORKSPACE], false),
        ] {
            let ours = configuration(names);
            let members = plan(&ours, vec![gateway(1, &ours)], &Current::default());
            let [member] = members.as_slice() else {
                panic!("{members:?}");
            };
            let MemberConnection::Attached {
                has_workspace_tools,
                ..
            } = member.connection
            else {
                panic!("{member:?}");
            };
            assert_eq!(has_workspace_tools, expect, "{names:?}");
        }
    }
}
