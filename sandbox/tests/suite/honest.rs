//! What a fair script needs, it gets.

use crate::fixture::{SandboxFixture, assert_finished, policy, script};
use jail::exec::Outcome;
use jail::limits::RunLimits;

#[test]
fn scripts_compute_print_and_leave_files() {
    let place = SandboxFixture::warm();
    let run = place.run("print('hello')");
    assert_finished("hello", &run);
    assert_eq!(run.stdout.text(), "hello\n");
    assert_eq!(run.stderr.text(), "");
    assert!(run.wall.as_secs() < 20 && run.peak_memory > 10 << 20);

    let run = place.run(&script(
        r"
            import numpy as np
            from sklearn.linear_model import LogisticRegression
            rng = np.random.default_rng(0)
            x = rng.normal(size=(150, 4))
            y = x[:, 0] > 0
            assert LogisticRegression().fit(x, y).score(x, y) > 0.9
            ",
    ));
    assert_finished("logistic regression", &run);

    let run = place.run(&script(
        r"
            import numpy as np
            from sklearn.ensemble import RandomForestRegressor
            from sklearn.model_selection import GridSearchCV
            x = np.arange(200.0).reshape(-1, 2)
            forest = RandomForestRegressor(n_estimators=20, n_jobs=-1)
            search = GridSearchCV(forest, {'max_depth': [2, 4]}, n_jobs=4, cv=2)
            search.fit(x, x[:, 0])
            ",
    ));
    assert_finished("forest with every processor", &run);
    assert!(run.wall.as_secs() < 20, "{:?}", run.wall);

    let run = place.run(&script(
        r"
            import pandas as pd
            train = pd.read_csv('input/train.csv')
            assert list(train.columns) == ['id', 'x', 'y'], train
            train[['id', 'y']].to_csv('submission.csv', index=False)
            ",
    ));
    assert_finished("read input, write submission", &run);
}

/// libtorch reserves far more address space than a script may have memory.
#[test]
fn torch_trains_within_the_default_limits() {
    let place = SandboxFixture::warm();
    let run = place.workspace().run(
        &script(
            r"
            import torch
            torch.manual_seed(0)
            x = torch.randn(64, 3, 32, 32)
            y = (x.mean((1, 2, 3)) > 0).float()
            net = torch.nn.Sequential(
                torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
                torch.nn.Flatten(), torch.nn.Linear(8, 1),
            )
            steps = torch.optim.Adam(net.parameters())
            for _ in range(3):
                loss = torch.nn.functional.binary_cross_entropy_with_logits(net(x)[:, 0], y)
                steps.zero_grad(); loss.backward(); steps.step()
            assert torch.isfinite(loss)
            ",
        ),
        &RunLimits::default(),
    );
    assert_finished("network", &run.unwrap());
}

#[test]
fn files_stay_between_runs_of_an_episode_and_state_does_not() {
    let place = SandboxFixture::quick();
    let workspace = place.workspace();
    let first = &script(
        r"
        import os, builtins, numpy
        open('kept.txt', 'w').write('here')
        open('/tmp/gone', 'w').write('x'); open('/dev/shm/gone', 'w').write('x')
        builtins.leftover = 1; numpy.leftover = 1; os.environ['LEFTOVER'] = '1'
        len = None
        ",
    );
    assert_finished("first", &workspace.run(first, &policy()).unwrap());
    let second = &script(
        r"
        import os, builtins, numpy
        assert open('kept.txt').read() == 'here'
        assert os.listdir('/tmp') == [] and os.listdir('/dev/shm') == []
        assert not hasattr(builtins, 'leftover') and not hasattr(numpy, 'leftover')
        assert 'LEFTOVER' not in os.environ and len('ab') == 2
        ",
    );
    assert_finished("second", &workspace.run(second, &policy()).unwrap());
    assert_eq!(workspace.collect("kept.txt", 100).unwrap(), b"here");

    let other = "import os\nassert sorted(os.listdir('.')) == ['input'], os.listdir('.')\n";
    assert_finished("another episode", &place.run(other));
}

#[test]
fn random_numbers_differ_between_runs_unless_seeded() {
    let place = SandboxFixture::quick();
    let free = "import random, numpy as np\nprint(random.random(), np.random.random())";
    assert_ne!(place.run(free).stdout.text(), place.run(free).stdout.text());
    let seeded = &script(
        r"
        import random, numpy as np
        random.seed(1); np.random.seed(1)
        print(random.random(), np.random.random(), list({'a', 'b', 'c'}))
        ",
    );
    assert_eq!(place.run(seeded).stdout.text(), place.run(seeded).stdout.text());
}

#[test]
fn script_behaves_like_a_normal_python_program() {
    let place = SandboxFixture::quick();
    let run = place.run(&script(
        r"
            import sys, os, pickle, atexit, threading, subprocess, tempfile, multiprocessing
            assert __name__ == '__main__' and sys.argv == ['script.py']
            assert os.getcwd() == '/work' and os.path.expanduser('~') == '/work'
            class Model: pass
            assert isinstance(pickle.loads(pickle.dumps(Model())), Model)
            open('helper.py', 'w').write('value = 7')
            import helper; assert helper.value == 7
            assert subprocess.run(['cat'], input=b'x', capture_output=True).stdout == b'x'
            assert tempfile.mkdtemp().startswith('/tmp/')
            with multiprocessing.get_context('fork').Pool(2) as pool:
                assert pool.map(abs, [-1, -2]) == [1, 2]
            atexit.register(print, 'bye')
            threading.Thread(target=lambda: print('thread')).start()
            ",
    ));
    assert_finished("inside", &run);
    assert!(run.stdout.text().ends_with("bye\n"), "{}", run.stdout.text());
}

#[test]
fn an_exception_shows_the_scripts_own_lines_only() {
    let place = SandboxFixture::quick();
    let run = place.run("def f():\n    return {}['missing']\nf()\n");
    assert_eq!(run.outcome, Outcome::Raised { exception: "KeyError".into() });
    insta::assert_snapshot!(run.stderr.text(), @r#"
    Traceback (most recent call last):
      File "script.py", line 3, in <module>
        f()
      File "script.py", line 2, in f
        return {}['missing']
               ~~^^^^^^^^^^^
    KeyError: 'missing'
    "#);
    let run = place.run("x = (1,\n");
    assert_eq!(run.outcome, Outcome::Raised { exception: "SyntaxError".into() });
    insta::assert_snapshot!(run.stderr.text(), @r#"
      File "script.py", line 1
        x = (1,
            ^
    SyntaxError: '(' was never closed
    "#);
}

#[test]
fn eight_threads_run_at_once_with_four_places() {
    let place = SandboxFixture::quick();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let place = &place;
            scope.spawn(move || {
                let workspace = place.workspace();
                for step in 0..5 {
                    let code = format!(
                        "open('log', 'a').write('{thread}.{step} ')\nprint(open('log').read())"
                    );
                    let run = workspace.run(&code, &policy()).unwrap();
                    assert_finished("append", &run);
                    let lines: Vec<_> = (0..=step).map(|s| format!("{thread}.{s} ")).collect();
                    assert_eq!(run.stdout.text(), format!("{}\n", lines.concat()));
                }
            });
        }
    });
}
