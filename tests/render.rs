//! Plans as people read them.

mod support;

use holdfast::base::text::is_unsafe;
use holdfast::plan::document::PlanDocument;
use holdfast::plan::render::{self, MARKDOWN_LIMIT, View};
use serde_json::json;
use support::{change, empty, every_action, hostile, sealed};

fn plain() -> View<'static> {
    View { color: false, next: Some("holdfast apply plan.json") }
}

#[test]
fn a_table_names_every_change() {
    insta::assert_snapshot!(render::table(&every_action(), &plain()));
}

#[test]
fn a_diff_shows_every_field_under_its_parents() {
    insta::assert_snapshot!(render::diff(&every_action(), &plain()));
}

#[test]
fn a_comment_has_what_takes_away_first() {
    insta::assert_snapshot!(render::markdown(&every_action(), &plain()));
}

#[test]
fn a_plan_with_nothing_to_do_says_so() {
    insta::assert_snapshot!(render::table(&sealed(empty()), &View::default()));
}

#[test]
fn colour_adds_nothing_but_colour() {
    let plan = every_action();
    let colored = View { color: true, ..plain() };
    for form in [render::table, render::diff] {
        let text = form(&plan, &colored);
        assert!(text.contains('\u{1b}'));
        let stripped = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(stripped, form(&plan, &plain()));
    }
}

#[test]
fn hidden_characters_of_outside_text_reach_no_output() {
    let plan = hostile();
    let all = [
        render::table(&plan, &plain()),
        render::diff(&plan, &plain()),
        render::markdown(&plan, &plain()),
        render::json(&plan, true).unwrap(),
    ];
    for text in all {
        let found: Vec<char> = text.chars().filter(|c| is_unsafe(*c) && *c != '\n').collect();
        assert!(found.is_empty(), "{found:?} in {text}");
    }
    let read: PlanDocument = serde_json::from_str(&render::json(&plan, false).unwrap()).unwrap();
    assert_eq!(read, plan);
}

/// What a Markdown reader takes for something else than code: the text outside fences and code spans.
fn outside_code(markdown: &str) -> String {
    let mut outside = String::new();
    let mut fence: Option<String> = None;
    for line in markdown.lines() {
        let ticks = line.chars().take_while(|c| *c == '`').count();
        match &fence {
            Some(open) => {
                if ticks >= open.len() && line.trim_end().len() == ticks {
                    fence = None;
                }
                continue;
            }
            None if ticks >= 3 && !line[ticks..].contains('`') => {
                fence = Some("`".repeat(ticks));
                continue;
            }
            None => {}
        }
        let mut rest = line;
        while let Some(start) = rest.find('`') {
            outside.push_str(&rest[..start]);
            let run = rest[start..].chars().take_while(|c| *c == '`').count();
            rest = &rest[start + run..];
            // A span ends at a run of the same length.
            let mut at = 0;
            let end = loop {
                let Some(next) = rest[at..].find('`') else { break None };
                let length = rest[at + next..].chars().take_while(|c| *c == '`').count();
                if length == run {
                    break Some(at + next);
                }
                at += next + length;
            };
            match end {
                Some(end) => rest = &rest[end + run..],
                None => outside.push_str(&"`".repeat(run)),
            }
        }
        outside.push_str(rest);
        outside.push('\n');
    }
    outside
}

#[test]
fn outside_text_stands_in_a_comment_only_as_code() {
    let markdown = render::markdown(&hostile(), &plain());
    let outside = outside_code(&markdown);
    for live in ["<img", "</code>", "@everyone", "@all", "evil.example", "# h"] {
        assert!(markdown.contains(live), "{live} was dropped");
        assert!(!outside.contains(live), "{live} is live in:\n{outside}");
    }
    assert!(!outside.contains('`'), "{outside}");
    assert_eq!(outside.matches("</details>").count(), outside.matches("<details>").count());
}

fn many(deletes: usize, updates: usize) -> PlanDocument {
    let mut plan = empty();
    let mut changes = Vec::new();
    for n in 0..updates {
        let fields = json!([{"path": "/data/a", "before": n, "after": n + 1}]);
        changes.push(change(
            "update",
            &format!("ConfigMap/shop/settings-{n}"),
            json!({"file": "deploy/all.yaml", "line": n, "fields": fields}),
        ));
    }
    for n in 0..deletes {
        changes.push(change("delete", &format!("ConfigMap/shop/old-{n}"), json!({})));
    }
    plan["changes"] = changes.into();
    sealed(plan)
}

#[test]
fn a_long_comment_is_cut_says_so_first_and_keeps_every_delete() {
    let text = render::markdown(&many(100, 5000), &plain());
    assert!(text.starts_with("INCOMPLETE"), "{}", &text[..200]);
    assert!(text.chars().count() <= MARKDOWN_LIMIT);
    assert!(text.chars().count() > MARKDOWN_LIMIT - 2000, "room is left unused");
    assert!((0..100).all(|n| text.contains(&format!("**delete** `ConfigMap/shop/old-{n}`"))));
    assert!(text.contains("of 5100 changes"));
    assert!(text.ends_with("holdfast apply plan.json\n```\n"));
}

#[test]
fn deletes_alone_are_never_cut_even_if_they_are_too_many_for_a_comment() {
    let text = render::markdown(&many(3000, 10), &plain());
    assert!(text.starts_with("INCOMPLETE"));
    assert!((0..3000).all(|n| text.contains(&format!("`ConfigMap/shop/old-{n}`"))));
}

#[test]
fn a_comment_that_fits_is_whole() {
    let text = render::markdown(&many(3, 10), &plain());
    assert!(text.starts_with("### Plan: 10 to update, 3 to delete"));
}

#[test]
fn one_changed_line_of_a_long_text_is_a_short_hunk_that_names_its_field() {
    let lines: Vec<String> = (0..500).map(|n| format!("line {n}")).collect();
    let before = lines.join("\n") + "\n";
    let mut plan = empty();
    plan["changes"] = json!([change(
        "update",
        "ConfigMap/shop/a",
        json!({"fields": [
        {"path": "/data/long.txt", "before": before, "after": before.replace("line 250\n", "line two hundred and fifty\n")}]})
    )]);
    insta::assert_snapshot!(render::diff(&sealed(plan), &View::default()));
}

#[test]
fn ten_thousand_changes_are_shown_in_every_form_without_delay() {
    let plan = many(0, 10_000);
    assert_eq!(render::table(&plan, &plain()).matches("settings-").count(), 10_000);
    assert_eq!(render::diff(&plan, &plain()).matches("@@ -1,2 +1,2 @@ /data/a").count(), 10_000);
}
