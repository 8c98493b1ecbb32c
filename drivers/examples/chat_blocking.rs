//! Starts a llama-server, asks it something, and stops it: `chat_blocking MODEL PROMPT`.

use std::io::{Write as _, stdout};

use rocload::blocking::Server;
use rocload::llama::Item;
use rocload::llama::request::{Chat, Message};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let (Some(model), Some(prompt)) = (args.next(), args.next()) else {
        return Err("usage: chat_blocking MODEL PROMPT".into());
    };
    let prompt = prompt.to_string_lossy();

    let server = Server::builder(model).start()?;
    let messages = [Message::user(&prompt)];
    let mut chat = Chat::new(&messages);
    chat.sampling.n_predict = Some(64);
    let mut answer = server.chat(&chat)?;
    while let Some(item) = answer.next()? {
        if let Item::Text { text, .. } = item {
            print!("{text}");
            stdout().flush()?;
        }
    }
    println!();
    server.stop(None)?;
    Ok(())
}
