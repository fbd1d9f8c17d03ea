use std::fs;
use std::process::{Command, Stdio};

use crate::fixture::{Home, Ran};

#[test]
#[ignore = "needs bash, zsh and fish: cargo xtask shells"]
fn bash_completes_commands() {
    let said = with_completions(
        "bash",
        &["--norc", "--noprofile", "-c"],
        "source completions && COMP_WORDS=(callgate comp) COMP_CWORD=1 && _callgate callgate comp callgate && echo \"${COMPREPLY[@]}\"",
    );
    assert_eq!(said, Ran::printed("completions\n"));
}

#[test]
#[ignore = "needs bash, zsh and fish: cargo xtask shells"]
fn zsh_knows_the_completion_of_our_program() {
    let said = with_completions(
        "zsh",
        &["-f", "-c"],
        "autoload -U compinit && compinit -u -D && source ./completions && print -r -- $_comps[callgate]",
    );
    assert_eq!(said, Ran::printed("_callgate\n"));
}

#[test]
#[ignore = "needs bash, zsh and fish: cargo xtask shells"]
fn fish_completes_commands() {
    let said = with_completions(
        "fish",
        &["--no-config", "-c"],
        "source completions; complete -C 'callgate comp'",
    );
    assert_eq!(
        said,
        Ran::printed("completions\tPrint a script that completes commands in a shell\n")
    );
}

/// Output of a script in a shell, in a directory with its file `completions`.
fn with_completions(shell: &str, options: &[&str], script: &str) -> Ran {
    let home = Home::new();
    let completions = home.run(&["completions", shell]);
    assert_eq!(
        (completions.exit, completions.stderr.as_str()),
        (Some(0), "")
    );
    fs::write(home.path().join("completions"), completions.stdout).unwrap();
    let output = Command::new(shell)
        .args(options)
        .arg(script)
        .current_dir(home.path())
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Ran::from(output)
}
