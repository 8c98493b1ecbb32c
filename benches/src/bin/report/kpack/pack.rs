//! Packing an archive from files, against the zstd command over the same bytes and against a
//! Python program that does what the public tools do.

use std::fs::{self, File};
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rocload::Archive;
use rocload::core::kpack::Scheme;
use rocload::encoder::{DEFAULT_LEVEL, Zstd};
use rocload::pack::{Content, Item, Pack, PackOptions};
use rocload_benches::time::{Rounds, in_turns, of};
use rocload_benches::{input, peer};

use crate::machine;
use rocload_benches::table::{Figure, Table, speed};

const ROUNDS: usize = 15;

/// Writes an archive as the public tools do and prints the seconds that it took.
const PYTHON: &str = r#"
import json, struct, sys, time
import msgpack, zstandard
begin = time.perf_counter()
rows, out = json.load(open(sys.argv[1])), open(sys.argv[2], "wb")
compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
toc, arches = {}, []
out.write(bytes(64) + struct.pack("<I", len(rows)))
for ordinal, (binary, arch, path) in enumerate(rows):
    kernel = open(path, "rb").read()
    frame = compressor.compress(kernel)
    out.write(struct.pack("<I", len(frame)) + frame)
    toc.setdefault(binary, {})[arch] = {"type": "hsaco", "ordinal": ordinal, "original_size": len(kernel)}
    if arch not in arches:
        arches.append(arch)
end = out.tell()
out.write(msgpack.packb({"format_version": 1, "group_name": "g", "gfx_arch_family": "f", "gfx_arches": arches,
    "toc": toc, "compression_scheme": "zstd-per-kernel", "zstd_offset": 64, "zstd_size": end - 64}))
out.seek(0)
out.write(b"KPAK" + struct.pack("<IQ", 1, end))
out.close()
print(time.perf_counter() - begin)
"#;

/// The kernels of an archive as files, and all of them as one.
struct Files {
    folder: PathBuf,
    rows: Vec<(String, String, PathBuf)>,
    bytes: u64,
}

impl Files {
    fn of(archive: &Path) -> peer::Result<Files> {
        let folder = archive_folder().join("pack");
        fs::create_dir_all(&folder)?;
        let archive = Archive::open(archive)?;
        let mut ids = archive.order().to_vec();
        ids.sort_by_key(|&id| archive.record_at(id).ordinal);
        let mut all = File::create(folder.join("all"))?;
        let (mut rows, mut bytes) = (Vec::new(), 0);
        for (number, id) in ids.into_iter().enumerate() {
            let entry = archive.entry_at(id)?;
            let kernel = archive.worker().kernel(&entry)?;
            let path = folder.join(format!("{number}.hsaco"));
            fs::write(&path, &kernel)?;
            all.write_all(&kernel)?;
            bytes += kernel.len() as u64;
            let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
            rows.push((text(entry.binary), text(entry.arch), path));
        }
        let rows_json: Vec<String> = rows
            .iter()
            .map(|(binary, arch, path)| format!("[{binary:?}, {arch:?}, {path:?}]"))
            .collect();
        fs::write(folder.join("rows.json"), format!("[{}]", rows_json.join(",\n")))?;
        Ok(Files { folder, rows, bytes })
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn ours(&self, threads: usize) -> Duration {
        let encoder = Zstd::new(DEFAULT_LEVEL).expect("level 3 exists");
        of(|| {
            let mut pack = Pack::new(b"g", b"f");
            for (binary, arch, path) in &self.rows {
                let content = Content::File(path);
                pack.items.push(Item::new(binary.as_bytes(), arch.as_bytes(), content));
            }
            let mut options = PackOptions::default();
            options.write.scheme = Scheme::ZstdPerKernel;
            options.threads = NonZeroUsize::new(threads).expect("a thread");
            options.encoder = Some(&encoder);
            let mut output = File::create(self.at("ours.kpack")).expect("a file");
            let packed = pack.write(&mut output, &options, &|_, _| ()).expect("an archive");
            assert_eq!(packed.size, self.bytes);
        })
    }

    /// The zstd command over all bytes at once.
    fn command(&self, threads: usize) -> Option<Duration> {
        let mut command = Command::new("zstd");
        command.args(["-q", "-f", "-3", &format!("-T{threads}")]);
        command.arg(self.at("all")).arg("-o").arg(self.at("all.zst"));
        let mut ended = None;
        let time = of(|| ended = command.stderr(Stdio::null()).status().ok());
        ended.filter(std::process::ExitStatus::success).map(|_| time)
    }

    fn python(&self) -> Option<Duration> {
        let mut command = machine::python();
        command.args(["-c", PYTHON]).args([self.at("rows.json"), self.at("python.kpack")]);
        let ran = command.output().ok().filter(|ran| ran.status.success())?;
        let seconds: f64 = String::from_utf8(ran.stdout).ok()?.trim().parse().ok()?;
        Some(Duration::from_secs_f64(seconds))
    }
}

fn archive_folder() -> PathBuf {
    input::large().parent().map(Path::to_path_buf).unwrap_or_default()
}

pub(crate) fn measure(table: &mut Table) -> peer::Result<()> {
    let (path, what) = input::many();
    let files = Files::of(&path)?;
    let (command, python) = (files.command(2).is_some(), files.python().is_some());
    let zero = || Duration::ZERO;
    let [ours_1, ours_2, zstd_1, zstd_2, python_1] = in_turns(
        ROUNDS,
        [
            &mut || files.ours(1),
            &mut || files.ours(2),
            &mut || files.command(1).unwrap_or_default(),
            &mut || files.command(2).unwrap_or_default(),
            &mut || if python { files.python().unwrap_or_default() } else { zero() },
        ],
    );
    let speed = |rounds: &Rounds| -> Figure { speed(files.bytes as usize, rounds.median()) };
    let about = |threads| {
        format!("packing {what}, {} MB, level 3, {threads} threads", files.bytes / 1_000_000)
    };
    let share = ratio(&zstd_2, &ours_2);
    table.beside(
        &about(2),
        &speed(&ours_2),
        ("zstd -T2", command.then(|| speed(&zstd_2)).as_ref()),
        (">= 0.9 of the peer's", command.then_some(share >= 0.9)),
    );
    let one = about(1);
    table.beside(
        &one,
        &speed(&ours_1),
        ("zstd -T1", command.then(|| speed(&zstd_1)).as_ref()),
        ("", None),
    );
    let peer = ("Python's msgpack and zstandard", python.then(|| speed(&python_1)));
    table.beside(&one, &speed(&ours_1), (peer.0, peer.1.as_ref()), ("", None));
    Ok(fs::remove_dir_all(&files.folder)?)
}

/// How many times faster the second is: the median of the rounds.
fn ratio(peer: &Rounds, ours: &Rounds) -> f64 {
    let pairs = peer.each().iter().zip(ours.each());
    let mut ratios: Vec<f64> = pairs.map(|(a, b)| a.as_secs_f64() / b.as_secs_f64()).collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}
