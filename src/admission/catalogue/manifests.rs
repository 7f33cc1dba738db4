//! Rules about manifests as a whole: text, identity, scope.

use super::{RuleDoc, rule};

pub(super) const RULES: &[RuleDoc] = &[
    rule(
        "ambiguous-key",
        "A key keeps its text when it is read.",
        "YAML reads some plain keys as something else: `on` as true, `1.0` as 1. As a key it would become another text \
         than the one that stands there. Put it in quotes.",
        "data:\n  on: \"1\"      # write \"on\"",
    ),
    rule(
        "ambiguous-merge",
        "A merge key doesn't set what stands before it in its mapping.",
        "Readers disagree whether an earlier key or the later `<<` wins. Write `<<` first, or drop one of the two.",
        "tier: front\n<<: *base      # base sets tier too",
    ),
    rule(
        "ambiguous-scalar",
        "A plain text in an untyped place means what it looks like.",
        "Where no schema says what a value must be, YAML's own rules decide: 1.10 becomes 1.1, 0755 becomes 493, yes \
         becomes true. A warning, or a refusal with `ambiguousScalars: deny`. Put it in quotes if a text is meant.",
        "values: {version: 1.10}      # write \"1.10\"",
    ),
    rule(
        "bad-name",
        "Names are written as the control plane takes them.",
        "The rule differs by kind: most names are DNS subdomains (lower case, digits, - and .), a Service's begins with a \
         letter and has no dot, RBAC names may have colons. Keys of labels, ConfigMaps and ports have rules of their own.",
        "metadata: {name: My_App}      # write my-app",
    ),
    rule(
        "cluster-scoped",
        "A cluster-scoped object has no namespace.",
        "A namespace on such an object has no effect, and is left out of what is declared. A warning.",
        "kind: ClusterRole\nmetadata: {name: viewer, namespace: shop}",
    ),
    rule(
        "controlled-object",
        "An object that a controller made isn't declared or taken over.",
        "Its controller keeps it as it wants it and deletes it with its owner. Declare the owner instead. Objects of the \
         control plane itself (kube-*, kubernetes.io/bootstrapping) aren't taken over either.",
        "a Pod with an ownerReference of its StatefulSet, exported and committed",
    ),
    rule(
        "duplicate-key",
        "A mapping has each key once.",
        "kubectl keeps the last of two, silently. Both lines are named: join them, or drop one.",
        "env: [{name: A}]\nimage: web:1\nenv: [{name: B}]",
    ),
    rule(
        "duplicate-object",
        "A resource is declared once, over all files and API versions.",
        "Group, kind, namespace and name make a resource; autoscaling/v1 and v2 of one name are the same. Of two \
         declarations each apply would undo the other. Keep one. The same holds for the Sources and Targets of a \
         configuration, and for two Sources of one plan.",
        "a.yaml and b.yaml both declare ConfigMap/shop/conf",
    ),
    rule(
        "encrypted",
        "A manifest isn't encrypted.",
        "Holdfast has no keys: the encrypted texts would be applied as they stand. Commit what an operator decrypts inside \
         the cluster, or leave the file out.",
        "data: {password: ENC[AES256_GCM,data:...]}",
    ),
    rule(
        "generate-name",
        "An object has a fixed name.",
        "With generateName each apply would make another object, which can't be compared, updated or pruned. Beside a name \
         generateName has no effect: a warning.",
        "metadata: {generateName: migrate-}      # write name: migrate-42",
    ),
    rule(
        "not-a-manifest",
        "Every file that counts holds Kubernetes objects.",
        "A .yaml, .yml or .json file under the path that is something else could be a manifest with a typing error, whose \
         object would be pruned. Name it under `ignore` or in .holdfastignore.",
        "values.yaml of a Helm chart; or `knid: Service`",
    ),
    rule(
        "not-stored",
        "Only objects that the control plane stores can be declared.",
        "Reviews and bindings are requests that are answered at once: there is nothing to keep in step with git.",
        "kind: TokenReview",
    ),
    rule(
        "permit-in-git",
        "A permission in a manifest counts only if the Source's permitInGit lists it.",
        "Who can write manifests could otherwise let Holdfast take over, replace or delete what they may not. Without it \
         the annotation has no effect: a warning.",
        "annotations: {holdfast.dev/adopt: \"true\"}      # with permitInGit: [adopt]",
    ),
    rule(
        "scope-violation",
        "A Source writes only what its scope names.",
        "Namespaces, cluster-scoped kinds and kinds at all are listed in the Source. Scope is a filter for mistakes, not a \
         boundary: the boundary is the account that writes. Holdfast's own kinds are in no scope.",
        "metadata: {name: dns, namespace: kube-system}      # with namespaces: [shop]",
    ),
    rule(
        "server-owned-field",
        "What the server writes is left out of what is declared.",
        "Exported objects carry status, uid, resourceVersion, managedFields and the like. They are dropped, with a \
         warning: take them out of the file. The status of a custom resource whose definition has no status subresource is \
         the author's, and kept.",
        "metadata: {name: web, uid: 8f1c..., resourceVersion: \"77\"}",
    ),
    rule(
        "size-limit",
        "Sizes stay within the limits of Holdfast and of the API server.",
        "Files, documents, nesting and aliases are bounded so that hostile input can't take the machine; the data of a \
         ConfigMap or Secret has at most 1 MiB, annotations 256 KiB. What is over a limit is refused, never cut.",
        "a ConfigMap with 1,048,577 bytes of data",
    ),
    rule(
        "string-data",
        "A Secret sets each key once.",
        "Where a key stands in data and stringData with different values, stringData wins, as in the API server. A warning.",
        "data: {user: b2xk}\nstringData: {user: new}",
    ),
    rule(
        "yaml-syntax",
        "Files are YAML or JSON as kubectl reads them.",
        "What kubectl would refuse, or read only in part, is refused with its line and column. Templates have to be \
         rendered before they are committed.",
        "replicas: {{ .Values.replicas }}",
    ),
];
