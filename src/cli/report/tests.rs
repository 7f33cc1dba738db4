use serde_json::json;

use super::{json, markdown, text};
use crate::admission::Rejection;
use crate::base::fault::{At, Fault, RuleId, Warning};
use crate::base::path::RepoPath;
use crate::base::pointer::Pointer;
use crate::base::resource::ResourceId;

const RULE: RuleId = RuleId::new("unknown-field");

fn at(file: &str, line: u32, column: u32) -> At {
    At { line, column, ..At::file(&RepoPath::from(file)) }
}

fn rejection() -> Rejection {
    let mut rejection = Rejection::new();
    let id = ResourceId::parse("Deployment.apps/shop/web").unwrap();
    rejection.push(
        Fault::new(RULE, "first").at(at("b.yaml", 2, 3)).id(id.clone()).path(Pointer::of(["spec", "x"])).hint("try y"),
    );
    rejection.push(Fault::new(RULE, "second").at(at("a.yaml", 9, 0)).also(at("b.yaml", 1, 1)));
    rejection.push(Fault::new(RULE, "whole").at(at("c.yaml", 0, 0)).holds(vec![id]));
    rejection.push(Fault::new(RuleId::new("quota"), "nowhere"));
    rejection.warn([Warning::new(RULE, "look").at(at("d.yaml", 4, 1)).raw("yes")]);
    rejection
}

#[test]
fn every_fault_stands_at_its_place_grouped_by_file_with_a_count() {
    insta::assert_snapshot!(text(&rejection(), false));
}

#[test]
fn a_machine_gets_every_key_and_null_for_what_is_not_known() {
    let value = json(&rejection());
    assert_eq!(value["formatVersion"], 1);
    assert_eq!(
        value["refusals"][1],
        json!({"rule": "unknown-field", "file": "b.yaml", "line": 2, "column": 3, "document": 0, "path": "/spec/x",
            "id": {"group": "apps", "kind": "Deployment", "namespace": "shop", "name": "web"}, "also": [], "text": "first",
            "hint": "try y", "class": "commit", "owner": null, "holds": []})
    );
    assert_eq!(value["refusals"][3]["file"], json!(null));
    assert_eq!(value["refusals"][2]["line"], json!(null));
    assert_eq!(value["warnings"][0]["raw"], "yes");
}

#[test]
fn outside_text_of_a_refusal_is_escaped_and_stands_in_a_comment_as_code_alone() {
    let hostile = "\u{1b}[2J\u{202e}```\n@everyone <img>";
    let mut rejection = Rejection::new();
    rejection.push(Fault::new(RULE, hostile).at(at(hostile, 1, 1)).hint(hostile));
    let report = text(&rejection, false);
    assert!(!report.contains(['\u{1b}', '\u{202e}']) && report.lines().count() == 4, "{report}");
    let comment = markdown(&rejection);
    assert!(comment.starts_with("### Refused: 1 fault in 1 file\n\n````text\n"), "{comment}");
    assert!(comment.trim_end().ends_with("\n````"));
}

#[test]
fn a_long_refusal_is_cut_and_says_so_first() {
    let mut rejection = Rejection::new();
    for n in 0..5000 {
        rejection.push(Fault::new(RULE, format!("fault {n}")).at(at("a.yaml", n + 1, 1)));
    }
    let comment = markdown(&rejection);
    assert!(comment.starts_with("INCOMPLETE: this comment leaves out "));
    assert!(comment.chars().count() <= crate::plan::render::MARKDOWN_LIMIT);
    assert!(comment.contains("### Refused: 5000 faults in 1 file"));
}
