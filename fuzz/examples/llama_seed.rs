//! Writes seeds for `llama_chunk` and `json_scan`, from the fixtures:
//! `cargo run -p rocload-fuzz --example llama_seed -- FOLDER`.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::Path;

use rocload_fixtures::fixtures_dir;

/// Events and answers that captures of one small model do not have.
const MORE: &[&str] = &[
    r#"{"choices":[{"index":0,"delta":{"reasoning_content":"a\n\ud83d\ude00\ud800"}}]}"#,
    r#"{"choices":[{"index":1,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}}]}}]}"#,
    r#"{"content":"","tokens":[],"stop":true,"stop_type":"word","stopping_word":"\t","truncated":true}"#,
    r#"{"type":"content_block_start","content_block":{"type":"tool_use","id":"c","name":"f","input":{"a":[]}}}"#,
    r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
    r#"{"type":"response.output_item.added","item":{"type":"function_call","call_id":"c","name":"f"}}"#,
    r#"{"type":"response.failed","response":{"error":{"code":"x","message":"\"m\""}}}"#,
    r#"{"error":"m","choices":null}"#,
    r#"[1e-7,-0,0.5E+3,true,false,null,"\\\"\/\b\f\u00e9",{},[]]"#,
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: llama_seed FOLDER")?;
    let folder = Path::new(&folder);
    let mut texts = BTreeSet::new();
    for entry in fs::read_dir(fixtures_dir().join("sse"))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "http") {
            continue;
        }
        let response = String::from_utf8(fs::read(&path)?)?;
        let (_, body) = response.split_once("\r\n\r\n").ok_or("no head")?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // Lines that are the size of a chunk are left in: they are unknown fields.
        let cut = body.char_indices().map(|(at, _)| at).find(|at| *at > 3000);
        write(folder, "llama_chunk", &name, &body[..cut.unwrap_or(body.len())])?;
        for line in body.lines() {
            let text = line.strip_prefix("data: ").unwrap_or(line);
            if text.starts_with(['{', '[']) && text.len() < 4000 {
                let shape: String = text.chars().filter(|c| !c.is_ascii_digit()).take(90).collect();
                if texts.insert(shape) && texts.len() <= 60 {
                    write(folder, "json_scan", &format!("{name}-{}", texts.len()), text)?;
                }
            }
        }
    }
    for (at, text) in MORE.iter().enumerate() {
        write(folder, "json_scan", &format!("more-{at}"), text)?;
        write(folder, "llama_chunk", &format!("more-{at}"), &format!("data: {text}\r\n\r\n"))?;
    }
    let more = "error: {\"code\":400,\"message\":\"m\"}\n\ndata: : ping\n\nevent: error\ndata: {}\n\ndata: [DONE]";
    write(folder, "llama_chunk", "fields", more)
}

fn write(folder: &Path, target: &str, name: &str, text: &str) -> Result<(), Box<dyn Error>> {
    let folder = folder.join(target);
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join(name), text)?)
}
