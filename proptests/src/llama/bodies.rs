//! The server's answers about itself, read by views and by the crate `serde_json`.

use rocload_core::Limits;
use rocload_core::llama::json::{self, Str, Value};
use rocload_core::llama::{
    Embeddings, ErrorBody, Health, Models, Props, Slots, Tokens, detokenized, templated,
};
use serde_json::Value as Theirs;

use crate::{Verdict, require, same};

/// A body of any kind, as each of the answers: what the views find are the oracle's values, lists
/// are as long as its arrays, and what is no answer is refused. Bodies in which a member's name
/// stands twice are left out: the two do not take the same one.
///
/// # Errors
/// [`Broken`](crate::Broken).
pub fn read_as_the_oracle(status: u16, body: &[u8]) -> Verdict {
    let limits = Limits::default();
    let (health, again) = (Health::read(status, body), Health::read(status, body));
    same("health is the same again", &health, &again)?;
    let told = ErrorBody::read(status, body, &limits);
    same("an error has its status", &told.status, &status)?;
    require(told.snippet.len() <= body.len(), "a snippet is of the body", String::new)?;
    let checked = json::check(body, 0, &limits);
    let theirs = serde_json::from_slice::<Theirs>(body);
    let (Ok(value), Ok(theirs)) = (checked, theirs) else {
        if checked.is_err() {
            let any = Props::read(body, &limits).is_ok()
                || Slots::read(body, &limits).is_ok()
                || Models::read(body, &limits).is_ok()
                || Tokens::read(body, &limits).is_ok()
                || Embeddings::read(body, &limits).is_ok()
                || detokenized(body, &limits).is_ok()
                || templated(body, &limits).is_ok();
            return require(!any, "what is no JSON is no answer", String::new);
        }
        return Ok(());
    };
    if count(value) != count_theirs(&theirs) {
        return Ok(());
    }
    props(body, &theirs, &limits)?;
    lists(body, &theirs, &limits)?;
    for (found, name) in
        [(detokenized(body, &limits), "content"), (templated(body, &limits), "prompt")]
    {
        text("a text is the oracle's", found.ok(), theirs.get(name))?;
    }
    Ok(())
}

fn props(body: &[u8], theirs: &Theirs, limits: &Limits) -> Verdict {
    let props = Props::read(body, limits);
    same("properties are an object", &props.is_ok(), &theirs.is_object())?;
    let Ok(props) = props else { return Ok(()) };
    let settings = theirs.get("default_generation_settings");
    whole(props.total_slots, theirs.get("total_slots"))?;
    whole(props.n_ctx, settings.and_then(|settings| settings.get("n_ctx")))?;
    text("a path is the oracle's", props.model_path, theirs.get("model_path"))?;
    text("a template is the oracle's", props.chat_template, theirs.get("chat_template"))?;
    let sleeping = theirs.get("is_sleeping").and_then(Theirs::as_bool);
    same("a flag is the oracle's", &props.is_sleeping, &sleeping)
}

fn lists(body: &[u8], theirs: &Theirs, limits: &Limits) -> Verdict {
    let slots = Slots::read(body, limits);
    same("slots are an array", &slots.is_ok(), &theirs.is_array())?;
    if let (Ok(slots), Some(array)) = (slots, theirs.as_array()) {
        let slots: Vec<_> = slots.take(array.len() + 1).collect();
        same("there are as many slots as elements", &slots.len(), &array.len())?;
        for (slot, element) in slots.iter().zip(array) {
            whole(slot.id, element.get("id"))?;
            whole(slot.n_ctx, element.get("n_ctx"))?;
        }
    }
    let data = theirs.get("data").and_then(Theirs::as_array);
    let models = Models::read(body, limits);
    same("models are the array `data`", &models.is_ok(), &data.is_some())?;
    if let (Ok(models), Some(data)) = (models, data) {
        let named: Vec<&Theirs> =
            data.iter().filter(|model| model.get("id").is_some_and(Theirs::is_string)).collect();
        let models: Vec<_> = models.take(data.len() + 1).collect();
        same("there are as many models as have names", &models.len(), &named.len())?;
        for (model, element) in models.iter().zip(named) {
            text("a name is the oracle's", Some(model.id), element.get("id"))?;
        }
    }
    let tokens = theirs.get("tokens").and_then(Theirs::as_array);
    if let Ok(read) = Tokens::read(body, limits) {
        let count = read.clone().count();
        same("there are as many tokens as elements", &Some(count), &tokens.map(Vec::len))?;
        let mut room = vec![0; body.len()];
        for piece in read.filter_map(|token| token.piece) {
            let len = piece.copy_into(&mut room);
            require(len.is_ok(), "a piece is shorter than its text", || format!("{len:?}"))?;
        }
    }
    if let Ok(vectors) = Embeddings::read(body, limits) {
        let count = vectors.clone().count();
        same("there are as many vectors as elements", &Some(count), &data.map(Vec::len))?;
        let numbers: usize = vectors.map(Iterator::count).sum();
        require(numbers < body.len(), "components are bounded by the bytes", || {
            format!("{numbers}")
        })?;
    }
    Ok(())
}

fn whole(found: Option<u64>, theirs: Option<&Theirs>) -> Verdict {
    match theirs {
        Some(Theirs::Number(number)) if number.as_u64().is_none() => Ok(()),
        theirs => same("a number is the oracle's", &found, &theirs.and_then(Theirs::as_u64)),
    }
}

fn text(law: &'static str, found: Option<Str<'_>>, theirs: Option<&Theirs>) -> Verdict {
    let found = found.map(|found| found.chars().collect::<String>());
    same(law, &found.as_deref(), &theirs.and_then(Theirs::as_str))
}

/// Members of all objects.
fn count(value: Value<'_>) -> usize {
    let members: usize = value.members().map(|(_, member)| 1 + count(member)).sum();
    members + value.elements().map(count).sum::<usize>()
}

fn count_theirs(value: &Theirs) -> usize {
    match value {
        Theirs::Object(members) => members.values().map(|member| 1 + count_theirs(member)).sum(),
        Theirs::Array(elements) => elements.iter().map(count_theirs).sum(),
        _ => 0,
    }
}
