//! Rules about fields: what the schemas of kinds ask.

use super::{RuleDoc, rule};

pub(super) const RULES: &[RuleDoc] = &[
    rule(
        "bad-crd",
        "A CustomResourceDefinition defines a kind that can be served.",
        "Its schema is structural, its names fit its group, one version is stored: else the API server takes the \
         definition and serves nothing, or refuses it.",
        "a version without schema.openAPIV3Schema",
    ),
    rule(
        "cel-rule",
        "A custom resource passes the rules of its definition.",
        "Rules in CEL (`x-kubernetes-validations`) are run as the API server runs them; the message is the definition's.",
        "x-kubernetes-validations: [{rule: \"self.min <= self.max\"}]",
    ),
    rule(
        "cel-unsupported",
        "A rule in CEL can be run here, within its cost.",
        "An expression outside the subset that is known, or one that would cost too much on this object, is refused, never \
         skipped.",
        "a rule with three nested all() over a list of thousands",
    ),
    rule(
        "conflicting-fields",
        "Fields fit each other.",
        "Some fields only make sense together, such as a selector and the labels of the template that it has to select.",
        "selector: {matchLabels: {app: web}}\ntemplate: {metadata: {labels: {app: wbe}}}",
    ),
    rule(
        "duplicate-list-key",
        "Entries of a list with keys have different keys.",
        "Lists such as containers, ports or env merge by a key (name; port and protocol). Of two with one key one would be \
         lost.",
        "containers: [{name: web}, {name: web}]",
    ),
    rule(
        "missing-field",
        "Fields that must be there are there.",
        "The schema of the kind requires them; the place is their parent.",
        "spec: {replicas: 2}      # a Deployment needs selector and template",
    ),
    rule(
        "out-of-range",
        "Values are in their range.",
        "Numbers have bounds, texts have lengths and patterns, some fields take a few words only.",
        "containerPort: 70000",
    ),
    rule(
        "type-mismatch",
        "Values have the type of their field.",
        "A number where a text must be, plain `yes` in a label, a quantity with a suffix that is none, base64 that is none: \
         the API server would refuse it, or read something else. Texts that look like numbers need quotes.",
        "labels: {build: 81111e1}      # write \"81111e1\"",
    ),
    rule(
        "unknown-field",
        "Fields exist in their kind.",
        "The API server would drop a field that it doesn't know, silently. The hint names the field that was probably \
         meant, or where it belongs.",
        "spec: {replicaz: 2}",
    ),
    rule(
        "unknown-kind",
        "Kinds are known: built in, or defined by a CustomResourceDefinition of the commit or the target.",
        "Kinds are spelled exactly (Service, not service or Services), with the apiVersion that serves them. The hint says \
         which part is wrong.",
        "apiVersion: apps/V1\nkind: Deployment",
    ),
];
