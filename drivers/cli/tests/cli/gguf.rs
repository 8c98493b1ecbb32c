//! `rocload gguf`: each subcommand, as it is used.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use rocload_fixtures::gguf::Raw;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{Ran, command, gguf, model, rocload};

const TINY: &str = "tiny-llama.gguf";

#[test]
fn show_is_a_card_under_the_files_own_names() {
    let ran = gguf("show", [model(TINY)]).fine();
    for part in [
        "model, llama, F32, 108 K parameters in 21 tensors, 429 KiB, v3\n",
        "  general.name                              rocload tiny llama\n",
        "  general.file_type                         0 (F32)\n",
        "  llama.context_length                      2048\n",
        "  tokenizer.ggml.tokens                     string[267] \"",
        "  tokenizer.chat_template                   {% for message in messages %}",
        "  showing 26 of 28 keys (--all shows every one)\n",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(!ran.out.contains("tokenizer.ggml.merges") && !ran.out.contains('\u{1b}'));
    let all = gguf("show --all", [model(TINY)]).fine().out;
    assert!(all.contains("tokenizer.ggml.merges") && all.contains("showing 28 of 28 keys\n"));
    // A set whose shards are missing can be shown.
    gguf("show", [model("bad/split-not-named.gguf")]).fine();
    let short = gguf("show", [model("bad/padding-cut.gguf")]);
    assert!(short.code == Some(3) && short.out.contains("llama.block_count"), "{short:?}");
}

#[test]
fn show_json_has_every_key_and_value() {
    let value = gguf("show --json", [model(TINY)]).fine().json();
    assert_eq!(
        (&value["kind"], &value["tensors"], &value["size"]),
        (&json!("model"), &json!(21), &json!(439_232))
    );
    let keys = value["keys"].as_array().unwrap();
    let of = |name: &str| keys.iter().find(|key| key["key"] == name).unwrap();
    assert_eq!(keys.len(), 28);
    assert_eq!(of("tokenizer.ggml.tokens")["value"].as_array().unwrap().len(), 267);
    assert_eq!(
        *of("llama.rope.freq_base"),
        json!({"key": "llama.rope.freq_base", "type": "f32", "value": 10_000.0})
    );
    assert_eq!(of("tokenizer.ggml.merges")["value"], json!(["q u", "Q u", "z z"]));
    let value = gguf("show --json", [model("ok/nested-arrays-3.gguf")]).fine().json();
    let keys = value["keys"].as_array().unwrap();
    assert_eq!(keys[3]["value"], json!([[[0, 7], [1, 7]], []]));
    assert_eq!(keys[3]["type"], "array[]");
    // Of several files one object a line, and errors among them.
    let ran = gguf("show --json", [model(TINY), model("absent.gguf"), model("bad/gzip.gguf")]);
    let lines = ran.json_lines();
    assert_eq!((ran.code, lines.len()), (Some(3), 3));
    assert_eq!([&lines[1]["error"]["kind"], &lines[2]["error"]["kind"]], ["not_found", "not_gguf"]);
}

#[test]
fn odd_values_in_json() {
    let mut raw = Raw::new(3, false);
    raw.counts(0, 4);
    raw.key("nan", 6);
    raw.u32(f32::NAN.to_bits());
    raw.key("tenth", 6);
    raw.u32(0.1f32.to_bits());
    raw.key("text", 8);
    raw.u64(2);
    raw.0.extend(b"\xffa");
    raw.text_pair("escape\u{1b}[31m", "a\u{1b}[31m\u{9b}");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("odd.gguf");
    fs::write(&path, &raw.0).unwrap();
    let ran = gguf("show --json", [&path]);
    let keys = &ran.json()["keys"];
    let values: Vec<_> = (0..4).map(|at| keys[at]["value"].clone()).collect();
    assert_eq!(
        values,
        [json!("NaN"), json!(0.1), json!({"hex": "ff61"}), json!("a\u{1b}[31m\u{9b}")]
    );
    assert!(!ran.out.contains('\u{1b}') && !ran.out.contains('\u{9b}'), "escaped for a terminal");
    let long = dir.path().join("long.gguf");
    let mut raw = Raw::new(3, false);
    raw.counts(0, 2);
    raw.text_pair("long", &"x".repeat((8 << 20) + 1));
    raw.text_pair("short", "s");
    fs::write(&long, &raw.0).unwrap();
    let keys = &gguf("show --json", [&long]).fine().json()["keys"];
    assert_eq!([&keys[0]["value"], &keys[1]["value"]], [&json!({"bytes": 8_388_609}), &json!("s")]);
    let card = gguf("show --all", [&path]);
    assert!(!card.out.contains('\u{1b}') && card.out.contains("\\xffa"), "{card:?}");
    assert!(card.err.contains("warning: text: a string is not utf-8"), "{card:?}");
}

#[test]
fn get_prints_one_value_raw() {
    let get = |key: &str| gguf("get", [model(TINY).as_os_str(), key.as_ref()]);
    assert_eq!(get("general.name").fine().out, "rocload tiny llama\n");
    assert_eq!(get("{arch}.context_length").fine().out, "2048\n");
    assert_eq!(get("tokenizer.ggml.add_bos_token").fine().out, "true\n");
    let tokens = get("tokenizer.ggml.tokens").fine().out;
    assert_eq!(tokens.lines().count(), 267);
    assert_eq!(tokens.lines().nth(65), Some("A"));
    assert_eq!(get("tokenizer.ggml.merges").fine().out, "q u\nQ u\nz z\n");
    assert_eq!(get("tokenizer.ggml.token_type").fine().out.lines().nth(256), Some("3"));
    let ran = get("llama.contxt_length").failed(4, "there is no key llama.contxt_length");
    assert!(ran.err.contains("did you mean llama.context_length"), "{ran:?}");
    let ran = gguf("get --json", [model(TINY).as_os_str(), "llama.block_count".as_ref()]).fine();
    assert_eq!((&ran.json()["type"], &ran.json()["value"]), (&json!("u32"), &json!(2)));
    // Bytes as they are, not as a terminal may have them.
    let dir = tempfile::tempdir().unwrap();
    let mut raw = Raw::new(3, false);
    raw.counts(0, 2);
    raw.key("k", 8);
    raw.u64(4);
    raw.0.extend(b"\x1b[\xff\n");
    raw.text_pair("empty", "");
    let path = dir.path().join("raw.gguf");
    fs::write(&path, &raw.0).unwrap();
    for (key, wanted) in [("k", &b"\x1b[\xff\n\n"[..]), ("empty", b"\n")] {
        let output = command().args(["gguf", "get"]).arg(&path).arg(key).output().unwrap();
        assert_eq!(output.stdout, wanted, "{key}");
    }
}

#[test]
fn tensors_and_their_hashes() {
    let ran = gguf("tensors", [model(TINY)]).fine();
    assert!(ran.out.contains("21 tensors, 423 KiB\n"), "{}", ran.out);
    let value = gguf("tensors --json", [model(TINY)]).fine().json();
    let tensors = value["tensors"].as_array().unwrap();
    assert_eq!(tensors.len(), 21);
    let bytes = fs::read(model(TINY)).unwrap();
    let sums = gguf("hash", [model(TINY)]).fine().out;
    for (tensor, line) in tensors.iter().zip(sums.lines()) {
        let [from, size] = ["offset", "size"].map(|field| tensor[field].as_u64().unwrap() as usize);
        let sum = Sha256::digest(&bytes[from..from + size]);
        let sum: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(line, format!("{sum}  {}", tensor["name"].as_str().unwrap()));
    }
    assert_eq!(sums.lines().count(), 21);
    let ran = gguf("hash", [model("bad/data-one-tensor-short.gguf")]);
    assert!(ran.code == Some(3) && ran.err.contains("b: 64 bytes are missing"), "{ran:?}");
    assert!(ran.out.ends_with("  a\n"), "the first is whole: {ran:?}");
}

#[test]
fn templates_by_name() {
    let named = model("ok/template-named.gguf");
    assert_eq!(gguf("template", [&named]).fine().out, "{{ messages }}\n");
    assert_eq!(gguf("template --name tool_use", [&named]).fine().out, "tools: \u{1f527}\n");
    let list = gguf("template --list", [&named]).fine().out;
    assert_eq!(list, "(default)  15 bytes\nrag  20 bytes\ntool_use  11 bytes\n");
    let ran =
        gguf("template --name tools", [&named]).failed(4, "the model has no chat template tools");
    assert!(ran.err.contains("it has these by --name: rag, tool_use"), "{ran:?}");
    gguf("template", [model("ok/twin-v3.gguf")]).failed(4, "no default chat template");
}

#[test]
fn diff_compares_whatever_the_layout() {
    let twin = |name: &str| model(&format!("ok/twin-{name}.gguf"));
    for other in ["v1", "v2", "v3-big-endian"] {
        let ran = gguf("diff", [twin("v3"), twin(other)]).fine();
        assert_eq!(ran.out, "the same 6 keys and 1 tensor\n");
    }
    let ran = gguf("diff", [twin("v3"), model("ok/scores-u8.gguf")]);
    assert_eq!((ran.code, &*ran.err), (Some(1), ""));
    for line in ["- general.name: twin\n", "+ tokenizer.ggml.scores: u8[2] 1, 2\n"] {
        assert!(ran.out.contains(line), "{}", ran.out);
    }
    let ran = gguf("diff --json", [twin("v3"), model("ok/special-token-past-vocabulary.gguf")]);
    let value = ran.json();
    assert_eq!((ran.code, &value["same"], &value["tensors"]), (Some(1), &json!(false), &json!([])));
    let names: Vec<&str> =
        value["keys"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"tokenizer.ggml.eos_token_id") && names.contains(&"general.name"));
    gguf("diff", [twin("v3"), model("absent.gguf")]).failed(4, "absent.gguf");
}

#[test]
fn set_writes_a_new_file_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let new = dir.path().join("new.gguf");
    let at = |path: &Path| path.to_str().unwrap().to_owned();
    let set = |from: &Path, changes: &[&str], to: &Path| -> Ran {
        let mut words = vec!["gguf".to_owned(), "set".into(), at(from)];
        words.extend(changes.iter().map(|change| (*change).to_owned()));
        words.extend(["-o".into(), at(to)]);
        rocload(words)
    };
    let changes = [
        "general.name=A longer name than before",
        "a.b:u32=7",
        "a.l:string[]=[\"x\",\"\"]",
        "llama.context_length=4096",
    ];
    set(&model(TINY), &changes, &new).fine();
    gguf("verify --strict", [&new]).fine();
    gguf("verify --strict=llama", [&new]).fine();
    let changed = gguf("diff", [model(TINY), new.clone()]);
    assert_eq!(
        changed.out,
        "+ a.b: 7\n+ a.l: string[2] \"x\", \"\"\n~ general.name: rocload tiny llama -> A longer name than before\n\
         ~ llama.context_length: 2048 -> 4096\n"
    );
    assert_eq!(gguf("hash", [&new]).out, gguf("hash", [model(TINY)]).out);
    // Back again: the same bytes, padding and all.
    let back = dir.path().join("back.gguf");
    let undo = [
        "general.name=rocload tiny llama",
        "llama.context_length=2048",
        "--remove",
        "a.b",
        "--remove",
        "a.l",
    ];
    set(&new, &undo, &back).fine();
    assert!(fs::read(&back).unwrap() == fs::read(model(TINY)).unwrap());

    let before = fs::read(&new).unwrap();
    set(&model(TINY), &["general.name=x"], &new).failed(1, "the file is there already");
    assert!(fs::read(&new).unwrap() == before);
    set(&model(TINY), &["general.name=x", "--force"], &new).fine();
    assert_ne!(fs::read(&new).unwrap(), before);
    // In place, by force: the file is read while the new one is written beside it.
    set(&new, &["general.name=y", "--force"], &new).fine();
    assert_eq!(gguf("get", [new.as_os_str(), "general.name".as_ref()]).out, "y\n");

    for (change, code, text) in [
        ("general.nothing=1", 1, "its type is needed"),
        ("llama.block_count=-1", 1, "'-1' is no u32"),
        ("tokenizer.ggml.add_bos_token=1", 1, "'1' is no bool"),
        ("tokenizer.ggml.token_type=[1, 2.5]", 1, "'2.5' is no i32"),
        ("general.alignment=64", 2, "general.alignment stays"),
        ("general.name", 2, "is not of the form KEY=VALUE"),
        ("a:u128=1", 2, "'u128' is no type"),
    ] {
        let other = dir.path().join("other.gguf");
        let ran = set(&model(TINY), &[change], &other);
        assert!(ran.code == Some(code) && ran.err.contains(text), "{change}: {ran:?}");
        assert!(!other.exists(), "{change}");
    }
    set(&model("bad/padding-cut.gguf"), &["general.name:string=x"], &dir.path().join("no.gguf"))
        .failed(3, "of tensor data are missing");
    // Every version and byte order that can be written.
    for name in ["v1", "v2", "v3", "v3-big-endian"] {
        let to = dir.path().join(format!("{name}.gguf"));
        set(&model(&format!("ok/twin-{name}.gguf")), &["general.name=set", "x:i16[]=[-1,2]"], &to)
            .fine();
        let ran = gguf("diff", [dir.path().join("v1.gguf"), to.clone()]).fine();
        assert!(ran.out.starts_with("the same 7 keys"), "{ran:?}");
        gguf("verify --strict", [&to]).fine();
    }
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 6, "no temporary file is left: {left:?}");
}

#[test]
fn fit_in_words_and_numbers() {
    let ran = gguf("fit --ctx 2048 --parallel 1 --vram 2G", [model(TINY)]).fine();
    for line in ["  context    2,048 tokens\n", "  kv cache   512 KiB\n", "  verdict    fits\n"] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
    let value = gguf("fit --json --vram 2G --cache-type q8_0", [model(TINY)]).fine().json();
    assert_eq!((&value["verdict"], &value["parallel"]), (&json!("fits"), &json!(4)));
    assert_eq!(value["kv"], json!(2048 * 2 * 2 * 34));
    let small = "--json --check --margin 0 --vram";
    let fits = |vram: &str, code| {
        let ran = gguf(&format!("fit {small} {vram}"), [model(TINY)]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        ran.json()
    };
    assert_eq!(fits("1K", 1)["verdict"], "does_not_fit");
    assert_eq!(fits("3M", 1)["verdict"], "fits_with_ctx");
    assert_eq!(fits("9M", 0)["verdict"], "fits");
    let ran = gguf("fit --vram 8G", [model("ok/lora-type-u32.gguf")]).fine();
    assert!(ran.out.contains("verdict    unknown: "), "{ran:?}");
    assert!(
        gguf("fit --vram 8G --no-flash-attn", [model(TINY)])
            .fine()
            .out
            .contains("unknown without flash attention")
    );
    gguf("fit", [model(TINY)]).fine();
    for ty in ["q9", "i8", "f64", "q6_K", "mxfp4"] {
        for option in ["--cache-type", "--cache-type-k", "--cache-type-v"] {
            let text = "llama-server keeps its cache as one of f32, f16, bf16, q8_0, q4_0, q4_1,";
            gguf(&format!("fit {option} {ty}"), [model(TINY)]).misused(text);
        }
    }
}

#[test]
fn list_tells_every_model_and_every_reason() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("sub")).unwrap();
    fs::copy(model(TINY), dir.path().join("a.gguf")).unwrap();
    fs::copy(model("ok/template-named.gguf"), dir.path().join("sub/b.gguf")).unwrap();
    let sound = gguf("list --vram 8G", [dir.path()]).fine();
    assert_eq!(
        sound
            .out
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .next_back()
            .unwrap(),
        format!("1 model in {}", dir.path().display())
    );
    let row: Vec<&str> = sound.out.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row, ["a.gguf", "llama", "F32", "429", "KiB", "2,048", "yes"]);
    let ran = gguf("list --recursive --exact --vram 1M", [dir.path()]).fine();
    assert!(
        ran.out.contains("sub/b.gguf") && ran.out.lines().nth(1).unwrap().ends_with("no"),
        "{}",
        ran.out
    );

    fs::write(dir.path().join("page.gguf"), "<html>").unwrap();
    fs::copy(model("ok/split-u32/m-00001-of-00002.gguf"), dir.path().join("m-00001-of-00002.gguf"))
        .unwrap();
    let ran = gguf("list", [dir.path()]);
    assert_eq!(ran.code, Some(3));
    assert!(ran.err.contains("page.gguf: this is no gguf file but a web page (HTML)"), "{ran:?}");
    let note = "?  (1 of 2 shards missing: m-00002-of-00002.gguf)";
    assert!(ran.out.contains(note) && ran.out.contains("a.gguf"), "{ran:?}");
    let lines = gguf("list --json", [dir.path()]).json_lines();
    assert_eq!(lines.len(), 3);
    assert_eq!((&lines[1]["missing_shards"], &lines[1]["shards"]), (&json!([2]), &json!(2)));
    assert_eq!(lines[2]["error"]["kind"], "not_gguf");
    // Of a set that is not whole nothing is said; the exit status is as `verify`'s.
    fs::remove_file(dir.path().join("page.gguf")).unwrap();
    let mut raw = fs::read(model(TINY)).unwrap();
    let at = raw.windows(5).position(|part| part == b"llama").unwrap();
    raw[at] = 0xff;
    let odd = tempfile::tempdir().unwrap();
    let path = odd.path().join("odd.gguf");
    fs::write(&path, raw).unwrap();
    let hex = json!({"hex": "ff6c616d61"});
    assert_eq!(gguf("list --json", [odd.path()]).fine().json()["architecture"], hex);
    assert_eq!(gguf("show --json", [&path]).fine().json()["architecture"], hex);
    let missing = gguf("list --exact --vram 8G", [dir.path()]);
    assert!(missing.code == Some(4) && missing.out.contains(note), "{missing:?}");
    fs::write(dir.path().join("m-00002-of-00002.gguf"), "<html>").unwrap();
    for words in ["list --json --vram 8G", "list --json --exact --vram 8G"] {
        let ran = gguf(words, [dir.path()]);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let set = &ran.json_lines()[1];
        assert_eq!(
            (&set["fits"], &set["exact"]),
            (&json!("unknown"), &json!(words.contains("exact")))
        );
        assert!(set["why"].is_string(), "{set}");
        let note = set["note"].as_str().unwrap();
        assert!(note.starts_with("m-00002-of-00002.gguf: ") && note.contains("gguf"), "{note}");
    }
    gguf("list", [dir.path().join("absent")]).failed(4, "absent: listing the folder: no such file");
}

/// Runs a subcommand whose standard input is a pipe with these bytes.
fn run(words: &[&str], input: &[u8]) -> Ran {
    let mut child = command()
        .arg("gguf")
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // It may stop reading before all is written.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output.into()
}

#[test]
fn a_header_on_standard_input() {
    let bytes = fs::read(model(TINY)).unwrap();
    for front in [&bytes[..], &bytes[..7000]] {
        let ran = run(&["show", "-"], front).fine();
        assert!(ran.out.contains("rocload tiny llama"), "{ran:?}");
        run(&["verify", "-"], front).fine();
        run(&["tensors", "-"], front).fine();
    }
    run(&["verify", "-"], &bytes[..3000]).failed(3, "-: ");
    let cut = run(&["verify", "--json", "-"], &bytes[..3000]).json();
    let offset = cut["errors"][0]["offset"].as_u64().unwrap();
    assert!((2000..=3000).contains(&offset), "{cut}");
    // One shard does not tell what the model needs.
    let shard = fs::read(model("ok/split-u32/m-00001-of-00002.gguf")).unwrap();
    let fit = run(&["fit", "--json", "--vram", "8G", "-"], &shard).fine().json();
    assert_eq!(fit["verdict"], "unknown");
    assert!(fit["why"].as_str().unwrap().contains("shards"), "{fit}");
    run(&["show", "-"], b"").failed(3, "this is no gguf file but an empty file");
}

#[test]
fn patterns_that_the_shell_left_alone() {
    let pattern = model("ok/twin-v*.gguf");
    let ran = gguf("verify", [&pattern]).fine();
    assert_eq!(ran.out.lines().count(), 4);
    gguf("verify", [model("nothing-*.gguf")]).failed(4, "no file matches this pattern");
}

#[test]
fn standard_input_is_named_once_and_not_hashed() {
    let bytes = fs::read(model(TINY)).unwrap();
    for words in [&["diff", "-", "-"][..], &["show", "-", "-"], &["fit", "-", "x.gguf", "-"]] {
        run(words, &bytes).misused("standard input (-) is given twice");
    }
    let same = run(&["diff", "-", model(TINY).to_str().unwrap()], &bytes).fine();
    assert!(same.out.starts_with("the same 28 keys"), "{same:?}");
    run(&["hash", "-"], &bytes).misused("a header on standard input has no tensors to hash");
    assert!(gguf("hash", ["--help"]).fine().out.contains("Standard\ninput (-) is a header"));
}

#[test]
fn get_reads_no_further_than_the_key() {
    let bytes = fs::read(model(TINY)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let cut = dir.path().join("cut.gguf");
    // In the midst of the tokens.
    fs::write(&cut, &bytes[..1500]).unwrap();
    gguf("show", [&cut]).failed(3, "");
    for key in ["llama.context_length", "{arch}.context_length"] {
        let file = cut.to_str().unwrap();
        assert_eq!(gguf("get", [file, key]).fine().out, "2048\n");
        assert_eq!(gguf("get --json", [file, key]).fine().json()["value"], 2048);
        assert_eq!(run(&["get", "-", key], &bytes[..1500]).fine().out, "2048\n");
        assert_eq!(run(&["get", "-", key], &bytes).fine().out, "2048\n");
    }
    let tokens = "tokenizer.ggml.tokens";
    for (key, code) in [(tokens, 3), ("llama.absent", 3)] {
        let ran = gguf("get", [cut.to_str().unwrap(), key]);
        assert_eq!((ran.code, &*ran.out), (Some(code), ""), "{ran:?}");
        assert_eq!(run(&["get", "-", key], &bytes[..1500]).code, Some(code));
    }
    let piped = run(&["get", "-", tokens], &bytes).fine().out;
    assert_eq!(piped, gguf("get", [model(TINY).to_str().unwrap(), tokens]).fine().out);
    // What is missing is looked for in the whole header, of a pipe too.
    run(&["get", "-", "{arch}.context_lenght"], &bytes).failed(4, "there is no key");
    run(&["get", "-", "{arch}.absent"], b"<html>").failed(3, "a web page");
}

#[test]
fn set_takes_what_get_prints() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("to.gguf");
    let set = |changes: &[&str]| {
        let file = model(TINY);
        let words = [file.to_str().unwrap(), "-f", "-o", to.to_str().unwrap()];
        gguf("set", words.iter().chain(changes))
    };
    set(&["{arch}.context_length=4096", r#"x:f32[]=["NaN","inf","-inf",0.5]"#, "y:f64=-inf"])
        .fine();
    let get = |key: &str| gguf("get --json", [to.to_str().unwrap(), key]).fine().json();
    assert_eq!(get("llama.context_length")["value"], 4096);
    assert_eq!(get("x")["value"], json!(["NaN", "inf", "-inf", 0.5]));
    assert_eq!(get("y")["value"], "-inf");
    set(&["--remove", "{arch}.context_length"]).fine();
    gguf("get", [to.to_str().unwrap(), "llama.context_length"]).failed(4, "there is no key");
    set(&["{arch}.x:u32=1", "llama.x:u32=2"]).failed(2, "'llama.x' is given twice");
    for value in ["x:f32=1e999", "x:f64=-1e999", "x:f32=1e39", "x:f32[]=[1e39]"] {
        set(&[value]).failed(1, "is too large for f");
    }
    for value in ["x:f32[]=[1e999]", r#"x:u32[]=["NaN"]"#, r#"x:f32[]=["1"]"#] {
        assert_eq!(set(&[value]).code, Some(1), "{value}");
    }
}
