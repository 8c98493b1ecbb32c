//! What both drivers must do.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use rocload::gpu::{
    Access, DeviceMask, Environment, Fault, Gpus, Outcome, Policy, Problem, Reason, SysRoot,
    Verdict,
};
use rocload::{Error, ErrorKind};
use rocload_fixtures::shared_data_or_skip;
use rocload_fixtures::sysfs::{differences, machine_path, machines};
use serde_json::Value;

use crate::told::told;

pub(crate) trait Driver {
    fn scan(&self, root: &SysRoot) -> Result<Gpus, Error>;
    fn settle(&self, root: &SysRoot, minors: &[u32]) -> Outcome;
    /// The machine before and after a change.
    fn changes(&self, root: &SysRoot, change: &mut dyn FnMut()) -> Result<[Gpus; 2], Error>;
}

pub(crate) fn suite(driver: &dyn Driver) {
    fixtures(driver);
    shared(driver);
    folders(driver);
    hostile_folders(driver);
    many_nodes(driver);
    environments(driver);
    watching(driver);
    settling(driver);
    not_machines();
}

fn machine(driver: &dyn Driver, path: &Path) -> (Gpus, Value) {
    let root = SysRoot::open(path).unwrap();
    let gpus = driver.scan(&root).unwrap();
    let value: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    (gpus, value["expected"].clone())
}

fn fixtures(driver: &dyn Driver) {
    for (name, ..) in machines() {
        let (mut gpus, expected) = machine(driver, &machine_path(name));
        let told = told(&mut gpus, &Environment::none());
        assert_eq!(differences(&expected, &told), [""; 0], "{name}");
    }
}

fn shared(driver: &dyn Driver) {
    let Some(data) = shared_data_or_skip("gpu::shared") else { return };
    let mut seen = 0;
    for entry in fs::read_dir(data.join("sysfs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let (mut gpus, expected) = machine(driver, &path);
        let told = told(&mut gpus, &Environment::none());
        assert_eq!(differences(&expected, &told), [""; 0], "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 10, "{seen} machines");
}

/// Writes a machine of the fixtures as files.
fn as_files(name: &str, folder: &Path) -> PathBuf {
    let value: Value = serde_json::from_slice(&fs::read(machine_path(name)).unwrap()).unwrap();
    for (path, content) in value["files"].as_object().unwrap() {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content.as_str().unwrap()).unwrap();
    }
    for path in value["empty_dirs"].as_array().unwrap() {
        fs::create_dir_all(folder.join(path.as_str().unwrap())).unwrap();
    }
    folder.to_path_buf()
}

fn folders(driver: &dyn Driver) {
    for name in
        ["board_and_integrated", "divided", "integrated", "no_dri", "other_vendor", "asleep"]
    {
        let folder = tempfile::tempdir().unwrap();
        let root = SysRoot::open(as_files(name, folder.path())).unwrap();
        let (gpus, _) = machine(driver, &machine_path(name));
        assert_eq!(driver.scan(&root).unwrap(), gpus, "{name}");
    }
}

fn hostile_folders(driver: &dyn Driver) {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| as_files("two_boards", folder.path()).join(path);
    // A pipe that nobody writes to, a folder in the place of a file, a file without an end.
    let pipe = at("sys/class/drm/renderD128/device/vendor");
    fs::remove_file(&pipe).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|status| status.success()));
    let root = SysRoot::open(folder.path()).unwrap();
    let gpus = driver.scan(&root).unwrap();
    assert_eq!((gpus.gpus().len(), gpus.gpus()[0].card.vendor), (2, None));
    fs::remove_file(&pipe).unwrap();
    let total = at("sys/class/drm/renderD129/device/mem_info_vram_total");
    fs::remove_file(&total).unwrap();
    fs::create_dir(&total).unwrap();
    let used = folder.path().join("sys/class/drm/renderD129/device/mem_info_vram_used");
    fs::remove_file(&used).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &used).unwrap();
    let gpus = driver.scan(&root).unwrap();
    // The bank tells what the card does not.
    assert_eq!((gpus.gpus()[1].vram.total, gpus.gpus()[1].vram.used), (Some(25_753_026_560), None));
    fs::remove_dir_all(folder.path().join("sys")).unwrap();
    assert_eq!(driver.scan(&root).unwrap().problem(), Some(Problem::NoGpu));
}

fn many_nodes(driver: &dyn Driver) {
    let json = |nodes: usize| {
        let mut files = serde_json::Map::new();
        files.insert("dev/kfd".into(), "".into());
        for node in 0..nodes {
            let folder = format!("sys/class/kfd/kfd/topology/nodes/{node}");
            files.insert(format!("{folder}/gpu_id"), format!("{}\n", node + 1).into());
            let minor = 128 + node;
            let text =
                format!("simd_count 8\ngfx_target_version 110000\ndrm_render_minor {minor}\n");
            files.insert(format!("{folder}/properties"), text.into());
            files.insert(format!("dev/dri/renderD{minor}"), "".into());
        }
        SysRoot::from_json(&serde_json::to_vec(&serde_json::json!({"files": files})).unwrap())
    };
    for nodes in [64, 65, 1024] {
        let mut gpus = driver.scan(&json(nodes).unwrap()).unwrap();
        assert_eq!(gpus.gpus().len(), nodes);
        let selection = gpus.select(&Policy::default(), &Environment::none());
        assert_eq!(selection.verdicts[0], Verdict::Chosen(0));
        assert_eq!(gpus.gpus()[nodes - 1].ordinal, Some(nodes as u32 - 1));
    }
    let error = driver.scan(&json(1025).unwrap()).unwrap_err();
    let ErrorKind::Gpu(fault) = error.kind() else { panic!("{error}") };
    assert_eq!(*fault, Fault::TooMany { count: 1025, limit: 1024 });
}

fn environments(driver: &dyn Driver) {
    let select = |name: &str, set: &[(&str, &str)]| {
        let mut gpus = driver.scan(&SysRoot::open(machine_path(name)).unwrap()).unwrap();
        let environment: Environment =
            set.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
        let selection = gpus.select(&Policy::default(), &environment);
        (gpus, selection)
    };
    let (_, one) = select("two_boards", &[("ROCR_VISIBLE_DEVICES", "0"), ("PATH", "/bin")]);
    assert_eq!(one.verdicts, [Verdict::Chosen(0), Verdict::Rejected(Reason::Masked)]);
    assert_eq!(one.mask, DeviceMask::Kept(vec![("ROCR_VISIBLE_DEVICES", b"0".to_vec())]));
    let (_, none) =
        select("two_boards", &[("ROCR_VISIBLE_DEVICES", "1"), ("HIP_VISIBLE_DEVICES", "1")]);
    assert!(none.choice.chosen.is_none() && none.choice.layer.is_some());

    let (gpus, told) = select("two_boards", &[("HSA_OVERRIDE_GFX_VERSION", "10.3.0")]);
    let gpu = told.chosen(&gpus).next().unwrap();
    assert_eq!(gpu.target.unwrap().to_string(), "gfx1100");
    assert_eq!(gpu.effective.unwrap().to_string(), "gfx1030");
    let (gpus, bad) = select("two_boards", &[("HSA_OVERRIDE_GFX_VERSION_2", "gfx1030")]);
    assert_eq!((bad.problem, bad.choice.chosen), (Some(Problem::BadOverride), None));
    assert!(gpus.bad_override().is_some_and(|bad| bad.node == 2 && bad.own));
    let (gpus, _) = select("kfd_denied", &[]);
    assert_eq!((gpus.kfd(), gpus.gpus()[0].access), (Access::Denied, Access::Denied));
}

fn watching(driver: &dyn Driver) {
    let folder = tempfile::tempdir().unwrap();
    let root = SysRoot::open(as_files("two_boards", folder.path())).unwrap();
    let device = folder.path().join("sys/class/drm/renderD128/device");
    let mut change = || fs::write(device.join("mem_info_vram_used"), "5\n").unwrap();
    let [before, after] = driver.changes(&root, &mut change).unwrap();
    assert_eq!(before.gpus()[0].vram.used, Some(1_073_741_824));
    assert_eq!(after.gpus()[0].vram.used, Some(5));
    // Falls asleep: what was read of its sensors is not held on to.
    let mut sleep = || fs::write(device.join("power/runtime_status"), "suspended\n").unwrap();
    let [before, after] = driver.changes(&root, &mut sleep).unwrap();
    assert_eq!(before.gpus()[0].card.temperature, Some(47_000));
    assert!(after.gpus()[0].card.suspended && after.gpus()[0].card.temperature.is_none());
    // A node goes.
    let nodes = folder.path().join("sys/class/kfd/kfd/topology/nodes");
    let mut leave = || fs::rename(nodes.join("2"), folder.path().join("gone")).unwrap();
    let [before, after] = driver.changes(&root, &mut leave).unwrap();
    assert_eq!((before.gpus().len(), after.gpus().len()), (2, 1));
}

fn settling(driver: &dyn Driver) {
    let root = SysRoot::open(machine_path("two_boards")).unwrap();
    assert_eq!(driver.settle(&root, &[128, 129]), Outcome::Settled);
    assert_eq!(driver.settle(&root, &[140]), Outcome::Unknown);
    assert_eq!(driver.settle(&root, &[]), Outcome::Unknown);
}

fn not_machines() {
    let kind = |json: &str| SysRoot::from_json(json.as_bytes()).unwrap_err().message();
    assert!(kind("{").contains("offset"));
    assert!(kind("{}").contains("files"));
    assert!(kind("[1]").contains("files"));
    assert!(kind(r#"{"files": []}"#).contains("files"));
    let missing = SysRoot::open("/nonexistent/machine.json").unwrap_err();
    assert!(matches!(missing.kind(), ErrorKind::Io(_)), "{missing}");
    assert!(SysRoot::host().unwrap().is_host());
}
