//! Permissions as they are written on a command line.

use holdfast::plan::document::Allowances;
use holdfast::plan::{BadGrant, Grants};

use crate::world::id;

fn allow(texts: &[&str]) -> Result<Grants, BadGrant> {
    Grants::new(Allowances { allow: texts.iter().map(|t| (*t).to_owned()).collect(), ..Allowances::default() })
}

fn adopt(texts: &[&str], adoptions: Option<usize>) -> Result<Grants, BadGrant> {
    Grants::new(Allowances {
        adopt: texts.iter().map(|t| (*t).to_owned()).collect(),
        adoptions,
        ..Allowances::default()
    })
}

#[test]
fn what_is_allowed_is_named_with_a_count_or_without() {
    let grants = allow(&["Namespace/shop=3", "Deployment.apps/shop/web", "source/shop"]).unwrap();
    assert_eq!(grants.allow()[&id("Namespace/shop")], 3);
    assert_eq!(grants.allow()[&id("Deployment.apps/shop/web")], 0);
    assert_eq!(grants.allow().len(), 2);
    let name = |text: &str| holdfast::base::ids::SourceName::parse(text).unwrap();
    assert!(grants.allows_source(&name("shop")) && !grants.allows_source(&name("web")));
}

#[test]
fn what_names_nothing_or_too_much_is_refused() {
    assert!(matches!(allow(&["shop"]), Err(BadGrant::Id(_))));
    assert!(matches!(allow(&["Namespace/"]), Err(BadGrant::Id(_))));
    assert!(matches!(allow(&["Namespace/shop="]), Err(BadGrant::Count(_))));
    assert!(matches!(allow(&["Namespace/shop=-1"]), Err(BadGrant::Count(_))));
    assert!(matches!(allow(&["Namespace/shop=all"]), Err(BadGrant::Count(_))));
    assert!(matches!(allow(&["Namespace/*"]), Err(BadGrant::Pattern(_))));
    assert!(matches!(allow(&["ConfigMap/shop/*=3"]), Err(BadGrant::Pattern(_))));
    assert!(matches!(allow(&["Namespace/shop=1", "Namespace/shop=10"]), Err(BadGrant::Twice(_))));
    assert!(allow(&["Namespace/shop=1", "Namespace/shop=1"]).is_ok());
    let release = Allowances { release: vec!["ConfigMap/shop/*".to_owned()], ..Allowances::default() };
    assert!(matches!(Grants::new(release), Err(BadGrant::Pattern(_))));
}

#[test]
fn a_pattern_of_adoptions_is_a_whole_name_and_needs_a_number() {
    assert!(matches!(adopt(&["ConfigMap/shop/*"], None), Err(BadGrant::Uncounted(_))));
    for bad in ["ConfigMap/*/a", "ConfigMap/shop/a*", "*/shop/a", "ConfigMap/*/*", "*/shop/*"] {
        assert!(matches!(adopt(&[bad], Some(9)), Err(BadGrant::Pattern(_))), "{bad}");
    }
    let grants = adopt(&["ConfigMap/shop/*", "Namespace/x"], Some(2)).unwrap();
    assert!(grants.adopts(&id("ConfigMap/shop/a")) && !grants.adopts(&id("ConfigMap/lab/a")));
    assert!(!grants.adopts(&id("Secret/shop/a")) && !grants.adopts(&id("ConfigMap.x/shop/a")));
    assert!(grants.adopts_by_name(&id("Namespace/x")) && !grants.adopts_by_name(&id("ConfigMap/shop/a")));
    assert!(adopt(&["Namespace/*"], Some(1)).unwrap().adopts(&id("Namespace/any")));
}

#[test]
fn the_order_and_repetition_of_permissions_don_t_count() {
    let (one, other) = (
        adopt(&["ConfigMap/shop/b", "ConfigMap/shop/a"], None).unwrap(),
        adopt(&["ConfigMap/shop/a", "ConfigMap/shop/b", "ConfigMap/shop/a"], None).unwrap(),
    );
    assert_eq!(one.given(), other.given());
}
