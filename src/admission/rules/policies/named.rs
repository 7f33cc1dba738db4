//! The named policies, on every pod template of an object.

use serde_json::Value;

use super::pods::{Container, PodSpec, Role};
use crate::admission::rules::Finding;
use crate::base::fault::RuleId;
use crate::base::pointer::Pointer;
use crate::base::text::{escape, shorten};

/// Images are named by digest.
const IMAGE_DIGEST: RuleId = RuleId::new("image-digest");
/// Images are not named by the tag `latest`, nor by none.
const NO_LATEST_TAG: RuleId = RuleId::new("no-latest-tag");
/// Containers that go on running say when they are alive and ready.
const PROBES: RuleId = RuleId::new("probes");
/// Containers say what they need.
const RESOURCES: RuleId = RuleId::new("resources");
/// Containers don't run as root.
const RUN_AS_NON_ROOT: RuleId = RuleId::new("run-as-non-root");
/// Pods don't reach into their node.
const NO_HOST_ACCESS: RuleId = RuleId::new("no-host-access");

/// What a named policy finds; nothing for a name that is none.
pub(super) fn judge(rule: &str, pods: &[PodSpec<'_>]) -> Vec<Finding> {
    let mut found = Vec::new();
    for pod in pods {
        if rule == "no-host-access" {
            host_access(pod, &mut found);
        }
        for container in pod.containers() {
            let c = &container;
            match rule {
                "image-digest" => found.extend(image_digest(c)),
                "no-latest-tag" => found.extend(latest_tag(c)),
                "probes" if !pod.ends => probes(c, &mut found),
                "resources" => resources(c, pod, &mut found),
                "run-as-non-root" => found.extend(root(c, pod)),
                "no-host-access" => container_host_access(c, &mut found),
                _ => {}
            }
        }
    }
    found
}

fn who(container: &Container<'_>) -> String {
    format!("container {}", escape(&shorten(container.name, 80)))
}

fn image<'v>(container: &Container<'v>) -> Option<&'v str> {
    container.value.get("image").and_then(Value::as_str).filter(|image| !image.is_empty())
}

fn image_digest(container: &Container<'_>) -> Option<Finding> {
    let image = image(container)?;
    let digest = image.split_once('@').and_then(|(_, digest)| digest.strip_prefix("sha256:"));
    if digest.is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit())) {
        return None;
    }
    let text = format!("the image of {} isn't named by digest: its tag can come to mean another", who(container));
    Some(Finding::new(IMAGE_DIGEST, container.path.key("image"), text).hint("write NAME:TAG@sha256:DIGEST"))
}

fn latest_tag(container: &Container<'_>) -> Option<Finding> {
    let image = image(container)?;
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let last = name.rsplit('/').next().unwrap_or(name);
    let tag = last.split_once(':').map(|(_, tag)| tag);
    let text = match tag {
        Some("latest") => format!("the image of {} has the tag latest", who(container)),
        None | Some("") if digest.is_none() => {
            format!("the image of {} has no tag, which means latest", who(container))
        }
        _ => return None,
    };
    Some(Finding::new(NO_LATEST_TAG, container.path.key("image"), text).hint("name a version"))
}

fn probes(container: &Container<'_>, found: &mut Vec<Finding>) {
    if !matches!(container.role, Role::Main) {
        return;
    }
    for probe in ["livenessProbe", "readinessProbe"] {
        if container.value.get(probe).is_none_or(|probe| !probe.is_object()) {
            let text = format!("{} has no {probe}", who(container));
            found.push(Finding::new(PROBES, container.path.key(probe), text));
        }
    }
}

fn resources(container: &Container<'_>, pod: &PodSpec<'_>, found: &mut Vec<Finding>) {
    // Ephemeral containers may not have any.
    if container.role == Role::Ephemeral {
        return;
    }
    for (part, resource) in [("requests", "cpu"), ("requests", "memory"), ("limits", "memory")] {
        let says = |holder: &Value, part: &str| {
            holder.get("resources").and_then(|r| r.get(part)?.get(resource)).is_some_and(|v| !v.is_null())
        };
        // A missing request is as large as the limit.
        let said = |holder: &Value| says(holder, part) || (part == "requests" && says(holder, "limits"));
        if !said(container.value) && !said(pod.spec) {
            let text = format!("{} has no resources.{part}.{resource}", who(container));
            let path = container.path.key("resources").key(part).key(resource);
            found.push(Finding::new(RESOURCES, path, text));
        }
    }
}

fn root(container: &Container<'_>, pod: &PodSpec<'_>) -> Option<Finding> {
    let setting = |key: &str| {
        let of =
            |holder: &Value| holder.get("securityContext").and_then(|c| c.get(key)).filter(|v| !v.is_null()).cloned();
        of(container.value).map(|v| (v, true)).or_else(|| of(pod.spec).map(|v| (v, false)))
    };
    let place = |own: bool, key: &str| {
        let holder = if own { &container.path } else { &pod.path };
        holder.key("securityContext").key(key)
    };
    if let Some((user, own)) = setting("runAsUser")
        && user.as_i64() == Some(0)
    {
        let text = format!("{} runs as user 0, which is root", who(container));
        return Some(Finding::new(RUN_AS_NON_ROOT, place(own, "runAsUser"), text));
    }
    match setting("runAsNonRoot") {
        Some((Value::Bool(true), _)) => None,
        said => {
            let own = said.is_none_or(|(_, own)| own);
            let text = format!("{} may run as root", who(container));
            let hint = "set securityContext.runAsNonRoot to true, for the container or the pod";
            Some(Finding::new(RUN_AS_NON_ROOT, place(own, "runAsNonRoot"), text).hint(hint))
        }
    }
}

fn host_access(pod: &PodSpec<'_>, found: &mut Vec<Finding>) {
    for key in ["hostNetwork", "hostPID", "hostIPC"] {
        if pod.spec.get(key) == Some(&Value::Bool(true)) {
            found.push(Finding::new(NO_HOST_ACCESS, pod.path.key(key), format!("the pod shares its node's {key}")));
        }
    }
    if windows(pod.spec) {
        let path = pod.path.key("securityContext").key("windowsOptions").key("hostProcess");
        found.push(Finding::new(NO_HOST_ACCESS, path, "the pod is a process of its node"));
    }
    let volumes = pod.spec.get("volumes").and_then(Value::as_array).into_iter().flatten();
    for (index, volume) in volumes.enumerate() {
        if volume.get("hostPath").is_some_and(|path| !path.is_null()) {
            let path = pod.path.key("volumes").index(index).key("hostPath");
            found.push(Finding::new(NO_HOST_ACCESS, path, "the volume is a path of the node"));
        }
    }
}

fn windows(holder: &Value) -> bool {
    holder.pointer("/securityContext/windowsOptions/hostProcess") == Some(&Value::Bool(true))
}

fn container_host_access(container: &Container<'_>, found: &mut Vec<Finding>) {
    let mut refuse = |path: Pointer, what: &str| {
        found.push(Finding::new(NO_HOST_ACCESS, path, format!("{} {what}", who(container))));
    };
    let context = container.path.key("securityContext");
    if container.value.pointer("/securityContext/privileged") == Some(&Value::Bool(true)) {
        refuse(context.key("privileged"), "is privileged");
    }
    if container.value.pointer("/securityContext/procMount").and_then(Value::as_str) == Some("Unmasked") {
        refuse(context.key("procMount"), "sees all of the node's /proc");
    }
    if windows(container.value) {
        refuse(context.key("windowsOptions").key("hostProcess"), "is a process of its node");
    }
    for (index, port) in container.value.get("ports").and_then(Value::as_array).into_iter().flatten().enumerate() {
        if port.get("hostPort").and_then(Value::as_i64).is_some_and(|port| port != 0) {
            refuse(container.path.key("ports").index(index).key("hostPort"), "takes a port of its node");
        }
    }
}
