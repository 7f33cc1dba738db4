//! The command line, as far as it needs no repository: the built program, run in folders of its own.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::Path;
use std::process::{Command, Output};

use holdfast::base::text::is_unsafe;
use holdfast::plan::stored;
use support::{every_action, hostile};
use tempfile::TempDir;

fn holdfast(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdfast"));
    command.args(args).current_dir(folder).env_clear();
    command.env("HOME", folder).env("USER", "ada").env("TMPDIR", folder);
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    holdfast(folder, args).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn folder() -> TempDir {
    TempDir::new().unwrap()
}

const COMMANDS: &[&[&str]] = &[
    &[],
    &["init"],
    &["plan"],
    &["show"],
    &["verify"],
    &["apply"],
    &["render"],
    &["explain"],
    &["history"],
    &["history", "show"],
    &["source"],
    &["source", "list"],
    &["object"],
    &["object", "list"],
    &["object", "get"],
    &["object", "put"],
    &["object", "delete"],
    &["completions"],
    &["man"],
];

#[test]
fn the_help_of_every_command_has_an_example_that_begins_with_it() {
    let here = folder();
    for words in COMMANDS {
        let mut args = words.to_vec();
        args.push("--help");
        let output = run(here.path(), &args);
        assert_eq!(code(&output), 0);
        let text = out(&output);
        let (_, examples) = text.split_once("\nExample").unwrap_or_else(|| panic!("{words:?} has no example"));
        let call = format!("\n  holdfast {}", words.join(" "));
        assert!(examples.contains(call.trim_end()), "{words:?} is in no example of its own:\n{examples}");
    }
}

#[test]
fn a_command_line_that_is_not_understood_ends_with_2_and_says_so_on_stderr() {
    let here = folder();
    for args in [
        &["bogus"][..],
        &[],
        &["plan", "--bogus"],
        &["apply", "a.json", "shop"],
        &["show"],
        &["plan", "-o", "yaml"],
        &["render", "--show-secrets"],
        &["plan", "--repository", "."],
        &["apply", "shop", "--lock-timeout", "soon"],
        &["apply", "shop", "--expect", "1234"],
    ] {
        let output = run(here.path(), args);
        assert_eq!(code(&output), 2, "{args:?}: {}", err(&output));
        assert!(out(&output).is_empty(), "{args:?}");
        assert!(!err(&output).is_empty(), "{args:?}");
    }
}

#[test]
fn help_and_version_go_to_stdout() {
    let here = folder();
    for args in [&["--help"][..], &["--version"], &["help-me", "--help"]] {
        let output = run(here.path(), args);
        if args[0] == "help-me" {
            assert_eq!(code(&output), 2);
        } else {
            assert_eq!((code(&output), err(&output).as_str()), (0, ""));
        }
    }
}

#[test]
fn help_of_a_command_is_the_same_whichever_way_it_is_asked_for() {
    let here = folder();
    for words in [&[][..], &["plan"], &["source", "list"]] {
        let flag: Vec<&str> = words.iter().copied().chain(["--help"]).collect();
        let word: Vec<&str> = ["help"].iter().chain(words).copied().collect();
        let (flag, word) = (run(here.path(), &flag), run(here.path(), &word));
        assert_eq!((code(&word), out(&word)), (0, out(&flag)));
    }
    assert_eq!(code(&run(here.path(), &["help", "bogus"])), 2);
    assert!(!out(&run(here.path(), &["man"])).contains("holdfast-help"));
}

#[test]
fn an_unknown_rule_is_answered_with_the_nearest() {
    let here = folder();
    let wrong = run(here.path(), &["explain", "unknwon-field"]);
    assert_eq!(code(&wrong), 1);
    assert!(err(&wrong).contains("did you mean unknown-field?"), "{}", err(&wrong));
    assert!(!err(&run(here.path(), &["explain", "zzz"])).contains("did you mean"));
}

#[test]
fn init_writes_a_configuration_that_reads_and_never_writes_over_one() {
    let here = folder();
    assert_eq!(code(&run(here.path(), &["init"])), 0);
    let path = here.path().join("holdfast.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let config = holdfast::source::config::read_config(&text, "holdfast.yaml", here.path()).unwrap();
    assert_eq!((config.sources.len(), config.targets.len()), (1, 1));

    std::fs::write(&path, "mine").unwrap();
    let output = run(here.path(), &["init"]);
    assert_eq!(code(&output), 1);
    assert!(err(&output).contains("stays as it is"));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn completions_are_printed_for_every_shell() {
    let here = folder();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(here.path(), &["completions", shell]);
        assert_eq!(code(&output), 0);
        assert!(out(&output).contains("verify"), "{shell}");
    }
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let output = run(folder().path(), &["man"]);
    for words in COMMANDS {
        let mut name = vec!["holdfast"];
        name.extend(*words);
        assert!(out(&output).contains(&format!(".TH {} 1", name.join("-"))), "{words:?}");
    }
}

#[test]
fn a_saved_plan_is_shown_in_every_form_without_target_or_repository() {
    let here = folder();
    let plan = every_action();
    std::fs::write(here.path().join("p.json"), stored::write(&plan).unwrap()).unwrap();
    for (form, part) in [
        ("table", "- delete"),
        ("diff", "--- live/ConfigMap/shop/settings"),
        ("json", "\"planId\""),
        ("markdown", "**delete** `ConfigMap/shop/settings`"),
    ] {
        let output = run(here.path(), &["show", "p.json", "-o", form]);
        assert_eq!(code(&output), 0, "{}", err(&output));
        assert!(out(&output).contains(part), "{form}: {}", out(&output));
        assert!(err(&output).is_empty());
    }
    let json = out(&run(here.path(), &["show", "p.json", "-o", "json"]));
    assert_eq!(stored::read(json.as_bytes()).unwrap(), plan);
}

#[test]
fn the_next_command_gives_again_what_the_plan_used_as_a_shell_reads_it() {
    let here = folder();
    std::fs::write(here.path().join("it's a plan"), stored::write(&every_action()).unwrap()).unwrap();
    let text = out(&run(here.path(), &["show", "it's a plan"]));
    let next = "Next: holdfast apply './it'\\''s a plan' --allow-deletes 1 --allow Job.batch/shop/migrate \
                --take-over argocd=1 --take-over helm/shop/web=1 --waive few-replicas --reason 'a sale, until Monday' --allow-unmerged\n";
    assert!(text.ends_with(next), "{text}");
}

#[test]
fn outside_text_of_a_plan_moves_nothing_on_a_terminal() {
    let here = folder();
    std::fs::write(here.path().join("p.json"), stored::write(&hostile()).unwrap()).unwrap();
    for form in ["table", "diff", "json", "markdown"] {
        let output = run(here.path(), &["show", "p.json", "-o", form]);
        assert_eq!(code(&output), 0);
        assert!(!out(&output).contains(|c| is_unsafe(c) && c != '\n'), "{form}");
    }
}

#[test]
fn colour_is_there_when_asked_for_and_never_in_a_pipe_by_itself() {
    let here = folder();
    std::fs::write(here.path().join("p.json"), stored::write(&every_action()).unwrap()).unwrap();
    let shown = |args: &[&str], no_color: bool| {
        let mut command = holdfast(here.path(), &["show", "p.json"]);
        command.args(args);
        if no_color {
            command.env("NO_COLOR", "1");
        }
        out(&command.output().unwrap()).contains('\u{1b}')
    };
    assert!(!shown(&[], false));
    assert!(shown(&["--color", "always"], false));
    assert!(shown(&["--color", "always"], true));
    assert!(!shown(&["--color", "never"], false));
}

#[test]
fn a_plan_file_that_was_edited_cut_or_is_none_is_refused_with_the_reason() {
    let here = folder();
    let whole = String::from_utf8(stored::write(&every_action()).unwrap()).unwrap();
    let cases = [
        (whole.replacen("\"delete\"", "\"keep\"", 1), "edited"),
        (whole.replacen("\"deletes\": 1", "\"deletes\": 100", 1), "edited"),
        (whole[..whole.len() / 2].to_owned(), "cut off"),
        (whole.replacen("\"formatVersion\": 1", "\"formatVersion\": 2", 1), "format version 2"),
        (whole.replacen("\"waivers\"", "\"surprise\": 1, \"waivers\"", 1), "surprise"),
        ("kind: Source\n".to_owned(), "no JSON"),
        ("{}".to_owned(), "no saved plan"),
        (String::new(), "cut off"),
    ];
    for (text, reason) in cases {
        std::fs::write(here.path().join("p.json"), text).unwrap();
        for command in [&["show", "p.json"][..], &["verify", "p.json"], &["apply", "p.json", "--yes"]] {
            let output = run(here.path(), command);
            assert_eq!(code(&output), 1, "{command:?} of {reason}");
            let said = err(&output);
            assert!(said.contains("plan-digest") && said.contains(reason), "{reason}: {said}");
            assert!(said.contains("Nothing was written"), "{said}");
        }
        let mut args = vec!["show", "p.json", "-o", "json"];
        let report: serde_json::Value = serde_json::from_str(&out(&run(here.path(), &args))).unwrap();
        assert_eq!(report["refusals"][0]["rule"], "plan-digest");
        args.pop();
    }
}

#[test]
fn a_huge_plan_file_is_refused_without_being_read_whole() {
    let here = folder();
    let file = std::fs::File::create(here.path().join("p.json")).unwrap();
    file.set_len(1 << 40).unwrap();
    let output = run(here.path(), &["show", "p.json"]);
    assert_eq!(code(&output), 1);
    assert!(err(&output).contains("larger than 64 MiB"), "{}", err(&output));
}

#[test]
fn a_plan_that_is_no_file_is_refused() {
    let here = folder();
    for name in ["missing.json", ".", "/dev/zero"] {
        let output = run(here.path(), &["show", name]);
        assert_eq!(code(&output), 1, "{name}");
        assert!(out(&output).is_empty());
    }
}

#[test]
fn a_closed_pipe_is_no_fault() {
    let here = folder();
    std::fs::write(here.path().join("p.json"), stored::write(&every_action()).unwrap()).unwrap();
    for args in [&["show", "p.json"][..], &["--help"], &["man"], &["explain"]] {
        let mut child = holdfast(here.path(), args)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((code(&output), err(&output).as_str()), (0, ""), "{args:?}");
    }
}

#[test]
fn without_a_terminal_an_apply_that_would_ask_refuses() {
    let here = folder();
    run(here.path(), &["init"]);
    let output = run(here.path(), &["apply"]);
    assert_eq!(code(&output), 1);
    assert!(err(&output).contains("--expect"), "{}", err(&output));
    assert!(!here.path().join(".holdfast").exists(), "a refused apply made a target");
}

#[test]
fn no_configuration_is_used_from_a_folder_that_others_can_write() {
    use std::os::unix::fs::PermissionsExt;
    let here = folder();
    run(here.path(), &["init"]);
    std::fs::set_permissions(here.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let output = run(here.path(), &["source", "list"]);
    assert_eq!(code(&output), 1);
    assert!(err(&output).contains("written by others"), "{}", err(&output));
}

#[test]
fn a_configuration_is_looked_for_up_to_the_top_of_the_repository_and_no_higher() {
    let here = folder();
    run(here.path(), &["init"]);
    let below = here.path().join("repo/deep");
    std::fs::create_dir_all(&below).unwrap();
    let output = run(&below, &["source", "list"]);
    assert!(err(&output).contains("there is no holdfast.yaml"), "outside a repository: {}", err(&output));

    std::fs::create_dir(here.path().join("repo/.git")).unwrap();
    let output = run(&below, &["source", "list"]);
    assert!(err(&output).contains("there is no holdfast.yaml"), "above the top: {}", err(&output));

    run(&here.path().join("repo"), &["init"]);
    let output = run(&below, &["source", "list"]);
    let used = here.path().join("repo/holdfast.yaml");
    assert!(err(&output).contains(&format!("configuration: {}", used.display())), "{}", err(&output));
}

#[test]
fn every_fault_of_a_configuration_is_in_one_report_with_its_line() {
    let here = folder();
    let text = "apiVersion: holdfast.dev/v1\nkind: Source\nmetadata: {name: shop}\nspec:\n  repository: .\n  namespacez: [a]\n  prune: maybe\n";
    std::fs::write(here.path().join("mine.yaml"), text).unwrap();
    let output = run(here.path(), &["plan", "-f", "mine.yaml"]);
    assert_eq!(code(&output), 1);
    let said = err(&output);
    assert!(said.contains("mine.yaml:6:") && said.contains("mine.yaml:7:"), "{said}");
    assert!(said.contains("Nothing was written."), "{said}");
}

#[test]
fn a_control_plane_beside_the_configuration_is_kept_out_of_git() {
    let here = folder();
    assert_eq!(code(&run(here.path(), &["init"])), 0);
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: app}\n";
    std::fs::write(here.path().join("ns.yaml"), namespace).unwrap();
    let put = run(here.path(), &["object", "put", "ns.yaml"]);
    assert_eq!(code(&put), 0, "{}", err(&put));
    assert_eq!(std::fs::read_to_string(here.path().join(".holdfast/.gitignore")).unwrap(), "*\n");
}

#[test]
fn a_plan_where_a_source_belongs_and_the_reverse_are_told_what_is_meant() {
    let here = folder();
    assert_eq!(code(&run(here.path(), &["init"])), 0);
    for (args, hint) in [
        (&["plan", "app.plan.json"][..], "a saved plan is for holdfast show, verify and apply"),
        (&["show", "app"], "a file that holdfast plan --out FILE has saved"),
    ] {
        let output = run(here.path(), args);
        assert_eq!(code(&output), 1);
        assert!(err(&output).contains(hint), "{args:?}: {}", err(&output));
    }
}
