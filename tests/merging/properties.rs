//! What must hold whatever managers did before.

use holdfast::base::pointer::Pointer;
use holdfast::merge::{self, FieldSet, ManagedFields, seen};
use holdfast::schema::KindSchema;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{apply_as, at, bare, by_hand, kind, normal, plan, us, widget};

#[derive(Debug, Clone)]
enum Step {
    Apply(&'static str, Value),
    Put(&'static str, Value),
}

fn object(fields: Vec<(&'static str, Option<Value>)>) -> Value {
    Value::Object(fields.into_iter().filter_map(|(k, v)| Some((k.to_owned(), v?))).collect())
}

fn maybe<T: Clone + std::fmt::Debug>(s: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::of(s)
}

fn text_map() -> impl Strategy<Value = Value> {
    prop::collection::btree_map(prop::sample::select(vec!["a", "b", "c"]), prop::sample::select(vec!["1", "2"]), 0..3)
        .prop_map(|m| m.into_iter().map(|(k, v)| (k.to_owned(), Value::from(v))).collect::<Map<_, _>>().into())
}

fn distinct(pool: Vec<&'static str>) -> impl Strategy<Value = Vec<&'static str>> {
    let max = pool.len();
    prop::sample::subsequence(pool, 0..=max).prop_shuffle()
}

fn keyed(of: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Value> {
    let of = of.boxed();
    distinct(vec!["x", "y", "z"]).prop_flat_map(move |names| {
        let entries: Vec<_> = names
            .into_iter()
            .map(|name| {
                of.clone().prop_map(move |mut entry| {
                    entry["name"] = name.into();
                    entry
                })
            })
            .collect();
        entries.prop_map(Value::Array)
    })
}

fn config_map() -> impl Strategy<Value = Value> {
    (maybe(text_map()), maybe(text_map())).prop_map(|(data, labels)| {
        let metadata = object(vec![("name", Some(json!("c"))), ("labels", labels)]);
        object(vec![
            ("apiVersion", Some(json!("v1"))),
            ("kind", Some(json!("ConfigMap"))),
            ("metadata", Some(metadata)),
            ("data", data),
        ])
    })
}

fn deployment() -> impl Strategy<Value = Value> {
    let cpu = prop::sample::select(vec![json!("1"), json!("1000m"), json!(1), json!("2")]);
    let env =
        keyed(maybe(prop::sample::select(vec!["", "1"])).prop_map(|v| object(vec![("value", v.map(Value::from))])));
    let ports = prop::collection::btree_set(prop::sample::select(vec![80, 81]), 0..2).prop_flat_map(|ports| {
        let one = |port: i32| {
            prop::bool::ANY.prop_map(move |written| {
                let mut entry = json!({"containerPort": port});
                if written {
                    entry["protocol"] = "TCP".into();
                }
                entry
            })
        };
        ports.into_iter().map(one).collect::<Vec<_>>().prop_map(Value::Array)
    });
    let container = (
        maybe(prop::sample::select(vec!["i:1", "i:2"])),
        maybe(cpu),
        maybe(env),
        maybe(ports),
        maybe(distinct(vec!["p", "q"])),
    )
        .prop_map(|(image, cpu, env, ports, args)| {
            object(vec![
                ("image", image.map(Value::from)),
                ("resources", cpu.map(|cpu| json!({"limits": {"cpu": cpu}}))),
                ("env", env),
                ("ports", ports),
                ("args", args.map(Value::from)),
            ])
        });
    (maybe(0..3_i32), maybe(text_map()), keyed(container)).prop_map(|(replicas, selector, containers)| {
        let template = json!({"spec": {"containers": containers}});
        let spec = object(vec![
            ("replicas", replicas.map(Value::from)),
            ("selector", selector.map(|s| json!({"matchLabels": s}))),
            ("template", Some(template)),
        ]);
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec})
    })
}

fn custom() -> impl Strategy<Value = Value> {
    let open = (maybe(text_map()), maybe(distinct(vec!["p", "q"])))
        .prop_map(|(map, list)| object(vec![("map", map), ("list", list.map(Value::from))]));
    let pairs =
        keyed(maybe(prop::sample::select(vec!["1", "2"])).prop_map(|v| object(vec![("value", v.map(Value::from))])));
    let (set, whole) = (distinct(vec!["s", "t", "u"]), distinct(vec!["s", "t", "u"]));
    (maybe(2..4_i32), maybe(open), maybe(pairs), maybe(set), maybe(whole), maybe(text_map()), maybe(text_map()))
        .prop_map(|(size, open, pairs, set, whole, atomic, free)| {
            let spec = object(vec![
                ("size", size.map(Value::from)),
                ("open", open),
                ("keyed", pairs),
                ("set", set.map(Value::from)),
                ("whole", whole.map(Value::from)),
                ("atomic", atomic),
                ("free", free),
            ]);
            json!({"apiVersion": "lab.example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec})
        })
}

fn steps(of: impl Strategy<Value = Value> + Clone + 'static) -> impl Strategy<Value = Vec<Step>> {
    let who = prop::sample::select(vec!["holdfast", "holdfast", "other", "third"]);
    let step = prop_oneof![
        2 => (who, of.clone()).prop_map(|(who, v)| Step::Apply(who, v)),
        1 => (prop::sample::select(vec!["hand", "third"]), of).prop_map(|(who, v)| Step::Put(who, v)),
    ];
    prop::collection::vec(step, 1..5)
}

fn live_after(schema: &KindSchema, steps: &[Step]) -> Option<Value> {
    let mut live: Option<Value> = None;
    for (second, step) in (0..).zip(steps) {
        live = Some(match step {
            Step::Apply(who, declared) => apply_as(schema, live.as_ref(), declared, who, second),
            Step::Put(who, new) => match &live {
                None => {
                    merge::update(Some(schema), None, new, &holdfast::base::ids::Manager::new(who), at(second)).unwrap()
                }
                Some(old) => by_hand(schema, old, who, second, |v| {
                    let owners = v["metadata"].get("managedFields").cloned();
                    *v = new.clone();
                    if let Some(owners) = owners {
                        v["metadata"]["managedFields"] = owners;
                    }
                }),
            },
        });
    }
    live
}

fn check(schema: &KindSchema, steps: &[Step], declared: &Value) -> Result<(), TestCaseError> {
    let declared = &normal(schema, declared.clone());
    let Some(live) = live_after(schema, steps) else { return Ok(()) };
    let managers = ManagedFields::of(&live).unwrap();
    let out = plan(schema, &live, declared).unwrap();
    let applied = apply_as(schema, Some(&live), declared, "holdfast", 100);

    // The plan is what the apply does.
    prop_assert_eq!(bare(&out.result), bare(&applied));
    prop_assert_eq!(out.is_unchanged(), bare(&live) == bare(&applied));
    prop_assert_eq!(out.changes.is_empty(), out.is_unchanged());

    // What is declared is there.
    let fields = FieldSet::of_object(schema.root(), declared);
    prop_assert_eq!(&out.fields, &fields);
    prop_assert_eq!(seen(Some(schema), &applied, &fields, &[]), seen(Some(schema), declared, &fields, &[]));
    let ours = ManagedFields::of(&applied).unwrap();
    let ours = ours.applied_by(&us()).map(|e| e.fields.clone()).unwrap_or_default();
    prop_assert_eq!(&ours, &fields);

    // Again changes nothing, not even a time.
    prop_assert_eq!(apply_as(schema, Some(&applied), declared, "holdfast", 200), applied.clone());
    let again = plan(schema, &applied, declared).unwrap();
    prop_assert!(again.is_unchanged() && again.newly_owned.is_empty() && again.taken.is_empty());

    // Others' fields stay, but for those that the plan lists as taken.
    for entry in managers.entries.iter().filter(|e| !e.is_apply_of(&us())) {
        for pointer in entry.fields.pointers(&live) {
            let old = live.pointer(pointer.as_str());
            if old.is_none_or(|v| v.is_object() || v.is_array()) {
                continue;
            }
            let changed = out.changes.iter().any(|c| c.path == pointer && c.after.is_none());
            let listed = out.taken.iter().any(|t| t.manager == entry.manager && t.path.is_within(&pointer));
            prop_assert!(!changed || listed, "{} of {} went", pointer, entry.manager);
        }
    }
    // The plan lists as taken exactly what somebody loses.
    let after = ManagedFields::of(&applied).unwrap();
    for who in ["hand", "other", "third"] {
        let held = |m: &ManagedFields| -> usize {
            m.entries.iter().filter(|e| e.manager.as_str() == who).map(|e| e.fields.len()).sum()
        };
        let listed = out.taken.iter().any(|t| t.manager.as_str() == who);
        prop_assert_eq!(held(&after) < held(&managers), listed, "{}: {:?}", who, out.taken);
    }

    // What goes was declared by us before, and isn't any more.
    let last = managers.applied_by(&us()).map(|e| e.fields.clone()).unwrap_or_default();
    let gone = last.difference(&fields).pointers(&live);
    for change in out.changes.iter().filter(|c| c.after.is_none()) {
        // A list or map that loses all it had goes as a whole.
        let ours = |p: &&Pointer| change.path.is_within(p) || p.is_within(&change.path);
        let in_atomic = ["/spec/atomic/", "/spec/selector/"].iter().any(|a| change.path.as_str().starts_with(a));
        prop_assert!(in_atomic || gone.iter().any(|p| ours(&p)), "{} went: {:?}", change.path, gone);
    }
    Ok(())
}

/// The same in other words.
fn respelled(value: &Value) -> Value {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("cpu", Value::String(s)) if s == "1" => json!("1000m"),
                    ("cpu", Value::String(s)) if s == "1000m" => json!(1),
                    ("cpu", Value::Number(_)) => json!("1.0"),
                    (_, value) => respelled(value),
                };
                (key.clone(), value)
            })
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(list) => list.iter().map(respelled).collect(),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn config_maps_keep_the_promises(steps in steps(config_map().boxed()), declared in config_map()) {
        check(&kind("v1", "ConfigMap"), &steps, &declared)?;
    }

    #[test]
    fn deployments_keep_the_promises(steps in steps(deployment().boxed()), declared in deployment()) {
        check(&kind("apps/v1", "Deployment"), &steps, &declared)?;
    }

    #[test]
    fn custom_resources_keep_the_promises(steps in steps(custom().boxed()), declared in custom()) {
        check(&widget(), &steps, &declared)?;
    }

    #[test]
    fn equal_in_meaning_is_equal(declared in deployment()) {
        let schema = kind("apps/v1", "Deployment");
        let live = apply_as(&schema, None, &declared, "holdfast", 0);
        let other = respelled(&declared);
        let out = plan(&schema, &live, &other).unwrap();
        prop_assert!(out.is_unchanged(), "{:?}", out.changes);
        prop_assert_eq!(apply_as(&schema, Some(&live), &other, "holdfast", 9), live.clone());
    }

    #[test]
    fn normalizing_twice_changes_nothing_more(declared in custom()) {
        let schema = widget();
        let once = normal(&schema, declared);
        prop_assert_eq!(normal(&schema, once.clone()), once);
    }

    #[test]
    fn no_live_object_makes_it_panic(live in custom(), declared in deployment(), cut in 0..6_usize) {
        // Of another kind altogether: whatever a hostile target sends.
        let schema = kind("apps/v1", "Deployment");
        let mut live = live;
        let places = ["/spec/keyed", "/spec/open", "/spec/set", "/spec", "/metadata", ""];
        let moved = live.pointer_mut(places[cut]).map(Value::take).unwrap_or_default();
        live = json!({"spec": {"template": {"spec": {"containers": moved}}, "rest": live}});
        let declared = normal(&schema, declared);
        let _ = plan(&schema, &live, &declared);
    }
}
