//! Kinds that CRDs define.

use holdfast::base::pointer::Pointer;
use holdfast::schema::crd::Crd;
use holdfast::schema::{Catalog, Node, Origin};
use serde_json::{Value, json};

use crate::{briefly, faults_in, gvk, yaml};

/// A CRD of Widgets whose spec has this schema.
fn crd(spec: &str) -> Value {
    yaml(&format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: widgets.lab.example.com}}\n\
         spec:\n  group: lab.example.com\n  scope: Namespaced\n  names: {{plural: widgets, kind: Widget, shortNames: [wd]}}\n  \
         versions:\n  - {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, properties: \
         {{spec: {spec}}}}}}}}}\n"
    ))
}

fn widget(spec: &str) -> Value {
    yaml(&format!("{{apiVersion: lab.example.com/v1, kind: Widget, metadata: {{name: w}}, spec: {spec}}}"))
}

fn faults(schema: &str, spec: &str) -> Vec<String> {
    let catalog = Catalog::builtin().with_crds(vec![Crd::read(&crd(schema)).unwrap()]);
    briefly(&faults_in(&catalog, &widget(spec)))
}

fn refused(value: &Value) -> Vec<String> {
    briefly(&Crd::read(value).unwrap_err())
}

#[test]
fn a_custom_resource_is_checked_closed() {
    let schema = "{type: object, properties: {size: {type: integer}}}";
    assert_eq!(faults(schema, "{size: 1}"), [""; 0]);
    assert_eq!(faults(schema, "{size: large}"), ["type-mismatch /spec/size"]);
    assert_eq!(faults(schema, "{sizee: 4}"), ["unknown-field /spec/sizee"]);
    assert_eq!(faults(schema, "{size: null}"), [""; 0]);
    let catalog = Catalog::builtin().with_crds(vec![Crd::read(&crd(schema)).unwrap()]);
    let found = faults_in(&catalog, &widget("{sizee: 4}"));
    assert_eq!(found[0].hint.as_deref(), Some("did you mean size?"));
    let labelled =
        yaml("{apiVersion: lab.example.com/v1, kind: Widget, metadata: {name: w, labels: {a: 1}, lables: {}}}");
    assert_eq!(
        briefly(&faults_in(&catalog, &labelled)),
        ["type-mismatch /metadata/labels/a", "unknown-field /metadata/lables"]
    );
}

#[test]
fn preserved_fields_take_anything() {
    let schema = "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {size: {type: integer}}}";
    assert_eq!(faults(schema, "{values: {a: [1, null, {b: c}]}, size: 1}"), [""; 0]);
    assert_eq!(faults(schema, "{size: x}"), ["type-mismatch /spec/size"]);
}

#[test]
fn every_keyword_is_enforced() {
    let field = |schema: &str, value: &str| {
        faults(&format!("{{type: object, properties: {{f: {schema}}}}}"), &format!("{{f: {value}}}"))
    };
    let range = ["out-of-range /spec/f"];
    let mismatch = ["type-mismatch /spec/f"];
    assert_eq!(field("{type: string, nullable: true}", "null"), [""; 0]);
    assert_eq!(field("{type: integer, minimum: 2, maximum: 4}", "1"), range);
    assert_eq!(field("{type: integer, minimum: 2, maximum: 4}", "5"), range);
    assert_eq!(field("{type: integer, minimum: 2, exclusiveMinimum: true}", "2"), range);
    assert_eq!(field("{type: number, multipleOf: 0.5}", "1.5"), [""; 0]);
    assert_eq!(field("{type: number, multipleOf: 0.5}", "1.25"), range);
    assert_eq!(field("{type: integer, format: int32}", "2147483648"), range);
    assert_eq!(field("{type: integer, format: int64}", "2147483648"), [""; 0]);
    assert_eq!(field("{type: integer}", "18446744073709551615"), range);
    assert_eq!(field("{type: string, minLength: 2, maxLength: 3}", "ä"), range);
    assert_eq!(field("{type: string, maxLength: 3}", "äöüß"), range);
    assert_eq!(field("{type: string, pattern: \"^a+$\"}", "ab"), range);
    assert_eq!(field("{type: string, enum: [a, b]}", "c"), range);
    assert_eq!(field("{type: string, format: date-time}", "yesterday"), mismatch);
    assert_eq!(field("{type: string, format: date-time}", "\"2026-01-02T03:04:05Z\""), [""; 0]);
    assert_eq!(field("{type: string, format: duration}", "1h30m"), [""; 0]);
    assert_eq!(field("{type: string, format: duration}", "soon"), mismatch);
    assert_eq!(field("{type: string, format: ipv4}", "10.0.0.256"), mismatch);
    assert_eq!(field("{type: string, format: cidr}", "10.0.0.0/33"), mismatch);
    assert_eq!(field("{type: string, format: unheard-of}", "x"), [""; 0]);
    assert_eq!(field("{type: array, items: {type: string}, minItems: 1}", "[]"), range);
    assert_eq!(
        field("{type: array, items: {type: string}, x-kubernetes-list-type: set}", "[a, a]"),
        ["duplicate-list-key /spec/f/1"]
    );
    assert_eq!(
        field("{type: object, additionalProperties: {type: integer}, maxProperties: 1}", "{a: 1, b: x}"),
        ["type-mismatch /spec/f/b", range[0]]
    );
    assert_eq!(field("{x-kubernetes-int-or-string: true}", "1"), [""; 0]);
    assert_eq!(field("{x-kubernetes-int-or-string: true}", "50%"), [""; 0]);
    assert_eq!(field("{x-kubernetes-int-or-string: true}", "true"), mismatch);
    assert_eq!(field("{type: boolean}", "\"true\""), mismatch);
    assert_eq!(
        field("{type: object, required: [a], properties: {a: {type: string}}}", "{}"),
        ["missing-field /spec/f"]
    );
    assert_eq!(field("{type: object, required: [a], properties: {a: {type: string, default: x}}}", "{}"), [""; 0]);
}

#[test]
fn null_is_there_only_where_it_is_a_value() {
    let schema = |more: &str| format!("{{type: object, required: [a], properties: {{a: {{type: string{more}}}}}}}");
    assert_eq!(faults(&schema(", nullable: true"), "{a: null}"), [""; 0]);
    assert_eq!(faults(&schema(""), "{a: null}"), ["missing-field /spec"]);
    let list =
        |more: &str| format!("{{type: object, properties: {{l: {{type: array, items: {{type: string{more}}}}}}}}}");
    assert_eq!(faults(&list(", nullable: true"), "{l: [null]}"), [""; 0]);
    assert_eq!(faults(&list(""), "{l: [null]}"), ["type-mismatch /spec/l/0"]);
}

#[test]
fn junctors_judge_values() {
    let schema =
        "{type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}";
    assert_eq!(faults(schema, "{a: x}"), [""; 0]);
    assert_eq!(faults(schema, "{}"), ["out-of-range /spec"]);
    assert_eq!(faults(schema, "{a: x, b: y}"), ["out-of-range /spec"]);
    let schema =
        "{type: object, properties: {a: {type: integer, anyOf: [{maximum: 1}, {minimum: 5}], not: {enum: [7]}}}}";
    assert_eq!(faults(schema, "{a: 6}"), [""; 0]);
    assert_eq!(faults(schema, "{a: 3}"), ["out-of-range /spec/a"]);
    assert_eq!(faults(schema, "{a: 7}"), ["out-of-range /spec/a"]);
}

#[test]
fn lists_with_keys_are_keyed() {
    let schema = "{type: object, properties: {l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [name, port], \
                  items: {type: object, required: [name], properties: {name: {type: string}, port: {type: integer, default: 80}}}}}}";
    assert_eq!(faults(schema, "{l: [{name: a}, {name: a, port: 81}]}"), [""; 0]);
    assert_eq!(faults(schema, "{l: [{name: a}, {name: a, port: 80}]}"), ["duplicate-list-key /spec/l/1"]);
}

#[test]
fn embedded_objects_are_whole_objects() {
    let schema = "{type: object, properties: {o: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}";
    assert_eq!(
        faults(schema, "{o: {apiVersion: v1, kind: Pod, metadata: {name: a, labels: {b: 1}}, spec: {x: y}}}"),
        ["type-mismatch /spec/o/metadata/labels/b"]
    );
    assert_eq!(faults(schema, "{o: {kind: Pod}}"), ["missing-field /spec/o"]);
}

#[test]
fn only_served_versions_resolve() {
    let mut value = crd("{type: object}");
    let mut second = value["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    second["served"] = json!(false);
    value["spec"]["versions"].as_array_mut().unwrap().push(second);
    let crd = Crd::read(&value).unwrap();
    assert_eq!((crd.storage_version(), crd.served().len(), crd.namespaced()), ("v1", 1, true));
    let catalog = Catalog::builtin().with_crds(vec![crd]);
    let mut w = widget("{}");
    assert_eq!(catalog.resolve(&gvk(&w)).unwrap().origin, Origin::Crd);
    w["apiVersion"] = json!("lab.example.com/v2");
    let error = catalog.resolve(&gvk(&w)).unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("lab.example.com/v1"));
    w = json!({"apiVersion": "lab.example.com/v1", "kind": "widgets"});
    assert_eq!(catalog.resolve(&gvk(&w)).unwrap_err().hint.as_deref(), Some("Widget"));
}

#[test]
fn a_later_definition_takes_the_place_of_an_earlier_one() {
    let first = Catalog::builtin()
        .with_crds(vec![Crd::read(&crd("{type: object, properties: {size: {type: integer}}}")).unwrap()]);
    let second = first.with_crds(vec![Crd::read(&crd("{type: object, properties: {size: {type: string}}}")).unwrap()]);
    assert_eq!(briefly(&faults_in(&first, &widget("{size: 1}"))), [""; 0]);
    assert_eq!(briefly(&faults_in(&second, &widget("{size: 1}"))), ["type-mismatch /spec/size"]);
}

#[test]
fn definitions_that_an_api_server_refuses_are_refused() {
    let base = || crd("{type: object}");
    let with = |pointer: &str, value: Value| {
        let mut crd = base();
        *crd.pointer_mut(pointer).unwrap() = value;
        refused(&crd)
    };
    assert_eq!(with("/metadata/name", json!("widget.lab.example.com")), ["bad-name /metadata/name"]);
    assert_eq!(with("/spec/scope", json!("namespaced")), ["out-of-range /spec/scope"]);
    assert_eq!(with("/spec/versions/0/storage", json!(false)), ["bad-crd /spec/versions"]);
    assert_eq!(with("/spec/versions/0/schema", json!({})), ["bad-crd /spec/versions/0"]);
    let at = "/spec/versions/0/schema/openAPIV3Schema";
    let root = |schema: Value| with(at, schema);
    assert_eq!(root(json!({"type": "string"})), [format!("bad-crd {at}")]);
    assert_eq!(root(json!({"type": "object", "properties": {"a": {}}})), [format!("bad-crd {at}/properties/a")]);
    assert_eq!(
        root(json!({"type": "object", "properties": {"a": {"type": "int"}}})),
        [format!("bad-crd {at}/properties/a/type"), format!("bad-crd {at}/properties/a"),]
    );
    assert_eq!(
        root(json!({"type": "object", "properties": {"a": {"type": "array"}}})),
        [format!("bad-crd {at}/properties/a")]
    );
    let keyed = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object"}});
    assert_eq!(
        root(json!({"type": "object", "properties": {"a": keyed}})),
        [format!("bad-crd {at}/properties/a/x-kubernetes-list-map-keys")]
    );
    assert!(Crd::read(&json!({})).is_err() && Crd::read(&json!({"spec": 1})).is_err());
}

#[test]
fn a_misspelt_keyword_deep_in_a_schema_is_found() {
    let value =
        crd("{type: object, properties: {size: {type: integer, minimun: 1, additionalProperties: {tipe: string}}}}");
    let found = faults_in(&Catalog::builtin(), &value);
    let at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size";
    assert_eq!(
        briefly(&found),
        [format!("unknown-field {at}/additionalProperties/tipe"), format!("unknown-field {at}/minimun")]
    );
    assert_eq!(found[1].hint.as_deref(), Some("did you mean minimum?"));
}

#[test]
fn places_that_a_schema_leaves_open_are_known() {
    let schema = "{type: object, properties: {size: {type: integer}, any: {x-kubernetes-preserve-unknown-fields: true}, \
                  list: {type: array, items: {type: object, properties: {a: {type: string}}}}}}";
    let catalog = Catalog::builtin().with_crds(vec![Crd::read(&crd(schema)).unwrap()]);
    let kind = catalog.resolve(&gvk(&widget("{}"))).unwrap();
    let is_open = |place: &str| kind.root().at(&Pointer::parse(place).unwrap()).is_none_or(Node::is_untyped);
    assert!(is_open("/spec/any") && is_open("/spec/any/deep/0/er"));
    assert!(!is_open("/spec/size") && !is_open("/spec/list/3/a") && !is_open("/metadata/labels/x"));
}
