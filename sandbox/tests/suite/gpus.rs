//! GPUs: only what the policy asks for is there, and nothing else with it.
//!
//! No GPU is needed: the nodes are stand-ins, each another `/dev/zero`. What NVIDIA's driver and
//! CUDA make of the jail is not tried here.

use crate::fixture::{SandboxFixture, assert_finished, policy, quick, script};
use crate::hostile::{offered, small, try_each};
use crate::program::Program;
use crate::tiers::{as_ordinary_user, is_open_to_others, left_out, tried};
use camino::Utf8Path;
use jail::exec::{Fault, Mode, Outcome, Run, SandboxOptions};
use jail::isolation::IsolationLevel;
use jail::isolation::gpus::HostGpus;
use jail::limits::{Gpus, RunLimits};
use rustix::fs::{CWD, FileType, Mode as Bits, makedev, mknodat};
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use tasks::units::ByteSize;

/// A folder with stand-ins for the device nodes of three GPUs.
struct Nodes {
    folder: tempfile::TempDir,
    /// Whether they are nodes of their own, which only root can make, or links to another.
    own: bool,
}

impl Nodes {
    const ALL: [&str; 7] = [
        "nvidiactl",
        "nvidia-uvm",
        "nvidia-uvm-tools",
        "nvidia-modeset",
        "nvidia0",
        "nvidia1",
        "nvidia2",
    ];

    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let open = |path: &std::path::Path, bits| {
            fs_err::set_permissions(path, Permissions::from_mode(bits))
        };
        open(folder.path(), 0o755).unwrap();
        let own = Self::ALL.map(|name| {
            let path = folder.path().join(name);
            let (kind, bits) = (FileType::CharacterDevice, Bits::from_raw_mode(0o666));
            let made = mknodat(CWD, &path, kind, bits, makedev(1, 5)).is_ok();
            if made {
                // Whatever the mask took away.
                open(&path, 0o666).unwrap();
                // A file system may be mounted without devices.
                if fs_err::File::open(&path).is_ok() {
                    return true;
                }
                fs_err::remove_file(&path).unwrap();
            }
            symlink("/dev/zero", &path).unwrap();
            false
        });
        Self { folder, own: own.iter().all(|own| *own) }
    }

    fn path(&self) -> &Utf8Path {
        Utf8Path::from_path(self.folder.path()).unwrap()
    }

    /// A sandbox that takes them for the host's; none if this host does not offer the tier.
    fn place(&self, tier: IsolationLevel, options: SandboxOptions) -> Option<SandboxFixture> {
        if tier == IsolationLevel::T3 && !self.own {
            left_out("GPUs in t3", "without a box, links to another node show nothing");
            return None;
        }
        let device_folder = self.path().to_owned();
        let place = offered(SandboxOptions {
            best_tier: tier,
            allow_tier: tier,
            device_folder,
            ..options
        })?;
        assert_eq!(place.sandbox.tier(), tier);
        Some(place)
    }

    /// A script with where it finds the nodes.
    fn fill_in(&self, tier: IsolationLevel, code: &str) -> String {
        script(code).replace(
            "@NODES@",
            if tier == IsolationLevel::T3 { self.path().as_str() } else { "/dev" },
        )
    }
}

fn with(gpus: Gpus) -> RunLimits {
    RunLimits { gpus, ..policy() }
}

/// What is visible at the root, in `/dev` apart from GPUs, and instead of devices of the host.
const SIGHTS: &str = r#"
    import os
    print(sorted(os.listdir("/")) if "@NODES@" == "/dev" else "", os.path.exists("/sys/class"))
    for folder in ("/dev", "/gpus", "/sys"):
        try:
            print(folder, sorted(name for name in os.listdir(folder) if "nvidia" not in name))
        except OSError as error:
            print(folder, error.errno)
"#;

const CHOSEN: &str = r#"
    import ctypes, errno, fcntl, mmap, os, threading
    chosen = ["nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia1"]
    for name in chosen:
        node = os.open(f"@NODES@/{name}", os.O_RDWR)
        assert os.read(node, 4) == bytes(4) and os.write(node, b"x") == 1
        page = mmap.mmap(node, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        page[0] = 7
        # Of the GPUs' nodes, and of nvidia-uvm: the driver knows them, its stand-in does not.
        for request in (0xC020462A, 0xC00846D2, 27, 73, 0x30000001, 0x30000002):
            try:
                fcntl.ioctl(node, request, bytearray(64))
                raise AssertionError(hex(request))
            except OSError as error:
                assert error.errno == errno.ENOTTY, (name, hex(request), error)
        # Characters for a terminal, a framebuffer's cousin, what is almost nvidia-uvm's.
        for request in (0x5412, 0x40086D00, 0x30000003, 0x100):
            try:
                fcntl.ioctl(node, request, bytearray(64))
                raise AssertionError(hex(request))
            except OSError as error:
                assert error.errno == errno.EPERM, (name, hex(request), error)
    for name in ("nvidia0", "nvidia2", "nvidia-modeset"):
        try:
            open(f"@NODES@/{name}", "rb")
            raise AssertionError(name)
        except OSError as error:
            hidden = errno.ENOENT if "@NODES@" == "/dev" else errno.EACCES
            assert error.errno == hidden, (name, error)
    if "@NODES@" == "/dev":
        assert sorted(n for n in os.listdir("/dev") if "nvidia" in n) == sorted(chosen)
        for change in (lambda: open("/dev/new", "w"), lambda: os.remove("/dev/nvidia1")):
            try:
                change()
                raise AssertionError("a folder that cannot be changed was")
            except OSError as error:
                assert error.errno in (errno.EROFS, errno.EACCES, errno.EBUSY), error
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0", os.environ["CUDA_VISIBLE_DEVICES"]

    # As libcuda does when it begins.
    os.write(os.memfd_create("anonymous"), b"x")
    libc, done = ctypes.CDLL(None), threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    assert libc.pthread_setname_np(ctypes.c_ulong(other.ident), b"named") == 0
    assert open(f"/proc/self/task/{other.native_id}/comm").read() == "named\n"
    done.set()
    other.join()
    if "@NODES@" == "/dev" and (child := os.fork()) == 0:
        open(f"/proc/self/task/{os.getpid()}/comm", "r+").write("child")
        os._exit(0)
    assert "@NODES@" != "/dev" or os.waitpid(child, 0)[1] == 0
    # What else a run could change about itself there.
    try:
        open("/proc/self/oom_score_adj", "w").write("0")
        raise AssertionError("no longer the first to go")
    except PermissionError:
        pass
    # Huge pages, which nobody adds up.
    try:
        os.memfd_create("huge", 4)
        raise AssertionError("huge pages")
    except PermissionError:
        pass
"#;

const OFF: &str = r#"
    import errno, fcntl, os
    for name in ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia0", "nvidia1"):
        for folder in ("@NODES@", "/gpus"):
            try:
                open(f"{folder}/{name}", "rb")
                raise AssertionError(name)
            except OSError as error:
                assert error.errno in (errno.ENOENT, errno.EACCES), error
    for request in (0xC020462A, 27, 0x30000001):
        try:
            fcntl.ioctl(os.open("/dev/zero", os.O_RDONLY), request, bytearray(64))
            raise AssertionError(hex(request))
        except PermissionError:
            pass
    try:
        os.memfd_create("anonymous")
        raise AssertionError("a file outside of everything")
    except PermissionError:
        pass
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""
"#;

fn only_what_is_asked_for_is_there(tier: IsolationLevel) {
    let nodes = Nodes::new();
    let Some(place) = nodes.place(tier, quick()) else { return };
    let run = |code: &str, gpus: Gpus| -> Run {
        let code = nodes.fill_in(tier, code);
        place.workspace().run(&code, &with(gpus)).unwrap()
    };
    let one = || Gpus::Only([1].into());
    assert_finished("off", &run(OFF, Gpus::None));
    assert_finished("chosen", &run(CHOSEN, one()));
    assert_finished("off again", &run(OFF, Gpus::None));
    let sights = run(SIGHTS, Gpus::None);
    assert_finished("sights", &sights);
    assert_eq!(run(SIGHTS, one()).stdout.text(), sights.stdout.text());
    let all = "import os\nassert os.environ['CUDA_VISIBLE_DEVICES'] == '0,1,2'\n\
               for number in range(3): open(f'@NODES@/nvidia{number}', 'rb')";
    assert_finished("all", &run(all, Gpus::All));
}

#[test]
fn only_what_is_asked_for_is_there_in_tier_1() {
    only_what_is_asked_for_is_there(IsolationLevel::T1);
}

#[test]
fn only_what_is_asked_for_is_there_in_tier_2() {
    only_what_is_asked_for_is_there(IsolationLevel::T2);
}

#[test]
fn only_what_is_asked_for_is_there_in_tier_2_from_an_ordinary_user() {
    as_ordinary_user("gpus::only_what_is_asked_for_is_there_in_tier_2");
}

#[test]
fn only_what_is_asked_for_is_there_in_tier_3() {
    if !is_open_to_others("gpus::only_what_is_asked_for_is_there_in_tier_3") {
        return;
    }
    only_what_is_asked_for_is_there(IsolationLevel::T3);
}

/// Memory that no limit of one process bounds: shared, and in files without a name.
const SHARED: &str = r"
    import mmap, time
    pages = mmap.mmap(-1, @SIZE@)
    for place in range(0, @SIZE@, 4096):
        pages[place] = 1
    time.sleep(@REST@)
";
const NAMELESS: &str = r#"
    import os, time
    files = [os.memfd_create("anonymous") for _ in range(4)]
    for number in range(@SIZE@ // (1 << 20)):
        os.write(files[number % 4], bytes(1 << 20))
    time.sleep(@REST@)
"#;
const PRIVATE: &str = "pages = bytearray(@SIZE@)";

fn memory_is_bounded_while_address_space_is_free(tier: IsolationLevel) {
    let nodes = Nodes::new();
    let Some(place) = nodes.place(tier, quick()) else { return };
    for gpus in [Gpus::None, Gpus::All] {
        let tight = RunLimits { memory: ByteSize::mib(200), ..with(gpus) };
        memory_is_bounded(&place, &tight);
    }
}

fn memory_is_bounded(place: &SandboxFixture, tight: &RunLimits) {
    let run =
        |code: &str, policy: &RunLimits| place.workspace().run(&script(code), policy).unwrap();
    let reserve = "import mmap\nmmap.mmap(-1, 1 << 40, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 0)";
    assert_finished("reserve", &run(reserve, tight));
    // Files without a name are for CUDA alone.
    let nameless = (tight.gpus != Gpus::None).then_some(("nameless", NAMELESS));
    for (name, code) in [("shared", SHARED), ("private", PRIVATE)].into_iter().chain(nameless) {
        let sized = |mib: u64, rest: &str| {
            code.replace("@SIZE@", &(mib << 20).to_string()).replace("@REST@", rest)
        };
        assert_finished(name, &run(&sized(100, "0.2"), tight));
        let over = run(&sized(300, "20"), tight);
        assert_eq!(over.outcome, Outcome::OutOfMemory, "{name}: {}", over.stderr.text());
    }
}

#[test]
fn memory_is_bounded_while_address_space_is_free_in_tier_1() {
    memory_is_bounded_while_address_space_is_free(IsolationLevel::T1);
}

#[test]
fn memory_is_bounded_while_address_space_is_free_in_tier_2() {
    memory_is_bounded_while_address_space_is_free(IsolationLevel::T2);
}

#[test]
fn memory_is_bounded_while_address_space_is_free_in_tier_3() {
    if !is_open_to_others("gpus::memory_is_bounded_while_address_space_is_free_in_tier_3") {
        return;
    }
    memory_is_bounded_while_address_space_is_free(IsolationLevel::T3);
}

#[test]
fn a_session_keeps_the_gpus_that_it_began_with() {
    let nodes = Nodes::new();
    let Some(place) = nodes.place(IsolationLevel::T2, quick()) else { return };
    let workspace = place.workspace().in_mode(Mode::Session).unwrap();
    let run = |code: &str| workspace.run(code, &with(Gpus::Only([2].into()))).unwrap();
    assert_finished("first", &run("node = open('/dev/nvidia2', 'rb')"));
    assert_finished(
        "second",
        &run("assert node.read(2) == bytes(2); open('/dev/nvidiactl', 'rb')"),
    );
}

#[test]
fn unusable_gpu_nodes_are_named() {
    let nodes = Nodes::new();
    fs_err::write(nodes.path().join("nvidia9"), "").unwrap();
    let host = HostGpus::find(nodes.path());
    assert_eq!(host.indices(), [0, 1, 2].into());
    assert_eq!(host.obstacles(), [format!("{} is no device", nodes.path().join("nvidia9"))]);
    if nodes.own {
        let shut = nodes.path().join("nvidia-uvm");
        fs_err::set_permissions(&shut, Permissions::from_mode(0o600)).unwrap();
        let host = HostGpus::find(nodes.path());
        assert!(host.obstacles()[0].starts_with(&format!("{shut} may not be read and written")));
        assert_eq!(host.indices(), [].into(), "none is of use without it");
    }
}

#[test]
fn missing_gpus_are_a_fault_that_names_them() {
    let nodes = Nodes::new();
    let Some(place) = nodes.place(IsolationLevel::T2, quick()) else { return };
    let workspace = place.workspace();
    let said = |gpus: Gpus| match workspace.run("open('ran', 'w')", &with(gpus)) {
        Err(fault @ Fault::NoGpu(_)) => fault.to_string(),
        other => panic!("{other:?}"),
    };
    let missing = said(Gpus::Only([0, 7].into()));
    assert!(missing.contains("nvidia7 is not there") && missing.contains("`gpus`"), "{missing}");
    assert!(workspace.collect("ran", 1).is_err(), "nothing was to run");
    assert_finished("another", &workspace.run("pass", &with(Gpus::Only([0].into()))).unwrap());

    let empty = tempfile::tempdir().unwrap();
    let device_folder = Utf8Path::from_path(empty.path()).unwrap().to_owned();
    let place =
        SandboxFixture::with(SandboxOptions { device_folder: device_folder.clone(), ..quick() });
    assert_eq!(place.sandbox.host_gpus().indices(), [].into());
    let fault = place.workspace().run("pass", &with(Gpus::All)).unwrap_err().to_string();
    assert!(fault.contains(&format!("{device_folder} has no node of a GPU")), "{fault}");
    assert_finished("without", &place.run("pass"));
}

/// Programs that say of every run what GPUs change for theirs; the tests above say what is then.
const CHANGED: [&str; 5] = [
    "devices",
    "kernel_calls",
    "memory_by_shared_mappings",
    "memory_outside_of_processes",
    "raise_own_limits",
];

/// The programs that do not wait for the clock: what they try has nothing to do with GPUs, and
/// must be in vain all the same.
fn programs_get_nothing_more(tier: IsolationLevel) {
    let nodes = Nodes::new();
    let Some(place) = nodes.place(tier, small(tier)) else { return };
    let programs = Program::all().into_iter();
    let programs: Vec<_> = programs
        .filter(|program| program.is_brief() && !CHANGED.contains(&program.name.as_str()))
        .map(|program| program.with_gpus(&Gpus::All))
        .collect();
    try_each(&place, &programs, Mode::Script);
    tried(&format!("{} hostile programs with GPUs in {tier}", programs.len()));
}

#[test]
fn programs_get_nothing_more_in_tier_1() {
    programs_get_nothing_more(IsolationLevel::T1);
}

#[test]
fn programs_get_nothing_more_in_tier_2() {
    programs_get_nothing_more(IsolationLevel::T2);
}

#[test]
fn programs_get_nothing_more_in_tier_3() {
    if !is_open_to_others("gpus::programs_get_nothing_more_in_tier_3") {
        return;
    }
    programs_get_nothing_more(IsolationLevel::T3);
}
