//! Matching of an exact report, in any order: what is expected against what came.

/// For each of `left`, the partner of a largest one-to-one matching, by augmenting paths.
pub(crate) fn assign(left: usize, right: usize, fits: &dyn Fn(usize, usize) -> bool) -> Vec<Option<usize>> {
    let mut partner_of_right: Vec<Option<usize>> = vec![None; right];
    for item in 0..left {
        let mut seen = vec![false; right];
        augment(item, right, fits, &mut seen, &mut partner_of_right);
    }
    let mut partner_of_left = vec![None; left];
    for (index, partner) in partner_of_right.iter().enumerate() {
        if let Some(item) = partner {
            partner_of_left[*item] = Some(index);
        }
    }
    partner_of_left
}

fn augment(
    item: usize,
    right: usize,
    fits: &dyn Fn(usize, usize) -> bool,
    seen: &mut [bool],
    partner: &mut [Option<usize>],
) -> bool {
    for candidate in 0..right {
        if seen[candidate] || !fits(item, candidate) {
            continue;
        }
        seen[candidate] = true;
        let free = match partner[candidate] {
            None => true,
            Some(other) => augment(other, right, fits, seen, partner),
        };
        if free {
            partner[candidate] = Some(item);
            return true;
        }
    }
    false
}

/// What an exact report lacks, and what it has too much of.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// Expected entries that nothing stands for.
    pub(crate) missing: Vec<usize>,
    /// Reported entries that nobody expected.
    pub(crate) surplus: Vec<usize>,
}

/// Compares a report with what is required (each exactly once) and what may be there any number of times.
///
/// If one matching covers all that is required, and one covers all that is not optional of the report, then one
/// matching does both (Mendelsohn and Dulmage), so the two are looked for one by one.
pub(crate) fn exact(
    required: usize,
    reported: usize,
    fits: &dyn Fn(usize, usize) -> bool,
    optional: &dyn Fn(usize) -> bool,
) -> Mismatch {
    let by_required = assign(required, reported, fits);
    let firm: Vec<usize> = (0..reported).filter(|index| !optional(*index)).collect();
    let by_reported = assign(firm.len(), required, &|index, item| fits(item, firm[index]));
    Mismatch {
        missing: (0..required).filter(|item| by_required[*item].is_none()).collect(),
        surplus: (0..firm.len()).filter(|index| by_reported[*index].is_none()).map(|index| firm[index]).collect(),
    }
}
