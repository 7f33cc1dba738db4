//! A journal and an inventory are claims: edited or forged, they write nothing outside of the Source's scope.

use std::io::{Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use holdfast::base::digest;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::on_cluster;
use crate::place::{Place, config};

pub fn trials() -> Vec<Trial> {
    vec![
        on_cluster("a_journal_that_reaches_out_of_its_sources_scope_writes_nothing", journal),
        on_cluster("an_inventory_that_names_what_is_out_of_scope_deletes_nothing_of_it", inventory),
    ]
}

fn unpacked(part: &Value) -> String {
    let mut text = String::new();
    let packed = BASE64.decode(part.as_str().unwrap()).unwrap();
    ZlibDecoder::new(packed.as_slice()).read_to_string(&mut text).unwrap();
    text
}

fn packed(text: &str) -> String {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(text.as_bytes()).unwrap();
    BASE64.encode(packer.finish().unwrap())
}

/// The state of a place, to be written by somebody who may.
struct State<'p> {
    place: &'p Place,
    namespace: String,
}

impl State<'_> {
    fn url(&self, plural: &str) -> String {
        format!("/api/v1/namespaces/{}/{plural}", self.namespace)
    }

    /// The ConfigMap of a name that begins so.
    fn head(&self, begins: &str) -> Value {
        let all = self.place.on.hand().get(&self.url("configmaps")).unwrap();
        let is = |item: &&Value| {
            let name = item["metadata"]["name"].as_str().unwrap();
            name.starts_with(begins) && item["data"]["head"].is_string()
        };
        all["items"].as_array().unwrap().iter().find(is).unwrap().clone()
    }

    /// Puts another text in the place of the one part that a head names, and the head in order.
    fn edit(&self, head: &Value, key: &str, (plural, data): (&str, &str), text: &str) {
        let hand = self.place.on.hand();
        let mut head = head.clone();
        let mut said: Value = serde_json::from_str(head["data"]["head"].as_str().unwrap()).unwrap();
        let name = said[key]["parts"][0].as_str().unwrap().to_owned();
        let url = format!("{}/{name}", self.url(plural));
        let mut part = hand.get(&url).unwrap();
        part["apiVersion"] = "v1".into();
        part["kind"] = if plural == "secrets" { "Secret".into() } else { "ConfigMap".into() };
        part[data]["part"] = packed(text).into();
        hand.delete(&url);
        hand.put("somebody", &self.url(plural), &part);
        said[key]["sha256"] = digest::sha256(text.as_bytes()).as_str().into();
        head["data"]["head"] = said.to_string().into();
        head["apiVersion"] = "v1".into();
        head["kind"] = "ConfigMap".into();
        hand.put("somebody", &self.url("configmaps"), &head);
    }
}

/// Everything in a Namespace that a forgery would like to write.
fn others(place: &Place, namespace: &str) -> Value {
    place.on.hand().get(&format!("/api/v1/namespaces/{namespace}/configmaps")).unwrap()["items"].clone()
}

fn with_others(name: &str) -> (Place, String) {
    let place = Place::new(name);
    place.make_namespace();
    let (hand, other) = (place.on.hand(), format!("{name}-other"));
    hand.put(
        "admin",
        "/api/v1/namespaces",
        &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}}),
    );
    let url = format!("/api/v1/namespaces/{other}/configmaps");
    // What the controllers put into every Namespace comes a little later.
    if place.on.has_controllers {
        hand.until("the Namespace has settled", || hand.get(&format!("{url}/kube-root-ca.crt")).is_some());
    }
    hand.put(
        "admin",
        &url,
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"v": "theirs"}}),
    );
    (place, other)
}

fn journal() {
    let (place, other) = with_others("forged");
    place.declare("a", &config("a"));
    place.lab.apply(&[]);
    place.declare("a", &config("a").replace("\"1\"", "\"2\""));
    place.dies("before-commit", &["apply", "--yes"]);
    let state = State { place: &place, namespace: "state-forged".to_owned() };
    let real = state.head("journal.");
    let said: Value = serde_json::from_str(real["data"]["head"].as_str().unwrap()).unwrap();
    let part = format!("{}/{}", state.url("secrets"), said["body"]["parts"][0].as_str().unwrap());
    let body = unpacked(&place.on.hand().get(&part).unwrap()["data"]["part"]);
    let (theirs, ours) = (others(&place, &other), place.live("configmaps", "a").unwrap());
    let elsewhere = |text: &str| {
        let text = text.replace("ConfigMap/forged/", &format!("ConfigMap/{other}/"));
        text.replace("\"namespace\":\"forged\"", &format!("\"namespace\":\"{other}\""))
    };
    let step = |change: &dyn Fn(&mut Value)| {
        let mut whole: Value = serde_json::from_str(&elsewhere(&body)).unwrap();
        change(&mut whole["steps"][0]);
        whole.to_string()
    };
    let named = |step: &mut Value, name: &str| {
        let text = step.to_string().replace("\"name\":\"a\"", &format!("\"name\":\"{name}\""));
        *step = serde_json::from_str(&text.replace(&format!("{other}/a "), &format!("{other}/{name} "))).unwrap();
    };
    let victim = place.on.hand().get(&format!("/api/v1/namespaces/{other}/configmaps/a")).unwrap();
    let forgeries = [
        // An update of what is there, or of what the journal says was there.
        ("update", step(&|_| {})),
        ("update of the same", step(&|step| step["before"]["metadata"]["uid"] = victim["metadata"]["uid"].clone())),
        // A replace that was stopped between its two halves: what was there is made anew.
        (
            "replace",
            step(&|step| {
                step["act"] = "replace".into();
                named(step, "made");
            }),
        ),
        // A mark that was taken off is put on again.
        (
            "unmark",
            step(&|step| {
                step["act"] = "unmark".into();
                step["declared"] = Value::Null;
                step["before"]["metadata"]["uid"] = victim["metadata"]["uid"].clone();
            }),
        ),
        // Ours, written as somebody else.
        ("account", {
            let mut whole: Value = serde_json::from_str(&body).unwrap();
            whole["steps"][0]["account"] = json!({"namespace": "kube-system", "name": "admin"});
            whole.to_string()
        }),
    ];
    for (what, forged) in forgeries {
        state.edit(&state.head("journal."), "body", ("secrets", "data"), &forged);
        let said = place.run(&["recover"]).exits(1);
        assert!(said.stderr.contains("nothing of it was done"), "{what}: {}", said.all());
        place.run(&["apply", "--yes"]).exits(1);
        assert_eq!(others(&place, &other), theirs, "{what}");
        assert_eq!(place.live("configmaps", "a").unwrap(), ours, "{what}");
    }
    state.edit(&state.head("journal."), "body", ("secrets", "data"), &body);
    // A configuration without the Source has no scope for it.
    let file = place.lab.path().join("holdfast.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("name: shop", "name: another")).unwrap();
    let said = place.run(&["recover"]).exits(1);
    assert!(said.stderr.contains("doesn't have its Sources (shop)"), "{}", said.all());
    std::fs::write(&file, text).unwrap();
    place.run(&["recover"]).ok();
    assert_eq!(place.live("configmaps", "a").unwrap()["data"]["v"], "1");
}

fn inventory() {
    let (place, other) = with_others("invented");
    place.declare("a", &config("a"));
    place.declare("b", &config("b"));
    place.lab.apply(&[]);
    let state = State { place: &place, namespace: "state-invented".to_owned() };
    let head = state.head("source.");
    let said: Value = serde_json::from_str(head["data"]["head"].as_str().unwrap()).unwrap();
    let part = format!("{}/{}", state.url("configmaps"), said["inventory"]["parts"][0].as_str().unwrap());
    let rows = unpacked(&place.on.hand().get(&part).unwrap()["binaryData"]["part"]);
    let url = format!("/api/v1/namespaces/{other}/configmaps");
    // Somebody even put the mark on the object.
    let mut victim = place.on.hand().get(&format!("{url}/a")).unwrap();
    let mark = place.live("configmaps", "a").unwrap()["metadata"]["annotations"]["holdfast.dev/owner"].clone();
    let mark = mark.as_str().unwrap().replace("/invented/", &format!("/{other}/"));
    victim["metadata"]["annotations"] = json!({"holdfast.dev/owner": mark});
    let victim = place.on.hand().put("somebody", &url, &victim);
    let mut row: Value = serde_json::from_str(rows.lines().next().unwrap()).unwrap();
    row["id"]["namespace"] = other.as_str().into();
    row["uid"] = victim["metadata"]["uid"].clone();
    row["version"] = victim["metadata"]["resourceVersion"].clone();
    state.edit(&head, "inventory", ("configmaps", "binaryData"), &format!("{rows}{row}\n"));
    let theirs = others(&place, &other);
    place.repo.remove("deploy/b.yaml");
    place.repo.commit("b goes");
    let plan = place.lab.plan(&["--allow-deletes", "2"]);
    let kept = plan["changes"].as_array().unwrap().iter().find(|c| c["id"]["namespace"] == other.as_str()).unwrap();
    assert_eq!(kept["action"], "keep", "{kept}");
    place.lab.run(&["apply", "--yes", "--allow-deletes", "2"]).ok();
    assert!(place.live("configmaps", "b").is_none());
    assert_eq!(others(&place, &other), theirs);
    // What can't be a row is damage, and then nothing at all is written.
    let head = state.head("source.");
    row["surprise"] = true.into();
    state.edit(&head, "inventory", ("configmaps", "binaryData"), &format!("{row}\n"));
    place.declare("a", &config("a").replace("\"1\"", "\"2\""));
    place.lab.run(&["apply", "--yes"]).exits(1);
    assert_eq!((others(&place, &other), &place.live("configmaps", "a").unwrap()["data"]["v"]), (theirs, &json!("1")));
}
