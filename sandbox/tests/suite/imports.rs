//! What the zygote imports, so that no run has to.

use crate::fixture::{SandboxFixture, assert_finished, policy, quick, within};
use crate::lifetime::zygote_at_rest;
use jail::exec::{Mode, Outcome, SandboxOptions};
use jail::isolation::IsolationLevel;
use std::time::Duration;

fn options() -> SandboxOptions {
    SandboxOptions { modules: SandboxOptions::default().modules, ..quick() }
}

/// What is there when a script begins.
const LOOK: &str = "import sys; print(sorted({'numpy', 'pandas', 'sklearn'} & set(sys.modules)))\n";

#[test]
fn modules_are_imported_before_the_first_run_that_may_use_them() {
    let place = SandboxFixture::with(options());
    if place.sandbox.tier() > IsolationLevel::T1 {
        return;
    }
    let zygote = zygote_at_rest(&place);
    let found = |more: &str| place.run(&format!("{LOOK}{more}")).stdout.text();
    assert_eq!(found(""), "[]\n");
    assert_eq!(found("import numpy"), "['numpy']\n");
    assert_eq!(found(""), "['numpy']\n", "it stays");
    assert_eq!(found("def f(): from pandas import DataFrame"), "['numpy', 'pandas']\n");
    // What later calls of a session will use is not known.
    let session = place.workspace().in_mode(Mode::Session).unwrap();
    let first = session.run(LOOK, &policy()).unwrap();
    assert_eq!(first.stdout.text(), "['numpy', 'pandas', 'sklearn']\n");
    drop(session);
    assert_eq!(zygote_at_rest(&place), zygote);
}

#[test]
fn several_runs_without_control_groups_have_all_imported_at_the_start() {
    let found = |slots| {
        let options = SandboxOptions { best_tier: IsolationLevel::T2, slots, ..options() };
        SandboxFixture::with(options).run(LOOK).stdout.text()
    };
    assert_eq!(found(2), "['numpy', 'pandas', 'sklearn']\n");
    assert_eq!(found(1), "[]\n");
}

/// The zygote reports no ends while it imports, which is not taken for one that is stuck.
#[test]
fn runs_beside_an_import_end_as_they_would_without() {
    let place = SandboxFixture::with(options());
    let zygote = zygote_at_rest(&place);
    std::thread::scope(|scope| {
        let late = scope.spawn(|| {
            place.workspace().run("while True: pass", &within(Duration::from_millis(500))).unwrap()
        });
        let honest = scope.spawn(|| place.run("import time; time.sleep(0.5); print('done')"));
        std::thread::sleep(Duration::from_millis(300));
        assert_finished("a fit", &place.run("from sklearn.linear_model import Ridge"));
        assert_eq!(late.join().unwrap().outcome, Outcome::TimedOut);
        let honest = honest.join().unwrap();
        assert_finished("one beside", &honest);
        assert_eq!(honest.stdout.text(), "done\n");
    });
    assert_finished("the next", &place.run("pass"));
    assert_eq!(zygote_at_rest(&place), zygote, "it is still the same zygote");
}
