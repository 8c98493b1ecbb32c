//! The part of the demo that needs a llama-server: an answer of the tiny model, and what is left
//! of the server afterwards.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use rocload::blocking::Server;
use rocload::http::Endpoint;
use rocload::llama::Item;
use rocload::llama::request::{Chat, Message};
use rocload::serve::Error;
use rocload::serve::find::{self, Found};

use super::{Step, TINY, heading};
use crate::failure::{Failure, Status};
use crate::interrupt;
use crate::server::install;
use crate::serving::{failure, missing, span};
use crate::ui::{FAINT, Ui};

pub(super) const STEPS: &[Step] = &[
    Step {
        about: "Which llama-server is used here, and what does it say of itself?",
        command: &["server", "info"],
        ends: Status::Fine,
        after: "",
    },
    Step {
        about: "An answer of the model, streamed. Its weights are random numbers, and so is what it says.",
        command: &["run", TINY, "--cpu", "--max-tokens", "24", "--temp", "0", "--stats", "hello"],
        ends: Status::Fine,
        after: "",
    },
];

/// The last step's number is this many more.
pub(super) const MORE: usize = STEPS.len() + 1;

/// The server to use, or why there is none; with `fetch` one is installed then.
pub(super) fn server(ui: &mut Ui, fetch: bool) -> Result<Option<Found>, Failure> {
    match find::find(None) {
        Ok(found) => Ok(Some(found)),
        Err(find::Fault::Nowhere { .. }) if fetch => install(ui, false).map(Some),
        Err(find::Fault::Nowhere { .. }) => Ok(None),
        Err(fault) => Err(missing(&fault)),
    }
}

/// Starts a server by the library, asks it, stops it, and looks for what is left of it.
pub(super) fn by_the_library(
    ui: &mut Ui,
    found: &Found,
    number: usize,
    count: usize,
) -> Result<(), Failure> {
    heading(
        ui,
        number,
        count,
        "The same by the library, step by step, and what is left in the end.",
    );
    let model = Path::new(TINY);
    let failed = |error: Error| failure(&error, model);
    let server = Arc::new(Server::builder(model).program(&found.program).start().map_err(failed)?);
    let interrupted = server.clone();
    let _handled = interrupt::handle_by(move |_| {
        let _ = interrupted.kill();
        false
    });
    let ready = server.ready().map_err(failed)?;
    let pid = ready.pid.unwrap_or_default();
    let mut line = |name: &str, text: String| {
        let _ = writeln!(ui.out(), "{FAINT}{name:<8}{FAINT:#} {text}");
    };
    line("ready", format!("process {pid} in {}, at {}", span(ready.load), ready.endpoint));
    let messages = [Message::user("hello")];
    let mut chat = Chat::new(&messages);
    chat.sampling.n_predict = Some(24);
    let mut answer = server.chat(&chat).map_err(failed)?;
    let mut parts = 0;
    while let Some(item) = answer.next().map_err(failed)? {
        parts += u64::from(matches!(item, Item::Text { .. }));
    }
    drop(answer);
    line("answer", format!("came in {parts} parts"));
    let class = server.stop(None).map_err(failed)?;
    line("stopped", class.map_or_else(String::new, |class| class.to_string()));
    let process = Path::new("/proc").join(pid.to_string()).exists();
    let socket = match &ready.endpoint {
        Endpoint::Unix(path) => path.exists(),
        _ => false,
    };
    if process || socket {
        let what = if process { format!("process {pid}") } else { ready.endpoint.to_string() };
        return Err(Failure::new(Status::Failed, "left", format!("{what} is left of the server")));
    }
    line("left", "no process, no socket".into());
    Ok(())
}

/// Says that this part was left out.
pub(super) fn left_out(ui: &mut Ui) {
    let _ = writeln!(
        ui.out(),
        "\n{FAINT}left out:{FAINT:#} an answer of the model, since no llama-server is found here. `rocload demo --fetch` gets one."
    );
}
