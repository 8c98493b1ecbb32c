//! The project's own model is one: it loads and generates.

use std::fs;
use std::path::Path;

use rocload_fixtures::{fixtures_dir, tiny_llama};
use serde_json::{Value, json};

use crate::server::{Server, program_or_skip};

#[test]
fn the_tiny_model_is_loaded_and_generates() {
    let Some(program) = program_or_skip("the_tiny_model_is_loaded_and_generates") else { return };
    // As the generator makes it, not only as it is committed.
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made.gguf");
    fs::write(&made, tiny_llama::tiny_llama()).unwrap();
    let committed = fixtures_dir().join("gguf/tiny-llama.gguf");
    let texts = [made, committed].map(|model| generate(&program, &model));
    assert_eq!(texts[0], texts[1]);
    assert!(!texts[0].is_empty());
}

fn generate(program: &Path, model: &Path) -> String {
    let server = Server::start(program, model, &["-c", "512", "-np", "1"]);
    let body = json!({"prompt": "Hello", "n_predict": 16, "temperature": 0}).to_string();
    let (status, answer) = server.ask("POST", "/completion", &body);
    let answer: Value =
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"));
    assert_eq!((status, &answer["tokens_predicted"]), (200, &json!(16)), "{answer}");

    // Its chat template is applied, and a conversation is answered.
    let body =
        json!({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 8, "temperature": 0})
            .to_string();
    let (status, chat) = server.ask("POST", "/v1/chat/completions", &body);
    let chat: Value = serde_json::from_str(&chat).unwrap_or_else(|error| panic!("{error}: {chat}"));
    assert_eq!((status, &chat["usage"]["completion_tokens"]), (200, &json!(8)), "{chat}");
    let (status, prompt) = server.ask("POST", "/apply-template", &body);
    assert!(status == 200 && prompt.contains("<|user|>\\nHi<|end|>"), "{prompt}");
    answer["content"].as_str().expect("text").to_owned()
}
