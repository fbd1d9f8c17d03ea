/// A code block that is a test.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Line of its beginning.
    pub(super) line: usize,
    /// Mode.
    pub(super) run: Run,
    /// Input of the shell.
    pub(super) script: String,
    /// The `text` block that follows, if any.
    pub(super) output: Option<String>,
}

/// Mode in which a block is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    /// Until it ends.
    ToTheEnd,
    /// Beside the blocks that follow.
    Background,
}

/// The marked blocks of a Markdown text.
pub(super) fn parse(markdown: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut follows_test = false;
    for (line, info, code) in fenced(markdown) {
        let words: Vec<&str> = info.split_whitespace().collect();
        let is_test = words.first() == Some(&"sh") && words.contains(&"test");
        if is_test {
            let run = if words.contains(&"background") {
                Run::Background
            } else {
                Run::ToTheEnd
            };
            blocks.push(Block {
                line,
                run,
                script: code,
                output: None,
            });
        } else if let Some(last) = blocks.last_mut()
            && follows_test
            && words == ["text"]
        {
            last.output = Some(code);
        }
        follows_test = is_test;
    }
    blocks
}

/// The line, info string and content of each fenced block.
fn fenced(markdown: &str) -> Vec<(usize, &str, String)> {
    let mut found = Vec::new();
    let mut lines = markdown.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if let Some(info) = line.strip_prefix("```") {
            let code = lines
                .by_ref()
                .map(|(_, line)| line)
                .take_while(|line| *line != "```");
            found.push((
                index + 1,
                info,
                code.map(|line| format!("{line}\n")).collect(),
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Block, Run, parse};

    #[test]
    fn marked_blocks_take_the_text_that_follows() {
        let markdown = "# A\n```sh\nnot this\n```\n\n```sh test background\nserve\n```\n\
                        ```sh test\na\nb\n```\nprints\n```text\nc\n```\n```text\nnot this\n```\n";
        let serve = Block {
            line: 6,
            run: Run::Background,
            script: "serve\n".into(),
            output: None,
        };
        let list = Block {
            line: 9,
            run: Run::ToTheEnd,
            script: "a\nb\n".into(),
            output: Some("c\n".into()),
        };
        assert_eq!(parse(markdown), [serve, list]);
    }

    #[test]
    fn a_text_block_belongs_to_the_block_before_it_only() {
        let markdown = "```sh test\na\n```\n```json\n{}\n```\n```text\nb\n```\n";
        assert_eq!(
            parse(markdown)
                .first()
                .and_then(|block| block.output.clone()),
            None
        );
    }
}
