//! Skills, one of them with files in folders.

use callgate_mcp::router::Router;
use callgate_mcp::skill::{SkillError, SkillFiles};

const PDF: &str = "\
---
name: pdf-processing
description: >-
  Extract, fill and assemble PDF documents.
  Use it when a task mentions forms.
license: Apache-2.0
metadata:
  version: \"2.1\"
---
Choose a template from `templates/` and follow `references/FORMS.md`.
";

const REFUNDS: &str = "\
---
name: refunds
description: Process customer refunds
---
Ask for the receipt.
";

pub(crate) fn add(router: &Router) -> Result<(), SkillError> {
    let files = [
        ("SKILL.md", PDF),
        ("references/FORMS.md", "Fill in every field.\n"),
        ("templates/invoice.md", "# Invoice\n"),
        ("templates/regional/eu-invoice.md", "# Invoice with VAT\n"),
    ];
    router.add_skill(SkillFiles::new("pdf-processing", files)?);
    router.add_skill(SkillFiles::new(
        "acme/billing/refunds",
        [("SKILL.md", REFUNDS)],
    )?);
    Ok(())
}
