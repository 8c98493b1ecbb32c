//! The laws of GPUs over generated devices, lists and machines that are broken on purpose.

use std::collections::BTreeMap;

use laws::gpu::{Tree, choice, machine, visible};
use laws::random::Random;
use proptest::prelude::*;
use rocload_core::gpu::{Access, Gpu, Kind, Memory, Node, Partition, Policy, Target, Variables};
use rocload_fixtures::sysfs::machines;
use serde_json::Value;

fn gpu() -> impl Strategy<Value = Gpu> {
    let access = prop_oneof![4 => Just(Access::Granted), 1 => Just(Access::Denied), 1 => Just(Access::Missing)];
    let target =
        prop::sample::select(vec!["gfx1100", "gfx1201", "gfx1036", "gfx1151", "gfx942", ""]);
    let kind = prop_oneof![3 => Just(Kind::Discrete), 2 => Just(Kind::Integrated), 1 => Just(Kind::Unknown)];
    let size = || prop_oneof![2 => (0..4u64).prop_map(Some), 1 => any::<u64>().prop_map(Some), 1 => Just(None)];
    let part = prop_oneof![2 => Just(None), 1 => (0..3u32, 1..4u32).prop_map(|(index, of)| Some(Partition { index, of }))];
    let unique = prop_oneof![Just(None), (1..4u64).prop_map(Some)];
    (access, target, kind, (size(), size()), part, unique).prop_map(
        |(access, target, kind, (total, used), partition, unique_id)| {
            let target = Target::parse(target);
            let vram = Memory { total, used };
            let node = Node { unique_id, ..Node::default() };
            Gpu { node, access, kind, target, effective: target, vram, partition, ..Gpu::default() }
        },
    )
}

/// Devices as a scan would number them.
fn gpus() -> impl Strategy<Value = Vec<Gpu>> {
    prop::collection::vec(gpu(), 0..9).prop_map(|mut gpus| {
        let mut next = 0;
        for (node, gpu) in (1..).zip(&mut gpus) {
            gpu.node.id = node;
            gpu.ordinal = (gpu.access == Access::Granted).then_some(next);
            next += u32::from(gpu.ordinal.is_some());
        }
        gpus
    })
}

fn list() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        (0..7u32).prop_map(|at| at.to_string()),
        (0..20u64).prop_map(|id| format!("GPU-{id:016x}")),
        "(?i)gpu-[0-9a-f]{0,17}",
        "[-+ 0-9x]{0,4}",
        Just(String::new()),
    ];
    prop::collection::vec(token, 0..6).prop_map(|tokens| tokens.join(","))
}

proptest! {
    #[test]
    fn choices_keep_their_laws(gpus in gpus(), multi: bool, rocr in prop::option::of(list()), hip in prop::option::of(list())) {
        let set = [(&b"ROCR_VISIBLE_DEVICES"[..], rocr), (b"HIP_VISIBLE_DEVICES", hip)];
        let set: Vec<(&[u8], Vec<u8>)> =
            set.into_iter().filter_map(|(name, value)| Some((name, value?.into_bytes()))).collect();
        let set: Vec<(&[u8], &[u8])> = set.iter().map(|(name, value)| (*name, &value[..])).collect();
        let build = [Target::parse("gfx1100").unwrap(), Target::parse("gfx1036").unwrap()];
        for build in [None, Some(&build[..])] {
            let policy = Policy { multi, build, ..Policy::default() };
            if let Err(broken) = choice(&gpus, &policy, &Variables(&set), None) {
                prop_assert!(false, "{}", broken);
            }
        }
    }

    #[test]
    fn lists_are_read_as_described(list in list(), uuids in prop::collection::vec(prop::option::of(prop_oneof![0..20u64, any::<u64>()]), 0..6)) {
        if let Err(broken) = visible(list.as_bytes(), &uuids) {
            prop_assert!(false, "{}", broken);
        }
    }
}

fn trees() -> Vec<(&'static str, Tree)> {
    let tree = |machine: &Value| {
        let text = |value: &Value| value.as_str().unwrap().as_bytes().to_vec();
        let files = machine["files"].as_object().unwrap();
        let mut files: BTreeMap<Vec<u8>, Vec<u8>> = files
            .iter()
            .map(|(path, content)| (path.clone().into_bytes(), text(content)))
            .collect();
        for folder in machine["empty_dirs"].as_array().unwrap() {
            files.insert(text(folder), Vec::new());
        }
        let denied = machine["denied"].as_array().unwrap().iter().map(text).collect();
        Tree { files, denied, variables: Vec::new() }
    };
    machines().iter().map(|(name, _, machine)| (*name, tree(machine))).collect()
}

#[test]
fn a_machine_comes_back_from_its_text() {
    for (name, tree) in trees() {
        assert_eq!(Tree::parse(&tree.text()), tree, "{name}");
        machine(&tree, None).unwrap_or_else(|broken| panic!("{name}: {broken}"));
    }
}

#[test]
fn broken_machines_keep_the_laws() {
    const GARBAGE: [&[u8]; 10] = [
        b"",
        b"\n",
        b"\xff\xfe\0",
        b"-1\n",
        b"18446744073709551615\n",
        b"18446744073709551616\n",
        b"0x\n",
        b"simd_count 1\n\nx\n",
        b"suspended\n",
        b"heap_type 1\nsize_in_bytes 18446744073709551615\n",
    ];
    let mut random = Random::new(9);
    for (name, whole) in trees() {
        let paths: Vec<Vec<u8>> = whole.files.keys().cloned().collect();
        let pick = |random: &mut Random| paths[random.below(paths.len() as u64) as usize].clone();
        for round in 0..400 {
            let mut tree = whole.clone();
            for _ in 0..=random.below(6) {
                let path = pick(&mut random);
                match random.below(6) {
                    0 => drop(tree.files.remove(&path)),
                    1 => {
                        let garbage = GARBAGE[random.below(GARBAGE.len() as u64) as usize];
                        tree.files.insert(path, garbage.to_vec());
                    }
                    2 => drop(tree.denied.insert(path)),
                    // Two files change places.
                    3 => {
                        let other = pick(&mut random);
                        let (a, b) =
                            (tree.files.get(&path).cloned(), tree.files.get(&other).cloned());
                        if let (Some(a), Some(b)) = (a, b) {
                            tree.files.extend([(path, b), (other, a)]);
                        }
                    }
                    4 => {
                        if let Some(file) = tree.files.get_mut(&path) {
                            let half = file.len() / 2;
                            file.truncate(half);
                        }
                    }
                    _ => {
                        if let Some(file) =
                            tree.files.get_mut(&path).filter(|file| !file.is_empty())
                        {
                            let at = random.below(file.len() as u64) as usize;
                            file[at] ^= 1 << random.below(8);
                        }
                    }
                }
            }
            machine(&tree, None).unwrap_or_else(|broken| panic!("{name}, round {round}: {broken}"));
        }
    }
}

/// Sixty-four GPUs, told in any order, some without access.
#[test]
fn sixty_four_nodes() {
    let mut tree = Tree::default();
    let mut file =
        |path: String, content: String| tree.files.insert(path.into_bytes(), content.into_bytes());
    file("dev/kfd".into(), String::new());
    for at in 0..64 {
        let (node, minor) = (at + 1, 191 - at);
        let folder = format!("sys/class/kfd/kfd/topology/nodes/{node}");
        file(format!("{folder}/gpu_id"), format!("{node}\n"));
        let unique = at % 5;
        let text = format!(
            "simd_count 8\ngfx_target_version 120001\ndrm_render_minor {minor}\nunique_id {unique}\n"
        );
        file(format!("{folder}/properties"), text);
        if at % 3 != 0 {
            file(format!("dev/dri/renderD{minor}"), String::new());
        }
        let dir = format!("sys/class/drm/renderD{minor}/device");
        file(format!("{dir}/mem_info_vram_total"), "1000\n".into());
        file(format!("{dir}/mem_info_vram_used"), format!("{}\n", at * 7 % 13));
    }
    machine(&tree, None).unwrap();
    let found = tree.scan(false).unwrap().unwrap();
    assert_eq!(found.gpus().len(), 64);
    assert_eq!(found.gpus().iter().filter(|gpu| gpu.ordinal.is_some()).count(), 42);
}
