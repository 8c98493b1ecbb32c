//! Work on several threads whose results are used in order, with bounded memory.
//!
//! Workers take the next job and may run ahead of the one whose result is used next, by so many
//! jobs and so many bytes. A job larger than that allowance runs when nothing is ahead of it.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Jobs that may be ahead of the one whose result is used next, for each thread.
const AHEAD: usize = 32;

struct State<T> {
    /// The job to be taken next, and the one whose result is used next.
    next: usize,
    used: usize,
    /// What the jobs in between weigh.
    weight: u64,
    done: BTreeMap<usize, T>,
    stopped: bool,
}

struct Line<'w, T> {
    state: Mutex<State<T>>,
    /// Results are there, or all is over.
    ready: Condvar,
    /// A result was used, or all is over.
    room: Condvar,
    weights: &'w [u64],
    ahead: usize,
    budget: u64,
}

impl<T> Line<'_, T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // A panic elsewhere is passed on when the threads are joined.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job, once it may be begun.
    fn take(&self) -> Option<usize> {
        let mut state = self.lock();
        loop {
            let job = state.next;
            let weight = *self.weights.get(job)?;
            if state.stopped {
                return None;
            }
            let within =
                job < state.used + self.ahead && state.weight.saturating_add(weight) <= self.budget;
            if within || job == state.used {
                state.next += 1;
                state.weight = state.weight.saturating_add(weight);
                return Some(job);
            }
            self.ready.notify_one();
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Stores a result. The thread that uses them is not woken for each: for many at once, when
    /// somebody waits for room, and for each of the last ones.
    fn store(&self, job: usize, result: T) {
        let mut state = self.lock();
        state.done.insert(job, result);
        let last = state.next >= self.weights.len();
        let many = state.done.len() * 2 >= self.ahead;
        drop(state);
        if last || many {
            self.ready.notify_one();
        }
    }

    /// The result to be used next; `None` once there are no more.
    fn result(&self) -> Option<(usize, T)> {
        let mut state = self.lock();
        loop {
            let job = state.used;
            if let Some(result) = state.done.remove(&job) {
                return Some((job, result));
            }
            if state.stopped || job >= self.weights.len() {
                return None;
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn used(&self, job: usize) {
        let mut state = self.lock();
        state.used = job + 1;
        state.weight = state.weight.saturating_sub(self.weights[job]);
        drop(state);
        // Costs nothing where nobody waits.
        self.room.notify_all();
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.ready.notify_all();
        self.room.notify_all();
    }
}

/// Stops everybody when a thread panics: nobody waits for a result that will not come.
struct StopOnPanic<'l, 'w, T>(&'l Line<'w, T>);

impl<T> Drop for StopOnPanic<'_, '_, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

/// Does `work` for each job, of which there are as many as `weights`, on `threads` threads, and
/// calls `consume` with the results in the order of the jobs, on this thread. Results that wait
/// and jobs under way weigh `budget` together at most, unless a single one weighs more. A break
/// ends everything.
pub(crate) fn ordered<S, T: Send, B>(
    weights: &[u64],
    threads: NonZeroUsize,
    budget: u64,
    begin: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> T + Sync,
    mut consume: impl FnMut(usize, T) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let threads = threads.get().min(weights.len());
    if threads <= 1 {
        let mut means = begin();
        return (0..weights.len()).try_for_each(|job| consume(job, work(&mut means, job)));
    }
    let line = Line {
        state: Mutex::new(State {
            next: 0,
            used: 0,
            weight: 0,
            done: BTreeMap::new(),
            stopped: false,
        }),
        ready: Condvar::new(),
        room: Condvar::new(),
        weights,
        ahead: threads.saturating_mul(AHEAD),
        budget,
    };
    thread::scope(|scope| {
        let run = || {
            let _guard = StopOnPanic(&line);
            let mut means = begin();
            while let Some(job) = line.take() {
                line.store(job, work(&mut means, job));
            }
        };
        for _ in 0..threads {
            scope.spawn(run);
        }
        let _guard = StopOnPanic(&line);
        while let Some((job, result)) = line.result() {
            if let ControlFlow::Break(value) = consume(job, result) {
                line.stop();
                return ControlFlow::Break(value);
            }
            line.used(job);
        }
        ControlFlow::Continue(())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    use super::*;

    fn threads(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    #[test]
    fn results_come_in_order_and_within_the_budget() {
        let weights: Vec<u64> = (0..500).map(|job| job * 7 % 50).collect();
        for n in [1, 2, 5, 1000] {
            let (held, most) = (AtomicU64::new(0), AtomicU64::new(0));
            let mut seen = Vec::new();
            let flow: ControlFlow<()> = ordered(
                &weights,
                threads(n),
                100,
                || (),
                |(), job| {
                    let now = held.fetch_add(weights[job], Ordering::SeqCst) + weights[job];
                    most.fetch_max(now, Ordering::SeqCst);
                    job * 2
                },
                |job, result| {
                    assert_eq!(result, job * 2);
                    held.fetch_sub(weights[job], Ordering::SeqCst);
                    seen.push(job);
                    ControlFlow::Continue(())
                },
            );
            assert!(flow.is_continue());
            assert_eq!(seen, (0..500).collect::<Vec<_>>());
            assert!(most.into_inner() <= 100, "{n} threads");
        }
    }

    #[test]
    fn what_is_over_the_budget_runs_alone() {
        let weights = [5, 1000, 5, 1000, 1000, 5];
        let held = AtomicU64::new(0);
        let mut count = 0;
        let _ = ordered(
            &weights,
            threads(3),
            10,
            || (),
            |(), job| {
                let before = held.fetch_add(weights[job], Ordering::SeqCst);
                assert!(
                    before == 0 || before + weights[job] <= 10,
                    "{before} and {}",
                    weights[job]
                );
            },
            |job, ()| {
                held.fetch_sub(weights[job], Ordering::SeqCst);
                count += 1;
                ControlFlow::<()>::Continue(())
            },
        );
        assert_eq!(count, 6);
    }

    #[test]
    fn a_break_stops_the_others_soon() {
        let begun = AtomicUsize::new(0);
        let weights = vec![1; 100_000];
        let work = |(): &mut (), _| begun.fetch_add(1, Ordering::SeqCst);
        let consume =
            |job, _| if job == 10 { ControlFlow::Break(job) } else { ControlFlow::Continue(()) };
        let flow = ordered(&weights, threads(2), u64::MAX, || (), work, consume);
        assert_eq!(flow, ControlFlow::Break(10));
        assert!(begun.into_inner() <= 10 + 2 * AHEAD + 2);
    }

    #[test]
    fn a_panic_is_passed_on_and_nobody_waits() {
        for panics_in_work in [true, false] {
            let ran = std::panic::catch_unwind(|| {
                ordered(
                    &[1; 100],
                    threads(2),
                    u64::MAX,
                    || (),
                    |(), job| assert!(!panics_in_work || job != 30, "on purpose"),
                    |job, ()| {
                        assert!(panics_in_work || job != 30, "on purpose");
                        ControlFlow::<()>::Continue(())
                    },
                )
            });
            assert!(ran.is_err());
        }
    }

    #[test]
    fn without_jobs_nothing_is_done() {
        let flow: ControlFlow<()> =
            ordered(&[], threads(4), 0, || (), |(), _| unreachable!(), |_, ()| unreachable!());
        assert!(flow.is_continue());
    }
}
