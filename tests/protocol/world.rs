//! What the model knows: one apply, the commands that recover it, and whoever else writes.
//!
//! The names are those of the code (`target::kubernetes::apply`): phases of the journal, acts of its steps, and the places
//! where an apply, an undo or a recovery stands.

/// Which side of the apply something is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    Before,
    After,
}

/// The declared field of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Value {
    Before,
    After,
    /// Somebody else set it.
    Others,
}

/// The owner mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    /// Of an earlier apply of the Source.
    Earlier,
    /// Of this apply.
    Ours,
    /// None, or another's.
    Others,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Object {
    pub uid: u8,
    pub version: u8,
    pub value: Value,
    pub mark: Mark,
}

/// Where an apply stands, as its journal's head says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    Opening,
    Applying,
    Undoing,
    Committed,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Journal {
    pub phase: Phase,
    pub version: u8,
    /// Whether its body is there: without it nothing can be undone or gone forward with.
    pub body: bool,
    /// All is done but to take it away.
    pub closing: bool,
}

/// What a process does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum At {
    /// Takes the lease; of a recovery also from a holder that doesn't renew it.
    Take,
    ReadJournal,
    OpenJournal,
    WriteJournal,
    Create,
    Apply,
    CommitPoint,
    Prune,
    SwitchSource,
    Close,
    BeginUndo,
    Fence,
    TakeBackApply,
    TakeBackCreate,
    CloseUndone,
    /// It ended by itself.
    Done,
}

/// A request to the API server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Request {
    OpenJournal,
    /// Switches the journal's head, by compare-and-swap.
    SwitchJournal {
        to: Phase,
        version: u8,
    },
    Create,
    Apply {
        uid: u8,
        version: u8,
    },
    Fence {
        version: u8,
    },
    /// Puts the mark back, and the value where it is ours still.
    TakeBackApply {
        version: Option<u8>,
        value: bool,
    },
    /// Deletes what was created; without a UID whatever is there.
    TakeBackCreate {
        exactly: Option<(u8, u8)>,
    },
    Delete {
        uid: u8,
        version: u8,
    },
    SwitchSource,
    /// Says in the head that all is done.
    Closing {
        version: u8,
    },
    DeleteParts,
    DeleteHead,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InFlight {
    pub request: Request,
    /// Whether it left the process; one that sleeps between its look at the clock and this sends it late.
    pub sent: bool,
    /// The lease was taken over meanwhile.
    pub late: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Life {
    Running,
    Asleep,
    Dead,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Process {
    pub at: At,
    pub life: Life,
    pub in_flight: Option<InFlight>,
    /// Whether it moved the object's version already.
    pub fenced: bool,
}

/// How much of everything may still happen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Budget {
    pub crashes: u8,
    pub sleeps: u8,
    pub lost: u8,
    pub human: u8,
    pub controller: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct World {
    /// Updated by the apply.
    pub applied: Object,
    /// Made by it.
    pub created: Option<Object>,
    /// Deleted by it.
    pub deleted: Option<Object>,
    pub inventory: Side,
    pub journal: Option<Journal>,
    pub holder: Option<usize>,
    /// The apply, and then commands that recover.
    pub processes: Vec<Process>,
    pub budget: Budget,
    pub next_uid: u8,
    /// Something of others was deleted or overwritten by a recovery, an undo or a prune.
    pub harmed: bool,
    /// A create arrived that was sent after the lease was taken over: a server that checks no fence can't refuse it.
    pub late_create: bool,
}

impl World {
    pub fn new(recoveries: usize, budget: Budget) -> Self {
        let ours = |uid| Object { uid, version: 0, value: Value::Before, mark: Mark::Earlier };
        let process = |at| Process { at, life: Life::Running, in_flight: None, fenced: false };
        let mut processes = vec![process(At::Take)];
        processes.extend((0..recoveries).map(|_| process(At::Take)));
        Self {
            applied: ours(0),
            created: None,
            deleted: Some(ours(1)),
            inventory: Side::Before,
            journal: None,
            holder: None,
            processes,
            budget,
            next_uid: 2,
            harmed: false,
            late_create: false,
        }
    }

    /// Whether nobody is at work and nothing is on its way.
    pub fn is_quiet(&self) -> bool {
        let quiet =
            |p: &Process| p.in_flight.is_none() && (p.life == Life::Dead || matches!(p.at, At::Done | At::Take));
        self.processes.iter().all(quiet)
    }

    /// Whether all is as before the apply, but for what others did meanwhile.
    pub fn is_old(&self) -> bool {
        let created = self.created.as_ref().is_none_or(|object| object.mark == Mark::Others) || self.late_create;
        self.inventory == Side::Before && self.applied.mark != Mark::Ours && created && self.deleted.is_some()
    }

    /// Whether all is as the apply made it, but for what others did meanwhile.
    pub fn is_new(&self) -> bool {
        let deleted = self.deleted.as_ref().is_none_or(|object| object.mark == Mark::Others);
        self.inventory == Side::After && self.applied.mark == Mark::Ours && self.created.is_some() && deleted
    }
}
