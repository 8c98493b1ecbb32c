//! Starts a llama-server, asks it something, and stops it: `chat_tokio MODEL PROMPT`.

use std::io::{Write as _, stdout};

use rocload::llama::Item;
use rocload::llama::request::{Chat, Message};
use rocload::tokio::Server;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let (Some(model), Some(prompt)) = (args.next(), args.next()) else {
        return Err("usage: chat_tokio MODEL PROMPT".into());
    };
    let prompt = prompt.to_string_lossy();

    let server = Server::builder(model).start().await?;
    let messages = [Message::user(&prompt)];
    let mut chat = Chat::new(&messages);
    chat.sampling.n_predict = Some(64);
    let mut answer = server.chat(&chat).await?;
    while let Some(item) = answer.next().await? {
        if let Item::Text { text, .. } = item {
            print!("{text}");
            stdout().flush()?;
        }
    }
    println!();
    server.stop(None).await?;
    Ok(())
}
