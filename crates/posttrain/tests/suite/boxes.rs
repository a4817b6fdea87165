//! The box of a long program, by itself: `posttrain` is its launcher.

use crate::fixture::PROGRAM;
use crate::running::{marker, processes_with};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use jail::isolation::root::Bind;
use jail::isolation::{IsolationLevel, Layer};
use jail::program::{
    BoxedPython, Directive, EndCause, ExitHow, Isolation, Program, ProgramLimits, ProgramReport,
    ProgramSpec,
};
use jail::python::PythonEnv;
use std::io::{Read as _, Write as _};
use std::time::{Duration, Instant};
use support::folders::TemporaryFolder;
use tasks::units::ByteSize;

const BOX: Isolation = Isolation::Box(IsolationLevel::T2);

/// A folder of the host for a box to write to, and the file for its output.
struct Ground(TemporaryFolder);

impl Ground {
    fn new() -> Self {
        let ground = Self(TemporaryFolder::new());
        fs::create_dir(ground.path("own")).unwrap();
        ground
    }

    fn path(&self, name: &str) -> Utf8PathBuf {
        self.0.path().join(name)
    }

    fn spec(&self, script: &str) -> ProgramSpec {
        ProgramSpec {
            start: ["sh", "-c", script].map(str::to_owned).to_vec(),
            directory: "/own".to_owned(),
            environment: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            programs: Vec::new(),
            data: Vec::new(),
            writable: vec![Bind { source: self.path("own").into(), target: "/own".to_owned() }],
            ports: Vec::new(),
            limits: ProgramLimits { memory: ByteSize::mib(256), ..ProgramLimits::default() },
        }
    }

    fn start(&self, spec: &ProgramSpec) -> Program {
        let output = fs::File::create(self.path("output")).unwrap();
        Program::start(Utf8Path::new(PROGRAM), spec, BOX, output).unwrap()
    }

    fn run(&self, script: &str) -> (ProgramReport, String) {
        let program = self.start(&self.spec(script));
        let report = program.wait(|| Directive::Work, Duration::from_secs(1)).unwrap();
        (report, fs::read_to_string(self.path("output")).unwrap())
    }
}

#[test]
fn program_ends_with_its_code_and_its_files_are_on_the_host() {
    let ground = Ground::new();
    let (report, text) = ground.run("echo made > file; env; ls /; echo wrong >&2; exit 3");
    assert_eq!((&report.cause, report.how), (&EndCause::Itself, ExitHow::Exited(3)));
    assert_eq!(fs::read_to_string(ground.path("own/file")).unwrap(), "made\n");
    for line in ["PATH=/usr/bin:/bin", "CUDA_VISIBLE_DEVICES=", "own", "wrong"] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    let (report, text) = ground.run("exec no-such-program");
    assert_eq!(report.how, ExitHow::Exited(127), "{text}");
    let (report, _) = ground.run("kill -SEGV $$");
    assert_eq!(report.how, ExitHow::Signalled(11));
}

#[test]
fn program_runs_scripts_in_a_jail_of_tier_t3() {
    let ground = Ground::new();
    let folder = Utf8Path::new(PROGRAM).parent().unwrap();
    let BoxedPython { interpreter, binds } =
        BoxedPython::new(&PythonEnv::locate().unwrap()).unwrap();
    let programs = Bind { source: folder.as_str().into(), target: "/programs".to_owned() };
    let mut spec = ground.spec("/programs/sandbox check --allow-tier t3");
    spec.programs = binds.into_iter().chain([programs]).collect();
    spec.environment.push(("MLE_PYTHON".to_owned(), interpreter.to_string()));
    spec.limits.memory = ByteSize::mib(4096);
    let report = ground.start(&spec).wait(|| Directive::Work, Duration::from_secs(1)).unwrap();
    let text = fs::read_to_string(ground.path("output")).unwrap();
    assert_eq!(report.how, ExitHow::Exited(0), "{text}");
    assert!(text.contains("tier t3"), "{text}");
}

#[test]
fn program_that_cannot_be_started_says_so_in_its_output() {
    let ground = Ground::new();
    let spec = ProgramSpec { start: vec!["nowhere".to_owned()], ..ground.spec("") };
    let report = ground.start(&spec).wait(|| Directive::Work, Duration::ZERO).unwrap();
    assert_eq!(report.how, ExitHow::Exited(127));
    let text = fs::read_to_string(ground.path("output")).unwrap();
    assert!(text.contains("nowhere could not be started"), "{text}");
}

#[test]
fn layers_are_reported_and_a_stronger_tier_than_the_hosts_is_refused() {
    let ground = Ground::new();
    let program = ground.start(&ground.spec("true"));
    let protection = program.protection().unwrap().clone();
    for layer in [Layer::NetworkNamespace, Layer::Seccomp, Layer::PivotedRoot, Layer::UserNamespace]
    {
        assert!(protection.is_up(layer), "{layer}");
    }
    program.wait(|| Directive::Work, Duration::ZERO).unwrap();
    let output = fs::File::create(ground.path("output")).unwrap();
    let spec = ground.spec("true");
    let strongest = Isolation::Box(IsolationLevel::T1);
    let started = Program::start(Utf8Path::new(PROGRAM), &spec, strongest, output);
    assert_eq!(started.is_ok(), protection.is_up(Layer::Cgroup));
}

#[test]
fn listener_of_the_box_is_the_callers_and_the_only_one() {
    let ground = Ground::new();
    let script = "python3 -c \"
import socket
with socket.create_connection(('127.0.0.1', 7777)) as door:
    door.send(b'hello')
    print(door.recv(10))
for port in (1, 22, 80, 7778):
    assert socket.socket().connect_ex(('127.0.0.1', port)) == 111, port
\"";
    let mut spec = ground.spec(script);
    spec.ports = vec![7777];
    let mut program = ground.start(&spec);
    let (port, listener) = program.listeners().pop().unwrap();
    assert_eq!(port, 7777);
    let host = std::net::TcpStream::connect(("127.0.0.1", port));
    assert!(host.is_err(), "the host's port of that number is another one");
    let answered = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut word = [0; 5];
        stream.read_exact(&mut word).unwrap();
        stream.write_all(b"welcome").unwrap();
        word
    });
    let report = program.wait(|| Directive::Work, Duration::ZERO).unwrap();
    let text = fs::read_to_string(ground.path("output")).unwrap();
    assert_eq!(report.how, ExitHow::Exited(0), "{text}");
    assert_eq!(&answered.join().unwrap(), b"hello");
    assert!(text.contains("welcome"), "{text}");
}

#[test]
fn asked_to_end_everybody_gets_a_signal_and_whoever_does_not_listen_is_killed() {
    let ground = Ground::new();
    // The first process goes at once; its child takes its time to clean up.
    let script =
        "sh -c 'trap \"sleep 0.3; echo saved > saved; exit\" TERM; while :; do sleep 0.05; done' &
                  trap 'exit 7' TERM; while :; do sleep 0.05; done";
    let program = ground.start(&ground.spec(script));
    let began = Instant::now();
    let after_a_while = || {
        let is_late = began.elapsed() > Duration::from_millis(500);
        if is_late { Directive::End } else { Directive::Work }
    };
    let report = program.wait(after_a_while, Duration::from_secs(20));
    assert_eq!(report.unwrap().how, ExitHow::Exited(7));
    assert!(ground.path("own/saved").exists(), "it was given the time");
    assert!(began.elapsed() < Duration::from_secs(10), "nobody is waited for that is gone");

    let marker = marker();
    let deaf = format!("trap '' TERM; (setsid sleep {marker} &); while :; do sleep 1; done");
    let program = ground.start(&ground.spec(&deaf));
    while processes_with(&marker) == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let report = program.wait(|| Directive::End, Duration::from_millis(300)).unwrap();
    assert_eq!((report.cause, report.how), (EndCause::Asked, ExitHow::Killed));
    assert_eq!(processes_with(&marker), 0);
}

#[test]
fn resting_program_does_nothing_until_it_works_again() {
    let ground = Ground::new();
    let ticks = || fs::read_to_string(ground.path("own/ticks")).unwrap_or_default().len();
    let script = "(setsid sh -c 'while :; do printf . >> ticks; sleep 0.01; done' &) ; sleep 600";
    let program = ground.start(&ground.spec(script));
    let (began, mut at_rest) = (Instant::now(), Vec::new());
    let directive = || match began.elapsed().as_millis() {
        0..400 | 1_000..1_400 => Directive::Work,
        400..1_000 => {
            at_rest.push(ticks());
            Directive::Rest
        }
        _ => Directive::End,
    };
    program.wait(directive, Duration::from_secs(1)).unwrap();
    // The first look is before the order, and an order takes a moment.
    let (first, last) = (at_rest[at_rest.len() / 2], at_rest[at_rest.len() - 1]);
    assert!(first > 0 && first == last, "{at_rest:?}");
    assert!(ticks() > last, "it went on");
}

#[test]
fn dropped_program_leaves_no_process() {
    let (ground, marker) = (Ground::new(), marker());
    let program = ground.start(&ground.spec(&format!("setsid sleep {marker} & sleep {marker}")));
    while processes_with(&marker) < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(program);
    assert_eq!(processes_with(&marker), 0);
}

#[test]
fn output_beyond_its_limit_is_dropped_and_does_not_stop_the_program() {
    let ground = Ground::new();
    let mut spec = ground.spec("head -c 3000000 /dev/zero; echo done > done");
    spec.limits.output = ByteSize::mib(1);
    let report = ground.start(&spec).wait(|| Directive::Work, Duration::ZERO).unwrap();
    assert!(report.output_cut && ground.path("own/done").exists());
    assert_eq!(fs::metadata(ground.path("output")).unwrap().len(), 1 << 20);
}

#[test]
fn memory_is_bounded_and_a_program_survives_its_children() {
    let ground = Ground::new();
    let take = |mebibytes: u32| format!("python3 -c 'print(len(bytes({mebibytes} << 20)))'");
    let (few, many) = (take(64), take(1_000));
    let (report, text) = ground.run(&format!("{few}; {many}; echo still here"));
    assert_eq!(report.how, ExitHow::Exited(0), "{text}");
    assert!(text.contains("67108864") && text.contains("still here"), "{text}");
    assert!(!text.contains("1048576000"), "{text}");
}

#[test]
fn program_is_ended_when_its_folders_hold_too_much_or_the_disk_too_little() {
    let ground = Ground::new();
    let mut spec = ground.spec("for i in $(seq 9999); do mkdir d$i; sleep 0.001; done; sleep 60");
    spec.limits.files = 100;
    let report = ground.start(&spec).wait(|| Directive::Work, Duration::ZERO).unwrap();
    assert!(
        matches!(&report.cause, EndCause::Disk { found } if found.contains("100 files")),
        "{report}"
    );
    let ground = Ground::new();
    let mut spec = ground.spec("sleep 60");
    spec.limits.free_disk = ByteSize::gib(1 << 30);
    let report = ground.start(&spec).wait(|| Directive::Work, Duration::ZERO).unwrap();
    assert!(
        matches!(&report.cause, EndCause::Disk { found } if found.contains("left")),
        "{report}"
    );
}
