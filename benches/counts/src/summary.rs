//! What gungraun tells in JSON, a line for each benchmark.

use serde_json::Value;

use crate::baseline::Counts;

/// The instructions of every benchmark, by its function's name and the name of its case.
///
/// # Errors
/// What is not as gungraun writes it, or a benchmark that was told twice.
pub fn read(lines: &str) -> Result<Counts, String> {
    let mut counts = Counts::default();
    for line in lines.lines().filter(|line| line.starts_with('{')) {
        let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let text = |name: &str| value[name].as_str().ok_or_else(|| format!("no {name}: {line}"));
        let name = format!("{}.{}", text("function_name")?, text("id")?);
        let instructions = instructions(&value).ok_or_else(|| format!("no count of {name}"))?;
        if counts.rows.insert(name.clone(), instructions).is_some() {
            return Err(format!("{name} was told twice"));
        }
    }
    if counts.rows.is_empty() {
        return Err("gungraun told of no benchmark".into());
    }
    Ok(counts)
}

fn instructions(value: &Value) -> Option<u64> {
    let profiles = value["profiles"].as_array()?;
    let callgrind = profiles.iter().find(|profile| profile["tool"] == "Callgrind")?;
    let values = &callgrind["data"]["total"]["metrics"]["Ir"]["values"];
    values["new"].as_u64().filter(|count| *count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a line that are looked at, as gungraun 0.20 writes them.
    fn line(function: &str, metrics: &str) -> String {
        format!(
            r#"{{"function_name":"{function}","id":"case","profiles":[{{"data":{{"parts":[],"total":{{"metrics":{metrics}}}}},"tool":"Callgrind"}}],"version":"7"}}"#
        )
    }

    #[test]
    fn the_new_count_is_taken_whatever_stands_beside_it() {
        let alone = line("a", r#"{"Ir":{"values":{"new":12}}}"#);
        let both = line("b", r#"{"Ir":{"diffs":{"diff_pct":50.0},"values":{"new":15,"old":10}}}"#);
        let counts = read(&format!("\n{alone}\n{both}\n")).unwrap();
        let rows: Vec<_> = counts.rows.into_iter().collect();
        assert_eq!(rows, [("a.case".into(), 12), ("b.case".into(), 15)]);
    }

    #[test]
    fn what_was_not_counted_is_an_error() {
        let old = line("a", r#"{"Ir":{"values":{"old":12}}}"#);
        let zero = line("a", r#"{"Ir":{"values":{"new":0}}}"#);
        let twice = line("a", r#"{"Ir":{"values":{"new":1}}}"#).repeat(2).replace("}{", "}\n{");
        for wrong in ["", "{}", "{", &old, &zero, &twice] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
