//! Writes seeds of the targets whose inputs are models, and of those that read short texts, into
//! `FOLDER/<target>/`.
//!
//! ```text
//! cargo run -p rocload-fuzz --example model_seed -- FOLDER
//! ```

use std::error::Error;
use std::fs;
use std::path::Path;

use laws::random::Random;

/// Models: their bytes are choices.
const MODELS: [&str; 10] = [
    "gguf_fit",
    "gguf_header",
    "gguf_write",
    "http_deadline",
    "http_reply",
    "http_request",
    "kpack_model",
    "llama_events",
    "llama_request",
    "zstd_blocks",
];

const TEXTS: &[(&str, &str, &[u8])] = &[
    ("llama_bodies", "health", b"\xc8\0{\"status\":\"ok\"}"),
    ("llama_bodies", "loading", b"\xf7\x01{\"error\":{\"code\":503,\"message\":\"Loading model\",\"type\":\"unavailable_error\"}}"),
    ("llama_bodies", "props", b"\xc8\0{\"total_slots\":4,\"default_generation_settings\":{\"n_ctx\":512},\"model_path\":\"/m.gguf\",\"chat_template\":\"{{x}}\",\"is_sleeping\":false,\"modalities\":{\"vision\":true,\"audio\":false}}"),
    ("llama_bodies", "slots", b"\xc8\0[{\"id\":0,\"n_ctx\":512,\"is_processing\":true,\"id_task\":-1,\"next_token\":[{\"n_decoded\":3}]},{\"id\":1}]"),
    ("llama_bodies", "models", b"\xc8\0{\"data\":[{\"id\":\"m\",\"status\":{\"value\":\"loaded\"},\"meta\":{\"n_vocab\":32,\"size\":100}}]}"),
    ("llama_bodies", "tokens", b"\xc8\0{\"tokens\":[1,{\"id\":2,\"piece\":\"a\"},{\"id\":3,\"piece\":[226,130]}]}"),
    ("llama_bodies", "embeddings", b"\xc8\0{\"data\":[{\"embedding\":[0.5,-1],\"index\":0},{\"embedding\":[],\"index\":1}]}"),
    ("llama_bodies", "text", b"\xc8\0{\"content\":\"a\\u00e9\",\"prompt\":\"<s>\"}"),
    ("llama_bodies", "page", b"\xf6\x01<html>Bad Gateway</html>"),
    ("visible_devices", "ordinals", b"\x240,2,1"),
    ("visible_devices", "ids", b"\x24GPU-0000000000000070,gpu-1f2e,GPU-F"),
    ("visible_devices", "end", b"\x240,-1,1"),
    ("visible_devices", "again", b"\x240,0"),
    ("visible_devices", "odd", b"\x24 +1,010,0x1,,"),
    ("serve_lines", "start", b"0.00.034.860 I srv    load_model: loading model 'm.gguf'\n0.07.325.487 I srv  llama_server: listening on unix:///s.sock\n"),
    ("serve_lines", "bind", b"0.00.002.770 E srv         start: couldn't bind HTTP server socket, hostname: s.sock, port: 8080\r\n"),
    ("serve_lines", "broken", b"0.00.179.530 E cmn  common_init_: failed to load model 'm.gguf'\n"),
    ("serve_lines", "buffers", b"load_tensors:   CPU_Mapped model buffer size =   100.00 MiB\nllama_kv_cache:      ROCm0 KV buffer size =    12.50 MiB\n"),
    ("serve_start", "socket", b"\0\x04m.gguf\n/run/x.sock\n\n0\n\nPATH=/bin\nLLAMA_ARG_CTX_SIZE=1\n"),
    ("serve_start", "tcp", b"\x79\x04m.gguf\n127.0.0.1\nname\n0,1\nkey\nROCR_VISIBLE_DEVICES=1\nLLAMA_API_KEY=old\nHIP_X=1\n--no-webui\n-ngl\n"),
    ("serve_start", "refused", b"\0\0m.gguf\n/x.sock\n\n\n\n--port\n--model\n"),
    ("serve_start", "odd", b"\xff\xffm\xff\n/x.sock\n\n\xff\n\n=x\nHIP_VISIBLE_DEVICES\n-\n"),
    ("frame_index", "two", b"\0\0\x02\0\0\0\x03\0\0\0abc\x02\0\0\0de"),
    ("frame_index", "none", b"\0\0\0\0\0\0"),
    ("frame_index", "short", b"\x05\xe0behin\x02\0\0\0\x03\0\0\0abc\x02\0\0\0de"),
    ("frame_index", "long", b"\0\xc0\x01\0\0\0\xff\xff\xff\xffabc"),
    ("frame_index", "end-of-space", b"\x01\xff\x01\0\0\0\x01\0\0\0a"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: model_seed FOLDER")?;
    let folder = Path::new(&folder);
    for name in MODELS {
        let mut random = Random::new(name.len() as u64);
        for at in 0..12u64 {
            let len = 32 << (at % 5);
            // Small numbers choose more of what there is than random bytes do.
            let most = [256, 8, 64][(at % 3) as usize];
            let bytes: Vec<u8> = (0..len).map(|_| random.below(most) as u8).collect();
            write(folder, name, &format!("random-{at:02}"), &bytes)?;
        }
    }
    TEXTS.iter().try_for_each(|(target, name, bytes)| write(folder, target, name, bytes))
}

fn write(folder: &Path, target: &str, name: &str, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    let folder = folder.join(target);
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join(name), bytes)?)
}
