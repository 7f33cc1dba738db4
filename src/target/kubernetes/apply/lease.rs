//! The lock of one Source: a Lease that its holder renews, and that another takes over when it was not renewed.
//!
//! The API server checks no fence. A holder therefore writes only while both its clocks leave more than a write's time-out
//! of the lease, and who takes over waits until a lease has not moved for its whole duration.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::base::clock::{Clock, Moment};
use crate::base::ids::SourceId;
use crate::target::TargetError;
use crate::target::kubernetes::connection::Connection;
use crate::target::kubernetes::request::{self, Ask, Failed, JSON, escaped};

/// How long a lease holds, and how it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Timing {
    /// How long a lease holds after it was renewed.
    pub(in super::super) holds: Duration,
    /// How often it is renewed.
    pub(in super::super) renewed: Duration,
    /// How much of it a write must leave when it begins.
    pub(in super::super) margin: Duration,
    /// How long a write may take to be answered: less than the margin.
    pub(in super::super) write: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self::of(Duration::from_secs(30))
    }
}

impl Timing {
    /// That of leases which hold so long.
    pub(in super::super) fn of(holds: Duration) -> Self {
        Self { holds, renewed: holds / 6, margin: holds * 5 / 9, write: holds / 2 }
    }
}

/// How long a look at a held lease waits before the next one.
const LOOK: Duration = Duration::from_millis(250);

/// When the lease was last renewed, by both clocks.
struct Renewed {
    at: Instant,
    wall: Moment,
}

struct Shared {
    renewed: Mutex<Renewed>,
    lost: AtomicBool,
}

/// A lease that is held.
pub(in super::super) struct Lock {
    url: String,
    holder: String,
    client: kube::Client,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
    timing: Timing,
    clock: Arc<dyn Clock>,
}

/// What a lease says.
fn holder(lease: &Value) -> &str {
    lease.pointer("/spec/holderIdentity").and_then(Value::as_str).unwrap_or_default()
}

fn with_holder(lease: &Value, holder: &str, timing: Timing, now: Moment) -> Value {
    let mut lease = lease.clone();
    let changes = lease.pointer("/spec/leaseTransitions").and_then(Value::as_i64).unwrap_or(0);
    let time = now.rfc3339_micros();
    lease["spec"] = json!({
        "holderIdentity": holder,
        "leaseDurationSeconds": timing.holds.as_secs().max(1),
        "acquireTime": time,
        "renewTime": time,
        "leaseTransitions": changes.saturating_add(1),
    });
    lease
}

impl Lock {
    /// Takes the lease of a Source, and waits at most so long for another holder.
    pub(in super::super) async fn take(
        on: &Connection,
        source: &SourceId,
        wait: Duration,
    ) -> Result<Self, TargetError> {
        let (timing, clock) = (on.timing, on.clock.clone());
        let collection = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", escaped(&on.state_namespace));
        let name = format!("source.{source}");
        let url = format!("{collection}/{name}");
        let ours = format!("holdfast-{}", uuid::Uuid::new_v4());
        let until = Instant::now() + wait;
        let mut seen: Option<(String, Instant)> = None;
        let renewed = loop {
            let failed = |failed: &Failed| on.unavailable("the lease of a Source can't be taken", failed);
            let asked = Renewed { at: Instant::now(), wall: clock.now() };
            let lease = match on.send(&Ask::get(&url, JSON)).await {
                Ok(answer) => Some(parse(on, &answer.body)?),
                Err(e) if e.code() == Some(404) => None,
                Err(e) => return Err(failed(&e)),
            };
            let answer = match &lease {
                None => {
                    let new =
                        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}});
                    let new = with_holder(&new, &ours, timing, clock.now());
                    on.send(&Ask::send(Method::POST, collection.clone(), JSON, &new)).await
                }
                Some(lease) => {
                    let version = super::journal::version(lease).to_owned();
                    let since = match &seen {
                        Some((last, since)) if *last == version => *since,
                        _ => {
                            seen = Some((version, Instant::now()));
                            Instant::now()
                        }
                    };
                    let free = holder(lease).is_empty() || holder(lease) == ours || since.elapsed() >= held_for(lease);
                    if !free {
                        if Instant::now() >= until {
                            return Err(TargetError::Locked {
                                target: on.shown.clone(),
                                reason: format!(
                                    "its Source is being applied by {}; waited {} s",
                                    crate::base::text::escape(holder(lease)),
                                    wait.as_secs()
                                ),
                            });
                        }
                        tokio::time::sleep(LOOK).await;
                        continue;
                    }
                    on.send(&Ask::send(Method::PUT, url.clone(), JSON, &with_holder(lease, &ours, timing, clock.now())))
                        .await
                }
            };
            match answer {
                Ok(_) => break asked,
                // Somebody was faster, or it isn't known who was: the next look says.
                Err(Failed::Lost(_)) => {}
                Err(e) if e.code() == Some(409) => {}
                Err(e) => return Err(failed(&e)),
            }
            if Instant::now() >= until + timing.holds {
                return Err(TargetError::Locked { target: on.shown.clone(), reason: "its lease can't be had".into() });
            }
        };
        let shared = Arc::new(Shared { renewed: Mutex::new(renewed), lost: AtomicBool::new(false) });
        let client = on.client().clone();
        let task = tokio::spawn(keep(client.clone(), url.clone(), ours.clone(), shared.clone(), timing, clock.clone()));
        Ok(Self { url, holder: ours, client, shared, task, timing, clock })
    }

    /// Whether there is time for one more write.
    pub(in super::super) fn may_write(&self) -> bool {
        let renewed = self.shared.renewed.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.timing.holds.saturating_sub(self.timing.margin);
        let wall = self.clock.now().as_millis() - renewed.wall.as_millis();
        !self.shared.lost.load(Ordering::SeqCst)
            && renewed.at.elapsed() < left
            && wall >= 0
            && u128::try_from(wall).is_ok_and(|wall| wall < left.as_millis())
    }

    /// Gives the lease back, so that the next one need not wait.
    pub(in super::super) async fn give_back(self) {
        self.task.abort();
        let Ok(answer) = request::send(&self.client, &Ask::get(&self.url, JSON), self.timing.write).await else {
            return;
        };
        let Ok(mut lease) = serde_json::from_slice::<Value>(&answer.body) else { return };
        if holder(&lease) == self.holder {
            lease["spec"]["holderIdentity"] = "".into();
            // If it can't be given back it runs out by itself.
            drop(
                request::send(&self.client, &Ask::send(Method::PUT, self.url.clone(), JSON, &lease), self.timing.write)
                    .await,
            );
        }
    }
}

fn parse(on: &Connection, body: &[u8]) -> Result<Value, TargetError> {
    request::object(body).map_err(|e| on.damaged(format!("a lease can't be read: {e}")))
}

/// How long a lease holds; one that says nothing holds as long as ours.
fn held_for(lease: &Value) -> Duration {
    let seconds = lease.pointer("/spec/leaseDurationSeconds").and_then(Value::as_u64);
    // A forged lease can't lock anybody out for longer than this.
    seconds.map_or(Timing::default().holds, |s| Duration::from_secs(s.min(120)))
}

/// Renews a lease until it is lost.
async fn keep(
    client: kube::Client,
    url: String,
    ours: String,
    shared: Arc<Shared>,
    timing: Timing,
    clock: Arc<dyn Clock>,
) {
    loop {
        tokio::time::sleep(timing.renewed).await;
        let asked = Renewed { at: Instant::now(), wall: clock.now() };
        let Ok(answer) = request::send(&client, &Ask::get(&url, JSON), timing.write).await else { continue };
        let Ok(mut lease) = serde_json::from_slice::<Value>(&answer.body) else { continue };
        if holder(&lease) != ours {
            shared.lost.store(true, Ordering::SeqCst);
            return;
        }
        lease["spec"]["renewTime"] = clock.now().rfc3339_micros().into();
        if request::send(&client, &Ask::send(Method::PUT, url.clone(), JSON, &lease), timing.write).await.is_ok() {
            *shared.renewed.lock().unwrap_or_else(PoisonError::into_inner) = asked;
        }
    }
}
