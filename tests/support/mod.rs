//! Plans made by hand, for what shows and reads them.
#![allow(dead_code)]

use holdfast::plan::document::PlanDocument;
use holdfast::plan::identity;
use serde_json::{Value, json};

/// Seals a document: fills in its summary and its names.
pub(crate) fn sealed(mut value: Value) -> PlanDocument {
    let mut counts = serde_json::Map::new();
    for action in ["create", "update", "own", "replace", "delete", "adopt", "transfer", "release", "keep"] {
        let n = value["changes"].as_array().unwrap().iter().filter(|c| c["action"] == action).count();
        counts.insert(action.to_owned(), json!(n));
    }
    counts.insert("unchanged".to_owned(), json!(value["unchanged"].as_array().unwrap().len()));
    value["summary"] = counts.into();
    let mut plan: PlanDocument = serde_json::from_value(value).unwrap();
    (plan.plan_id, plan.content_id) = identity::name(&plan).unwrap();
    plan
}

/// An empty plan of one Source.
pub(crate) fn empty() -> Value {
    json!({
        "formatVersion": 1, "planId": "0".repeat(64), "contentId": "0".repeat(64), "createdAt": "2026-01-02T03:04:05Z",
        "target": {"kind": "embedded", "identity": "0c1d1d1e-8a4c-4f0e-9c55-1f2f3a4b5c6d"},
        "sources": [{"name": "shop", "id": "0d2fbd3e-5b6a-5d2b-8a57-0b4a4a1e2f11", "path": "deploy",
            "commit": "a".repeat(40), "applied": "b".repeat(40), "inventorySerial": 3, "spec": "c".repeat(64), "origin": "e".repeat(64)}],
        "changes": [], "unchanged": [], "warnings": [], "summary": {}, "allowances": {}, "waivers": [],
    })
}

/// One Change; `rest` replaces and adds keys.
pub(crate) fn change(action: &str, id: &str, rest: Value) -> Value {
    let id = holdfast::base::resource::ResourceId::parse(id).unwrap();
    let mut value =
        json!({"action": action, "id": id, "source": "shop", "wave": 0, "undo": "exact", "admitted": "offline"});
    value.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    value
}

/// A plan with every action in it.
pub(crate) fn every_action() -> PlanDocument {
    let mut plan = empty();
    plan["changes"] = json!([
        change(
            "create",
            "Namespace/shop",
            json!({"file": "deploy/ns.yaml", "line": 1, "fields": [{"path": "", "after":
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}}]})
        ),
        change(
            "create",
            "ConfigMap/shop/nginx",
            json!({"file": "deploy/nginx.yaml", "line": 3, "fields": [{"path": "", "after":
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nginx", "namespace": "shop"},
             "data": {"debug": "yes", "nginx.conf": "server {\n  listen 80;\n}\n"}}}]})
        ),
        change(
            "update",
            "Deployment.apps/shop/web",
            json!({"file": "deploy/web.yaml", "line": 1, "uid": "u-1",
            "seen": "d".repeat(64), "declared": "e".repeat(64),
            "fields": [
                {"path": "/spec/replicas", "before": 1, "after": 2},
                {"path": "/spec/template/spec/containers/0/image", "before": "nginx:1.26", "after": "nginx:1.27"},
                {"path": "/spec/template/spec/containers/1", "after": {"name": "log", "image": "log:1"}},
                {"path": "/spec/template/spec/containers/0/env/0/value",
                 "before": "(sensitive, 8 bytes)", "after": "(sensitive, 8 bytes)"},
                {"path": "/metadata/labels/0", "before": "x"}],
            "taken": [{"path": "/spec/replicas", "manager": "kubectl-edit"}],
            "left": [{"path": "/spec/paused", "manager": "hpa"}],
            "droppedDefaults": ["/spec/strategy/rollingUpdate"],
            "warnings": [{"rule": "no-latest-tag", "text": "the image has no fixed version", "file": "deploy/web.yaml", "line": 19}]})
        ),
        change("own", "Service/shop/web", json!({"file": "deploy/svc.yaml", "line": 1})),
        change("replace", "Job.batch/shop/migrate", json!({"file": "deploy/job.yaml", "line": 1, "undo": "none"})),
        change(
            "adopt",
            "ConfigMap/shop/old",
            json!({"file": "deploy/old.yaml", "line": 1,
            "keepers": [{"tool": "kubectl", "name": "client-side apply"}, {"tool": "helm", "name": "shop/web"}, {"tool": "argocd"}]})
        ),
        change("transfer", "ConfigMap/shop/moved", json!({"file": "deploy/moved.yaml", "line": 1, "from": "other"})),
        change(
            "release",
            "ConfigMap/shop/gone",
            json!({"rule": "uid-mismatch", "reason": "it was made again by somebody else"})
        ),
        change(
            "update",
            "RoleBinding.rbac.authorization.k8s.io/shop/admins",
            json!({"file": "deploy/rbac.yaml", "line": 4,
            "fields": [{"path": "/subjects", "before": [], "after": [{"kind": "User", "name": "eve"}]}]})
        ),
        change(
            "delete",
            "ConfigMap/shop/settings",
            json!({"file": "deploy/settings.yaml", "line": 1, "undo": "new-uid",
            "fields": [{"path": "", "before": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}}}]})
        ),
        change(
            "keep",
            "Namespace/legacy",
            json!({"rule": "wanted-by-other", "reason": "it holds what Source b wants",
            "holds": [{"group": "", "kind": "ConfigMap", "namespace": "legacy", "name": "x"}]})
        ),
    ]);
    plan["unchanged"] = json!([{"id": {"group": "", "kind": "ConfigMap", "namespace": "shop", "name": "same"}, "source": "shop",
        "uid": "u-9", "seen": "d".repeat(64), "declared": "e".repeat(64)}]);
    plan["warnings"] =
        json!([{"rule": "dot-folder", "text": "2 folders that begin with a dot are outside", "file": "deploy"}]);
    plan["allowances"] =
        json!({"deletes": 1, "allow": ["Job.batch/shop/migrate"], "takeOver": ["argocd=1", "helm/shop/web=1"]});
    plan["waivers"] = json!([{"rule": "few-replicas", "reason": "a sale, until Monday"}]);
    plan["sources"][0]["preview"] = json!(true);
    sealed(plan)
}

/// Text that wants out of wherever it is put.
pub(crate) const HOSTILE: &str =
    "a\u{1b}[2J\u{202e}b\u{200b}c</code></details><img src=x> ``` @everyone [x](http://evil.example) \\` | x\r\n# h";

/// A plan whose every free text is hostile.
pub(crate) fn hostile() -> PlanDocument {
    let mut plan = empty();
    plan["sources"][0]["path"] = json!(HOSTILE);
    plan["changes"] = json!([
        {"action": "update", "id": {"group": HOSTILE, "kind": HOSTILE, "namespace": HOSTILE, "name": HOSTILE}, "source": "shop",
         "file": HOSTILE, "line": 1, "wave": 0, "undo": "exact", "admitted": "offline", "reason": HOSTILE, "rule": HOSTILE,
         "fields": [{"path": format!("/data/{}", HOSTILE.replace('/', "~1")), "before": HOSTILE, "after": format!("{HOSTILE}\n```\n</details>\n{HOSTILE}")}],
         "holds": [{"group": "", "kind": HOSTILE, "name": HOSTILE}],
         "taken": [{"path": format!("/{}", HOSTILE.replace('/', "~1")), "manager": HOSTILE}],
         "keepers": [{"tool": "flux", "name": HOSTILE}],
         "warnings": [{"rule": HOSTILE, "text": HOSTILE, "file": HOSTILE, "raw": HOSTILE}]},
        change("create", "ConfigMap/shop/x", json!({"fields": [{"path": "", "after": {"data": {"x": HOSTILE, HOSTILE: "y\n```\n@all\n"}}}]})),
    ]);
    plan["warnings"] = json!([{"rule": HOSTILE, "text": HOSTILE, "file": HOSTILE}]);
    plan["allowances"] = json!({"allow": [HOSTILE], "takeOver": [HOSTILE]});
    plan["waivers"] = json!([{"rule": HOSTILE, "reason": HOSTILE}]);
    sealed(plan)
}
