//! `plan` and `converge`.

use serde_json::Value;

use super::live;
use crate::command::Output;
use crate::expected::SourceSpec;
use crate::ids::{Id, Permission};
use crate::judge;
use crate::reading;
use crate::steps::{Converge, Limits, Plan, PlanFault, PlanOutcome};
use crate::verdict::{Done, Stop, none_of};
use crate::world::{Config, Saved, World, strings};

/// What a plan is asked for.
pub(super) struct Asked<'a> {
    pub(super) sources: &'a [String],
    pub(super) allow: &'a [Permission],
    pub(super) adopt: &'a [Id],
    pub(super) allow_deletes: Option<u64>,
    pub(super) with: Option<&'a SourceSpec>,
    pub(super) target: Option<&'a str>,
}

impl Asked<'_> {
    /// The permissions, as they stand on the command line of the plan and again on that of its apply.
    fn permissions(&self) -> Vec<String> {
        let mut args = permissions(self.allow, self.adopt, self.allow_deletes);
        if self.with.is_some_and(|with| with.path.is_some()) {
            for source in self.sources {
                args.extend(["--allow".to_owned(), format!("source/{source}")]);
            }
        }
        args
    }
}

/// Permissions by ID and number.
pub(super) fn permissions(allow: &[Permission], adopt: &[Id], allow_deletes: Option<u64>) -> Vec<String> {
    let mut args = Vec::new();
    if let Some(number) = allow_deletes {
        args.extend(["--allow-deletes".to_owned(), number.to_string()]);
    }
    for permission in allow {
        let flag = if adopt.contains(&permission.id) { "--adopt" } else { "--allow" };
        args.extend([flag.to_owned(), permission.on_command_line()]);
    }
    args
}

/// Runs `holdfast plan` with what is configured.
pub(super) fn run(world: &World<'_>, asked: &Asked<'_>) -> Done<(Output, Saved)> {
    let saved = Saved {
        file: world.plan_file(),
        permissions: asked.permissions(),
        target: asked.target.map(str::to_owned),
        sources: asked.sources.to_vec(),
    };
    let mut args = strings(&["plan"]);
    args.extend(asked.sources.iter().cloned());
    args.extend(["--out".to_owned(), saved.file.to_string_lossy().into_owned()]);
    args.extend(strings(&["-o", "json"]));
    args.extend(saved.permissions.iter().cloned());
    let output = world.holdfast(&args)?;
    if output.code == Some(0) {
        search_plan(world, &saved)?;
    }
    Ok((output, saved))
}

/// A plan file, and every form of it, is searched for what may stand in no output.
fn search_plan(world: &World<'_>, saved: &Saved) -> Done {
    if !world.has_secrets() || !saved.file.exists() {
        return Ok(());
    }
    world.searched("the plan file", &String::from_utf8_lossy(&std::fs::read(&saved.file)?))?;
    world.lab.need(&["show"])?;
    for form in ["table", "diff", "json", "markdown"] {
        let file = saved.file.to_string_lossy();
        let output = world.holdfast(&strings(&["show", &file, "-o", form]))?;
        if output.code != Some(0) {
            return Err(Stop::Failed(format!("{}: {}", output.line, output.brief())));
        }
    }
    Ok(())
}

fn checkout(world: &World<'_>, sources: &[String], commit: &str) -> Done {
    for source in sources {
        world.repository_of(source)?.checkout(commit)?;
    }
    Ok(())
}

/// The `plan` action.
pub(super) fn perform(world: &mut World<'_>, step: &Plan, notes: &mut Vec<String>) -> Done {
    let sources = step.planned();
    checkout(world, &sources, &step.commit)?;
    let asked = Asked {
        sources: &sources,
        allow: &step.allow,
        adopt: step.adopt.as_deref().unwrap_or_default(),
        allow_deletes: step.allow_deletes,
        with: step.with.as_ref(),
        target: step.target.as_deref(),
    };
    world.configure(Config {
        target: asked.target,
        sources: step.config.as_deref(),
        with: step.with.as_ref().map(|with| (sources.as_slice(), with)),
    })?;
    let before = live::look(world)?;
    let ran = with_fault(world, step.fault, &sources, || run(world, &asked));
    let (output, saved) = ran?;
    let document: Option<Value> = serde_json::from_str(&output.stdout).ok();
    let came = judge::plan_outcome(output.code, document.as_ref())
        .map_err(|why| format!("{}: {why}; {}", output.line, output.brief()))?;
    if !step.outcome.all().contains(&came) {
        let report = document.as_ref().map(|json| outline(came, json)).unwrap_or_default();
        return Err(Stop::Failed(format!("{came:?}, not {:?}; {report}{}", step.outcome.all(), output.brief())));
    }
    if step.outcome.is_choice() {
        always_the_same(world, step, &asked, came)?;
    }
    let nothing = Value::Null;
    let report = document.as_ref().unwrap_or(&nothing);
    let mut problems = judge::plan(step, came, report);
    problems.extend(judge::never_changed(&world.case.never_changed, report));
    let is_plan = matches!(came, PlanOutcome::Planned | PlanOutcome::NoChange);
    if saved.file.exists() != is_plan {
        problems.push(if is_plan { "no plan file".to_owned() } else { "there is a plan file".to_owned() });
    }
    for text in step.mentions.iter().filter(|text| ![&output.stdout, &output.stderr].iter().any(|o| o.contains(*text)))
    {
        problems.push(format!("{text:?} is not mentioned"));
    }
    if let Some(limits) = step.limits {
        problems.extend(within(limits, &output, notes));
    }
    if is_plan && !step.values.is_empty() {
        problems.extend(values(world, step, &sources)?);
    }
    none_of(problems)?;
    live::untouched(world, &before)?;
    if is_plan {
        if let Some(name) = &step.save {
            world.plans.insert(name.clone(), saved.clone());
        }
        world.latest = Some(saved);
    }
    Ok(())
}

/// The rules and actions of a report that is not the one expected.
fn outline(came: PlanOutcome, document: &Value) -> String {
    let mut lines: Vec<String> = match came {
        PlanOutcome::Refused | PlanOutcome::Error => reading::refusals(document).iter().map(Value::to_string).collect(),
        PlanOutcome::Planned | PlanOutcome::NoChange => {
            let changes = reading::changes(document).unwrap_or_default();
            changes.iter().map(|change| format!("{} {}", change.action, change.id)).collect()
        }
    };
    let more = lines.len().saturating_sub(6);
    lines.truncate(6);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines.iter().map(|line| format!("{line}; ")).collect()
}

fn with_fault<T>(
    world: &World<'_>,
    fault: Option<PlanFault>,
    sources: &[String],
    run: impl FnOnce() -> Done<T>,
) -> Done<T> {
    let mut away = Vec::new();
    if fault == Some(PlanFault::RepositoryUnreadable) {
        for source in sources {
            let repository = world.repository_of(source)?;
            if repository.path().exists() {
                repository.take_away()?;
                away.push(repository);
            }
        }
    }
    let result = run();
    for repository in away {
        repository.bring_back()?;
    }
    result
}

fn always_the_same(world: &World<'_>, step: &Plan, asked: &Asked<'_>, came: PlanOutcome) -> Done {
    let (output, _) = run(world, asked)?;
    let document: Option<Value> = serde_json::from_str(&output.stdout).ok();
    let again = judge::plan_outcome(output.code, document.as_ref())?;
    if again == came {
        return Ok(());
    }
    Err(Stop::Failed(format!("{}: {came:?}, and then {again:?}", step.commit)))
}

/// Limits are those of a release build; another build is only measured.
fn within(limits: Limits, output: &Output, notes: &mut Vec<String>) -> Vec<String> {
    let seconds = output.took.as_secs_f64();
    let memory = output.peak_mib.map_or("memory not known".to_owned(), |mib| format!("{mib:.1} MiB"));
    let measured = format!("{seconds:.2} s, {memory}");
    if cfg!(debug_assertions) {
        notes.push(format!("limits not judged, the build is not optimized: {measured}"));
        return Vec::new();
    }
    notes.push(format!("limits: {measured}"));
    let mut problems = Vec::new();
    if let Some(most) = limits.seconds.filter(|most| seconds > *most) {
        problems.push(format!("{seconds:.2} s, at most {most} s"));
    }
    if let Some(most) = limits.mib {
        match output.peak_mib {
            Some(mib) if mib > most => problems.push(format!("{mib:.1} MiB, at most {most} MiB")),
            Some(_) => {}
            None => notes.push("limits: the memory was not measured".to_owned()),
        }
    }
    problems
}

/// What would be written, by `holdfast render`.
fn values(world: &World<'_>, step: &Plan, sources: &[String]) -> Done<Vec<String>> {
    let mut words = vec!["render"];
    words.extend(sources.iter().map(String::as_str));
    let list = world.json_of(&words)?;
    let items = reading::items(&list)?;
    let mut problems = Vec::new();
    for (id, fields) in &step.values {
        match items.iter().find(|item| Id::of_object(item).as_ref() == Some(id)) {
            Some(object) => problems.extend(live::differing(id, fields, object)),
            None => problems.push(format!("render has no {id}")),
        }
    }
    Ok(problems)
}

/// The `converge` action.
pub(super) fn converge(world: &mut World<'_>, step: &Converge) -> Done {
    let sources = step.planned();
    checkout(world, &sources, &step.commit)?;
    let asked = Asked {
        sources: &sources,
        allow: &step.allow,
        adopt: &[],
        allow_deletes: step.allow_deletes,
        with: None,
        target: None,
    };
    planned_and_applied(world, &asked)
}

/// Plans what is checked out, and applies it; both must succeed.
pub(super) fn planned_and_applied(world: &mut World<'_>, asked: &Asked<'_>) -> Done {
    world.configure(Config { target: asked.target, ..Config::default() })?;
    let before = live::look(world)?;
    let (output, saved) = run(world, asked)?;
    if output.code != Some(0) {
        return Err(Stop::Failed(format!("{}: {}", output.line, output.brief())));
    }
    none_of(judge::never_changed(&world.case.never_changed, &output.json()?))?;
    live::untouched(world, &before)?;
    let applied = super::apply::run(world, &saved, &saved.file, false)?;
    if applied.code != Some(0) {
        return Err(Stop::Failed(format!("{}: {}", applied.line, applied.brief())));
    }
    world.latest = Some(saved);
    Ok(())
}
