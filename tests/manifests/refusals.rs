//! What is refused, with rule, place and hint.

use holdfast::manifest::{Limits, TEMPLATE_HINT, read_file};

use crate::{config_map, names, object, read, read_bytes, refused, shown};

#[test]
fn a_repeated_key_names_both_places() {
    let text =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  image: x\n  env: y\n  \"image\": z\n  env: w\n";
    let reading = read(text);
    assert_eq!(shown(&reading.faults), ["duplicate-key 7:3 /data/image", "duplicate-key 8:3 /data/env"]);
    let also: Vec<u32> = reading.faults.iter().map(|f| f.also[0].line).collect();
    assert_eq!(also, [5, 6]);
}

#[test]
fn the_same_key_in_two_mappings_or_documents_is_no_repetition() {
    let text = format!("{}data: {{a: x}}\n---\n{}data: {{a: x}}\n", config_map("a"), config_map("b"));
    assert_eq!(names(&read(&text)), ["a", "b"]);
}

#[test]
fn json_knows_repeated_keys_too() {
    let text =
        "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\",\n \"metadata\": {\"name\": \"a\",\n  \"name\": \"b\"}}";
    let reading = read_bytes("a.json", text.as_bytes());
    assert_eq!(shown(&reading.faults), ["duplicate-key 3:3 /metadata/name"]);
    assert_eq!((reading.faults[0].also[0].line, reading.faults[0].also[0].column), (2, 15));
}

#[test]
fn a_key_that_changes_its_text_is_refused_and_a_quoted_one_is_not() {
    for key in ["on", "y", "1.10", "0755", "0x10", "1_0", "~", "True", "1e3"] {
        let text = format!("{}data:\n  {key}: x\n", config_map("a"));
        let faults = refused(&text);
        assert_eq!(faults.len(), 1, "{key}");
        assert!(faults[0].starts_with("ambiguous-key 5:3"), "{key}: {faults:?}");
        let quoted = text.replace(&format!("  {key}:"), &format!("  '{key}':"));
        assert_eq!(object(&quoted)["data"][key], "x");
    }
    for key in ["80", "true", "1.5", "-1"] {
        assert_eq!(object(&format!("{}data:\n  {key}: x\n", config_map("a")))["data"][key], "x");
    }
}

#[test]
fn an_earlier_key_that_a_merge_sets_too_is_refused() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: order\n  labels: &l {app: web, tier: front}\n  annotations:\n    tier: back\n    <<: *l\n";
    let reading = read(text);
    assert_eq!(shown(&reading.faults), ["ambiguous-merge 8:5 /metadata/annotations/tier"]);
    assert_eq!(reading.faults[0].also[0].line, 7);
}

#[test]
fn merges_read_as_kubectl_reads_them() {
    let value = object(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: &x {p: 1, q: 1}\nz: &z {q: 2, r: 2}\n\
         data:\n  <<: [*x, *z]\n  r: 3\ntwice:\n  <<: *x\n  <<: *z\n",
    );
    assert_eq!(value["data"], serde_json::json!({"p": 1, "q": 1, "r": 3}));
    assert_eq!(value["twice"], serde_json::json!({"p": 1, "q": 2, "r": 2}));
    let bad = format!("{}x: &x [{{a: 1}}]\ndata:\n  <<: *x\n", config_map("a"));
    assert_eq!(refused(&bad), ["yaml-syntax 6:3 /data/<<"]);
}

#[test]
fn an_anchor_ends_with_its_document() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c0, labels: &l {app: web}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c1, labels: *l}\n";
    let reading = read(text);
    assert_eq!(shown(&reading.faults), ["yaml-syntax 7:30"]);
    assert_eq!(names(&reading), ["c0"]);
}

#[test]
fn a_bomb_of_aliases_is_refused_before_it_expands() {
    let mut text = config_map("bomb") + "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
    for n in 1..9 {
        let alias = vec![format!("*a{}", n - 1); 9].join(",");
        text += &format!("a{n}: &a{n} [{alias}]\n");
    }
    let faults = read(&text).faults;
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].rule.as_str(), "size-limit");
}

#[test]
fn long_text_behind_aliases_has_a_budget_of_its_own() {
    let limits = Limits { alias_bytes: 10_000, ..Limits::default() };
    let text = format!("{}a: &a {}\nl: [*a, *a, *a]\n", config_map("a"), "x".repeat(4000));
    let faults = read_file(&"a.yaml".into(), text.into_bytes(), &limits).faults;
    assert_eq!(shown(&faults), ["size-limit 5:9"]);
}

#[test]
fn what_is_no_manifest_is_refused_where_it_starts() {
    let text = format!("{}---\n{{}}\n---\njust a word\n---\n- apiVersion: v1\n  kind: ConfigMap\n", config_map("a"));
    let reading = read(&text);
    assert_eq!(shown(&reading.faults), ["not-a-manifest 5:1", "not-a-manifest 7:1", "not-a-manifest 9:1"]);
    let documents: Vec<usize> = reading.faults.iter().map(|f| f.at.as_ref().unwrap().document).collect();
    assert_eq!(documents, [1, 2, 3]);
}

#[test]
fn empty_documents_are_nothing() {
    for text in ["", "\n\n   \n", "# a\n# b\n", "---\n---\n", "null\n", "~\n---\n# c\n"] {
        let reading = read(text);
        assert_eq!((reading.faults.len(), reading.documents.len()), (0, 0), "{text:?}");
    }
    let text = format!(
        "# licence\n---\n# more\n---\n{}---\n\n---\nnull\n---\n~\n---\n{}...\n---\n",
        config_map("a"),
        config_map("b")
    );
    assert_eq!(names(&read(&text)), ["a", "b"]);
}

#[test]
fn a_comment_above_the_first_separator_is_no_document() {
    let reading = read(&format!("# licence\n---\n{}", config_map("a")));
    assert_eq!((reading.documents[0].index, reading.documents[0].line), (0, 3));
}

#[test]
fn a_misspelt_kind_is_told_what_it_may_be() {
    let faults = read("apiVersion: v1\nknid: Service\nmetadata: {name: web}\n").faults;
    assert_eq!(shown(&faults), ["not-a-manifest 1:1"]);
    assert_eq!(faults[0].hint.as_deref(), Some("is knid meant to be kind?"));
}

#[test]
fn a_kustomize_build_file_is_named_as_one_and_a_flux_kustomization_is_an_object() {
    let faults = read("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n").faults;
    assert!(faults[0].text.contains("kustomize") && faults[0].hint.as_ref().unwrap().contains("render"));
    let flux = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\n";
    assert_eq!(object(flux)["kind"], "Kustomization");
}

#[test]
fn a_separator_inside_quoted_text_or_with_a_tail_is_refused() {
    let text = format!("{}data:\n  raw: \"x\n---\ny\"\n", config_map("bad"));
    assert!(refused(&text)[0].starts_with("yaml-syntax"));
    assert_eq!(refused(&format!("{}---\tapiVersion: v1\n", config_map("a"))), ["yaml-syntax 4:1"]);
    let text = format!("{}--- # next\n{}--- \n{}", config_map("a"), config_map("b"), config_map("c"));
    assert_eq!(names(&read(&text)), ["a", "b", "c"]);
}

#[test]
fn text_after_the_end_of_a_document_is_refused() {
    assert_eq!(refused(&format!("{}...\nfoo: bar\n", config_map("a"))), ["yaml-syntax 5:1"]);
}

#[test]
fn unrendered_templates_get_a_hint() {
    let cases = [
        ("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Values.name }}\n  namespace: shop\n", 4),
        ("{{- if .Values.enabled }}\napiVersion: v1\nkind: ConfigMap\n{{- end }}\n", 1),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: d\n  namespace: shop\ndata:\n{{ .Values.files | indent 2 }}\n",
            8,
        ),
    ];
    for (text, line) in cases {
        let faults = read(text).faults;
        assert_eq!(faults.len(), 1, "{text}: {faults:?}");
        assert_eq!((faults[0].rule.as_str(), faults[0].at.as_ref().unwrap().line), ("yaml-syntax", line));
        assert_eq!(faults[0].hint.as_deref(), Some(TEMPLATE_HINT));
    }
    let sound = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rules}\ndata:\n  alert: 'Disk {{ $labels.device }}'\n  sh: echo \"${HOME}\"\n";
    assert_eq!(object(sound)["data"]["sh"], "echo \"${HOME}\"");
}

#[test]
fn encrypted_documents_are_refused_for_that_reason() {
    let sops = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  p: ENC[AES256_GCM,data:aGk=,type:str]\nsops:\n  mac: x\n  version: 3.9.0\n";
    assert_eq!(refused(sops), ["encrypted 6:1 /sops"]);
    let eyaml = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  p: ENC[PKCS7,MIIBeQ]\n";
    assert_eq!(refused(eyaml), ["encrypted 5:3 /stringData/p"]);
    assert_eq!(refused("sops:\n  lastmodified: x\na: ENC[x]\n"), ["encrypted 1:1 /sops"]);
}

#[test]
fn no_fault_quotes_a_value() {
    let texts = [
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  p: !!int hunter2\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {p: \"hunter2\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  p: hunter2\n  p: hunter2\n",
        "hunter2\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nx: &hunter2 1\ndata: {p: *hunter2x}\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  p: ENC[hunter2]\n",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata:\n  p: !!binary hunter2\n",
        "{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"data\": {\"p\": \"hunter2\\x\"}}",
    ];
    for text in texts {
        let reading = read(text);
        assert!(!reading.faults.is_empty(), "{text}");
        assert!(!format!("{:?}", reading.faults).contains("hunter2"), "{text}: {:?}", reading.faults);
    }
}

#[test]
fn bytes_that_are_no_text_have_a_place() {
    let reading = read_bytes("a.yaml", b"apiVersion: v1\nkind: \xc3\xa9\xff\n");
    assert_eq!(shown(&reading.faults), ["encoding 2:8"]);
}

#[test]
fn marks_and_line_ends_of_windows_change_nothing() {
    let unix = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  run.sh: |\n    #!/bin/sh\n    echo hi\n  q: \"a\\r\\nb\"\n";
    let windows = format!("\u{feff}{}", unix.replace('\n', "\r\n"));
    assert_eq!(object(unix), object(&windows));
    assert_eq!(object(&windows)["data"]["run.sh"], "#!/bin/sh\necho hi\n");
    let wide: Vec<u8> = [0xfeff].into_iter().chain(unix.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let reading = read_bytes("u16.yaml", &wide);
    assert_eq!(reading.documents[0].value, object(unix));
    let cut = read_bytes("u16.yaml", &wide[..wide.len() - 1]);
    assert!(cut.faults[0].rule.as_str() == "encoding" && cut.faults[0].text.contains("UTF-16"));
}

#[test]
fn an_lfs_pointer_says_what_it_points_to() {
    let text = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n";
    let faults = read(text).faults;
    assert_eq!(shown(&faults), ["lfs-pointer 1:1"]);
    assert!(faults[0].text.contains("sha256:4d7a2146") && faults[0].text.contains("12345"));
}

#[test]
fn a_tag_right_before_a_comma_is_refused_not_a_crash() {
    let text = format!("{}l: [!x, a]\n", config_map("a"));
    assert!(refused(&text)[0].starts_with("yaml-syntax 4:"));
    // And the parser is none the worse for it.
    assert_eq!(names(&read(&config_map("b"))), ["b"]);
}

#[test]
fn all_documents_of_a_file_are_judged() {
    let text = format!(
        "{}data: {{a: [}}\n---\n{}data:\n  a: x\n  a: y\n---\nknid: x\n---\n{}",
        config_map("a"),
        config_map("b"),
        config_map("c")
    );
    let reading = read(&text);
    let rules: Vec<&str> = reading.faults.iter().map(|f| f.rule.as_str()).collect();
    assert_eq!(rules, ["yaml-syntax", "duplicate-key", "not-a-manifest"]);
    assert_eq!(names(&reading), ["b", "c"]);
}

#[test]
fn an_object_with_holes_is_kept_apart() {
    let reading = read(&format!("{}data:\n  n: !!int x\n", config_map("a")));
    assert_eq!((reading.documents.len(), reading.damaged.len()), (0, 1));
}

#[test]
fn every_limit_refuses_with_a_text_of_its_own() {
    let base = Limits::default();
    let deep = format!("{}a: {}{}\n", config_map("a"), "[".repeat(200), "]".repeat(200));
    let cases = [
        (Limits { file_bytes: 10, ..base }, config_map("a"), "bytes"),
        (base, deep, "deep"),
        (Limits { documents_per_file: 1, ..base }, format!("{}---\n{}", config_map("a"), config_map("b")), "documents"),
        (Limits { alias_nodes: 3, ..base }, format!("{}a: &a [x, x, x]\nb: *a\n", config_map("a")), "aliases"),
    ];
    for (limits, text, word) in cases {
        let faults = read_file(&"a.yaml".into(), text.into_bytes(), &limits).faults;
        assert_eq!(faults.len(), 1, "{word}: {faults:?}");
        assert!(faults[0].rule.as_str() == "size-limit" && faults[0].text.contains(word), "{faults:?}");
    }
}

#[test]
fn faults_without_end_are_counted_not_listed() {
    let text = format!("{}data:\n{}", config_map("a"), "  k: v\n".repeat(5000));
    let faults = read(&text).faults;
    assert_eq!(faults.len(), Limits::default().faults_per_file + 1);
    assert!(faults.last().unwrap().text.contains("not listed"));
}
