//! Memory fit against the log of a real server.

use rocload_core::gguf::GgmlType;
use rocload_core::gguf::fit::{Heads, Law, Model, Need, Settings};

/// The model whose log was recorded, as its file describes it.
fn gemma() -> Model<'static> {
    Model {
        layers: 18,
        heads: Heads::Same(4),
        heads_kv: Heads::Same(1),
        key_length: 256,
        value_length: 256,
        embedding: 640,
        feed_forward: Some(2048),
        window: Some(512),
        vocabulary: 262_144,
        context: Some(32_768),
        ..Model::new(b"gemma3")
    }
}

/// Settings as they stand on a command line.
fn settings(line: &str) -> Settings {
    let mut settings = Settings::default();
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| panic!("a value of {word}"));
        match word {
            "-c" => settings.context = value().parse().unwrap(),
            "-np" => settings.parallel = Some(value().parse().unwrap()),
            "-ub" => settings.ubatch = value().parse().unwrap(),
            "-ctk" => settings.keys = GgmlType::from_name(value()).unwrap(),
            "-ctv" => settings.values = GgmlType::from_name(value()).unwrap(),
            "-kvu" => settings.unified = Some(true),
            "-no-kvu" => settings.unified = Some(false),
            "--swa-full" => settings.swa_full = true,
            "-fa" => settings.flash = value() == "on",
            _ => panic!("{word}"),
        }
    }
    settings
}

/// The size in hundredths of a MiB on a line of the log.
fn logged(line: &str) -> u64 {
    let (_, size) = line.split_once("size =").expect("a size");
    let number = size.split_whitespace().next().expect("a number");
    number.replace('.', "").parse().expect("two decimals")
}

fn hundredths(bytes: u64) -> u64 {
    (bytes * 100 + (1 << 19)) >> 20
}

#[test]
fn the_recorded_log_is_met() {
    let Some(data) = rocload_fixtures::shared_data_or_skip("the_recorded_log_is_met") else {
        return;
    };
    let log = std::fs::read_to_string(data.join("serverlogs/kv_matrix_build10434.txt")).unwrap();
    let mut seen = 0;
    for run in log.split("== ").skip(1) {
        let (head, lines) = run.split_once('\n').unwrap();
        let line = head.rsplit_once(" rc=").map_or(head, |(line, _)| line);
        let law = Law::new(&gemma(), &settings(line)).unwrap();
        let Need { context, per_sequence, parallel, kv, kv_windowed, output, compute, .. } =
            law.need().unwrap();
        let find = |what: &str| -> Vec<&str> {
            lines.lines().filter(|line| line.contains(what)).collect()
        };
        let sizes: Vec<u64> = find("CPU KV buffer").into_iter().map(logged).collect();
        assert_eq!(sizes, [kv - kv_windowed, kv_windowed].map(hundredths), "{line}: cache");
        let sizes: Vec<u64> = find("output buffer").into_iter().map(logged).collect();
        assert_eq!(sizes, [hundredths(output)], "{line}: output");
        for (what, value) in
            [("n_seq_max", parallel.into()), ("n_ctx  ", context), ("n_ctx_seq", per_sequence)]
        {
            let found = find(what)[0].rsplit(' ').next().unwrap();
            assert_eq!(found.parse::<u64>(), Ok(value), "{line}: {what}");
        }
        let compute = compute.unwrap();
        let buffer = logged(find("compute buffer")[0]);
        let range = hundredths(compute.low)..=hundredths(compute.high);
        assert!(range.contains(&buffer), "{line}: compute {buffer} in {range:?}");
        seen += 1;
    }
    assert_eq!(seen, 10);
}
