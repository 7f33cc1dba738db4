use holdfast::admission::{Quote, Rejection};
use holdfast::base::fault::{Fault, RuleId};

use crate::support::{check, spec};

#[test]
fn the_line_of_a_fault_is_quoted_and_that_of_a_secret_is_not() {
    let conf = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {v: 1}\n";
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {pass: hunter2}\n";
    let rejection = check(&spec(), &[("a.yaml", conf), ("b.yaml", secret)]).unwrap_err();
    let quotes: Vec<&Quote> = rejection.refusals().iter().map(|r| &r.quote).collect();
    assert_eq!(quotes, [&Quote::Line("data: {v: 1}".to_owned()), &Quote::Hidden]);
    assert!(!format!("{rejection:?}").contains("hunter2"));
}

#[test]
fn a_line_that_could_show_a_secret_of_an_unreadable_file_is_not_quoted() {
    for text in [
        "kind: Secret\nstringData: {pass: hunter2]\n",
        "kind: ConfigMap\nenv:\n- name: DB_PASSWORD\n  value: {hunter2]\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, env: [{name: API_TOKEN, value: hunter2}], imagee: a}]}\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  a: hunter1\n  a: hunter2\n",
    ] {
        let rejection = check(&spec(), &[("a.yaml", text)]).unwrap_err();
        assert!(!rejection.is_empty());
        assert!(!format!("{rejection:?}").contains("hunter"), "{rejection:#?}");
    }
}

#[test]
fn a_report_is_sorted_and_without_repeats() {
    const RULE: RuleId = RuleId::new("policy");
    let mut rejection = Rejection::of(Fault::new(RULE, "b"));
    rejection.push(Fault::new(RULE, "a"));
    rejection.push(Fault::new(RULE, "b"));
    let mut other = Rejection::of(Fault::new(RULE, "a"));
    other.push(Fault::new(RULE, "c"));
    rejection.join(other);
    assert_eq!(rejection.faults().map(|f| f.text.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(rejection.first_text(), "a");
}
