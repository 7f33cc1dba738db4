//! SIGINT and SIGTERM ask to stop; what is being committed is not torn.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::apply::Interrupt;

/// Makes the first signal ask and the second end the process at once: no commit can be torn by either.
pub(crate) fn listen() -> std::io::Result<Interrupt> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&asked))?;
        signal_hook::flag::register(signal, Arc::clone(&asked))?;
    }
    Ok(Interrupt::on(asked))
}
