//! The rules, in the order in which they are tried.

use super::{Class, Evidence, Exit};
use crate::serve::log::Mark;

/// A condition on an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Status 0.
    Success,
    /// One of these statuses.
    Code(i32),
    /// A status that is not 0 and no signal told by a shell, after a line with this mark.
    Failure(Mark),
    /// This signal.
    Signal(i32),
    /// This signal, after a line with this mark.
    SignalAfter(i32, Mark),
    /// This signal, and the kernel killed for memory.
    SignalOom(i32),
    /// Any signal.
    AnySignal,
}

impl How {
    /// Whether an end is of this kind.
    pub fn holds(self, exit: Exit, evidence: &Evidence) -> bool {
        let signal = exit.signal();
        match self {
            How::Success => exit == Exit::Code(0),
            How::Code(code) => exit == Exit::Code(code),
            How::Failure(mark) => signal.is_none() && exit != Exit::Code(0) && evidence.has(mark),
            How::Signal(wanted) => signal == Some(wanted),
            How::SignalAfter(wanted, mark) => signal == Some(wanted) && evidence.has(mark),
            How::SignalOom(wanted) => signal == Some(wanted) && evidence.oom_kill,
            How::AnySignal => signal.is_some(),
        }
    }
}

/// One rule: the first that holds gives the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// When.
    pub how: How,
    /// What it means.
    pub class: Class,
}

const fn rule(how: How, class: Class) -> Rule {
    Rule { how, class }
}

/// What an end means that nobody asked for.
pub const TABLE: &[Rule] = &[
    rule(How::Success, Class::ExitedUnasked),
    rule(How::Failure(Mark::Bind), Class::BindConflict),
    rule(How::Failure(Mark::BadFlag), Class::BadFlag),
    rule(How::Failure(Mark::WrongGpuBuild), Class::WrongGpuBuild),
    rule(How::Failure(Mark::OutOfMemory), Class::OutOfMemory),
    rule(How::Failure(Mark::GpuFault), Class::GpuFault),
    rule(How::Failure(Mark::ModelMissing), Class::ModelMissing),
    rule(How::Failure(Mark::ModelUnsupported), Class::ModelUnsupported),
    rule(How::Failure(Mark::ModelBroken), Class::ModelBroken),
    rule(How::Failure(Mark::LoadFailed), Class::ModelBroken),
    rule(How::Code(126), Class::NotRunnable),
    rule(How::Code(127), Class::NotRunnable),
    rule(How::SignalOom(9), Class::OomKilled),
    rule(How::Signal(9), Class::Killed),
    rule(How::Signal(4), Class::WrongCpuBuild),
    rule(How::SignalAfter(6, Mark::WrongGpuBuild), Class::WrongGpuBuild),
    rule(How::SignalAfter(6, Mark::OutOfMemory), Class::OutOfMemory),
    rule(How::SignalAfter(6, Mark::GpuFault), Class::GpuFault),
    rule(How::SignalAfter(6, Mark::Assertion), Class::Assertion),
    rule(How::Signal(15), Class::Terminated),
    rule(How::Signal(2), Class::Terminated),
    rule(How::Signal(1), Class::Terminated),
    rule(How::AnySignal, Class::Crash),
];
