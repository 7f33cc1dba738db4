//! The roles that `rbac` prints are enough, and with one right less a command fails and says which.

use http::Method;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::on_cluster;
use crate::place::{Place, config};
use crate::watching::{Running, by_hand};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

pub fn trials() -> Vec<Trial> {
    vec![
        on_cluster(
            "the_printed_roles_are_enough_and_with_one_right_less_nothing_is_half_done",
            the_printed_roles_are_enough_and_with_one_right_less_nothing_is_half_done,
        ),
        on_cluster("with_the_printed_roles_a_loop_hears_what_is_written_and_without_watch_it_says_so", hears),
        on_cluster(
            "missing_rights_are_found_before_anything_is_sent_and_told_as_a_set",
            missing_rights_are_found_before_anything_is_sent_and_told_as_a_set,
        ),
        on_cluster(
            "a_plan_that_only_reads_needs_no_right_to_write_and_what_it_reviewed_can_be_applied",
            a_plan_that_only_reads_needs_no_right_to_write_and_what_it_reviewed_can_be_applied,
        ),
    ]
}

/// A place whose commands run as a user of their own, with the roles that `rbac` prints.
struct Narrow {
    place: Place,
    user: String,
    roles: Vec<Value>,
}

impl Narrow {
    fn new(name: &str, read_only: bool) -> Self {
        let place = Place::new(name);
        place.make_namespace();
        let hand = place.on.hand();
        let state = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": format!("state-{name}")}});
        hand.put("admin", "/api/v1/namespaces", &state);
        let user = format!("user-{name}");
        let kubeconfig = std::fs::read_to_string(&place.on.kubeconfig).unwrap();
        let mut kubeconfig: Value = serde_json::from_str(&kubeconfig).unwrap();
        kubeconfig["users"][0]["user"]["as"] = user.as_str().into();
        let file = place.lab.path().join("narrow.kubeconfig");
        std::fs::write(&file, kubeconfig.to_string()).unwrap();
        let spec = format!("  path: deploy\n  namespaces: [{name}]\n  prune: true\n  kinds: {{allow: [ConfigMap]}}");
        let source = place.repo.source("shop", &spec);
        let target = format!(
            "apiVersion: holdfast.dev/v1\nkind: Target\nmetadata:\n  name: cluster\nspec:\n  kubernetes: {{kubeconfig: {}, stateNamespace: state-{name}}}\n",
            file.display()
        );
        std::fs::write(place.lab.path().join("holdfast.yaml"), format!("{source}---\n{target}")).unwrap();
        let mut args = vec!["rbac", "shop", "-o", "json"];
        args.extend(read_only.then_some("--read-only"));
        let mut roles = place.lab.run(&args).ok().json()["items"].as_array().unwrap().clone();
        for role in &mut roles {
            // The names of cluster roles are shared with other tests.
            let unique = format!("{}-{name}", role["metadata"]["name"].as_str().unwrap());
            role["metadata"]["name"] = unique.into();
        }
        let narrow = Self { place, user, roles };
        for role in &narrow.roles {
            narrow.grant(role);
            let mut binding = role.clone();
            let kind = role["kind"].as_str().unwrap();
            binding["kind"] = format!("{kind}Binding").into();
            binding.as_object_mut().unwrap().remove("rules");
            binding["roleRef"] =
                json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role["metadata"]["name"]});
            binding["subjects"] =
                json!([{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": narrow.user}]);
            narrow.place.on.hand().put("admin", &collection(&binding), &binding);
        }
        for role in &narrow.roles {
            narrow.settled(role);
        }
        narrow
    }

    fn grant(&self, role: &Value) {
        self.place.on.hand().put("admin", &collection(role), role);
    }

    /// Waits until the server judges by a role as it is.
    fn settled(&self, role: &Value) {
        for rule in role["rules"].as_array().unwrap() {
            for verb in ["get", "list", "watch", "create", "patch", "update", "delete", "deletecollection"] {
                let given = rule["verbs"].as_array().unwrap().iter().any(|v| v == verb);
                self.until(role, rule, verb, given);
            }
        }
    }

    fn until(&self, role: &Value, rule: &Value, verb: &str, allowed: bool) {
        let resource = rule["resources"][0].as_str().unwrap();
        // What another rule gives as well, or a wildcard means, can't be told apart.
        let others = self.roles.iter().flat_map(|role| role["rules"].as_array().unwrap());
        let covers =
            |other: &Value| other["resources"][0] == "*" || (other["resources"] == rule["resources"] && other != rule);
        if !allowed && others.into_iter().any(|o| covers(o) && o["verbs"].as_array().unwrap().iter().any(|v| v == verb))
        {
            return;
        }
        let mut attributes = json!({"verb": verb, "group": rule["apiGroups"][0], "resource": resource});
        if let Some(namespace) = role["metadata"].get("namespace") {
            attributes["namespace"] = namespace.clone();
        }
        if let Some(names) = rule.get("resourceNames") {
            attributes["name"] = names[0].clone();
        }
        let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": self.user, "resourceAttributes": attributes}});
        let hand = self.place.on.hand();
        hand.until(&format!("{verb} {resource}: {allowed}"), || {
            let url = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
            let (_, answer) = hand.ask(Method::POST, url, "application/json", Some(&review)).unwrap();
            answer["status"]["allowed"].as_bool() == Some(allowed)
        });
    }

    /// The roles without one verb of one rule.
    fn without(&self, role: usize, rule: usize, verb: &str) {
        let mut less = self.roles[role].clone();
        less["rules"][rule]["verbs"].as_array_mut().unwrap().retain(|v| v != verb);
        if less["rules"][rule]["verbs"].as_array().unwrap().is_empty() {
            less["rules"].as_array_mut().unwrap().remove(rule);
        }
        self.grant(&less);
        self.until(&self.roles[role], &self.roles[role]["rules"][rule], verb, false);
    }

    fn data(&self) -> Vec<Option<Value>> {
        ["a", "b", "c"].map(|name| self.place.live("configmaps", name).map(|live| live["data"].clone())).to_vec()
    }
}

fn collection(object: &Value) -> String {
    let plural = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{RBAC}/namespaces/{namespace}/{plural}"),
        None => format!("{RBAC}/{plural}"),
    }
}

fn numbered(name: &str, n: usize) -> String {
    config(name).replace("\"1\"", &format!("\"{n}\""))
}

fn the_printed_roles_are_enough_and_with_one_right_less_nothing_is_half_done() {
    let narrow = Narrow::new("least", false);
    let place = &narrow.place;
    place.declare("a", &numbered("a", 0));
    place.declare("b", &numbered("b", 0));
    let said = place.run(&["apply", "--yes"]).ok();
    assert!(!said.stderr.contains("warning"), "{}", said.stderr);
    // Somebody else's change is told of at the object itself.
    let mut live = place.live("configmaps", "a").unwrap();
    live["data"]["v"] = "theirs".into();
    place.on.hand().put("somebody", "/api/v1/namespaces/least/configmaps", &live);
    let said = place.run(&["run", "--once"]).ok();
    assert!(said.stderr.contains("repaired") && !said.stderr.contains("warning"), "{}", said.stderr);
    let mut refused = 0;
    let mut n = 0;
    for (role, printed) in narrow.roles.iter().enumerate() {
        for (rule, entry) in printed["rules"].as_array().unwrap().iter().enumerate() {
            for verb in entry["verbs"].as_array().unwrap().iter().filter_map(Value::as_str).filter(|v| *v != "watch") {
                n += 1;
                // A create, an update and a delete each time.
                let (gone, new) = if n % 2 == 1 { ("b", "c") } else { ("c", "b") };
                place.repo.remove(&format!("deploy/{gone}.yaml"));
                place.repo.write(&format!("deploy/{new}.yaml"), numbered(new, n));
                place.repo.write("deploy/a.yaml", numbered("a", n));
                place.repo.commit("next");
                let before = narrow.data();
                narrow.without(role, rule, verb);
                let said = place.run(&["apply", "--yes"]);
                let about = format!("without {verb} of {entry}: {}", said.all());
                match said.code {
                    // Readers have `get` and `list` of everything; then this one was not needed.
                    0 | 5 => assert_ne!(narrow.data(), before, "{about}"),
                    1 => {
                        assert_eq!(narrow.data(), before, "{about}");
                        refused += 1;
                    }
                    _ => panic!("{about}"),
                }
                narrow.grant(printed);
                narrow.until(printed, entry, verb, true);
                place.run(&["apply", "--yes"]).ok();
                let (a, kept) = (place.live("configmaps", "a").unwrap(), place.live("configmaps", gone));
                assert_eq!((&a["data"]["v"], kept), (&json!(n.to_string()), None), "{about}");
            }
        }
    }
    assert!(refused >= 10, "{refused} of {n} rights were missed");
}

fn hears() {
    let narrow = Narrow::new("hears", false);
    let place = &narrow.place;
    let file = place.lab.path().join("holdfast.yaml");
    let text = std::fs::read_to_string(&file).unwrap().replace("  prune: true", "  prune: true\n  interval: 1h");
    std::fs::write(&file, text).unwrap();
    place.declare("a", &numbered("a", 1));
    place.lab.apply(&[]);
    let mut running = Running::start(place, &[]);
    running.until("shop", "unchanged");
    by_hand(place, "a", "HACKED");
    running.until("shop", "repaired");
    assert!(running.said.iter().all(|line| line["event"] != "unwatched"), "{:#?}", running.said);
    drop(running);
    let (role, rule) =
        (0, narrow.roles[0]["rules"].as_array().unwrap().iter().position(|rule| rule["resources"][0] == "*"));
    narrow.without(role, rule.unwrap(), "watch");
    let mut running = Running::start(place, &[]);
    let said = running.until("shop", "unwatched");
    assert!(said["message"].as_str().unwrap().contains("cannot watch resource"), "{said}");
}

fn missing_rights_are_found_before_anything_is_sent_and_told_as_a_set() {
    let narrow = Narrow::new("lacks", false);
    let place = &narrow.place;
    place.declare("a", &numbered("a", 0));
    place.run(&["apply", "--yes"]).ok();
    let writes = narrow.roles[0]["rules"].as_array().unwrap().len() - 1;
    let mut less = narrow.roles[0].clone();
    less["rules"].as_array_mut().unwrap().remove(writes);
    narrow.grant(&less);
    narrow.until(&narrow.roles[0], &narrow.roles[0]["rules"][writes], "patch", false);
    place.repo.remove("deploy/a.yaml");
    place.declare("b", &numbered("b", 0));
    place.declare("c", &numbered("c", 0));
    let said = place.lab.run(&["plan", "--allow-deletes", "1", "-o", "json"]).exits(1);
    let refusals = said.json()["refusals"].clone();
    let told: Vec<&str> = refusals.as_array().unwrap().iter().map(|r| r["text"].as_str().unwrap()).collect();
    let right = |verb: &str| format!("the account that writes may not {verb} configmaps in Namespace lacks");
    assert_eq!(told, [right("create"), right("delete"), right("patch")]);
    assert!(refusals.as_array().unwrap().iter().all(|r| r["rule"] == "missing-right"), "{refusals}");
    assert_eq!(refusals[1]["holds"].as_array().map(Vec::len), Some(3), "{refusals}");
}

fn a_plan_that_only_reads_needs_no_right_to_write_and_what_it_reviewed_can_be_applied() {
    let narrow = Narrow::new("looks", true);
    let place = &narrow.place;
    place.declare("a", &numbered("a", 0));
    place.lab.run(&["plan"]).exits(1);
    let plan = place.lab.run(&["plan", "--read-only", "-o", "json", "--out", "p.json"]).ok().json();
    assert_eq!((&plan["summary"]["create"], &plan["changes"][0]["admitted"]), (&json!(1), &json!("offline")));
    assert!(place.lab.run(&["show", "p.json"]).ok().stdout.contains("admitted offline"));
    // Somebody who may write applies exactly that, by either name.
    let admin = std::fs::read_to_string(place.lab.path().join("holdfast.yaml")).unwrap();
    let kubeconfig = place.on.kubeconfig.display().to_string();
    let admin = admin.replace(&place.lab.path().join("narrow.kubeconfig").display().to_string(), &kubeconfig);
    std::fs::write(place.lab.path().join("admin.yaml"), admin).unwrap();
    let content = plan["contentId"].as_str().unwrap();
    let full = place.lab.run(&["-f", "admin.yaml", "plan", "-o", "json"]).ok().json();
    assert_eq!((&full["contentId"], &full["changes"][0]["admitted"]), (&json!(content), &json!("server")));
    place.run(&["-f", "admin.yaml", "apply", "p.json"]).ok();
    place.declare("b", &numbered("b", 0));
    let plan = place.lab.run(&["plan", "--read-only", "-o", "json"]).ok().json();
    place.run(&["-f", "admin.yaml", "apply", "shop", "--expect", plan["contentId"].as_str().unwrap()]).ok();
    assert!(place.live("configmaps", "b").is_some());
}
