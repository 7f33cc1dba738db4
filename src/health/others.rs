//! Claims, Services and CustomResourceDefinitions.

use serde_json::Value;

use super::{Health, conditions};

/// Judges a PersistentVolumeClaim.
pub(super) fn claim(object: &Value) -> Health {
    match object.pointer("/status/phase").and_then(Value::as_str) {
        Some("Bound") => Health::current("the claim is bound"),
        phase => {
            Health::progress("NotBound", format!("the claim is not bound, its phase is {}", phase.unwrap_or("unknown")))
        }
    }
}

/// Judges a Service: one of type LoadBalancer needs an address.
pub(super) fn service(object: &Value) -> Health {
    if object.pointer("/spec/type").and_then(Value::as_str) != Some("LoadBalancer") {
        return Health::current("the Service is there");
    }
    let ingress = object.pointer("/status/loadBalancer/ingress").and_then(Value::as_array);
    match ingress {
        Some(list) if !list.is_empty() => Health::current("the load balancer has an address"),
        _ => Health::progress("NoAddress", "the load balancer has no address yet"),
    }
}

/// Judges a CustomResourceDefinition.
pub(super) fn definition(object: &Value) -> Health {
    let all = conditions(object);
    if let Some(names) = all.iter().find(|c| c.kind == "NamesAccepted" && c.status == "False") {
        return Health::failed(names.reason_or("NamesNotAccepted"), names.message).by(names);
    }
    match all.iter().find(|c| c.kind == "Established") {
        Some(served) if served.status == "True" => Health::current("the kind is served").by(served),
        Some(served) if served.reason != "Installing" => {
            Health::failed(served.reason_or("NotEstablished"), served.message).by(served)
        }
        _ => Health::progress("Installing", "the kind is not served yet"),
    }
}
