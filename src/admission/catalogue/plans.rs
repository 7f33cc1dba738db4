//! Rules about plans: live objects, ownership, deletes, applying.

use super::{RuleDoc, rule};

pub(super) const RULES: &[RuleDoc] = &[
    rule(
        "adoption-count",
        "A pattern adopts no more objects than were allowed.",
        "`--adopt Kind/ns/*` takes over what matches; `--allow-adoptions N` says how many that may be, so that a pattern \
         can't take more than somebody has counted.",
        "--adopt 'ConfigMap/shop/*' --allow-adoptions 3, and five match",
    ),
    rule(
        "already-gone",
        "An object that left the commit is gone from the target already.",
        "Somebody else deleted it: there is nothing to delete, and its inventory row ends.",
        "kubectl delete before the commit that removes the manifest",
    ),
    rule(
        "interrupted-apply",
        "No apply on the target is half done.",
        "An apply to a cluster was cut off, or is under way elsewhere. What the plan sees may be its middle. The next apply of \
         its Sources finishes or undoes it by its journal, or holdfast recover does.",
        "kill -9 during an apply, and then holdfast plan",
    ),
    rule(
        "missing-right",
        "The account that writes may do all that the plan says.",
        "The API server is asked before anything is sent, for every create, change and delete, and for what taking them back \
         would need. `holdfast rbac` prints the least roles of a Source.",
        "a plan that deletes a Service, by an account that may not delete Services",
    ),
    rule(
        "refused-by-target",
        "The target's own admission takes every object.",
        "Everything that would be written is sent to the API server as a dry run first: its schemas, webhooks and policies \
         judge it. What it refuses is in the report, in its own words, with the line of the field that it names.",
        "a ValidatingAdmissionPolicy that wants every Deployment to have an owner label",
    ),
    rule(
        "rewritten-by-target",
        "What stands on the target is what is declared.",
        "A webhook or policy of the target made something else of declared fields at the last apply. What it made of them is \
         remembered, and is no drift while it stands. A warning; the plan of a Change shows each such field.",
        "a webhook that replaces the registry of every image",
    ),
    rule(
        "webhook-without-dry-run",
        "Every webhook that is called for an object takes dry runs.",
        "A webhook whose sideEffects are Some or Unknown has the API server refuse every dry run of what it is called for. \
         `--waive-dry-run WEBHOOK`, by the webhook's own name, has these objects admitted offline, which the plan marks \
         and records; the server judges them at the apply. The cure is sideEffects: None or NoneOnDryRun.",
        "a validating webhook with sideEffects: Some that is called for ConfigMaps",
    ),
    rule(
        "unhealthy",
        "What a wave changed becomes healthy before the next one, and before anything is deleted.",
        "An apply to a cluster waits for the objects that it changed, by the rules of kstatus and at most the Source's \
         healthTimeout (0s doesn't wait). What fails or takes longer has everything taken back.",
        "a Deployment whose Pods never become ready, in a wave before others",
    ),
    rule(
        "target-warning",
        "The target's own admission takes the object and warns.",
        "An API server warns of deprecated versions and of fields that do nothing; its words stand beside the Change.",
        "policy/v1beta1 is deprecated in v1.21+",
    ),
    rule(
        "broken-plan",
        "A finished plan keeps every promise.",
        "An independent check found that a plan breaks one. This is a fault of Holdfast's own: please report it. Nothing \
         was written.",
        "a delete without the three checks",
    ),
    rule(
        "claimed-by-tool",
        "What Helm, Argo CD or Flux still claims is adopted only by those who were told.",
        "The object bears the marks of a release, an Application, a Kustomization or HelmRelease, which would write it again, or \
         delete it with itself. Stop that first; then say how many of its objects you take over (--take-over CLAIM=N). The \
         marks stay, its hold on what is declared ends.",
        "--adopt Deployment/shop/web, and the annotation meta.helm.sh/release-name is on it",
    ),
    rule(
        "conflict",
        "A write by hand fits the live object.",
        "The UID or resourceVersion in the body isn't that of the live object: somebody else was faster. Read it again.",
        "holdfast object put of a file that was exported before another change",
    ),
    rule(
        "contested",
        "A field that somebody writes again after each repair is left alone.",
        "After three repairs within ten minutes the loop stops: two writers that contend help nobody. Find the other one, \
         then bring its value into git, name the field in ignoreDrift, or repair by hand with holdfast repair.",
        "an autoscaler that was configured outside git sets replicas",
    ),
    rule(
        "delete-budget",
        "A plan deletes no more than the Source's pruneBudget.",
        "More than 10 objects and more than 20 per cent (by default) look like a mistake: a wrong path, a lost folder. If \
         it's meant: --allow-deletes N.",
        "200 of 5,000 manifests are gone with pruneBudget {objects: 10, percent: 3}",
    ),
    rule(
        "dependency-cycle",
        "What an object depends on doesn't depend on it.",
        "`config.kubernetes.io/depends-on` orders the writes; in a circle there is no first.",
        "a depends on b, and b on a",
    ),
    rule(
        "dependency-outside",
        "What a manifest depends on is in the plan or on the target.",
        "`config.kubernetes.io/depends-on` names an object that the plan doesn't write: it orders nothing, and that is said.",
        "config.kubernetes.io/depends-on: apps/namespaces/shop/Deployment/elsewhere",
    ),
    rule(
        "emergency-pending",
        "What was changed while its Source was paused is left alone until somebody decides about it.",
        "However the pause ended, a plan leaves such fields as they are and lists them; what was deleted stays deleted, and \
         what git no longer declares is kept. Bring the change into git, or give it up: holdfast source resume NAME --revert. \
         An object that was made by hand is nobody's, as always: adopt it or remove it.",
        "holdfast source pause shop --reason 'incident 7'; kubectl scale deployment/web --replicas 10; holdfast source resume shop",
    ),
    rule(
        "empty-source",
        "A commit that declares nothing deletes nothing by itself.",
        "A path that the commit lacks is always refused: it's a typing error or a moved folder. An existing path without a \
         manifest is refused until --allow-deletes N, which allows N deletes.",
        "path: deploy/prd      # the folder is deploy/prod",
    ),
    rule(
        "exists-unowned",
        "A live object of nobody's isn't overwritten.",
        "Something of that name exists and no Source owns it. Take it over on purpose (--adopt ID, or holdfast.dev/adopt \
         where permitInGit lists it), or choose another name.",
        "Service/shop/web was made by hand",
    ),
    rule(
        "immutable-field",
        "A field that can't change keeps its value.",
        "The API server refuses the change of some fields once an object exists (a Deployment's selector, a Job's template, \
         a claim's class). Put the value back; or have the object deleted and made anew, which --allow ID permits.",
        "selector: {matchLabels: {app: web, tier: front}}      # tier is new",
    ),
    rule(
        "left-alone",
        "A declared field that somebody else decides is left as it is.",
        "Replicas while an autoscaler targets the object, rules of an aggregated ClusterRole, an empty caBundle that a \
         controller has filled in, and what ignoreDrift names. A warning; take the field out of the manifest.",
        "replicas: 2, with a HorizontalPodAutoscaler for the same Deployment",
    ),
    rule(
        "locked",
        "One apply at a time writes a target.",
        "Another process holds it. It is waited for as long as --lock-timeout says; then this one gives up and has written \
         nothing.",
        "two pipelines apply at the same moment",
    ),
    rule(
        "missing-namespace",
        "The Namespace of an object exists or is in the plan.",
        "A Namespace that the same plan deletes doesn't count. Add its manifest (and Namespace to clusterKinds), or make it \
         first.",
        "metadata: {name: conf, namespace: shop}, where nobody makes shop",
    ),
    rule(
        "not-found",
        "An object that is to be read or deleted by hand exists.",
        "There is none of that name on the target.",
        "holdfast object get ConfigMap/shop/cnof",
    ),
    rule(
        "orphaned",
        "The objects of a Source that is removed with --orphan stay and are nobody's.",
        "Each is named in the plan, the receipt and the history; its owner mark is taken off. Another Source takes it on with \
         --adopt, or with --adopt-from and the removed Source's name.",
        "holdfast source remove web --orphan",
    ),
    rule(
        "others-unknown",
        "Nothing is deleted while another Source can't be read.",
        "The configuration's other Sources may want the object. As long as one of them can't be read the delete is kept \
         back.",
        "the repository of Source B doesn't answer while A is planned",
    ),
    rule(
        "out-of-scope",
        "An owned object that the Source's scope no longer reaches is kept.",
        "A narrowed scope is no request to delete. Widen it again, or let the object go with --release ID.",
        "namespaces: [shop, lab] became namespaces: [shop]",
    ),
    rule(
        "owned-by-other",
        "What another Source owns isn't written.",
        "Two Sources that write one object undo each other. Move it on purpose: one side says release-to, the other \
         adopt-from; or plan both together.",
        "Sources one and two both declare Namespace/shop",
    ),
    rule(
        "owner-mismatch",
        "A live object bears this Source's mark for this resource, or it isn't touched.",
        "The mark is missing, copied, unreadable or another Source's. The object is kept and let go: adopt it if it's meant \
         to be this Source's.",
        "kubectl annotate configmap conf holdfast.dev/owner-",
    ),
    rule(
        "paused",
        "Nothing is applied to a Source that is paused.",
        "holdfast source pause holds back every apply of a Source, so that an emergency change by hand survives. Wait for its \
         end, end it with holdfast source resume, or say --while-paused --reason WHY; the receipt keeps the reason.",
        "holdfast apply shop, after holdfast source pause shop --reason 'incident 7' --until 2h",
    ),
    rule(
        "permission-not-given",
        "A plan's permissions are given again at its apply.",
        "What stands in a plan file grants nothing: who applies gives the same permissions and waivers, or the plan is \
         refused.",
        "planned with --allow-deletes 3, applied without",
    ),
    rule(
        "pinned",
        "A pinned Source is applied at the commit that it is pinned to alone.",
        "holdfast source pin holds a Source at a commit: plans are made at that one, and a plan at another is refused. \
         holdfast source unpin ends it.",
        "holdfast apply shop.plan.json, made before holdfast source pin shop --reason 'until the fix is in'",
    ),
    rule(
        "plan-digest",
        "A plan file is as it was sealed.",
        "It was edited, cut, or isn't what this plan would do. Plan again.",
        "one letter of the file was changed",
    ),
    rule(
        "protected-delete",
        "What holds data or other objects isn't deleted by the way.",
        "Volumes and claims, and StatefulSets that delete theirs, are kept without a permission by name. A Namespace or \
         CustomResourceDefinition goes only if all that it holds goes in the same plan; --allow ID=N takes N objects of \
         nobody's along, never another Source's.",
        "the manifest of PersistentVolumeClaim/shop/data is gone: --allow PersistentVolumeClaim/shop/data",
    ),
    rule(
        "prune-keep",
        "An object whose manifest said `holdfast.dev/prune: keep` is kept.",
        "The last applied commit said so. Commit it once without the annotation, or let the object go with --release ID.",
        "annotations: {holdfast.dev/prune: keep}",
    ),
    rule(
        "prune-off",
        "Nothing is deleted while the Source's prune is off.",
        "It is off by default. With `prune: true` what left the commit is deleted, after name, UID and owner mark agree.",
        "prune: false",
    ),
    rule(
        "quota",
        "The plan's sum fits the ResourceQuotas.",
        "Each object alone may pass and all together not. Counted are objects, pods of workloads, cpu, memory and storage, \
         against what is used already. What the plan deletes is freed only after its writes, and doesn't count.",
        "pods: 4 allowed, 1 used, a Deployment with replicas: 5",
    ),
    rule(
        "released",
        "An object is let go.",
        "Its inventory row ends and the object stays, because somebody asked for it or because it turned out not to be this \
         Source's.",
        "--release ConfigMap/shop/conf",
    ),
    rule(
        "replace",
        "What a replace costs is said.",
        "The object is deleted and made anew, with a new UID: a Job runs again, pods stop, an address changes. A warning.",
        "--allow Job.batch/shop/migrate with a changed template",
    ),
    rule(
        "rebuilt",
        "An object that bears a Source's mark is its own again after a rebuild.",
        "A restore gives objects new UIDs, or loses inventory rows: then name, UID and mark no longer agree, and nothing is \
         touched. `source rebuild NAME` takes back what bears the Source's mark for its resource. It writes the inventory \
         alone; how the objects differ from git is the next plan's to show.",
        "holdfast source rebuild shop    # after a backup was restored",
    ),
    rule(
        "released-to",
        "What a manifest releases to another Source waits for that one.",
        "`holdfast.dev/release-to: B` gives an object to Source B. Once the manifest is gone the object is kept, prune or \
         not, until B takes it (in one plan, or by holdfast.dev/adopt-from). Once B has it, a manifest that still stands \
         counts for nothing and is only warned of. --release ID lets the object go instead, --allow ID deletes it.",
        "metadata: {annotations: {holdfast.dev/release-to: billing}}",
    ),
    rule(
        "stale-plan",
        "What a plan has seen is still so.",
        "An object, an inventory, a commit or a rule changed since the plan was made; each one that moved is named, and \
         nothing was written. Plan again and look at what is new.",
        "somebody edited ConfigMap/shop/conf after the review",
    ),
    rule(
        "system-object",
        "Namespaces that a cluster can't be without aren't deleted.",
        "default, kube-system, kube-public and kube-node-lease belong to the control plane.",
        "holdfast object delete Namespace/kube-system",
    ),
    rule(
        "target-moved",
        "The target serves the same kinds as when the manifests were checked.",
        "A CustomResourceDefinition changed while the plan was made, so that manifests would be judged by an old schema. \
         Plan again.",
        "an operator was upgraded in the same second",
    ),
    rule(
        "target-unreadable",
        "The target can be read.",
        "It can't be opened or reached, or what it stores can't be understood. \"Could not read\" is never taken for \
         \"absent\".",
        "the database file belongs to another user",
    ),
    rule(
        "terminating",
        "A Namespace that is being deleted takes no new objects.",
        "Wait until it is gone, then plan again.",
        "kubectl delete namespace shop waits for a finalizer",
    ),
    rule(
        "uid-mismatch",
        "A live object is the one that was applied.",
        "It was deleted and made again by somebody else: same name, another UID. It is kept and let go; adopt it if it's \
         meant to be this Source's.",
        "kubectl delete and kubectl create of ConfigMap/shop/conf",
    ),
    rule(
        "unreadable-object",
        "The bookkeeping of a live object can be read.",
        "Its managedFields or inventory row can't be understood, so that nobody knows which fields are whose. It isn't \
         merged by guess.",
        "managedFields with a fieldsType that nobody knows",
    ),
    rule(
        "used-object",
        "An object marked `use` exists.",
        "A manifest with `holdfast.dev/use: \"true\"` says that the object is somebody else's and has to be there. It is never \
         written.",
        "annotations: {holdfast.dev/use: \"true\"} on a Secret that nobody has made",
    ),
    rule(
        "wanted-by-other",
        "What another Source of the configuration declares isn't deleted.",
        "It left this Source's commit and stands in another's: plan both together, and it moves without a gap.",
        "Namespace/shop moved from repository A to B, and A is planned alone",
    ),
    rule(
        "wrong-target",
        "A plan is applied to the target that it was made for.",
        "A target has an identity of its own, whatever a configuration calls it.",
        "a plan made on the test cluster, applied in production",
    ),
];
