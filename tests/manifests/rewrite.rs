//! A manifest is changed in its own text: what was asked is changed, and comments, quotes, order and every other line stay.

use holdfast::base::path::RepoPath;
use holdfast::manifest::{Change, Limits, SourceFile, as_written, rewrite};
use serde_json::{Value, json};

fn file(text: &str) -> SourceFile {
    SourceFile { path: RepoPath::from("a.yaml"), text: text.as_bytes().to_vec() }
}

/// Changes document `index` and gives the new text.
#[track_caller]
fn changed(text: &str, index: usize, change: impl FnOnce(&mut Value)) -> String {
    let file = file(text);
    let reading = as_written(&file, &Limits::default());
    assert!(reading.faults.is_empty(), "{:?}", reading.faults);
    let document = reading.documents.iter().find(|document| document.index == index).unwrap();
    let mut value = document.value.clone();
    change(&mut value);
    let change = Change { index, item: document.item.clone(), becomes: Some(value) };
    let done = rewrite(&file, &[change], &Limits::default());
    assert_eq!(done.failed, vec![]);
    String::from_utf8(done.text.unwrap()).unwrap()
}

#[track_caller]
fn set(text: &str, pointer: &str, value: Value, expected: &str) {
    let new = changed(text, 0, |object| *object.pointer_mut(pointer).unwrap() = value);
    assert_eq!(new, format!("{HEAD}{expected}"));
}

const HEAD: &str = "# about it\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # its name\n";

fn with(rest: &str) -> String {
    format!("{HEAD}{rest}")
}

#[test]
fn a_scalar_changes_where_it_stands_in_its_own_quotes_and_its_comment_stays() {
    set(&with("data:\n  x: '1'  # one\n  w: 2y\n"), "/data/x", json!("it's"), "data:\n  x: 'it''s'  # one\n  w: 2y\n");
    set(&with("data:\n  x: \"1\"  # one\n"), "/data/x", json!("a\"b"), "data:\n  x: \"a\\\"b\"  # one\n");
    set(&with("data:\n  x: plain # p\n"), "/data/x", json!("true"), "data:\n  x: \"true\" # p\n");
    set(&with("data: {x: a, w: b} # f\n"), "/data/x", json!("c,d"), "data: {x: \"c,d\", w: b} # f\n");
    set(&with("immutable: false\ndata: {}\n"), "/immutable", json!(true), "immutable: true\ndata: {}\n");
}

#[test]
fn a_block_of_text_stays_one() {
    let text = with("data:\n  x: |\n    one\n    two\n  # below\n  w: z\n");
    set(&text, "/data/x", json!("one\nthree\n"), "data:\n  x: |\n    one\n    three\n  # below\n  w: z\n");
    set(&text, "/data/x", json!("short"), "data:\n  x: short\n  # below\n  w: z\n");
}

#[test]
fn keys_come_and_go_in_block_style() {
    let text = with("data:\n  # the first\n  x: a\n  w: b # keep\nimmutable: true\n");
    let new = changed(&text, 0, |object| {
        let data = object["data"].as_object_mut().unwrap();
        data.remove("x");
        data.insert("new".into(), json!("abc"));
    });
    assert_eq!(new, with("data:\n  # the first\n  w: b # keep\n  new: abc\nimmutable: true\n"));
    let new = changed(&text, 0, |object| {
        object["metadata"]["labels"] = json!({"team": "x"});
        object.as_object_mut().unwrap().remove("immutable");
    });
    assert_eq!(
        new,
        "# about it\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # its name\n  labels:\n    team: x\ndata:\n  # the first\n  x: a\n  w: b # keep\n"
    );
    let new = changed(&text, 0, |object| object["data"] = json!({}));
    assert_eq!(new, with("data: {} # keep\nimmutable: true\n"));
}

#[test]
fn keys_come_and_go_in_flow_style_and_under_nothing() {
    let text = with("data: {x: a, w: b, z: c}\n");
    let without = |keys: &[&str]| {
        changed(&text, 0, |object| {
            keys.iter().for_each(|key| drop(object["data"].as_object_mut().unwrap().remove(*key)))
        })
    };
    assert_eq!(without(&["x"]), with("data: {w: b, z: c}\n"));
    assert_eq!(without(&["w", "z"]), with("data: {x: a}\n"));
    assert_eq!(without(&["x", "w"]), with("data: {z: c}\n"));
    assert_eq!(without(&["x", "z"]), with("data: {w: b}\n"));
    let new = changed(&text, 0, |object| object["data"]["q"] = json!("r"));
    assert_eq!(new, with("data: {x: a, w: b, z: c, q: r}\n"));
    for empty in ["data:\n", "data: {}\n", "data: null # none\n"] {
        let new = changed(&with(empty), 0, |object| object["data"] = json!({"q": "r"}));
        assert!(as_written(&file(&new), &Limits::default()).documents[0].value["data"]["q"] == "r", "{new}");
        assert!(!empty.contains('#') || new.contains("# none"), "{new}");
    }
}

const POD: &str = "apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  # the web
  - name: web # w
    image: w:1
    args: [a, b]
    command:
      - run
      - fast # really
  - image: p:1
    name: proxy
";

#[test]
fn entries_of_lists_come_go_and_change() {
    let new = changed(POD, 0, |pod| pod["spec"]["containers"][0]["image"] = json!("w:2"));
    assert_eq!(new, POD.replace("w:1", "w:2"));
    let new = changed(POD, 0, |pod| drop(pod["spec"]["containers"].as_array_mut().unwrap().remove(1)));
    assert_eq!(new, POD.replace("  - image: p:1\n    name: proxy\n", ""));
    let new = changed(POD, 0, |pod| drop(pod["spec"]["containers"][1].as_object_mut().unwrap().remove("image")));
    assert_eq!(new, POD.replace("- image: p:1\n    name: proxy", "- name: proxy"));
    let new = changed(POD, 0, |pod| {
        let all = pod["spec"]["containers"].as_array_mut().unwrap();
        all.push(json!({"name": "new", "image": "n:1"}));
        all[0]["args"] = json!(["a", "c", "d"]);
        all[0]["command"].as_array_mut().unwrap().insert(1, json!("very"));
    });
    let expected = POD
        .replace("[a, b]", "[a, c, d]")
        .replace("      - run\n", "      - run\n      - very\n")
        .replace("    name: proxy\n", "    name: proxy\n  - image: n:1\n    name: new\n");
    assert_eq!(new, expected);
}

#[test]
fn of_several_documents_only_the_one_that_changes_is_touched() {
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {x: a} # other\n";
    let text = format!("{}--- # second\n{other}---\n{other}", with("data: {x: a}\n"));
    let new = changed(&text, 1, |object| object["data"]["x"] = json!("z"));
    assert_eq!(new, format!("{}--- # second\n{}---\n{other}", with("data: {x: a}\n"), other.replace("x: a", "x: z")));

    let file = file(&text);
    let out = |index| vec![Change { index, item: None, becomes: None }];
    let of = |changes: &[Change]| rewrite(&file, changes, &Limits::default()).text;
    let text_of = |index| String::from_utf8(of(&out(index)).unwrap()).unwrap();
    assert_eq!(text_of(0), format!("{other}---\n{other}"));
    assert_eq!(text_of(1), format!("{}--- # second\n{other}", with("data: {x: a}\n")));
    assert_eq!(text_of(2), format!("{}--- # second\n{other}", with("data: {x: a}\n")));
    assert_eq!(of(&[out(0), out(1), out(2)].concat()), None, "nothing is left");
}

#[test]
fn json_files_and_items_of_lists_are_changed_in_place() {
    let text = "{\n  \"apiVersion\": \"v1\", \"kind\": \"ConfigMap\",\n  \"metadata\": {\"name\": \"a\"},\n  \"data\": {\n    \"x\": \"1\",\n    \"w\": \"2\"\n  }\n}\n";
    let new = changed(text, 0, |object| {
        object["data"] = json!({"x": "3", "w": "2", "z": "4"});
    });
    assert_eq!(new, text.replace("\"1\"", "\"3\"").replace("\"2\"\n", "\"2\",\n    \"z\": \"4\"\n"));
    let new = changed(text, 0, |object| drop(object["data"].as_object_mut().unwrap().remove("w")));
    assert_eq!(new, text.replace(",\n    \"w\": \"2\"", ""));

    let list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n  data: {x: a} # x\n";
    let new = changed(list, 0, |object| object["data"]["x"] = json!("b"));
    assert_eq!(new, list.replace("x: a}", "x: b}"));
}

#[test]
fn line_ends_byte_order_mark_and_a_missing_last_line_end_stay() {
    let text = with("data:\n  x: a\n  w: b");
    let new = changed(&text, 0, |object| object["data"]["x"] = json!("c"));
    assert_eq!(new, text.replace("x: a", "x: c"));
    let crlf = with("data:\n  x: a\n").replace('\n', "\r\n");
    let new = changed(&crlf, 0, |object| object["data"]["w"] = json!("d"));
    assert_eq!(new, with("data:\n  x: a\n  w: d\n").replace('\n', "\r\n"));
    let marked = format!("\u{feff}{}", with("data: {x: a}\n"));
    let new = changed(&marked, 0, |object| object["data"]["x"] = json!("b"));
    assert_eq!(new, marked.replace("x: a", "x: b"));
}

#[test]
fn what_stands_for_others_too_is_not_changed_and_the_rest_is() {
    let text =
        with("data: &d {x: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {<<: {x: a}, w: b}\n");
    let file = file(&text);
    let reading = as_written(&file, &Limits::default());
    let change = |index: usize, key: &str| {
        let mut value = reading.documents[index].value.clone();
        value["data"][key] = json!("new");
        Change { index, item: None, becomes: Some(value) }
    };
    let done = rewrite(&file, &[change(0, "x"), change(1, "x"), change(1, "w")], &Limits::default());
    let failed: Vec<usize> = done.failed.iter().map(|(at, _)| *at).collect();
    assert_eq!(failed, [0, 1], "{:?}", done.failed);
    assert_eq!(String::from_utf8(done.text.unwrap()).unwrap(), text.replace("w: b", "w: new"));
}

/// Every value of an object, and places beside them, changed in one way after another.
fn mutations(value: &Value) -> Vec<Value> {
    let mut pointers = Vec::new();
    collect(value, &mut String::new(), &mut pointers);
    let mut all = Vec::new();
    for pointer in pointers {
        for new in [json!("new\ntext\n"), json!(7), json!({"a": ["b", {"c": "d"}]}), json!([]), json!("it's: \"#x")] {
            let mut changed = value.clone();
            *changed.pointer_mut(&pointer).unwrap() = new;
            all.push(changed);
        }
        let (parent, last) = pointer.rsplit_once('/').unwrap();
        let mut without = value.clone();
        let mut beside = value.clone();
        match (without.pointer_mut(parent).unwrap(), beside.pointer_mut(parent).unwrap()) {
            (Value::Object(map), Value::Object(more)) => {
                map.remove(&last.replace("~1", "/").replace("~0", "~"));
                more.insert("zz new".into(), json!({"k": ["v"]}));
            }
            (Value::Array(list), Value::Array(more)) => {
                let at = last.parse().unwrap();
                list.remove(at);
                more.insert(at, json!({"k": "v"}));
            }
            _ => unreachable!(),
        }
        all.extend([without, beside]);
    }
    all
}

fn collect(value: &Value, at: &mut String, found: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, v)| (key.replace('~', "~0").replace('/', "~1"), v)).collect(),
        Value::Array(list) => list.iter().enumerate().map(|(i, v)| (i.to_string(), v)).collect(),
        _ => return,
    };
    for (key, value) in below {
        let length = at.len();
        at.push('/');
        at.push_str(&key);
        found.push(at.clone());
        collect(value, at, found);
        at.truncate(length);
    }
}

/// `rewrite` reads back what it wrote, so that it can't say something else; here it must not panic either, on any file of the
/// corpus, and nearly everything that ordinary manifests need must be possible.
#[test]
fn any_place_of_any_corpus_file_is_changed_as_asked_or_left_with_a_reason() {
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/yaml-corpus/inputs"));
    let (mut tried, mut left) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read(entry.unwrap().path()).unwrap();
        if text.len() > 2_000 {
            continue;
        }
        let file = SourceFile { path: RepoPath::from("a.yaml"), text };
        let reading = as_written(&file, &Limits::default());
        for document in reading.documents.iter().take(2) {
            for new in mutations(&document.value).into_iter().step_by(7).take(24) {
                let change = Change { index: document.index, item: document.item.clone(), becomes: Some(new) };
                let done = rewrite(&file, &[change], &Limits::default());
                tried += 1;
                left += done.failed.len();
            }
        }
    }
    assert!(tried > 500, "{tried}");
    assert!(left * 4 < tried, "{left} of {tried} could not be written");
}
