use crate::support::{check, short, spec};

#[test]
fn the_same_object_twice_is_refused_once_at_the_later_place_with_the_first_one() {
    let a = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let b = "# again\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\ndata: {x: \"1\"}\n";
    let rejection = check(&spec(), &[("b.yaml", b), ("a.yaml", a), ("c.yaml", a)]).unwrap_err();
    let faults: Vec<_> = rejection.faults().collect();
    assert_eq!(faults.iter().map(|f| short(f)).collect::<Vec<_>>(), ["2 duplicate-object -", "1 duplicate-object -"]);
    for (fault, file) in faults.iter().zip(["b.yaml", "c.yaml"]) {
        assert_eq!(fault.at.as_ref().unwrap().file.to_string(), file);
        assert_eq!(fault.also[0].file.to_string(), "a.yaml");
        assert_eq!(fault.also[0].line, 1);
    }
}

#[test]
fn versions_of_one_kind_are_one_object_and_groups_are_not() {
    let hpa = |version: &str| {
        format!(
            "apiVersion: autoscaling/{version}\nkind: HorizontalPodAutoscaler\nmetadata: {{name: a}}\nspec: {{maxReplicas: 2, \
             scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: a}}}}\n"
        )
    };
    let rejection = check(&spec(), &[("a.yaml", &hpa("v1")), ("b.yaml", &hpa("v2"))]).unwrap_err();
    assert_eq!(rejection.faults().map(short).collect::<Vec<_>>(), ["1 duplicate-object -"]);
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n";
    assert!(check(&spec(), &[("a.yaml", other)]).is_ok());
}

#[test]
fn a_broken_object_still_counts_for_identity() {
    let good = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
    let bad = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {v: 1}\n";
    let rejection = check(&spec(), &[("a.yaml", good), ("b.yaml", bad)]).unwrap_err();
    assert_eq!(rejection.faults().map(short).collect::<Vec<_>>(), ["1 duplicate-object -", "4 type-mismatch /data/v"]);
    assert_eq!(rejection.ids().len(), 1);
}
