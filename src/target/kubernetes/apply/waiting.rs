//! Waits at the gates of an apply until what it wrote is healthy.

use std::time::{Duration, Instant};

use super::journal::Step;
use super::writer::Session;
use crate::base::failpoint;
use crate::base::interrupt::Interrupt;
use crate::base::map::{HashMap, HashSet};
use crate::base::resource::ResourceId;
use crate::target::kubernetes::objects::{self, Depth, Manner};
use crate::target::{Gate, Passing, TargetError};

/// Between the first two looks; each later one takes twice as long to come, up to [`LONGEST`].
const FIRST: Duration = Duration::from_millis(100);
/// Longest time between two looks.
const LONGEST: Duration = Duration::from_secs(2);

impl Session<'_> {
    /// Looks at what a gate waits for until all of it is healthy, or something won't be.
    pub(super) async fn pass(&self, gate: &Gate, steps: &[Step], interrupt: &Interrupt) -> Result<(), TargetError> {
        let versions = steps.iter().filter_map(|step| Some((step.id.clone(), step.api_version()?.to_owned())));
        let accounts = steps.iter().filter_map(|step| Some((step.id.clone(), step.account.clone()?)));
        let manner = Manner { versions: versions.collect(), accounts: accounts.collect() };
        let began = Instant::now();
        let (mut waits, mut pause) = (gate.waits.clone(), FIRST);
        failpoint::hit(failpoint::WAITING);
        loop {
            let ids: Vec<&ResourceId> = waits.iter().map(|wait| &wait.id).collect();
            let sure: HashSet<ResourceId> = ids.iter().map(|id| (*id).clone()).collect();
            let waited = began.elapsed();
            let live: HashMap<ResourceId, _> = objects::read(self.on, &ids, Depth::Whole, &manner, &sure).await?;
            match Gate::judge(&waits, waited, |id| live.get(id)) {
                Passing::Open => return Ok(()),
                Passing::Shut(faults) => return Err(TargetError::Refused { faults }),
                Passing::Waiting(left) => waits = left,
            }
            if interrupt.is_raised() {
                let ids = waits.iter().map(|wait| wait.id.to_string()).collect::<Vec<_>>().join(", ");
                return Err(self.on.write_failed(format!("it was asked to stop while it waited for {ids}")));
            }
            self.may_write()?;
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST);
        }
    }
}
