//! Runs that are ended from outside.

use crate::fixture::{SandboxFixture, policy};
use crate::lifetime::{descendants, zygote_at_rest};
use jail::exec::{Fault, Mode};
use jail::isolation::IsolationLevel;
use std::time::{Duration, Instant};

/// Busy, deaf to signals, and not alone.
const DEAF: &str = "\
import os, signal, time
for number in range(1, 32):
    if number not in (9, 19):
        signal.signal(number, signal.SIG_IGN)
os.fork()
end = time.monotonic() + 25
while time.monotonic() < end:
    pass
";

#[test]
fn a_cancelled_run_is_gone_at_once_and_no_other_follows() {
    let place = SandboxFixture::quick();
    zygote_at_rest(&place);
    let launcher = place.sandbox.launcher_pid();
    let at_rest = descendants(launcher).len();
    let modes: &[Mode] = if place.sandbox.tier() > IsolationLevel::T2 {
        &[Mode::Script]
    } else {
        &[Mode::Script, Mode::Session]
    };
    for mode in modes {
        let mut workspace = place.workspace().in_mode(*mode).unwrap();
        let cancel = workspace.cancel().unwrap();
        std::thread::scope(|scope| {
            let run = scope.spawn(|| workspace.run(DEAF, &policy()));
            let deadline = Instant::now() + Duration::from_secs(10);
            while descendants(launcher).len() < at_rest + 2 {
                assert!(Instant::now() < deadline, "it did not begin");
                std::thread::sleep(Duration::from_millis(10));
            }
            std::thread::sleep(Duration::from_millis(300));
            assert!(!run.is_finished());
            let asked = Instant::now();
            cancel.cancel();
            let ended = run.join().unwrap();
            assert!(matches!(ended, Err(Fault::Cancelled)), "{ended:?}");
            assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
        });
        zygote_at_rest(&place);
        assert!(matches!(workspace.run("print(1)", &policy()), Err(Fault::Cancelled)));
        // Only its own: another work dir's runs go on.
        assert!(place.workspace().run("print(1)", &policy()).unwrap().outcome.is_finished());
    }
}
