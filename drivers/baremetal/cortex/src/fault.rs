//! A hard fault ends the run as a failure, instead of in a loop.

use common::tell;
use cortex_m_rt::{ExceptionFrame, exception};
use cortex_m_semihosting::debug::{EXIT_FAILURE, exit};

// SAFETY: the handler neither returns nor touches anything that the code before it was using.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    let _ = tell!(&mut crate::Console::open(), "FAILED: fault at ", u64::from(frame.pc()));
    exit(EXIT_FAILURE);
    crate::halt()
}
