//! Memory fit: the verdict is monotone, and it means what it says.

use rocload_core::gguf::fit::{Law, Model, Settings, Unknown, Verdict};

use crate::{Broken, Verdict as Held, require};

/// How good a verdict is.
fn rank(verdict: Verdict) -> (u8, u64) {
    match verdict {
        Verdict::DoesNotFit => (0, 0),
        Verdict::Unknown(_) => (1, 0),
        Verdict::FitsWithCtx(context) => (2, context),
        Verdict::Fits => (3, 0),
    }
}

/// Whether more sequences must not do better: where they share a cache, and where both numbers
/// divide the context in multiples of 256, so that nothing is rounded up.
pub fn comparable(one: &Settings, other: &Settings) -> bool {
    let number = |settings: &Settings| settings.parallel.unwrap_or(4);
    let shared =
        |settings: &Settings| settings.parallel.is_none() || settings.unified.unwrap_or(false);
    let even = |settings: &Settings| {
        settings.context > 0
            && settings.context.is_multiple_of(256)
            && (settings.context / 256).checked_rem(number(settings)) == Some(0)
    };
    number(one) == number(other) || (shared(one) && shared(other)) || (even(one) && even(other))
}

/// A harder task (`more`, which asks for no less of anything) and less memory never do better, and
/// what fits, or cannot, does so by the numbers. Different numbers of sequences are held against
/// each other only where they are [`comparable`].
///
/// # Errors
/// [`Broken`].
pub fn monotone(
    model: &Model<'_>,
    settings: &Settings,
    more: &Settings,
    budgets: [u64; 2],
) -> Held {
    let [small, large] = [budgets[0].min(budgets[1]), budgets[0].max(budgets[1])];
    let (law, harder) = match (Law::new(model, settings), Law::new(model, more)) {
        (Ok(law), Ok(harder)) => (law, harder),
        (Err(Unknown::Settings(_)), _) | (_, Err(Unknown::Settings(_))) => return Ok(()),
        // What is unknown of a model does not become known by asking for more.
        (one, other) => {
            return require(one.is_err() && other.is_err(), "unknown stays unknown", || {
                format!("{one:?} against {other:?}")
            });
        }
    };
    for (law, budget) in [(&law, small), (&law, large), (&harder, small), (&harder, large)] {
        truthful(law, model, budget)?;
    }
    let not_better = |law: &'static str, worse: Verdict, better: Verdict| {
        require(rank(worse).0 <= rank(better).0, law, || format!("{worse:?} against {better:?}"))
    };
    not_better("less memory is not better", law.verdict(small), law.verdict(large))?;
    require(
        law.largest_context(small) <= law.largest_context(large),
        "nor allows more context",
        || format!("{:?} {:?}", law.largest_context(small), law.largest_context(large)),
    )?;
    if !comparable(settings, more) {
        return Ok(());
    }
    not_better("a harder task is not better", harder.verdict(large), law.verdict(large))
}

fn truthful(law: &Law, model: &Model<'_>, budget: u64) -> Held {
    let need = law.need();
    let wrong = |found: String| Err(Broken { law: "a verdict holds by the numbers", found });
    if let (Verdict::Fits, Ok(need)) = (law.verdict(budget), need) {
        let largest = law.largest_context(budget);
        if largest.is_none_or(|largest| largest < need.context) {
            return wrong(format!("{} fits, and {largest:?} is the largest", need.context));
        }
    }
    match (law.verdict(budget), need) {
        (Verdict::Fits, Ok(need)) if need.high().is_none_or(|high| high > budget) => {
            wrong(format!("fits: {need:?} in {budget}"))
        }
        (Verdict::Fits | Verdict::FitsWithCtx(_), Err(error))
            if law.largest_context(budget).is_none() =>
        {
            wrong(format!("{error:?}"))
        }
        (Verdict::DoesNotFit, Ok(need)) if need.low() <= budget => {
            wrong(format!("does not fit: {need:?} in {budget}"))
        }
        (Verdict::FitsWithCtx(context), _) if context % 256 != 0 || model.weights > budget => {
            wrong(format!("with {context} in {budget}"))
        }
        _ => Ok(()),
    }
}
