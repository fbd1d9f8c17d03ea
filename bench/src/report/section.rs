//! Sections of the page that are measured alone.

/// Puts a section into the page: in the place of the one with the same heading, or at the end.
///
/// The first line of the section is its heading, of the second level.
#[must_use]
pub fn put_section(page: &str, section: &str) -> String {
    let heading = section.lines().next().unwrap_or_default();
    let mut sections: Vec<&str> = split(page);
    match sections
        .iter()
        .position(|old| old.lines().next() == Some(heading))
    {
        Some(position) => {
            sections.splice(position..=position, [section]);
        }
        None => sections.push(section),
    }
    let sections: Vec<_> = sections.iter().map(|section| section.trim_end()).collect();
    sections.join("\n\n") + "\n"
}

/// Splits a page before each heading of the second level.
fn split(page: &str) -> Vec<&str> {
    let mut sections = Vec::new();
    let mut rest = page;
    while let Some(next) = rest.get(1..).and_then(|rest| rest.find("\n## ")) {
        let (section, after) = rest.split_at(next + 2);
        sections.push(section);
        rest = after;
    }
    sections.push(rest);
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_takes_the_place_of_its_predecessor() {
        let page = "# Page\n\nText.\n\n## One\n\n1\n\n### Part\n\n## Two\n\n2\n";
        let check = |section, expected: &str| assert_eq!(put_section(page, section), expected);
        check(
            "## One\n\nuno\n",
            "# Page\n\nText.\n\n## One\n\nuno\n\n## Two\n\n2\n",
        );
        check(
            "## Two\n\ndue\n",
            "# Page\n\nText.\n\n## One\n\n1\n\n### Part\n\n## Two\n\ndue\n",
        );
        check("## Three\n", &format!("{page}\n## Three\n"));
    }
}
