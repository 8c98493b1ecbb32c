//! How a server is started: arguments and environment.

use rocload_core::serve::environment::{Environment, Fate};
use rocload_core::serve::plan::{Endpoint, Plan, Settings};

use crate::{Verdict, require, same};

/// Settings are refused, or become arguments: the same again, no empty or broken one among them,
/// each flag once but for what the caller adds, and that last and as it is.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn arguments_are_sound(settings: &Settings<'_>) -> Verdict {
    let Ok(plan) = Plan::new(settings, None) else { return Ok(()) };
    let args = plan.to_vec();
    same("the same settings give the same arguments", &plan.to_vec(), &args)?;
    require(!args.iter().any(|arg| arg.contains(&0)), "no argument has a zero", || {
        format!("{args:?}")
    })?;
    let own = args.len().checked_sub(settings.extra.len());
    let Some(own) = own else {
        return require(false, "further arguments are passed", || format!("{args:?}"));
    };
    require(
        args[own..].iter().map(Vec::as_slice).eq(settings.extra.iter().copied()),
        "further arguments come last, as they are",
        || format!("{args:?}"),
    )?;
    same(
        "the model comes first",
        &&args[..2],
        &&[b"--model".to_vec(), settings.model.to_vec()][..],
    )?;
    let host = match settings.endpoint {
        Endpoint::Tcp { host, .. } => host.as_bytes(),
        Endpoint::Unix(path) => path,
    };
    let values = [settings.model, settings.alias.unwrap_or_default().as_bytes(), host];
    let mut flags: Vec<&[u8]> = args[..own].iter().map(Vec::as_slice).collect();
    flags.retain(|arg| arg.starts_with(b"--") && !values.contains(arg));
    let count = flags.len();
    flags.sort_unstable();
    flags.dedup();
    same("each flag is given once", &flags.len(), &count)
}

/// An environment: what is set is there and stands once, what is kept was given, secrets of the
/// server's settings never pass.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn environment_is_sound(environment: &Environment<'_>, given: &[(&[u8], &[u8])]) -> Verdict {
    let built: Vec<_> = environment.build(given.iter().copied()).collect();
    let set: Vec<_> = environment.set().collect();
    for variable in &set {
        let name = variable.name.as_bytes();
        let all: Vec<_> = built.iter().filter(|(found, _)| *found == name).collect();
        let one = matches!(all[..], [(_, value)] if *value == variable.value.as_bytes());
        require(one, "what is set stands once, as it was set", || {
            format!("{variable:?}, {all:?}")
        })?;
    }
    let kept = &built[..built.len() - set.len()];
    let expected: Vec<_> =
        given.iter().copied().filter(|(name, _)| environment.fate(name).is_kept()).collect();
    same("what is kept is what was given, in its order", &kept, &&expected[..])?;
    for (name, _) in given {
        let fate = environment.fate(name);
        let replaced = matches!(fate, Fate::Replaced(_));
        let is_set = set.iter().any(|variable| variable.name.as_bytes() == *name);
        require(!replaced || is_set, "what is replaced is set", || format!("{name:?} {fate:?}"))?;
        require(!is_set || !fate.is_kept(), "what is set is not kept too", || format!("{name:?}"))?;
        let setting = name.starts_with(b"LLAMA_ARG_") || name.starts_with(b"LLAMA_SERVER_");
        require(!setting || !fate.is_kept(), "no setting passes by the environment", || {
            format!("{name:?}")
        })?;
    }
    Ok(())
}
