//! Sensitive values are nowhere but in the objects: marked ones are planted in every sensitive place, and all that is said,
//! saved, told and kept on the cluster is searched, also while an apply is stopped midway.

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::read::ZlibDecoder;
use holdfast::base::digest;
use libtest_mimic::Trial;
use serde_json::Value;

use crate::lab::Said;
use crate::on_cluster;
use crate::place::Place;

pub fn trials() -> Vec<Trial> {
    vec![on_cluster("planted_values_are_in_no_output_event_annotation_name_or_state_also_midway", planted)]
}

/// A value that is nowhere else.
fn mark(place: &str) -> String {
    format!("mk{}", &digest::sha256(format!("marked {place}").as_bytes()).as_str()[..22])
}

const PLACES: [&str; 5] = ["data", "string", "env", "arg", "hidden"];
const ROUNDS: [&str; 3] = ["first", "second", "by hand"];

fn marks() -> Vec<String> {
    ROUNDS.iter().flat_map(|round| PLACES.map(|place| mark(&format!("{round} {place}")))).collect()
}

/// What gives a value away: itself, encoded, cut short, or as a digest that a guess could be compared with.
fn forms(value: &str) -> Vec<String> {
    let encoded = BASE64.encode(value);
    let stem = encoded.trim_end_matches('=');
    let digests = [value, &encoded].map(|text| digest::sha256(text.as_bytes()).as_str().to_owned());
    [vec![value[..12].to_owned(), stem[..stem.len() - 1].to_owned()], digests.to_vec()].concat()
}

#[track_caller]
fn absent(what: &str, text: &str) {
    for value in marks() {
        for form in forms(&value) {
            assert!(!text.contains(&form), "{what} has {form}: {text}");
        }
    }
}

fn manifests(round: &str) -> [(&'static str, String); 3] {
    let of = |place: &str| mark(&format!("{round} {place}"));
    let secret = format!(
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\ndata:\n  pass: {}\nstringData:\n  token: {}\n",
        BASE64.encode(of("data")),
        of("string")
    );
    let deployment = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\nspec:\n  replicas: 0\n  selector: {{matchLabels: {{a: d}}}}\n  template:\n    metadata: {{labels: {{a: d}}}}\n    spec:\n      containers:\n      - name: c\n        image: i:1\n        args: [\"--password={}\"]\n        env:\n        - {{name: DB_PASSWORD, value: {}}}\n",
        of("arg"),
        of("env")
    );
    let hidden = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  shown: \"{}\"\n  hidden: {}\n",
        round.len(),
        of("hidden")
    );
    [("s", secret), ("d", deployment), ("c", hidden)]
}

struct Watch {
    place: Place,
}

impl Watch {
    fn write(&self, round: &str) {
        for (name, text) in manifests(round) {
            self.place.repo.write(&format!("deploy/{name}.yaml"), text);
        }
        self.place.repo.commit(round);
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> Said {
        let said = self.place.run(args);
        assert!(said.code != 101 && said.code != 2 && said.code != 255, "{args:?}: {said:?}");
        absent(&format!("{args:?}"), &said.all());
        said
    }

    /// Everything that reads.
    #[track_caller]
    fn look(&self) {
        for form in ["table", "diff", "json", "markdown"] {
            self.run(&["plan", "-v", "-o", form, "--out", "a.plan.json"]);
            if let Ok(file) = std::fs::read_to_string(self.place.lab.path().join("a.plan.json")) {
                absent("the plan file", &file);
                self.run(&["show", "a.plan.json", "-o", form]);
                self.run(&["verify", "a.plan.json", "-v"]);
            }
        }
        for form in ["table", "json"] {
            for command in ["status", "drift", "history"] {
                self.run(&[command, "-v", "-o", form]);
            }
        }
        for args in
            [&["export-drift", "shop"][..], &["source", "list", "-v"], &["render", "shop"], &["plan", "--read-only"]]
        {
            self.run(args);
        }
        let history = self.run(&["history", "-o", "json"]).json();
        for entry in history["entries"].as_array().or(history.as_array()).into_iter().flatten() {
            let id = entry["id"].as_str().unwrap();
            self.run(&["history", "show", id, "-o", "json"]);
        }
    }

    /// Everything of the state but the journal's own Secrets, and what is told and noted at the objects.
    #[track_caller]
    fn search(&self) {
        let hand = self.place.on.hand();
        let namespace = &self.place.namespace;
        let state = format!("state-{namespace}");
        for all in [
            format!("/api/v1/namespaces/{state}/configmaps"),
            format!("/apis/coordination.k8s.io/v1/namespaces/{state}/leases"),
            format!("/apis/events.k8s.io/v1/namespaces/{state}/events"),
            format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"),
        ] {
            let list = hand.get(&all).unwrap();
            absent(&all, &list.to_string());
            for item in list["items"].as_array().unwrap() {
                if let Some(part) = item["binaryData"]["part"].as_str() {
                    absent(&item["metadata"]["name"].to_string(), &unpacked(part));
                }
            }
        }
        for item in hand.get(&format!("/api/v1/namespaces/{state}/secrets")).unwrap()["items"].as_array().unwrap() {
            assert_eq!(item["type"], "holdfast.dev/journal");
            absent("the name of a part", &item["metadata"].to_string());
        }
        for object in [
            "api/v1/namespaces/N/secrets/s",
            "api/v1/namespaces/N/configmaps/c",
            "apis/apps/v1/namespaces/N/deployments/d",
        ] {
            if let Some(live) = hand.get(&format!("/{}", object.replace('N', namespace))) {
                absent(object, &live["metadata"].to_string());
            }
        }
    }

    /// The apply dies at a place in the code, and everything is looked at before and after it is recovered from.
    fn dies(&self, at: &str) {
        let mut command = self.place.lab.command(&["apply", "--yes", "-v"]);
        command.env("HOLDFAST_FAILPOINT", at).env("HOLDFAST_LEASE", "6");
        let output = command.output().unwrap();
        assert!(output.status.code().is_none(), "{at}: {output:?}");
        absent(at, &format!("{output:?}"));
        self.search();
        // That is where they are, so that it can be undone: readable by those alone who may read Secrets there.
        let parts = self.journal();
        assert!(parts.iter().any(|part| marks().iter().any(|mark| part.contains(&BASE64.encode(mark)))), "{at}");
        self.run(&["plan"]);
        self.run(&["status", "-v"]);
        self.run(&["recover", "-v"]).ok();
        assert_eq!(self.journal(), Vec::<String>::new(), "{at}");
        self.search();
    }

    /// What the journal's Secrets hold.
    fn journal(&self) -> Vec<String> {
        let state = format!("/api/v1/namespaces/state-{}/secrets", self.place.namespace);
        let list = self.place.on.hand().get(&state).unwrap();
        list["items"].as_array().unwrap().iter().map(|item| unpacked(item["data"]["part"].as_str().unwrap())).collect()
    }
}

fn unpacked(part: &str) -> String {
    let mut text = String::new();
    ZlibDecoder::new(BASE64.decode(part).unwrap().as_slice()).read_to_string(&mut text).unwrap();
    text
}

fn planted() {
    let place = Place::new("planted");
    place.configure("  sensitive:\n  - {kind: ConfigMap, pointers: [/data/hidden]}\n");
    place.make_namespace();
    let watch = Watch { place };
    watch.write("first");
    watch.look();
    watch.dies("after-object:2");
    watch.run(&["apply", "--yes", "-v", "-o", "json"]).ok();
    watch.look();
    watch.search();
    watch.write("second");
    watch.look();
    watch.dies("before-commit");
    watch.dies("after-object:1");
    watch.run(&["run", "--once", "--log-format", "json", "-v"]).ok();
    let value = watch.place.live("configmaps", "c").unwrap()["data"]["hidden"].clone();
    assert_eq!(value, mark("second hidden"));
    watch.search();
    // Somebody changes all of them by hand.
    let hand = watch.place.on.hand();
    let mut secret = watch.place.live("secrets", "s").unwrap();
    secret["data"]["pass"] = BASE64.encode(mark("by hand data")).into();
    secret["data"]["more"] = BASE64.encode(mark("by hand string")).into();
    hand.put("somebody", "/api/v1/namespaces/planted/secrets", &secret);
    let mut config = watch.place.live("configmaps", "c").unwrap();
    config["data"]["hidden"] = mark("by hand hidden").into();
    hand.put("somebody", "/api/v1/namespaces/planted/configmaps", &config);
    let deployments = "/apis/apps/v1/namespaces/planted/deployments";
    let mut deployment = hand.get(&format!("{deployments}/d")).unwrap();
    let container = &mut deployment["spec"]["template"]["spec"]["containers"][0];
    container["args"][0] = format!("--password={}", mark("by hand arg")).into();
    container["env"][0]["value"] = mark("by hand env").into();
    hand.put("somebody", deployments, &deployment);
    watch.look();
    watch.run(&["run", "--once", "--log-format", "json", "-v"]).ok();
    assert_eq!(watch.place.live("configmaps", "c").unwrap()["data"]["hidden"], mark("second hidden"));
    watch.search();
    watch.look();
    watch.place.repo.remove("deploy/s.yaml");
    watch.place.repo.commit("gone");
    watch.look();
    watch.dies("after-commit");
    watch.search();
    assert!(watch.place.live("secrets", "s").is_none());
    // Who only reads may read no Secret of the state.
    let roles = watch.run(&["rbac", "shop", "--read-only", "-o", "json"]).ok().json();
    let state = |role: &&Value| role["metadata"]["namespace"] == "state-planted";
    let rules: Vec<Value> = roles["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(state)
        .flat_map(|role| role["rules"].as_array().unwrap().clone())
        .collect();
    assert!(
        !rules.is_empty() && rules.iter().all(|rule| rule["resources"] == serde_json::json!(["configmaps"])),
        "{rules:?}"
    );
}
