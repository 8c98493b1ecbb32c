//! Why a server ended, what that means, and what to do about it.
//!
//! llama-server ends with status 1 for every fault, so that its last lines tell them apart; a
//! signal tells more, and whether we sent it tells the most. [`TABLE`] has the rules as data,
//! [`classify`] applies them.
//!
//! ```
//! use rocload_core::serve::exit::{Class, Evidence, Exit, Orders, classify};
//! use rocload_core::serve::log;
//!
//! let mut evidence = Evidence::default();
//! evidence.see(&log::fact(b"error: invalid argument: --bogus-flag"));
//! let class = classify(Exit::Code(1), &evidence, Orders::default());
//! assert_eq!(class, Class::BadFlag);
//! assert!(class.is_permanent());
//! // Nobody asked it to end: 0 is no success.
//! let class = classify(Exit::Code(0), &Evidence::default(), Orders::default());
//! assert_eq!(class, Class::ExitedUnasked);
//! ```

use core::fmt;

use super::log::{LogFact, Mark};

mod class;
mod table;

pub use class::{Class, SpawnFault};
pub use table::{How, Rule, TABLE};

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// With this status.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Exit {
    /// The signal that ended it, also where a shell between tells it as 128 and more.
    ///
    /// ```
    /// use rocload_core::serve::exit::Exit;
    ///
    /// assert_eq!(Exit::Code(137).signal(), Some(9));
    /// assert_eq!(Exit::Code(1).signal(), None);
    /// ```
    pub const fn signal(self) -> Option<i32> {
        match self {
            Exit::Signal(signal) => Some(signal),
            Exit::Code(code @ 129..=192) => Some(code - 128),
            Exit::Code(_) => None,
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Exit::Code(code) => write!(f, "status {code}"),
            Exit::Signal(signal) => match signal_name(signal) {
                Some(name) => write!(f, "signal {signal}, {name}"),
                None => write!(f, "signal {signal}"),
            },
        }
    }
}

/// A signal's name, by the numbers of most Linux machines.
pub const fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        5 => "SIGTRAP",
        6 => "SIGABRT",
        7 => "SIGBUS",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        24 => "SIGXCPU",
        31 => "SIGSYS",
        _ => return None,
    })
}

/// What is known of a process beside how it ended: the marks in its lines, and whether the kernel
/// killed something in its cgroup for memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Evidence {
    marks: u32,
    /// The `oom_kill` count of its cgroup rose while it ran.
    pub oom_kill: bool,
}

impl Evidence {
    /// Notes what a line tells.
    pub fn see(&mut self, fact: &LogFact<'_>) {
        if let LogFact::Error { mark: Some(mark), .. } = fact {
            self.marks |= mark.bit();
        }
    }

    /// Whether a line with this mark was seen.
    pub const fn has(&self, mark: Mark) -> bool {
        self.marks & mark.bit() != 0
    }
}

/// What we did to a process before it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Orders {
    /// SIGTERM was sent.
    pub term: bool,
    /// SIGKILL was sent.
    pub kill: bool,
}

/// The meaning of an end.
pub fn classify(exit: Exit, evidence: &Evidence, orders: Orders) -> Class {
    let ours = orders.term || orders.kill;
    match (exit, exit.signal()) {
        (_, Some(9)) if orders.kill => return Class::KilledByUs,
        // Before it handles signals, SIGTERM simply ends it; so it does with some launchers.
        (Exit::Code(0), _) | (_, Some(2 | 15)) if ours => return Class::StoppedClean,
        _ => {}
    }
    let rule = TABLE.iter().find(|rule| rule.how.holds(exit, evidence));
    rule.map_or(Class::Failed, |rule| rule.class)
}

#[cfg(test)]
mod tests;
