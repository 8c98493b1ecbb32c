//! The targets of serving. An input of `serve` is a policy's byte, a length, a script of that many
//! letters, and lines of a server.

use laws::serve::{bytes, lines, sample, start};
use rocload_core::serve::environment::{Devices, Environment};
use rocload_core::serve::plan::{Endpoint, Layers, Settings, Tuning};

use crate::{hold, seed};

/// The properties of the supervisor over any script; any lines are read, and what they tell lies
/// in them.
pub fn serve(input: &[u8]) {
    let [policy, letters, rest @ ..] = input else { return };
    let policy = bytes::policy(*policy);
    let (script, text) = rest.split_at(rest.len().min(usize::from(*letters) * 2));
    let seed = seed(input);
    hold(sample(policy, &bytes::script(script), seed));
    hold(lines::tell_what_is_in_them(text, seed));
}

/// Lines of a server alone, and how it ended.
pub fn serve_lines(bytes: &[u8]) {
    hold(lines::tell_what_is_in_them(bytes, seed(bytes)));
}

/// Two bytes of settings and lines: model, socket or host, alias, devices, key; then variables of
/// an environment, and further arguments that begin with `-`.
pub fn serve_start(bytes: &[u8]) {
    let Some((&[flags, number], text)) = bytes.split_first_chunk::<2>() else { return };
    let mut lines = text.split(|byte| *byte == b'\n').take(40);
    let mut line = || lines.next().unwrap_or_default();
    let words = [line(), line(), line(), line(), line()];
    let [_, host, alias, devices, key] = words.map(|word| core::str::from_utf8(word).ok());
    let (mut given, mut extra) = (Vec::new(), Vec::new());
    for line in lines {
        if line.starts_with(b"-") {
            extra.push(line);
        } else {
            let at = line.iter().position(|byte| *byte == b'=').unwrap_or(line.len());
            given.push((&line[..at], line.get(at + 1..).unwrap_or_default()));
        }
    }
    let bit = |at: u8| flags >> at & 1 == 1;
    let count = |at: u8| bit(at).then_some(u32::from(number));
    let endpoint = match host {
        Some(host) if bit(0) => Endpoint::Tcp { host, port: u16::from(number) * 257 },
        _ => Endpoint::Unix(words[1]),
    };
    let tuning = Tuning {
        cpu: bit(1),
        layers: count(2).map(|count| if count == 0 { Layers::All } else { Layers::Count(count) }),
        context: count(3),
        parallel: count(4),
        unified: count(5).map(|count| count % 2 == 0),
        metrics: bit(6),
        verbosity: bit(7).then_some(number % 6),
        ..Tuning::default()
    };
    let settings = Settings {
        alias: alias.filter(|alias| !alias.is_empty()),
        tuning,
        extra: &extra,
        ..Settings::new(words[0], endpoint)
    };
    hold(start::arguments_are_sound(&settings));
    let devices = match devices {
        Some("") => Devices::Cpu,
        Some(mask) => Devices::Chosen(mask),
        None => Devices::Inherited,
    };
    let environment = Environment { devices, api_key: key.filter(|key| !key.is_empty()) };
    hold(start::environment_is_sound(&environment, &given));
}
