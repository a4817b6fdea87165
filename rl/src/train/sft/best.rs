//! The best of a policy's own episodes, to be imitated (rejection fine-tuning: Yuan et al. 2023).

use super::error::SftError;
use agents::trajectory::{self, Trajectory};
use camino::{Utf8Path, Utf8PathBuf};
use fs_err as fs;
use std::collections::{BTreeMap, BTreeSet};
use tasks::task::TaskId;

/// Of every `group` episodes on a task the one with the largest reward, if any has one; episodes are
/// those that `rl eval` or `rl train` left in `folders`, and only those on `tasks` count. Also how
/// many there were.
pub(super) fn best(
    folders: &[Utf8PathBuf],
    group: usize,
    tasks: &BTreeSet<TaskId>,
) -> Result<(Vec<Trajectory>, usize), SftError> {
    let (mut chosen, mut all) = (Vec::new(), 0);
    for path in files(folders)? {
        let mut played: BTreeMap<TaskId, Vec<Trajectory>> = BTreeMap::new();
        for trajectory in trajectory::read(&path)? {
            if tasks.contains(&trajectory.task) {
                all += 1;
                played.entry(trajectory.task.clone()).or_default().push(trajectory);
            }
        }
        for mut episodes in played.into_values() {
            // Files have them in the order in which they ended.
            episodes.sort_by_key(|trajectory| trajectory.attempt);
            chosen.extend(episodes.chunks(group.max(1)).filter_map(best_of).cloned());
        }
    }
    Ok((chosen, all))
}

/// The first of those with the largest reward; none if no reward is above 0.
fn best_of(episodes: &[Trajectory]) -> Option<&Trajectory> {
    let reward = |trajectory: &Trajectory| trajectory.reward.total();
    let largest = episodes.iter().map(reward).fold(0.0, f64::max);
    episodes.iter().find(|trajectory| largest > 0.0 && reward(trajectory) >= largest)
}

/// The files of episodes in `folders`, by name.
fn files(folders: &[Utf8PathBuf]) -> Result<Vec<Utf8PathBuf>, SftError> {
    let mut found = Vec::new();
    for folder in folders {
        let episodes = folder.join("episodes");
        let mut paths = Vec::new();
        for entry in fs::read_dir(&episodes)? {
            let path = entry?.path();
            paths.extend(Utf8Path::from_path(&path).map(Utf8Path::to_owned));
        }
        paths.retain(|path| path.extension() == Some("jsonl"));
        if paths.is_empty() {
            return Err(SftError::NoEpisodes(folder.clone()));
        }
        paths.sort();
        found.extend(paths);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use agents::trajectory::TRAJECTORY_VERSION;
    use serde_json::json;

    fn episode(task: &str, attempt: u64, reward: f64) -> Trajectory {
        let trajectory = json!({
            "version": TRAJECTORY_VERSION, "task": task, "agent": "a", "attempt": attempt,
            "feedback": "tier", "ending": "answered", "timed_out": false, "turns": [],
            "segments": [], "outcome": {"mle": {"grade": null, "refusal": null}},
            "reward": {"format": reward, "execution": 0.0, "tier": 0.0},
        });
        serde_json::from_value(trajectory).unwrap()
    }

    #[test]
    fn one_of_every_group_is_taken_if_it_earned_anything() {
        let dir = tempfile::tempdir().unwrap();
        let dir = Utf8Path::from_path(dir.path()).unwrap();
        fs::create_dir(dir.join("episodes")).unwrap();
        // Two groups of two on each task; the file is not in the order of attempts.
        let played = [
            episode("a", 3, 0.1),
            episode("b", 0, 0.0),
            episode("a", 0, 0.2),
            episode("a", 1, 0.3),
            episode("b", 1, 0.0),
            episode("a", 2, 0.1),
            episode("held-out", 0, 0.9),
            episode("b", 2, 0.4),
        ];
        trajectory::append(&dir.join("episodes/policy.jsonl"), &played).unwrap();
        let ids = ["a", "b"].map(|id| TaskId::new(id).unwrap());
        let folders = [dir.to_owned()];
        let (chosen, all) = best(&folders, 2, &ids.iter().cloned().collect()).unwrap();
        let found: Vec<(&str, u64)> =
            chosen.iter().map(|chosen| (chosen.task.as_str(), chosen.attempt)).collect();
        assert_eq!(found, [("a", 1), ("a", 2), ("b", 2)]);
        assert_eq!(all, 7);
        fs::remove_file(dir.join("episodes/policy.jsonl")).unwrap();
        assert!(matches!(
            best(&folders, 2, &ids.iter().cloned().collect()),
            Err(SftError::NoEpisodes(_))
        ));
    }
}
