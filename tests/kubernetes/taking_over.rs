//! Objects that kubectl, Helm, Argo CD or Flux made come to a Source: each is named by its marks, who still claims them is
//! passed over only when told, and nothing changes but who holds what.

use http::Method;
use libtest_mimic::Trial;
use serde_json::{Value, json};

use crate::applying::{refuse_at_apply, whole};
use crate::on_cluster;
use crate::place::Place;

pub fn trials() -> Vec<Trial> {
    let each = TOOLS.iter().map(|tool| {
        on_cluster(
            &format!("what_{}_made_is_taken_over_with_nothing_changed_and_what_git_drops_goes", tool.name),
            || {
                taken_over(tool);
            },
        )
    });
    let more = [
        on_cluster("a_take_over_that_is_refused_gives_everything_back_to_its_tool_field_by_field", given_back),
        on_cluster("a_take_over_killed_between_values_and_owners_is_undone_exactly", killed),
    ];
    each.chain(more).collect()
}

/// A tool, and how it leaves its marks.
struct Tool {
    name: &'static str,
    /// As people are told.
    shown: &'static str,
    /// What has to be told, with the number, where it still claims what it made.
    told: Option<&'static str>,
    manager: &'static str,
    operation: &'static str,
    labels: &'static [(&'static str, &'static str)],
    annotations: &'static [(&'static str, &'static str)],
}

const LAST: &str = "kubectl.kubernetes.io/last-applied-configuration";

static TOOLS: [Tool; 5] = [
    Tool {
        name: "kubectl_client_side",
        shown: "kubectl (client-side apply)",
        told: None,
        manager: "kubectl-client-side-apply",
        operation: "Update",
        labels: &[],
        annotations: &[(LAST, "{}")],
    },
    Tool {
        name: "kubectl_server_side",
        shown: "kubectl (server-side apply)",
        told: None,
        manager: "kubectl",
        operation: "Apply",
        labels: &[],
        annotations: &[],
    },
    Tool {
        name: "helm",
        shown: "Helm (release shop/web)",
        told: Some("helm/shop/web=1"),
        manager: "helm",
        operation: "Update",
        labels: &[("app.kubernetes.io/managed-by", "Helm")],
        annotations: &[("meta.helm.sh/release-name", "web"), ("meta.helm.sh/release-namespace", "shop")],
    },
    Tool {
        name: "argocd",
        shown: "Argo CD (Application shop)",
        told: Some("argocd/shop=1"),
        manager: "argocd-controller",
        operation: "Apply",
        labels: &[],
        annotations: &[("argocd.argoproj.io/tracking-id", "shop:apps/Deployment:shop/web")],
    },
    Tool {
        name: "flux",
        shown: "Flux (Kustomization flux-system/apps)",
        told: Some("flux/Kustomization/flux-system/apps=1"),
        manager: "kustomize-controller",
        operation: "Apply",
        labels: &[
            ("kustomize.toolkit.fluxcd.io/name", "apps"),
            ("kustomize.toolkit.fluxcd.io/namespace", "flux-system"),
        ],
        annotations: &[],
    },
];

impl Tool {
    /// Makes an object as the tool does: applied, or posted and patched once more.
    fn make(&self, place: &Place, collection: &str, object: &Value) {
        let mut object = object.clone();
        let metadata = object["metadata"].as_object_mut().unwrap();
        for (key, more) in [("labels", self.labels), ("annotations", self.annotations)] {
            let map = metadata.entry(key).or_insert_with(|| json!({})).as_object_mut().unwrap();
            map.extend(more.iter().map(|(key, value)| ((*key).to_owned(), json!(value))));
        }
        let hand = place.on.hand();
        let url = format!(
            "{collection}/{}?fieldManager={}&force=true",
            object["metadata"]["name"].as_str().unwrap(),
            self.manager
        );
        let (code, said) = if self.operation == "Apply" {
            hand.ask(Method::PATCH, &url, "application/apply-patch+yaml", Some(&object)).unwrap()
        } else {
            hand.ask(
                Method::POST,
                &format!("{collection}?fieldManager={}", self.manager),
                "application/json",
                Some(&object),
            )
            .unwrap();
            let url = url.replace("&force=true", "");
            let kind = if collection.contains("/apis/") {
                "application/strategic-merge-patch+json"
            } else {
                "application/merge-patch+json"
            };
            hand.ask(Method::PATCH, &url, kind, Some(&json!({"metadata": {"annotations": {"patched": "twice"}}})))
                .unwrap()
        };
        assert!(code < 300, "{said}");
    }
}

/// What is live, with two fields of which git says nothing.
fn deployment(namespace: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace, "labels": {"app": "web", "tier": "front"},
            "annotations": {"note": "of the tool alone"}},
        "spec": {"replicas": 0, "revisionHistoryLimit": 3, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [
                {"name": "web", "image": "nginx:1.27", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
                {"name": "side", "image": "log:1", "ports": [{"containerPort": 80}]}]}}}})
}

/// What git says of it.
fn declared(namespace: &str) -> Value {
    let mut object = deployment(namespace);
    object["metadata"].as_object_mut().unwrap().remove("annotations");
    object["spec"].as_object_mut().unwrap().remove("revisionHistoryLimit");
    object
}

fn managers(live: &Value) -> Vec<String> {
    let entries = live["metadata"]["managedFields"].as_array().unwrap().iter();
    let writers = entries.filter(|e| e["manager"] != "kube-controller-manager");
    writers.map(|e| format!("{} {}", e["manager"].as_str().unwrap(), e["operation"].as_str().unwrap())).collect()
}

/// An object without what has to change when it is taken over (its version, its owners, and the mark), and what its
/// controller writes meanwhile.
fn taken(live: &Value) -> Value {
    let mut live = live.clone();
    let metadata = live["metadata"].as_object_mut().unwrap();
    metadata.remove("resourceVersion");
    metadata.remove("managedFields");
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({})).as_object_mut().unwrap();
    annotations.remove("holdfast.dev/owner");
    annotations.remove("deployment.kubernetes.io/revision");
    // An API server counts a Deployment's annotations among what its generation is of.
    metadata.remove("generation");
    live.as_object_mut().unwrap().remove("status");
    live
}

fn taken_over(tool: &Tool) {
    let name = format!("from-{}", tool.name.replace('_', "-"));
    let place = Place::new(&name);
    place.make_namespace();
    let collection = format!("/apis/apps/v1/namespaces/{name}/deployments");
    tool.make(&place, &collection, &deployment(&name));
    let live = || place.on.hand().get(&format!("{collection}/web")).unwrap();
    let before = live();
    assert!(managers(&before).contains(&format!("{} {}", tool.manager, tool.operation)), "{before}");
    place.declare("web", &declared(&name).to_string());

    // Unasked it is refused, and the tool is named.
    let said = place.lab.run(&["plan"]).exits(1);
    assert!(said.all().contains("exists-unowned") && said.all().contains(tool.shown), "{}", said.all());
    let adopt = format!("Deployment.apps/{name}/web");
    let mut args = vec!["--adopt", &adopt];
    if let Some(told) = tool.told {
        let said = place.lab.run(&["plan", "--adopt", &adopt]).exits(1);
        let wants = format!("--take-over {told}");
        for part in ["claimed-by-tool", tool.shown, &wants] {
            assert!(said.all().contains(part), "{part}: {}", said.all());
        }
        args.extend(["--take-over", told]);
    }
    let plan = place.lab.run(&[&["plan", "-o", "json", "--out", "p.json"], &args[..]].concat()).ok().json();
    let change = &plan["changes"][0];
    assert_eq!((&change["action"], &change["fields"]), (&json!("adopt"), &Value::Null), "{change}");
    let table = place.lab.run(&["show", "p.json"]).ok().stdout;
    assert!(table.contains(&format!("taken over from {}", tool.shown)), "{table}");
    if tool.told.is_some() {
        // What is in the plan counts only if it is given again.
        let said = place.lab.run(&["apply", "p.json", "--adopt", &adopt]).exits(1);
        assert!(said.all().contains("permission-not-given"), "{}", said.all());
    }
    assert_eq!((taken(&live()), managers(&live())), (taken(&before), managers(&before)));
    place.lab.run(&[&["apply", "p.json"], &args[..]].concat()).ok();

    // The same object, field by field, and Holdfast's.
    let after = live();
    assert_eq!(taken(&after), taken(&before));
    let held = |live: &Value, manager: &str, at: &str| {
        let entries = live["metadata"]["managedFields"].as_array().unwrap().iter();
        entries.filter(|e| e["manager"] == *manager).any(|e| e["fieldsV1"].pointer(at).is_some())
    };
    for at in ["/f:metadata/f:labels/f:tier", "/f:spec/f:replicas", "/f:spec/f:template/f:spec/f:containers"] {
        assert!(held(&before, tool.manager, at) && !held(&after, tool.manager, at), "{at} {after}");
        assert!(held(&after, "holdfast", at), "{at} {after}");
    }
    // Of what git doesn't declare nothing changes hands.
    for at in ["/f:spec/f:revisionHistoryLimit", "/f:metadata/f:annotations/f:note"] {
        assert!(held(&after, tool.manager, at) && !held(&after, "holdfast", at), "{at} {after}");
    }
    assert_eq!(place.lab.plan(&[])["changes"], json!([]));

    // What git drops goes, defaults of the server in it and all; what nobody declares stays.
    let mut less = declared(&name);
    less["metadata"]["labels"].as_object_mut().unwrap().remove("tier");
    let containers = less["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap();
    containers.pop();
    containers[0]["env"].as_array_mut().unwrap().pop();
    place.declare("web", &less.to_string());
    place.lab.apply(&[]);
    let end = live();
    let expected = {
        let mut expected = taken(&before);
        expected["metadata"]["labels"].as_object_mut().unwrap().remove("tier");
        let containers = expected["spec"]["template"]["spec"]["containers"].as_array_mut().unwrap();
        containers.pop();
        containers[0]["env"].as_array_mut().unwrap().pop();
        expected
    };
    for part in ["labels", "annotations", "uid"] {
        assert_eq!(taken(&end)["metadata"][part], expected["metadata"][part], "{part}");
    }
    assert_eq!(end["spec"], expected["spec"]);
    assert_eq!(end["metadata"]["annotations"]["note"], "of the tool alone");
    assert_eq!(end["spec"]["revisionHistoryLimit"], 3);
}

/// One ConfigMap of each tool to be taken over with another value, and one of which somebody else holds all, too; what each
/// was before; and what has to be given.
fn five(place: &Place) -> (Vec<String>, Vec<Value>, Vec<String>) {
    place.make_namespace();
    let namespace = &place.namespace;
    let collection = format!("/api/v1/namespaces/{namespace}/configmaps");
    let mut names: Vec<String> = TOOLS.iter().map(|tool| tool.name.replace('_', "-")).collect();
    let object = |name: &str, v: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace},
            "data": {"v": v, "same": "1"}})
    };
    for (tool, name) in TOOLS.iter().zip(&names) {
        let mut live = object(name, "1");
        live["data"]["undeclared"] = "x".into();
        tool.make(place, &collection, &live);
        // Somebody else holds one of the fields too.
        let also = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"same": "1"}});
        let url = format!("{collection}/{name}?fieldManager=somebody&force=true");
        place.on.hand().ask(Method::PATCH, &url, "application/apply-patch+yaml", Some(&also)).unwrap();
        place.declare(name, &object(name, "2").to_string());
    }
    TOOLS[1].make(place, &collection, &object("shared", "2"));
    let url = format!("{collection}/shared?fieldManager=somebody&force=true");
    place.on.hand().ask(Method::PATCH, &url, "application/apply-patch+yaml", Some(&object("shared", "2"))).unwrap();
    place.declare("shared", &object("shared", "2").to_string());
    names.push("shared".to_owned());
    let before = names.iter().map(|name| whole(place, name)).collect();
    let mut args =
        vec!["--adopt".to_owned(), format!("ConfigMap/{namespace}/*"), "--allow-adoptions".to_owned(), "6".to_owned()];
    args.extend(TOOLS.iter().filter_map(|tool| tool.told).flat_map(|told| ["--take-over".to_owned(), told.to_owned()]));
    (names, before, args)
}

fn given_back() {
    let place = Place::new("given-back");
    let (names, before, args) = five(&place);
    refuse_at_apply(&place, "!has(object.data.v) || object.data.v != 'forbidden'");
    // It comes last: it waits for the others' wave.
    place.declare("z", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: z\n  annotations: {holdfast.dev/wave: \"1\"}\ndata: {v: forbidden}\n");
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let said = place.lab.run(&[&["apply", "--yes"], &args[..]].concat()).exits(1);
    assert!(said.all().contains("not this one"), "{}", said.all());
    for (name, before) in names.iter().zip(&before) {
        assert_eq!(whole(&place, name), *before, "{name}");
    }
    place.repo.remove("deploy/z.yaml");
    place.repo.commit("without it");
    place.lab.run(&[&["apply", "--yes"], &args[..]].concat()).ok();
    for name in &names[..5] {
        let live = place.live("configmaps", name).unwrap();
        assert_eq!(live["data"], json!({"v": "2", "same": "1", "undeclared": "x"}), "{name}");
        assert!(managers(&live).contains(&"somebody Apply".to_owned()), "{name}");
    }
}

fn killed() {
    let place = Place::new("taken-killed");
    let (names, before, args) = five(&place);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    for point in ["before-owners:1", "before-owners:4", "after-object:1", "after-object:6"] {
        place.dies(point, &[&["apply", "--yes"], &args[..]].concat());
        place.run(&["recover"]).ok();
        for (name, before) in names.iter().zip(&before) {
            assert_eq!(whole(&place, name), *before, "{point} {name}");
        }
    }
}
