//! Streams as llama-server writes them.

use rocload_fixtures::rng::Rng;

const WORDS: [&str; 12] =
    [" the", " of", "ing", " loads", " a", " kernel", ".", " 世界", "好", " 🙂", " é", " memory"];

/// Events of chat completions of about 250 bytes, a ping after each 200 of them.
pub(crate) fn stream(len: usize) -> Vec<u8> {
    let mut rng = Rng::new(1);
    let mut out = Vec::with_capacity(len + 1024);
    let mut count = 0u64;
    while out.len() < len {
        let word = WORDS[rng.below(WORDS.len() as u64) as usize];
        out.extend_from_slice(
            format!(
                "data: {{\"choices\":[{{\"finish_reason\":null,\"index\":0,\"delta\":{{\"content\":\"{word}\"}}}}],\
                 \"created\":1790000000,\"id\":\"chatcmpl-{:032x}\",\"model\":\"model.gguf\",\
                 \"system_fingerprint\":\"b11434-689e75e7\",\"object\":\"chat.completion.chunk\"}}\n\n",
                rng.next_u64()
            )
            .as_bytes(),
        );
        count += 1;
        if count.is_multiple_of(200) {
            out.extend_from_slice(b":\n\n");
        }
    }
    out
}

/// The same with CRLF.
pub(crate) fn crlf(stream: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(stream.len() * 2);
    for byte in stream {
        if *byte == b'\n' {
            out.push(b'\r');
        }
        out.push(*byte);
    }
    out
}

/// Events of which half the bytes are Chinese text.
pub(crate) fn cjk(len: usize) -> Vec<u8> {
    let text = "加载模型并生成文本世界".repeat(4);
    let event = format!(
        "data: {{\"choices\":[{{\"finish_reason\":null,\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}],\"id\":\"chatcmpl-0123456789\",\"object\":\"chat.completion.chunk\"}}\n\n"
    );
    event.as_bytes().repeat(len / event.len())
}

/// One event whose data has `len` bytes.
pub(crate) fn line(len: usize) -> Vec<u8> {
    [b"data: ", &vec![b'x'; len][..], b"\n\n"].concat()
}
