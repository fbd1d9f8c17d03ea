//! Tables of targets with their verdicts.

use super::markdown::{Table, ratio};
use super::{Bound, Floor, Target};

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
        let verdict = verdict(&target);
        table.row(&[target.what, bound, measured, verdict]);
    }
    table
}

/// The verdict, with the floor where the target is not met.
fn verdict(target: &Target) -> String {
    if target.is_met() {
        return "met".to_owned();
    }
    if target.measured.is_none() {
        return "not measured".to_owned();
    }
    let Some(Floor { best, because }) = &target.floor else {
        return "not met".to_owned();
    };
    let is_possible = target.bound.allows(*best);
    let best = ratio(*best);
    match is_possible {
        true => format!("not met; the floor, {because}, is {best}"),
        false => format!("not met; nor is it by the floor, {because}: {best}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_that_is_missed_names_the_floor() {
        let check = |measured, best, expected: &str| {
            let because = "the server alone".to_owned();
            let target = Target::new("calls", Bound::AtLeast(3.0), measured);
            let target = target.with_floor(Some(Floor { best, because }));
            assert_eq!(verdict(&target), expected);
        };
        check(Some(3.0), 3.5, "met");
        check(None, 3.5, "not measured");
        check(
            Some(2.5),
            3.5,
            "not met; the floor, the server alone, is 3.50",
        );
        check(
            Some(2.5),
            2.75,
            "not met; nor is it by the floor, the server alone: 2.75",
        );
        let target = Target::new("calls", Bound::AtMost(3.0), Some(4.0));
        assert_eq!(verdict(&target), "not met");
    }
}
