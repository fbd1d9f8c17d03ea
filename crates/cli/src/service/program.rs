use std::env;
use std::ffi::OsStr;
use std::path::Path;

use crate::error::CommandError;

/// The command of a service, and the variables that the system would not give it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceProgram {
    /// Absolute path of this program.
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) variables: Vec<(String, String)>,
}

/// Variables of the user's shell that the service needs: servers are found on the `PATH`, and files in the others.
const VARIABLES: [&str; 3] = ["PATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME"];

/// The command of the service in the environment of this process.
pub(crate) fn of_this_process(
    workspace: Option<&Path>,
    config: Option<&Path>,
    data_dir: Option<&Path>,
) -> Result<ServiceProgram, CommandError> {
    let program = env::current_exe().map_err(anyhow::Error::from)?;
    let mut args = vec!["serve".to_owned()];
    // A service has no project: the directory that it would start in is the home of the user.
    if workspace.is_none() {
        args.push("--no-workspace".to_owned());
    }
    for (option, path) in [
        ("--workspace", workspace),
        ("--config", config),
        ("--data-dir", data_dir),
    ] {
        if let Some(path) = path {
            let path = std::path::absolute(path).map_err(anyhow::Error::from)?;
            args.extend([option.to_owned(), text(option, path.as_os_str())?]);
        }
    }
    let mut variables = Vec::new();
    for name in VARIABLES {
        if let Some(value) = env::var_os(name).filter(|value| !value.is_empty()) {
            variables.push((name.to_owned(), text(name, &value)?));
        }
    }
    Ok(ServiceProgram {
        program: text("the path of this program", program.as_os_str())?,
        args,
        variables,
    })
}

impl ServiceProgram {
    /// The command as a user would type it.
    pub(crate) fn command(&self) -> String {
        let words = [&self.program].into_iter().chain(&self.args);
        let words: Vec<_> = words.map(|word| crate::output::argument(word)).collect();
        words.join(" ")
    }
}

/// The text of a value for the file of a service, where a line break would begin another setting.
fn text(name: &str, value: &OsStr) -> Result<String, CommandError> {
    let text = value
        .to_str()
        .filter(|text| !text.contains(char::is_control));
    text.map(str::to_owned).ok_or_else(|| {
        let message = format!(
            "{name} is `{}`, which cannot be written to the file of a service",
            value.display()
        );
        CommandError::usage(message).hint("use UTF-8 without control characters")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_would_begin_another_setting_is_refused() {
        let error = text("PATH", OsStr::new("/bin\nExecStart=x")).unwrap_err();
        assert_eq!(
            error.with_hints(),
            "PATH is `/bin\nExecStart=x`, which cannot be written to the file of a service\n\
             hint: use UTF-8 without control characters"
        );
    }

    #[test]
    fn without_a_workspace_the_service_serves_no_files() {
        let program = of_this_process(None, Some(Path::new("/c.json")), None).unwrap();
        assert_eq!(
            program.args,
            ["serve", "--no-workspace", "--config", "/c.json"]
        );
        let program = of_this_process(Some(Path::new("/w")), None, Some(Path::new("/d"))).unwrap();
        assert_eq!(
            program.args,
            ["serve", "--workspace", "/w", "--data-dir", "/d"]
        );
    }
}
