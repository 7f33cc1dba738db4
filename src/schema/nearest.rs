//! The name that was probably meant.

/// The name nearest to a wrong one, if one is near: equal but for case, few edits away for its length, or the wrong one
/// begins with it (`specs2` for `spec`).
pub(crate) fn of<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wrong_low = wrong.to_ascii_lowercase();
    let most = 1 + wrong_low.chars().count() / 4;
    let mut best: Option<(usize, &'a str)> = None;
    for name in names {
        let name_low = name.to_ascii_lowercase();
        let edits = distance(&wrong_low, &name_low);
        let begins = name.len() >= 4 && wrong_low.starts_with(&name_low);
        // One that is only a beginning is worse than any that is near.
        let rank = if edits <= most { edits } else { 1000 };
        if (edits <= most || begins) && best.is_none_or(|(than, _)| rank < than) {
            best = Some((rank, name));
        }
    }
    best.map(|(_, name)| name)
}

/// Edits between two texts: letters put in, taken out, changed, or two neighbours exchanged. Texts over 64 characters
/// are infinitely far: nobody mistypes them, and hostile ones would cost.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len() > 64 || b.len() > 64 {
        return usize::MAX;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (last[j - 1] + change).min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}
