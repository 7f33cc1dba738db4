//! Policies of a Source's own choice. They alone can be waived.

use super::{RuleDoc, rule};

pub(super) const RULES: &[RuleDoc] = &[
    rule(
        "image-digest",
        "A policy: images are named by digest.",
        "A tag can come to mean another image after the review; a digest can't. Judges every pod template of every kind, \
         init and ephemeral containers too.",
        "image: registry.example/web:1.4@sha256:9c2f...",
    ),
    rule(
        "no-host-access",
        "A policy: pods don't reach into their node.",
        "No hostNetwork, hostPID, hostIPC, hostPath, hostPort, host processes, unmasked /proc, or privileged containers.",
        "volumes: [{name: sock, hostPath: {path: /var/run/docker.sock}}]",
    ),
    rule(
        "no-latest-tag",
        "A policy: images have a tag, and not `latest`.",
        "What `latest` means changes under one's feet, and no tag means `latest`. A digest is enough.",
        "image: nginx      # write nginx:1.27",
    ),
    rule(
        "policy",
        "A policy of the Source in CEL holds.",
        "The expression stands in the Source's `policies` and reads object, oldObject (the live one, or null) and source. \
         An expression that fails doesn't pass. It can be waived by the policy's name: --waive NAME --reason WHY.",
        "{name: few-replicas, kinds: [Deployment.apps], cel: \"object.spec.replicas <= 20\", effect: deny}",
    ),
    rule(
        "probes",
        "A policy: containers that go on running have a liveness and a readiness probe.",
        "Without them a rollout counts as done while nothing answers. Init containers, and pods that are meant to end \
         (Jobs), need none.",
        "readinessProbe: {httpGet: {path: /ready, port: 8080}}",
    ),
    rule(
        "resources",
        "A policy: containers say what they need.",
        "Requests of cpu and memory, and a limit of memory; those of the pod as a whole count, and a limit counts as a \
         request. Without them pods are placed blindly and are the first to go.",
        "resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}",
    ),
    rule(
        "run-as-non-root",
        "A policy: containers don't run as root.",
        "securityContext.runAsNonRoot is true for the container, or for the pod and not false for the container, and \
         runAsUser isn't 0.",
        "securityContext: {runAsNonRoot: true}",
    ),
    rule(
        "waiver",
        "A waiver names a policy and a reason.",
        "`--waive RULE --reason WHY` lets a commit pass although a policy of the Source refuses it; the plan and the \
         receipt record it. What Holdfast itself promises can't be waived.",
        "--waive image-digest --reason \"hotfix 4711, digest follows\"",
    ),
];
