//! Section about commands on configured servers.

use std::time::Duration;

use super::markdown::Table;
use super::verdicts::verdicts;
use super::{Bound, Floor, Target};
use crate::configured_commands::{
    ALONE, CALL_NATIVE, CALL_NODE, CALL_RUNNING, CommandFigures, LIST,
};

/// Renders the section.
#[must_use]
pub fn commands_section(figures: &CommandFigures) -> String {
    let mut table = Table::new(&["command", "program", "ms", "CPU ms"], 2);
    for time in &figures.times {
        table.row(&[
            time.command.to_owned(),
            time.program.to_owned(),
            format!("{:.1}", millis(time.wall)),
            format!("{:.1}", millis(time.cpu)),
        ]);
    }
    let targets = verdicts(targets(figures));
    format!("## Command line with configured servers\n\n{TEXT}\n{targets}\n{table}")
}

/// Explanation of the commands.
const TEXT: &str = "\
Time from start to exit of one command on the servers of one configuration file, the start and the end of the called server included; the median of 9 runs in which the programs take turns.
`list` shows two servers: Callgate knows their tools from an earlier run, mcporter has no such memory and starts them.
The CPU time includes that of the server.
The server alone is the floor: the smallest client starts it, makes the handshake and the call, and kills it.
The server in Rust starts at once, so its rows are the time of the clients; the start of the server on Node.js is the same for all.
The server that runs was started before: by `callgate serve`, which `callgate call` attaches to, and by `mcporter daemon`, which `mcporter call` does.
";

fn targets(figures: &CommandFigures) -> Vec<Target> {
    let time = |command: &str, program: &str| {
        let mut times = figures.times.iter();
        let time = times.find(|time| (time.command, time.program) == (command, program));
        time.map(|time| time.wall.as_secs_f64())
    };
    let faster = |command: &str| Some(time(command, "mcporter")? / time(command, "callgate")?);
    let call = |command: &str| {
        let alone = time(command, ALONE).zip(time(command, "mcporter"));
        let target = Target::new(
            format!("{command}: mcporter's time ÷ Callgate's"),
            Bound::AtLeast(3.0),
            faster(command),
        );
        target.with_floor(alone.map(|(alone, theirs)| Floor {
            best: theirs / alone,
            because: ALONE.to_owned(),
        }))
    };
    vec![
        call(CALL_NATIVE),
        call(CALL_NODE),
        call(CALL_RUNNING),
        Target::new(
            format!("{LIST}: Callgate's time ÷ mcporter's"),
            Bound::Below(0.1),
            faster(LIST).map(f64::recip),
        ),
        Target::new(
            "`callgate --help`: ms",
            Bound::Below(15.0),
            Some(millis(figures.help)),
        ),
        Target::new(
            "stripped binary: MB",
            Bound::Below(25.0),
            figures.binary.map(|bytes| bytes as f64 / 1e6),
        ),
    ]
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::CommandTime;

    #[test]
    fn commands_are_compared_with_mcporter() {
        let times = [
            (CALL_NODE, 90, 100, 250),
            (CALL_RUNNING, 5, 10, 30),
            (LIST, 0, 10, 400),
        ];
        let times = times
            .into_iter()
            .flat_map(|(command, alone, ours, theirs)| {
                let programs = [(ALONE, alone), ("callgate", ours), ("mcporter", theirs)];
                programs.map(|(program, wall)| CommandTime {
                    command,
                    program,
                    wall: Duration::from_millis(wall),
                    cpu: Duration::from_millis(wall / 2),
                })
            });
        let section = commands_section(&CommandFigures {
            times: times.collect(),
            help: Duration::from_millis(5),
            binary: Some(12_340_000),
        });
        for row in [
            "| `call`, server in Rust: mcporter's time ÷ Callgate's | at least 3.00 | - | not measured |\n",
            "| `call`, server on Node.js: mcporter's time ÷ Callgate's | at least 3.00 | 2.50 | not met; nor is it by the floor, the server alone: 2.78 |\n",
            "| `call`, server on Node.js that runs: mcporter's time ÷ Callgate's | at least 3.00 | 3.00 | met |\n",
            "| `list`: Callgate's time ÷ mcporter's | below 0.10 | 0.03 | met |\n",
            "| `callgate --help`: ms | below 15.00 | 5.00 | met |\n",
            "| stripped binary: MB | below 25.00 | 12.34 | met |\n",
            "| `list` | mcporter | 400.0 | 200.0 |\n",
        ] {
            assert!(section.contains(row), "{section}");
        }
    }
}
