//! Policies of the Source's own choice: named ones and expressions in CEL. Each denies or warns, and can be waived.

mod named;
mod pods;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Finding, Findings};
use crate::base::fault::{Fault, RuleId};
use crate::base::pointer::Pointer;
use crate::base::resource::GroupKind;
use crate::base::text::{escape, shorten};
use crate::plan::document::Waiver;
use crate::schema::KindSchema;
use crate::schema::cel::{self, Expression};
use crate::source::scope::Namespaces;
use crate::source::spec::{Effect, Policy, SourceSpec};

/// A policy of the Source in CEL.
const POLICY: RuleId = RuleId::new("policy");
/// A waiver that names no policy.
const WAIVER: RuleId = RuleId::new("waiver");

/// The policies of a Source, compiled.
#[derive(Debug)]
pub struct Policies {
    policies: Vec<Compiled>,
    /// The variable `source`.
    source: Value,
}

#[derive(Debug)]
struct Compiled {
    name: String,
    effect: Effect,
    waiver: Option<Waiver>,
    what: What,
}

#[derive(Debug)]
enum What {
    Named(&'static str),
    Cel { kinds: BTreeSet<GroupKind>, expression: Expression, message: Option<String>, reads_old: bool },
}

/// What policies say about one object.
#[derive(Debug, Default)]
pub(in crate::admission) struct Said {
    pub(in crate::admission) findings: Findings,
    /// Waivers without which it would have been refused.
    pub(in crate::admission) waived: Vec<Waiver>,
}

impl Policies {
    /// Compiles the policies of a Source.
    ///
    /// # Errors
    /// Every expression that doesn't compile.
    pub fn compile(spec: &SourceSpec, waivers: &[Waiver]) -> Result<Self, Vec<Fault>> {
        let (mut policies, mut faults) = (Vec::new(), Vec::new());
        for policy in &spec.policies {
            let (name, effect, what) = match policy {
                Policy::Named { rule, effect } => ((*rule).to_owned(), *effect, What::Named(rule)),
                Policy::Cel { name, kinds, cel, message, effect } => {
                    let expression = match compile(cel) {
                        Ok(expression) => expression,
                        Err(why) => {
                            let text = format!("policy {} of the Source {}: {why}", escape(name), spec.name);
                            faults.push(Fault::new(POLICY, text));
                            continue;
                        }
                    };
                    let reads_old = expression.variables().iter().any(|variable| variable == "oldObject");
                    let what = What::Cel { kinds: kinds.clone(), expression, message: message.clone(), reads_old };
                    (name.clone(), *effect, what)
                }
            };
            let waiver = waivers.iter().find(|waiver| waiver.rule == name).cloned();
            policies.push(Compiled { name, effect, waiver, what });
        }
        let namespaces = match &spec.namespaces {
            Namespaces::Any => json!(["*"]),
            Namespaces::Some(names) => json!(names),
        };
        let source = json!({"name": spec.name.as_str(), "path": spec.path.to_string(), "namespaces": namespaces});
        if faults.is_empty() { Ok(Self { policies, source }) } else { Err(faults) }
    }

    /// The named ones, on an object of a known kind, by its fields as written.
    pub(in crate::admission) fn named(&self, object: &Value, schema: &KindSchema, said: &mut Said) {
        if self.policies.iter().all(|policy| !matches!(policy.what, What::Named(_))) {
            return;
        }
        let pods = pods::of(object, schema);
        for policy in &self.policies {
            if let What::Named(rule) = policy.what {
                policy.say(named::judge(rule, &pods), said);
            }
        }
    }

    /// The expressions that need no live object, on a declared object that its schema admits.
    pub(in crate::admission) fn expressions(&self, declared: &Value, schema: &KindSchema, said: &mut Said) {
        self.run(declared, None, schema, false, said);
    }

    /// The expressions that read `oldObject`: null where there is no live object.
    pub(in crate::admission) fn old_object(
        &self,
        object: &Value,
        old: Option<&Value>,
        schema: &KindSchema,
        said: &mut Said,
    ) {
        self.run(object, old, schema, true, said);
    }

    fn run(&self, object: &Value, old: Option<&Value>, schema: &KindSchema, reads: bool, said: &mut Said) {
        let kind = schema.gvk.group_kind();
        let mut asked: Vec<(&Compiled, &Expression, Option<&str>)> = Vec::new();
        for policy in &self.policies {
            if let What::Cel { kinds, expression, message, reads_old } = &policy.what
                && *reads_old == reads
                && (kinds.is_empty() || kinds.contains(&kind))
            {
                asked.push((policy, expression, message.as_deref()));
            }
        }
        if asked.is_empty() {
            return;
        }
        let expressions: Vec<&Expression> = asked.iter().map(|(_, expression, _)| *expression).collect();
        let variables = [("object", object), ("oldObject", old.unwrap_or(&Value::Null)), ("source", &self.source)];
        for ((policy, _, message), result) in asked.iter().zip(cel::evaluate(&expressions, &variables)) {
            let text = match result {
                Ok(true) => continue,
                Ok(false) => message.map_or_else(|| "its expression is false".to_owned(), |m| escape(m).into_owned()),
                // Fails closed: what can't be judged didn't pass.
                Err(why) => format!("it can't be judged: {why}"),
            };
            let text = format!("policy {}: {text}", escape(&policy.name));
            policy.say(vec![Finding::new(POLICY, Pointer::root(), text)], said);
        }
    }
}

impl Compiled {
    fn say(&self, found: Vec<Finding>, said: &mut Said) {
        for finding in found {
            match (self.effect, &self.waiver) {
                (_, Some(waiver)) => {
                    if self.effect == Effect::Deny && !said.waived.contains(waiver) {
                        said.waived.push(waiver.clone());
                    }
                }
                (Effect::Deny, None) => {
                    let waive = format!("to pass all the same: --waive {} --reason WHY", escape(&self.name));
                    let hint = finding.hint.clone().map_or(waive.clone(), |hint| format!("{hint}; {waive}"));
                    said.findings.fault(finding.hint(hint));
                }
                (Effect::Warn, None) => said.findings.warn(finding),
            }
        }
    }
}

fn compile(cel: &str) -> Result<Expression, String> {
    let expression = Expression::compile(cel).map_err(|bad| escape(&shorten(&bad.to_string(), 300)).into_owned())?;
    let unknown = expression.variables().into_iter().find(|v| !matches!(v.as_str(), "object" | "oldObject" | "source"));
    match unknown {
        Some(name) => {
            Err(format!("there is no variable {}: an expression has object, oldObject and source", escape(&name)))
        }
        None => Ok(expression),
    }
}

/// Waivers that name no policy of any of the Sources, or give no reason: only a policy can be waived, and not silently.
pub fn unknown_waivers(specs: &[&SourceSpec], waivers: &[Waiver]) -> Vec<Fault> {
    let names: BTreeSet<&str> = specs
        .iter()
        .flat_map(|spec| &spec.policies)
        .map(|policy| match policy {
            Policy::Named { rule, .. } => *rule,
            Policy::Cel { name, .. } => name.as_str(),
        })
        .collect();
    let mut faults = Vec::new();
    for waiver in waivers {
        let shown = escape(&waiver.rule).into_owned();
        if crate::admission::catalogue::find(&waiver.rule).is_some() && !names.contains(waiver.rule.as_str()) {
            let text = format!("{shown} is no policy of these Sources: what Holdfast itself promises can't be waived");
            faults.push(Fault::new(WAIVER, text));
        } else if !names.contains(waiver.rule.as_str()) {
            let list = names.iter().copied().collect::<Vec<_>>().join(", ");
            let hint = if names.is_empty() { "they have no policies".to_owned() } else { format!("they have {list}") };
            faults.push(Fault::new(WAIVER, format!("there is no policy {shown}")).hint(hint));
        } else if waiver.reason.trim().is_empty() {
            faults.push(Fault::new(WAIVER, format!("the waiver of {shown} gives no reason")).hint("add --reason WHY"));
        }
    }
    faults
}
