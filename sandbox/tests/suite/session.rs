//! Sessions: what goes on between runs of an episode, and what must not.

use crate::fixture::{SandboxFixture, assert_finished, policy, quick, script, within};
use crate::hostile::offered;
use crate::lifetime::descendants;
use crate::tiers::{is_open_to_others, tried};
use jail::exec::{Mode, Outcome, Run, SandboxOptions, Workspace};
use jail::isolation::IsolationLevel;
use sandbox::env::{Action, Episode, EpisodeConfig};
use sandbox::graders::Graders;
use std::collections::BTreeMap;
use std::time::Duration;
use tasks::task::{Opening, Task};

/// A work dir with an interpreter that goes on.
fn session(place: &SandboxFixture) -> Workspace {
    place.workspace().in_mode(Mode::Session).unwrap()
}

fn call(session: &Workspace, code: &str) -> Run {
    session.run(code, &policy()).unwrap()
}

/// Fails unless it raised that, and the session goes on.
fn assert_raised(run: &Run, expected: &str) {
    assert_eq!(run.outcome, Outcome::Raised { exception: expected.to_owned() });
    assert!(run.kept);
}

#[test]
fn variables_functions_and_imports_stay_and_last_values_are_shown() {
    let place = SandboxFixture::quick();
    let session = session(&place);
    let first =
        call(&session, "import numpy as np\nx = np.arange(3)\ndef double(y):\n    return 2 * y\n");
    assert_finished("first", &first);
    assert!(first.kept && first.stdout.text().is_empty());
    let second = call(&session, "print('twice')\ndouble(x).tolist()");
    assert_eq!(second.stdout.text(), "twice\n[0, 2, 4]\n");
    assert_finished("what ends in an assignment", &call(&session, "x = None\nx"));

    // A mistake costs nothing but the rest of its own code; its traceback shows the lines of the
    // call that defined the function.
    let third = call(&session, "z = 1\ndouble({})\nz = 2\n");
    assert_raised(&third, "TypeError");
    let complaint = third.stderr.text();
    assert!(complaint.contains("return 2 * y") && complaint.contains("call_1.py"), "{complaint}");
    assert!(!complaint.contains("worker"), "{complaint}");
    assert_raised(&call(&session, "if"), "SyntaxError");
    assert_eq!(call(&session, "z").stdout.text(), "1\n");

    // Another episode knows nothing of it.
    assert_raised(&call(&self::session(&place), "z"), "NameError");
}

#[test]
fn files_can_be_fetched_between_calls() {
    let place = SandboxFixture::quick();
    let session = session(&place);
    let write = "f = open('submission.csv', 'w')\nf.write('first')\nf.flush()\n";
    assert_finished("write", &call(&session, write));
    assert_eq!(session.collect("submission.csv", 100).unwrap(), b"first");
    assert_finished("write on", &call(&session, "f.write(' second')\nf.close()\n"));
    assert_eq!(session.collect("submission.csv", 100).unwrap(), b"first second");
}

#[test]
fn session_restarts_after_an_exit_a_crash_or_a_limit() {
    let place = SandboxFixture::quick();
    let session = session(&place);
    let spin = "while True: pass";
    let endings = [
        ("import sys; sys.exit(3)", Outcome::Exited { code: 3 }),
        ("raise SystemExit", Outcome::Finished),
        ("import ctypes; ctypes.string_at(0)", Outcome::Killed { signal: 11 }),
        ("import os; os._exit(4)", Outcome::Exited { code: 4 }),
        (spin, Outcome::TimedOut),
        ("while True: print('x' * 1000)", Outcome::OutputLimit),
    ];
    for (code, expected) in endings {
        assert_finished("set", &call(&session, "mark = open('mark', 'w').write('x')"));
        let limit = if code == spin { within(Duration::from_millis(300)) } else { policy() };
        let run = session.run(code, &limit).unwrap();
        assert_eq!((run.outcome, run.kept), (expected, false), "{code}");
        assert_raised(&call(&session, "mark"), "NameError");
        assert_finished("files stay", &call(&session, "assert open('mark').read() == 'x'"));
    }
}

#[test]
fn memory_error_in_a_session_can_be_caught() {
    let place = SandboxFixture::quick();
    let session = session(&place);
    let run = call(&session, "kept = 1\nbytes(8 << 30)\n");
    assert_eq!((run.outcome, run.kept), (Outcome::OutOfMemory, true));
    assert_eq!(call(&session, "kept").stdout.text(), "1\n");
}

#[test]
fn nothing_runs_between_calls() {
    let place = SandboxFixture::quick();
    let session = session(&place);
    let busy = &script(
        r"
        import os, signal, subprocess, threading, time
        beats = 0
        def beat():
            global beats
            while True:
                beats += 1
                time.sleep(0.001)
        threading.Thread(target=beat, daemon=True).start()
        def forked(depth):
            # Deaf, in a session of its own, and without its parent.
            if os.fork() == 0:
                os.setsid()
                for number in range(1, 32):
                    if number not in (signal.SIGKILL, signal.SIGSTOP):
                        signal.signal(number, signal.SIG_IGN)
                if depth:
                    forked(depth - 1)
                while True:
                    open('alive', 'a').write('x')
                    time.sleep(0.001)
        forked(2)
        # From another thread: the kernel keeps its children in a list of their own.
        threading.Thread(target=subprocess.run, args=(['sleep', '600'],), daemon=True).start()
        time.sleep(0.1)
        before = beats
        ",
    );
    assert_finished("busy", &call(&session, busy));
    let size = || session.collect("alive", 1 << 20).unwrap().len();
    let before = size();
    assert!(before > 0);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(size(), before, "a process goes on between calls");
    let after = &script(
        r"
        now = beats
        assert now - before < 100, (before, now)
        time.sleep(0.05)
        assert beats > now, 'threads go on with the next call'
        me = {str(os.getpid()), '1'}
        others = [pid for pid in os.listdir('/proc') if pid.isdigit() and pid not in me]
        states = [open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[0] for pid in others]
        assert set(states) <= {'Z'}, states
        ",
    );
    assert_finished("after", &call(&session, after));
}

/// What can send a signal to a process that is stopped: SIGCONT would have it go on.
const WAKERS: [&str; 12] = [
    // POSIX timers, also of threads and processor time.
    "for clock in range(12): syscall(222, clock, address(struct.pack('qii', 0, 18, 0)), address(bytes(8)))",
    "syscall(222, 1, address(struct.pack('qiii', 0, 18, 4, os.getpid())), address(bytes(8)))",
    // Readiness of its output, once somebody has read it, and of pipes and sockets of its own.
    "for fd in (0, 1, 2):\n  attempt(fcntl.fcntl, fd, 10, 18)\n  attempt(fcntl.fcntl, fd, 8, os.getpid())\n  \
     attempt(fcntl.fcntl, fd, 4, 0x2000 | 1)\nos.write(1, b'x' * 60000)",
    "r, w = os.pipe()\nattempt(fcntl.fcntl, r, 10, 18)\nattempt(fcntl.fcntl, r, 8, os.getpid())\n\
     attempt(fcntl.fcntl, r, 4, 0x2000)\nos.write(w, b'x')",
    // Leases, and changes of folders.
    "f = open('mine', 'w')\nattempt(fcntl.fcntl, f, 10, 18)\nattempt(fcntl.fcntl, f, 1024, 1)",
    "d = os.open('.', 0)\nattempt(fcntl.fcntl, d, 10, 18)\nattempt(fcntl.fcntl, d, 1026, -0x7fffffc1)",
    // Timers of old.
    "for kind in range(3):\n  signal.signal((14, 26, 27)[kind], lambda *_: None)\n  \
     signal.setitimer(kind, 0.001, 0.001)",
    // The end of a child, and of a parent.
    "for number in range(65):\n  if syscall(56, number, 0, 0, 0, 0) == 0: os._exit(0)",
    "libc.prctl(1, 18)",
    // Message queues and asynchronous reading.
    "syscall(240, address(b'/q'), 0o102, 0o600, 0)\nsyscall(244, 3, address(struct.pack('qii', 0, 18, 0)))",
    "syscall(206, 8, address(bytes(8)))\nsyscall(425, 8, address(bytes(128)))",
    // Other processes and threads.
    "def wake():\n  while True: os.kill(me, 18)\nthreading.Thread(target=wake, daemon=True).start()\n\
     if os.fork() == 0:\n  os.setsid()\n  wake()",
];

/// Before each of them, and a thread that would use what it gets.
const WAKING: &str = r"
import ctypes, fcntl, os, signal, struct, threading, time
libc = ctypes.CDLL(None)
me, kept = os.getpid(), []
def address(data):
    kept.append(ctypes.create_string_buffer(data, 256))
    return ctypes.addressof(kept[-1])
def syscall(*numbers):
    return libc.syscall(*[ctypes.c_long(number) for number in numbers])
def attempt(function, *arguments):
    try:
        function(*arguments)
    except OSError:
        pass
def spin():
    while True: pass
signal.signal(signal.SIGCONT, lambda *_: spin())
threading.Thread(target=spin, daemon=True).start()
";

/// Nanoseconds of processor time that each process below the zygote has had.
fn processor_time(place: &SandboxFixture) -> BTreeMap<u32, u64> {
    let time = |pid: u32| {
        let tasks = fs_err::read_dir(format!("/proc/{pid}/task")).ok()?;
        let times = tasks.flatten().filter_map(|task| {
            let text = fs_err::read_to_string(task.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        });
        Some((pid, times.sum()))
    };
    let zygote = descendants(place.sandbox.launcher_pid());
    zygote.into_iter().skip(1).filter_map(time).collect()
}

fn a_session_at_rest_gets_no_processor_time(tier: IsolationLevel) {
    let options = SandboxOptions { best_tier: tier, allow_tier: tier, ..quick() };
    let Some(place) = offered(options) else { return };
    // Those that could not be brought to rest have been ended, which is as good.
    let sessions: Vec<(Workspace, bool)> = WAKERS
        .iter()
        .map(|waker| {
            let session = session(&place);
            let run = session.run(&format!("{WAKING}\n{waker}"), &within(Duration::from_secs(2)));
            let run = run.unwrap();
            assert!(run.outcome.is_finished() || !run.kept, "{waker}: {}", run.stderr.text());
            (session, run.kept)
        })
        .collect();
    assert!(sessions.iter().filter(|(_, kept)| *kept).count() > 8);
    std::thread::sleep(Duration::from_millis(500));
    let before = processor_time(&place);
    std::thread::sleep(Duration::from_secs(10));
    assert_eq!(processor_time(&place), before, "{tier}");
    for (session, kept) in &sessions {
        if *kept {
            let run = session.run("1 + 1", &within(Duration::from_millis(500))).unwrap();
            assert!(run.stdout.text().ends_with("2\n") || !run.kept, "{}", run.stderr.text());
        }
    }
    assert_finished("beside them", &place.run("print(1)"));
    tried(&format!("{} ways to be woken at rest in {tier}", WAKERS.len()));
}

#[test]
fn a_session_at_rest_gets_no_processor_time_in_tier_1() {
    a_session_at_rest_gets_no_processor_time(IsolationLevel::T1);
}

#[test]
fn a_session_at_rest_gets_no_processor_time_in_tier_2() {
    a_session_at_rest_gets_no_processor_time(IsolationLevel::T2);
}

#[test]
fn output_belongs_to_its_call_and_each_has_the_whole_limit() {
    let place = SandboxFixture::quick();
    let session = session(&place);
    // 6 MiB each, of 16 that one call may print.
    let flood = "for _ in range(96): print('y' * 65535)\n";
    for round in 0..4 {
        let run = call(&session, flood);
        assert_finished("flood", &run);
        assert_eq!(run.stdout.total(), 96 * 65536, "round {round}");
    }
    assert_eq!(call(&session, "print('alone')").stdout.text(), "alone\n");
    let closed = call(&session, "import os\nos.close(1)\nos.close(2)\n");
    assert_finished("closed", &closed);
    assert_eq!(call(&session, "1").stdout.total(), 0);
}

#[test]
fn connection_to_a_session_gives_no_access_to_the_host() {
    let place = SandboxFixture::quick();
    // Says that it is done when it is not; what follows is cut short, and its own loss.
    let early = session(&place);
    let said = "import os\nn = 0\nos.write(3, b'done')\nwhile n < 10**12: n += 1\n";
    let run = call(&early, said);
    assert!(run.kept, "{}", run.outcome);
    let run = early.run("n", &within(Duration::from_millis(500))).unwrap();
    assert_eq!((run.outcome, run.kept), (Outcome::TimedOut, false));

    // Floods it: the call is over with the first packet. Or fills it and leaves, so that whoever
    // listens hears of packets that were never taken in; or sends descriptors along.
    let send = "import os, socket, sys\ns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=3)\n";
    for code in [
        "while True: os.write(3, b'x' * 60000)",
        "for _ in range(5): os.write(3, b'x')\nos._exit(0)",
        "for _ in range(5): os.write(3, b'')",
        "while True: socket.send_fds(s, [b'x'], [1] * 200)",
        "socket.send_fds(s, [b'x'], [1] * 200)\nos._exit(0)",
    ] {
        let flood = session(&place);
        for _ in 0..3 {
            flood.run(&format!("{send}{code}"), &within(Duration::from_secs(1))).unwrap();
        }
        assert_finished("beside a flood", &place.run("print(1)"));
    }

    // Closes it, or puts something else in its place: then nothing can be asked of it any more,
    // which is seen at once or with the next call.
    for code in ["import os\nos.close(3)\n", "import os\nos.dup2(os.pipe()[0], 3)\n"] {
        let broken = session(&place);
        let limit = within(Duration::from_secs(1));
        let lost = (0..2).any(|_| !broken.run(code, &limit).unwrap().kept);
        assert!(lost, "{code}");
        assert_finished("a new one", &call(&broken, "pass"));
    }

    // Stops itself, so that it never says that it is done.
    let stopped = session(&place);
    let run = stopped
        .run(
            "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n",
            &within(Duration::from_secs(1)),
        )
        .unwrap();
    assert_eq!((run.outcome, run.kept), (Outcome::TimedOut, false));
    assert_finished("a new one", &call(&stopped, "pass"));
}

#[test]
fn idle_sessions_hold_no_slot_and_end_with_their_work_dirs() {
    let place = SandboxFixture::quick();
    // More than there are places for runs.
    let sessions: Vec<Workspace> = (0..12).map(|_| session(&place)).collect();
    for round in 0..3 {
        for (number, session) in sessions.iter().enumerate() {
            if round == 0 {
                assert_finished("begin", &call(session, &format!("mine = {number}")));
            }
            assert_eq!(call(session, "mine").stdout.text(), format!("{number}\n"));
        }
    }
    drop(sessions);
    assert_finished("afterwards", &place.run("print(1)"));
}

#[test]
fn without_a_box_there_are_no_sessions() {
    if !is_open_to_others("session::without_a_box_there_are_no_sessions") {
        return;
    }
    let options =
        SandboxOptions { best_tier: IsolationLevel::T3, allow_tier: IsolationLevel::T3, ..quick() };
    let Some(place) = offered(options) else { return };
    let fault = place.workspace().in_mode(Mode::Session).unwrap_err();
    assert!(fault.to_string().contains("needs tier t2 or better"), "{fault}");
}

#[test]
fn observation_states_that_variables_are_lost() {
    let place = SandboxFixture::quick();
    let task = Task::open(&place.corpus.path().join("alpha"), &Opening::default()).unwrap();
    let config = EpisodeConfig { mode: Mode::Session, ..EpisodeConfig::default() };
    let grader = Graders::default().open(&task).unwrap();
    let mut episode = Episode::reset(&place.sandbox, &task, grader, &config).unwrap();
    let mut python = |code: &str| {
        let step = episode.step(&Action::Python { code: code.to_owned() }).unwrap();
        step.observation.text
    };
    assert_eq!(python("x = 41"), "finished; no submission.csv yet");
    let shown = python("open('submission.csv', 'w').write('id,y')\nx + 1");
    assert_eq!(shown, "finished; submission.csv is there\n[stdout]\n42");
    let gone = python("exit()");
    assert_eq!(
        gone,
        "finished; submission.csv is there\n[the interpreter ended: variables are gone, files are \
         kept]"
    );
    assert!(python("x").contains("NameError"));
}
