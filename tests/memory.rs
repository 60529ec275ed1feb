//! What large runs may take: on the device, and of the machine's memory.
#![cfg(all(feature = "gpu", feature = "cli"))]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bristle::app::bench::in_hand;
use bristle::contact::Contact;
use bristle::engine::{Engine, Plan};
use bristle::friction::Law;
use bristle::gpu::{Choice, Gpu};
use bristle::patch::{Grid, Patch, Shape};

/// 32768 contacts with a bristle in every one of 21 x 21 cells.
#[test]
fn large_batch_stays_below_200_mb_on_the_device() {
    let gpu = Gpu::new(Choice::Any).unwrap_or_else(|e| panic!("{e}"));
    let square = Arc::new(Patch::shape(Grid::new(21, 21, 0.02, 0.02).unwrap(), Shape::Square).unwrap());
    let contacts: Vec<Contact> = in_hand(21, Law::LuGre, 32_768)
        .unwrap()
        .into_iter()
        .map(|c| Contact { patch: Arc::clone(&square), ..c })
        .collect();
    let most = [const { AtomicU64::new(0) }; 2];
    let look = |_: u64| {
        let now = gpu.memory().expect("Vulkan and DX12 count their memory");
        most.iter().zip(now).for_each(|(most, now)| {
            most.fetch_max(now, Ordering::Relaxed);
        });
        true
    };
    // The number of steps does not matter to the memory; on a software driver it does to the time.
    let out = gpu.rollout(&contacts, &Plan::new(2e-4, 2e-4, 2e-4).unwrap(), &look).unwrap();
    assert!(out.pose.iter().all(|q| q.to_array().iter().all(|v| v.is_finite())));
    let [used, taken] = most.map(AtomicU64::into_inner);
    println!("{used} bytes in use, {taken} taken from the device");
    assert!(used > 50_000_000, "{used} bytes: the bristles alone are 58 MB in each of two parts");
    assert!(used <= taken && taken < 200_000_000, "{used} bytes in use, {taken} taken from the device");
}

/// A run whose samples take more than the process may have is written all the same.
#[test]
#[cfg(target_os = "linux")]
fn a_run_larger_than_memory_is_recorded() {
    const CAP: u64 = 260 << 20;
    let dir = tempfile::tempdir().unwrap();
    let scenario = r#"
        contacts = 160
        duration = 0.5
        step = 2e-5
        record_every = 2e-5
        [patch]
        shape = "square"
        cells = 1
        [body]
        kind = "prescribed"
        [inputs]
        normal_force = 1.0
        twist = { vx = { uniform = [0.01, 0.1] } }
    "#;
    std::fs::write(dir.path().join("long.toml"), scenario).unwrap();
    // The shell limits its own address space, and with it the program's.
    let limited = format!("ulimit -v {}; exec \"$0\" \"$@\"", CAP / 1024);
    let output = Command::new("sh")
        .args([
            "-c",
            &limited,
            env!("CARGO_BIN_EXE_bristle"),
            "rollout",
            "long.toml",
            "--engine",
            "cpu",
            "--precision",
            "f64",
            "--threads",
            "2",
        ])
        .current_dir(dir.path())
        // Else glibc sets aside 64 MB of addresses for every thread.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let npz = dir.path().join("runs/long/trajectories.npz");
    let size = std::fs::metadata(&npz).unwrap().len();
    assert!(size > CAP + CAP / 4, "{size} bytes are no test of {CAP}");
    // The last sample of the last contact is where its twist took it.
    let last = |file: &Path, name: &str, items: u64| -> f64 {
        let mut zip = zip::ZipArchive::new(std::fs::File::open(file).unwrap()).unwrap();
        let npy = npyz::NpyFile::new(zip.by_name(&format!("{name}.npy")).unwrap()).unwrap();
        let shape = npy.shape().to_vec();
        assert_eq!(shape.iter().product::<u64>() % items, 0);
        npy.data::<f64>().unwrap().map(Result::unwrap).nth((shape.iter().product::<u64>() - items) as usize).unwrap()
    };
    let x = last(&npz, "pose", 3);
    let vx = last(&dir.path().join("runs/long/contacts.npz"), "inputs.twist.vx", 1);
    assert!((x - 0.5 * vx).abs() < 1e-9, "x = {x}, vx = {vx}");
}
