use super::platform::MARK;
use super::program::ServiceProgram;

/// File of a user unit.
pub(super) const FILE: &str = "callgate.service";

/// Text of the user unit.
///
/// Settings that restrict more, such as `MemoryDenyWriteExecute` and `ProtectHome`, are left out: the servers run
/// inside of the unit, and programs such as Node compile at run time and keep files in the home. The mode of new
/// files is left too, since the files are often the user's own.
pub(super) fn unit(service: &ServiceProgram) -> String {
    // Variables are replaced in the arguments, and not in the path of the program.
    let args = service.args.iter().map(|arg| arg.replace('$', "$$"));
    let words = [service.program.clone()].into_iter().chain(args);
    let command: Vec<_> = words.map(|word| quoted(&word)).collect();
    let variables = service.variables.iter().map(|(name, value)| {
        let assignment = quoted(&format!("{name}={value}"));
        format!("Environment={assignment}\n")
    });
    format!(
        "# {MARK}\n\
         [Unit]\n\
         Description=Callgate, the one process for the tools of AI agents\n\
         # At most 10 starts in 5 minutes: a wrong configuration does not start forever.\n\
         StartLimitIntervalSec=300\n\
         StartLimitBurst=10\n\
         \n\
         [Service]\n\
         ExecStart={}\n\
         {}\
         Restart=on-failure\n\
         RestartSec=2\n\
         TimeoutStopSec=20\n\
         NoNewPrivileges=yes\n\
         LockPersonality=yes\n\
         RestrictRealtime=yes\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        command.join(" "),
        variables.collect::<String>(),
    )
}

/// A word in quotes; `%` begins a specifier.
fn quoted(word: &str) -> String {
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escaped.replace('%', "%%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_runs_the_command_with_the_variables() {
        let service = ServiceProgram {
            program: "/opt/my $tools/callgate".to_owned(),
            args: vec![
                "serve".to_owned(),
                "--config".to_owned(),
                "/a\"$b%\\c".to_owned(),
            ],
            variables: vec![("PATH".to_owned(), "/usr/bin:/opt/50%".to_owned())],
        };
        insta::assert_snapshot!(unit(&service), @r#"
        # Written by `callgate service install`; `callgate service uninstall` removes it.
        [Unit]
        Description=Callgate, the one process for the tools of AI agents
        # At most 10 starts in 5 minutes: a wrong configuration does not start forever.
        StartLimitIntervalSec=300
        StartLimitBurst=10

        [Service]
        ExecStart="/opt/my $tools/callgate" "serve" "--config" "/a\"$$b%%\\c"
        Environment="PATH=/usr/bin:/opt/50%%"
        Restart=on-failure
        RestartSec=2
        TimeoutStopSec=20
        NoNewPrivileges=yes
        LockPersonality=yes
        RestrictRealtime=yes

        [Install]
        WantedBy=default.target
        "#);
    }
}
