//! The steps of the protocol, and everything that may come between them.

use stateright::{Model, Property};

use crate::world::{At, Budget, InFlight, Journal, Life, Mark, Object, Phase, Process, Request, Side, Value, World};

/// One thing that the protocol would do wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    CommitAfterPrune,
    UndoWithoutSwap,
    NoWait,
    TrustingRecovery,
    NoBeginUndo,
    NoFence,
    PartsFirst,
}

#[derive(Debug, Clone)]
pub struct Protocol {
    pub recoveries: usize,
    pub budget: Budget,
    pub mutant: Option<Mutant>,
}

/// What happens next.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action {
    /// A process looks, and makes up its mind.
    Look(usize),
    /// What it made up its mind to leaves it.
    Send(usize),
    /// The server does it, and the answer comes.
    Arrive(usize),
    /// The server does it, and the answer gets lost.
    AnswerLost(usize),
    /// It gets lost on its way.
    RequestLost(usize),
    Crash(usize),
    Sleep(usize),
    Wake(usize),
    /// Somebody sets the declared field of what the apply updates.
    HumanWrites,
    /// Somebody makes, or makes anew, an object of the name that the apply creates.
    HumanMakes,
    /// Somebody takes the mark off what the apply deletes.
    HumanTakes,
    ControllerWrites,
}

pub const PROMISES: [&str; 4] = [
    "it ends wholly old or wholly new",
    "nothing of others is deleted or overwritten",
    "nothing is deleted before the commit point",
    "what is left is always recovered",
];

impl Protocol {
    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// A process looks at what there is, and goes on or has something to send.
    fn look(&self, world: &mut World, p: usize) {
        let at = world.processes[p].at;
        if at == At::Take {
            world.holder = Some(p);
            if p > 0 {
                // Whoever slept finds its lease gone; what it was about to send it sends all the same.
                for other in world.processes.iter_mut().enumerate().filter(|(q, _)| *q != p).map(|(_, other)| other) {
                    if let Some(in_flight) = other.in_flight.as_mut().filter(|in_flight| !in_flight.sent) {
                        in_flight.late = true;
                    }
                }
            }
            world.processes[p].at = if p == 0 { At::OpenJournal } else { At::ReadJournal };
            return;
        }
        if world.holder != Some(p) {
            // The lease is lost: it writes nothing more.
            return self.end(world, p);
        }
        match self.decide(world, p, at) {
            Next::Go(At::Done) => {
                world.holder = None;
                self.end(world, p);
            }
            Next::Go(to) => world.processes[p].at = to,
            Next::Ask(request) => world.processes[p].in_flight = Some(InFlight { request, sent: false, late: false }),
        }
    }

    /// After a command that recovers there may be another one.
    fn end(&self, world: &mut World, p: usize) {
        let process = &mut world.processes[p];
        process.at = if p == 0 { At::Done } else { At::Take };
        process.fenced = false;
    }

    fn decide(&self, world: &World, p: usize, at: At) -> Next {
        use Next::{Ask, Go};
        let journal = world.journal.as_ref();
        let phase = journal.map(|journal| journal.phase);
        let switch = |to| match journal {
            Some(journal) => Ask(Request::SwitchJournal { to, version: journal.version }),
            None => Go(At::Done),
        };
        match at {
            At::Take | At::Done => Go(At::Done),
            At::OpenJournal => match phase {
                None => Ask(Request::OpenJournal),
                Some(_) => Go(At::WriteJournal),
            },
            At::WriteJournal => match phase {
                Some(Phase::Opening) => switch(Phase::Applying),
                Some(Phase::Applying) => Go(At::Create),
                _ => Go(At::Done),
            },
            At::Create => match &world.created {
                None => Ask(Request::Create),
                Some(object) if object.mark == Mark::Ours => Go(At::Apply),
                Some(_) => Go(At::BeginUndo),
            },
            At::Apply => match &world.applied {
                object if object.mark == Mark::Ours => Go(self.after_writes()),
                object if object.value == Value::Before => {
                    Ask(Request::Apply { uid: object.uid, version: object.version })
                }
                _ => Go(At::BeginUndo),
            },
            At::CommitPoint => match phase {
                Some(Phase::Applying) => switch(Phase::Committed),
                Some(Phase::Committed) if self.is(Mutant::CommitAfterPrune) => Go(At::SwitchSource),
                Some(Phase::Committed) => Go(At::Prune),
                _ => Go(At::Done),
            },
            At::Prune => match &world.deleted {
                Some(object) if object.mark == Mark::Earlier => {
                    Ask(Request::Delete { uid: object.uid, version: object.version })
                }
                _ if self.is(Mutant::CommitAfterPrune) && phase == Some(Phase::Applying) => Go(At::CommitPoint),
                _ => Go(At::SwitchSource),
            },
            At::SwitchSource if world.inventory == Side::Before => Ask(Request::SwitchSource),
            At::SwitchSource => Go(At::Close),
            At::Close | At::CloseUndone => match journal {
                None => Go(At::Done),
                Some(journal) if journal.body && !journal.closing && !self.is(Mutant::PartsFirst) => {
                    Ask(Request::Closing { version: journal.version })
                }
                Some(journal) if journal.body => Ask(Request::DeleteParts),
                Some(_) => Ask(Request::DeleteHead),
            },
            At::ReadJournal => match phase {
                None => Go(At::Done),
                Some(_) if journal.is_some_and(|journal| journal.closing) => Go(At::Close),
                Some(Phase::Opening) => Go(At::CloseUndone),
                // A damaged journal: somebody has to look at it.
                Some(_) if journal.is_some_and(|journal| !journal.body) => Go(At::Done),
                Some(Phase::Applying | Phase::Undoing) => Go(At::BeginUndo),
                Some(Phase::Committed) => Go(At::Prune),
            },
            At::BeginUndo if self.is(Mutant::NoBeginUndo) => Go(if p == 0 { At::TakeBackApply } else { At::Fence }),
            At::BeginUndo => match phase {
                Some(Phase::Applying | Phase::Opening) => switch(Phase::Undoing),
                Some(Phase::Undoing) if p == 0 => Go(At::TakeBackApply),
                Some(Phase::Undoing) => Go(At::Fence),
                // The commit point was reached after all: the next command goes forward with it.
                Some(Phase::Committed) if p > 0 => Go(At::ReadJournal),
                _ => Go(At::Done),
            },
            At::Fence => match &world.applied {
                _ if world.processes[p].fenced || self.is(Mutant::NoFence) => Go(At::TakeBackApply),
                object if object.mark == Mark::Ours => Go(At::TakeBackApply),
                object => Ask(Request::Fence { version: object.version }),
            },
            At::TakeBackApply => match &world.applied {
                object if object.mark == Mark::Ours => {
                    let seen = !self.is(Mutant::UndoWithoutSwap);
                    let value = !seen || object.value == Value::After;
                    Ask(Request::TakeBackApply { version: seen.then_some(object.version), value })
                }
                _ => Go(At::TakeBackCreate),
            },
            At::TakeBackCreate => match &world.created {
                Some(_) if self.is(Mutant::TrustingRecovery) => Ask(Request::TakeBackCreate { exactly: None }),
                Some(object) if object.mark == Mark::Ours => {
                    Ask(Request::TakeBackCreate { exactly: Some((object.uid, object.version)) })
                }
                _ => Go(At::CloseUndone),
            },
        }
    }

    fn after_writes(&self) -> At {
        if self.is(Mutant::CommitAfterPrune) { At::Prune } else { At::CommitPoint }
    }

    /// What the API server makes of a request: preconditions hold or nothing is written.
    fn serve(&self, world: &mut World, p: usize, in_flight: &InFlight) {
        match &in_flight.request {
            Request::OpenJournal if world.journal.is_none() => {
                world.journal = Some(Journal { phase: Phase::Opening, version: 0, body: false, closing: false });
            }
            Request::OpenJournal => {}
            Request::SwitchJournal { to, version } => {
                if let Some(journal) = world.journal.as_mut().filter(|journal| journal.version == *version) {
                    journal.body |= *to == Phase::Applying;
                    journal.phase = *to;
                    journal.version += 1;
                }
            }
            Request::Create if world.created.is_none() => {
                world.created = Some(Object { uid: world.next_uid, version: 0, value: Value::After, mark: Mark::Ours });
                world.next_uid += 1;
                world.late_create |= in_flight.late;
            }
            Request::Create => {}
            Request::Apply { uid, version } => {
                let object = &mut world.applied;
                if (object.uid, object.version) == (*uid, *version) {
                    world.harmed |= object.value == Value::Others;
                    *object = Object { uid: *uid, version: version + 1, value: Value::After, mark: Mark::Ours };
                }
            }
            Request::Fence { version } => {
                if world.applied.version == *version {
                    world.applied.version += 1;
                    world.processes[p].fenced = true;
                }
            }
            Request::TakeBackApply { version, value } => {
                let object = &mut world.applied;
                if version.is_none_or(|version| version == object.version) {
                    if *value {
                        world.harmed |= object.value == Value::Others;
                        object.value = Value::Before;
                    }
                    object.mark = Mark::Earlier;
                    object.version += 1;
                }
            }
            Request::TakeBackCreate { exactly } => {
                let is = |object: &Object| exactly.is_none_or(|exactly| exactly == (object.uid, object.version));
                if let Some(object) = world.created.take_if(|object| is(object)) {
                    world.harmed |= object.mark == Mark::Others;
                }
            }
            Request::Delete { uid, version } => {
                let is = |object: &Object| (object.uid, object.version) == (*uid, *version);
                if let Some(object) = world.deleted.take_if(|object| is(object)) {
                    world.harmed |= object.mark == Mark::Others;
                }
            }
            Request::SwitchSource => world.inventory = Side::After,
            Request::Closing { version } => {
                if let Some(journal) = world.journal.as_mut().filter(|journal| journal.version == *version) {
                    journal.closing = true;
                    journal.version += 1;
                }
            }
            Request::DeleteParts => {
                if let Some(journal) = &mut world.journal {
                    journal.body = false;
                }
            }
            Request::DeleteHead => world.journal = None,
        }
    }
}

enum Next {
    Go(At),
    Ask(Request),
}

fn is_at_work(process: &Process) -> bool {
    process.life == Life::Running && process.at != At::Done
}

impl Model for Protocol {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(self.recoveries, self.budget.clone())]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        let budget = &world.budget;
        for (p, process) in world.processes.iter().enumerate() {
            match &process.in_flight {
                None if is_at_work(process) && (process.at != At::Take || self.may_take(world, p)) => {
                    actions.push(Action::Look(p));
                }
                None => {}
                Some(in_flight) if in_flight.sent => {
                    actions.push(Action::Arrive(p));
                    if budget.lost > 0 {
                        actions.extend([Action::AnswerLost(p), Action::RequestLost(p)]);
                    }
                }
                Some(_) if process.life == Life::Running => actions.push(Action::Send(p)),
                Some(_) => {}
            }
            let begun = process.at != At::Take && process.at != At::Done;
            if process.life == Life::Running && begun {
                if budget.crashes > 0 {
                    actions.push(Action::Crash(p));
                }
                if budget.sleeps > 0 {
                    actions.push(Action::Sleep(p));
                }
            }
            if process.life == Life::Asleep {
                actions.push(Action::Wake(p));
            }
        }
        let begun = world.processes[0].at != At::Take;
        if begun && budget.human > 0 {
            actions.extend([Action::HumanWrites, Action::HumanMakes]);
            if world.deleted.is_some() {
                actions.push(Action::HumanTakes);
            }
        }
        if begun && budget.controller > 0 {
            actions.push(Action::ControllerWrites);
        }
    }

    fn next_state(&self, last: &World, action: Action) -> Option<World> {
        let mut world = last.clone();
        match action {
            Action::Look(p) => self.look(&mut world, p),
            Action::Send(p) => world.processes[p].in_flight.as_mut()?.sent = true,
            Action::Arrive(p) | Action::AnswerLost(p) => {
                // With its answer or without, the process looks again: what it came to is read off what is there.
                let in_flight = world.processes[p].in_flight.take()?;
                self.serve(&mut world, p, &in_flight);
                world.budget.lost -= u8::from(action == Action::AnswerLost(p));
            }
            Action::RequestLost(p) => {
                world.processes[p].in_flight = None;
                world.budget.lost -= 1;
            }
            Action::Crash(p) => {
                world.budget.crashes -= 1;
                let process = &mut world.processes[p];
                process.life = Life::Dead;
                process.in_flight.take_if(|in_flight| !in_flight.sent);
            }
            Action::Sleep(p) => {
                world.budget.sleeps -= 1;
                world.processes[p].life = Life::Asleep;
            }
            Action::Wake(p) => world.processes[p].life = Life::Running,
            Action::HumanWrites => {
                world.budget.human -= 1;
                world.applied.value = Value::Others;
                world.applied.version += 1;
            }
            Action::HumanMakes => {
                world.budget.human -= 1;
                let uid = world.next_uid;
                world.next_uid += 1;
                world.created = Some(Object { uid, version: 0, value: Value::Others, mark: Mark::Others });
            }
            Action::HumanTakes => {
                world.budget.human -= 1;
                let object = world.deleted.as_mut()?;
                object.mark = Mark::Others;
                object.version += 1;
            }
            Action::ControllerWrites => {
                world.budget.controller -= 1;
                world.applied.version += 1;
            }
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let [whole, others, early, recovered] = PROMISES;
        vec![
            Property::always(whole, |_, world: &World| {
                !world.is_quiet() || world.journal.is_some() || world.is_old() || world.is_new()
            }),
            Property::always(others, |_, world: &World| !world.harmed),
            Property::always(early, |_, world: &World| {
                let committed = world.journal.as_ref().is_some_and(|journal| journal.phase == Phase::Committed);
                world.deleted.is_some() || committed || world.inventory == Side::After
            }),
            Property::always(recovered, |model: &Self, world: &World| model.is_recovered(world)),
            Property::sometimes("an apply comes through", |_, world: &World| world.is_quiet() && world.is_new()),
            Property::sometimes("an apply is undone", |_, world: &World| {
                world.is_quiet()
                    && world.is_old()
                    && world.journal.is_none()
                    && world.created.is_none()
                    && world.next_uid > 2
            }),
            Property::sometimes("a recovery goes forward", |_, world: &World| {
                world.processes[0].life == Life::Dead && world.journal.is_none() && world.is_new()
            }),
            Property::sometimes("a late create stays and bears our mark", |_, world: &World| {
                world.is_quiet() && world.late_create && world.created.as_ref().is_some_and(|o| o.mark == Mark::Ours)
            }),
        ]
    }
}

impl Protocol {
    /// Whether the next command that writes, which nobody disturbs, leaves no journal behind.
    fn is_recovered(&self, world: &World) -> bool {
        let is_still = |process: &Process| {
            process.in_flight.is_none() && (process.life != Life::Running || matches!(process.at, At::Take | At::Done))
        };
        let next = (1..world.processes.len()).find(|p| world.processes[*p].life == Life::Running);
        let Some(p) = next.filter(|_| world.processes.iter().all(is_still)) else { return true };
        if !self.may_take(world, p) {
            return true;
        }
        let mut world = world.clone();
        self.look(&mut world, p);
        // It ends long before this.
        for _ in 0..100 {
            if world.processes[p].at == At::Take {
                break;
            }
            match world.processes[p].in_flight.take() {
                Some(in_flight) => self.serve(&mut world, p, &in_flight),
                None => self.look(&mut world, p),
            }
        }
        world.journal.is_none()
    }

    /// Whether a process gets the lease: nobody holds it, or the holder doesn't renew it and, as the takeover waits, nothing
    /// that it sent in time is on its way any more.
    fn may_take(&self, world: &World, p: usize) -> bool {
        let Some(holder) = world.holder else { return p == 0 || world.processes[0].at != At::Take };
        let holding = &world.processes[holder];
        let waited = self.is(Mutant::NoWait) || holding.in_flight.as_ref().is_none_or(|in_flight| !in_flight.sent);
        p > 0 && holding.life != Life::Running && waited
    }
}
