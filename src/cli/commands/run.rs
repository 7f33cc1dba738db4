//! `holdfast run`.

use crate::cli::args::{Format, Global, RunArgs};
use crate::cli::env::Env;
use crate::cli::exit::{Exit, Failure, Stop};
use crate::cli::output::Output;
use crate::cli::session::{self, Session};
use crate::reconcile::{Engine, Event, Level, Mode, Report, Slots, run as reconcile};
use crate::target::sqlite::Access;

/// Reconciles Sources until a signal, or once.
pub(crate) fn run(args: &RunArgs, global: &Global, env: &Env, output: &Output) -> Result<Exit, Stop> {
    output.format(&[Format::Table])?;
    if global.reference.is_some() && global.repository.is_none() {
        return Err(Failure::usage("run follows each Source's own ref; --ref is for plan and apply").into());
    }
    // The loop's threads may outlive it for as long as a dead git host holds them: what they use lives as long as the
    // process.
    let session: &'static Session =
        Box::leak(Box::new(Session::open(global, &args.fetching, Access::Create, env, output)?.remembering()));
    session.may_run(env)?;
    let lines: &'static Lines = Box::leak(Box::new(Lines(output.clone())));
    let sources = session.chosen(&args.sources)?;
    let others = session.others(&sources);
    let mode = if args.once { Mode::Once } else { Mode::Forever };
    let engine: &'static Engine = Box::leak(Box::new(Engine {
        context: session.context(),
        sources,
        others,
        actor: env.user.clone(),
        lock_timeout: args.locking.lock_timeout,
        new_apply: session::apply_id,
        report: lines,
        slots: Slots::default(),
    }));
    let names: Vec<&str> = engine.sources.iter().map(|spec| spec.name.as_str()).collect();
    let text = format!("{} on {}", names.join(", "), session.target().describe());
    lines.event(&Event::new(session.now(), Level::Info, "started", text));
    let seed = uuid::Uuid::new_v4().as_u64_pair().0;
    let ended = reconcile(engine, mode, seed).map_err(|e| Failure::fault(format!("a thread can't be started: {e}")))?;
    let text = if ended.interrupted { "stopped as asked; nothing is half done" } else { "every Source was looked at" };
    lines.event(&Event::new(session.now(), Level::Info, "stopped", text));
    Ok(if ended.failed { Exit::Refused } else { Exit::Done })
}

/// Lines on stderr, for people or as JSON.
struct Lines(Output);

impl Report for Lines {
    fn event(&self, event: &Event) {
        self.0.event(event);
    }
}
