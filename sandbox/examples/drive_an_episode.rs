//! Plays an episode of a made-up task, action by action, as an agent would.
//!
//! ```text
//! cargo build && cargo run -p sandbox --example drive_an_episode
//! ```
//! Needs the Python environment that `make venv` installs.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

mod made_up_task;

use camino::Utf8Path;
use jail::exec::Mode;
use sandbox::env::{Action, Budget, EpisodeConfig, Feedback, TaskSuite};
use std::error::Error;
use tasks::task::Opening;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = made_up_task::write(Utf8Path::from_path(folder.path()).ok_or("not UTF-8")?)?;
    let suite = TaskSuite::open(&path, &Opening::default(), made_up_task::options())?;

    let config = EpisodeConfig {
        budget: Budget { turns: 6, wall_seconds: 120 },
        // `Score` reports the tier on 30 % of the test rows; the final grade uses the others.
        feedback: Feedback::Tier,
        feedback_share: 0.3,
        // One interpreter for the whole episode: the second script knows the variables of the first.
        mode: Mode::Session,
        ..EpisodeConfig::default()
    };
    let mut episode = suite.reset(&suite.tasks()[0], &config)?;
    let python = |code: &str| Action::Python { code: code.to_owned() };
    let actions = [
        python("import pandas as pd\ntest = pd.read_csv('input/test.csv')\nprint(test.shape)"),
        Action::Score,
        python(
            "test['y'] = test['hours'] / 12\ntest[['id', 'y']].to_csv('submission.csv', index=False)",
        ),
        Action::Score,
        Action::Answer,
    ];
    for action in &actions {
        let step = episode.step(action)?;
        println!("turn {}: {}", episode.turns(), step.observation.text);
        if step.done {
            break;
        }
    }
    let result = episode.close()?;
    match (result.grade, result.refusal) {
        (Some(grade), _) => println!("final score {:.3} ({:?})", grade.score, grade.tier),
        (None, refusal) => println!("no grade: {}", refusal.unwrap_or_default()),
    }
    Ok(())
}
