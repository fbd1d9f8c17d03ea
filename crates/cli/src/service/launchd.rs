use super::platform::MARK;
use super::program::ServiceProgram;

/// Label of the agent.
pub(super) const LABEL: &str = "callgate";

/// File of the agent.
pub(super) const FILE: &str = "callgate.plist";

/// Text of the launch agent.
pub(super) fn agent(service: &ServiceProgram) -> String {
    let words = [&service.program].into_iter().chain(&service.args);
    let words = words.map(|word| format!("    <string>{}</string>\n", escaped(word)));
    let variables = service.variables.iter().map(|(name, value)| {
        let (name, value) = (escaped(name), escaped(value));
        format!("    <key>{name}</key>\n    <string>{value}</string>\n")
    });
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!-- {MARK} -->\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n\
         <dict>\n\
         \x20 <key>Label</key>\n\
         \x20 <string>{LABEL}</string>\n\
         \x20 <key>ProgramArguments</key>\n\
         \x20 <array>\n{}  </array>\n\
         \x20 <key>EnvironmentVariables</key>\n\
         \x20 <dict>\n{}  </dict>\n\
         \x20 <key>RunAtLoad</key>\n\
         \x20 <true/>\n\
         \x20 <key>KeepAlive</key>\n\
         \x20 <dict>\n\
         \x20   <key>SuccessfulExit</key>\n\
         \x20   <false/>\n\
         \x20 </dict>\n\
         </dict>\n\
         </plist>\n",
        words.collect::<String>(),
        variables.collect::<String>(),
    )
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_runs_the_command_with_the_variables() {
        let service = ServiceProgram {
            program: "/opt/my tools/callgate".to_owned(),
            args: vec![
                "serve".to_owned(),
                "--config".to_owned(),
                "/a<&>".to_owned(),
            ],
            variables: vec![("PATH".to_owned(), "/usr/bin".to_owned())],
        };
        insta::assert_snapshot!(agent(&service), @r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <!-- Written by `callgate service install`; `callgate service uninstall` removes it. -->
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">
        <dict>
          <key>Label</key>
          <string>callgate</string>
          <key>ProgramArguments</key>
          <array>
            <string>/opt/my tools/callgate</string>
            <string>serve</string>
            <string>--config</string>
            <string>/a&lt;&amp;&gt;</string>
          </array>
          <key>EnvironmentVariables</key>
          <dict>
            <key>PATH</key>
            <string>/usr/bin</string>
          </dict>
          <key>RunAtLoad</key>
          <true/>
          <key>KeepAlive</key>
          <dict>
            <key>SuccessfulExit</key>
            <false/>
          </dict>
        </dict>
        </plist>
        "#);
    }
}
