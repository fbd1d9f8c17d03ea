//! Tables of targets with their verdicts.

use super::markdown::{Table, ratio};
use super::{Bound, Target};

/// Lists the targets with their verdicts.
pub(super) fn verdicts(targets: impl IntoIterator<Item = Target>) -> Table {
    let mut table = Table::new(&["figure", "target", "measured", "verdict"], 1);
    for target in targets {
        let bound = match target.bound {
            Bound::AtMost(limit) => format!("at most {limit:.2}"),
            Bound::AtLeast(limit) => format!("at least {limit:.2}"),
            Bound::Below(limit) => format!("below {limit:.2}"),
        };
        let measured = target.measured.map_or_else(|| "-".to_owned(), ratio);
        let verdict = if target.is_met() { "met" } else { "not met" };
        table.row(&[target.what, bound, measured, verdict.to_owned()]);
    }
    table
}
