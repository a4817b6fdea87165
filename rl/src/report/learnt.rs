//! What policies have learnt: which approaches they choose, what of their scripts is in their
//! demonstrations, what they gain on prompts that these have and on others, and how far they are
//! from the best scripts.
//!
//! `trajectories, demonstrations -> evidence -> learnt -> tables`
//!
//! A policy that selects among demonstrated scripts gains reward as well as one that engineers. The
//! numbers here tell the two apart.

use super::approach::{ApproachRow, approaches};
use super::evidence::{AgentEpisodes, EpisodeFacts, Evidence};
use agents::trajectory::Trajectory;
use evals::statistics::{mean, standard_error};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tasks::task::TaskId;

/// The numbers, as `rl report --json` writes them. `docs/METRICS.md` explains each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Learnt {
    /// Names of the policies in the order of all lists below. Of a training run these are its first
    /// and its last steps.
    pub policies: Vec<String>,
    /// What the demonstrations are; `None` without any, and then `novelty` is empty.
    pub demonstrations: Option<DemonstrationCounts>,
    /// Shares and rewards by approach, the most frequent first.
    pub approaches: Vec<ApproachRow>,
    /// What of each policy is in no demonstration.
    pub novelty: Vec<Novelty>,
    /// Rewards on all prompts, on seen and on new ones, policy by policy.
    pub prompts: Vec<PromptRow>,
    /// How far policies are from scripted agents; `None` without these.
    pub regret: Option<RegretTable>,
}

/// The size of a set of demonstrations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DemonstrationCounts {
    /// Episodes.
    pub episodes: usize,
    /// Different scripts.
    pub scripts: usize,
    /// Different prompts.
    pub prompts: usize,
}

/// A count among others of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// How many it holds of.
    pub count: usize,
    /// How many there are.
    pub total: usize,
}

impl Share {
    /// The share in [0, 1]; `None` of nothing.
    pub fn value(self) -> Option<f64> {
        (self.total > 0).then(|| self.count as f64 / self.total as f64)
    }
}

/// A mean with its standard error over tasks: attempts at one task are not independent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// Tasks that it is over.
    pub tasks: usize,
    /// The mean.
    pub mean: f64,
    /// Its standard error over tasks (ddof 1); `None` below two tasks.
    pub error: Option<f64>,
}

impl Estimate {
    /// Of one value per task, such as a difference; `None` without values.
    fn over_tasks(values: &[f64]) -> Option<Self> {
        (!values.is_empty()).then(|| Self {
            tasks: values.len(),
            mean: mean(values.iter().copied()),
            error: (values.len() > 1).then(|| standard_error(values)),
        })
    }

    /// Of the rewards of episodes, which weigh the same, as in the table of `rl eval`; `None`
    /// without episodes.
    pub(super) fn of_rewards<'a>(
        episodes: impl IntoIterator<Item = &'a EpisodeFacts>,
    ) -> Option<Self> {
        let episodes: Vec<&EpisodeFacts> = episodes.into_iter().collect();
        let tasks: Vec<f64> = task_means(episodes.iter().copied()).into_values().collect();
        let rewards = episodes.iter().map(|episode| episode.reward);
        Self::over_tasks(&tasks).map(|it| Self { mean: mean(rewards), ..it })
    }
}

/// What of a policy's episodes is in no demonstration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Novelty {
    /// Name of the policy.
    pub policy: String,
    /// Of the scripts that ran: those that a demonstration has byte for byte.
    pub copies: Share,
    /// Of the scripts that ran: those with a line that no demonstration has.
    pub new_line: Share,
    /// Of the episodes with a valid submission: those whose combination no demonstration has.
    pub new_combination: Share,
}

/// Which prompts a number is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptSet {
    /// All of them.
    All,
    /// Those that a demonstration has.
    Seen,
    /// Those that none has.
    New,
}

/// A policy's reward on a set of prompts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PromptRow {
    /// Name of the policy.
    pub policy: String,
    /// Which prompts.
    pub prompts: PromptSet,
    /// Number of episodes.
    pub episodes: usize,
    /// Mean reward; `None` without episodes.
    pub reward: Option<Estimate>,
    /// Mean over tasks of the difference to the first policy; `None` for that one, and without a
    /// task that both have.
    pub gain: Option<Estimate>,
}

/// How far policies are from scripted agents, over the tasks that all scripted agents played.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegretTable {
    /// The scripted agent with the best mean over the tasks; of several, the first.
    pub best_fixed: String,
    /// The scripted agents, in the order given.
    pub scripted: Vec<ScriptedReward>,
    /// Mean reward of the best scripted agent per task.
    pub best_per_task: Estimate,
    /// The policies.
    pub policies: Vec<RegretRow>,
}

/// What a scripted agent earns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedReward {
    /// Name of the agent.
    pub agent: String,
    /// Its mean reward over the tasks.
    pub reward: Estimate,
}

/// How far a policy is from the best scripts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegretRow {
    /// Name of the policy.
    pub policy: String,
    /// Its mean reward over the tasks; `None` if it played none of them.
    pub reward: Option<Estimate>,
    /// Reward of the best fixed script minus that of the policy, per task.
    pub fixed: Option<Estimate>,
    /// Reward of the best script of each task minus that of the policy.
    pub per_task: Option<Estimate>,
}

impl Learnt {
    /// From the episodes of policies and scripted agents, by name, and the demonstrations, if the
    /// policies were fine-tuned on any. The first policy is the one that the others are compared
    /// with.
    pub fn from_trajectories(
        policies: &[(&str, &[Trajectory])],
        scripted: &[(&str, &[Trajectory])],
        demonstrations: Option<&[Trajectory]>,
    ) -> Self {
        let mut evidence = Evidence::new(demonstrations);
        for (name, trajectories) in policies {
            evidence.add_policy(name, trajectories);
        }
        for (name, trajectories) in scripted {
            evidence.add_scripted(name, trajectories);
        }
        evidence.learnt()
    }
}

impl Evidence {
    /// Sums up what was added.
    pub fn learnt(&self) -> Learnt {
        let demonstrations = self.demonstrations.as_ref();
        Learnt {
            policies: self.policies.iter().map(|policy| policy.name.clone()).collect(),
            demonstrations: demonstrations.map(|all| DemonstrationCounts {
                episodes: all.episodes.len(),
                scripts: all.scripts.len(),
                prompts: all.prompts.len(),
            }),
            approaches: approaches(
                demonstrations.map(|all| all.episodes.as_slice()),
                &self.policies,
            ),
            novelty: demonstrations
                .map(|_| self.policies.iter().map(Novelty::new).collect())
                .unwrap_or_default(),
            prompts: self.prompt_rows(),
            regret: RegretTable::new(&self.policies, &self.scripted),
        }
    }

    fn prompt_rows(&self) -> Vec<PromptRow> {
        let sets: &[PromptSet] = match self.demonstrations {
            Some(_) => &[PromptSet::All, PromptSet::Seen, PromptSet::New],
            None => &[PromptSet::All],
        };
        let mut rows = Vec::new();
        for (place, policy) in self.policies.iter().enumerate() {
            for &prompts in sets {
                let own = prompts.select(policy);
                let first = prompts.select(&self.policies[0]);
                let gain = differences(&task_means(own.iter().copied()), &task_means(first));
                rows.push(PromptRow {
                    policy: policy.name.clone(),
                    prompts,
                    episodes: own.len(),
                    reward: Estimate::of_rewards(own),
                    gain: Estimate::over_tasks(&gain).filter(|_| place > 0),
                });
            }
        }
        rows
    }
}

impl PromptSet {
    /// The episodes of an agent that open with such a prompt.
    fn select(self, agent: &AgentEpisodes) -> Vec<&EpisodeFacts> {
        let has_seen = |episode: &EpisodeFacts| episode.shared.map(|it| it.has_seen_prompt);
        let is_in = |episode: &&EpisodeFacts| match self {
            Self::All => true,
            Self::Seen => has_seen(episode) == Some(true),
            Self::New => has_seen(episode) == Some(false),
        };
        agent.episodes.iter().filter(is_in).collect()
    }
}

impl Novelty {
    fn new(policy: &AgentEpisodes) -> Self {
        let episodes = &policy.episodes;
        let shared = || episodes.iter().filter_map(|episode| Some((episode, episode.shared?)));
        let scripts = episodes.iter().map(|episode| episode.scripts).sum();
        let evaluated = || shared().filter(|(episode, _)| episode.is_evaluated);
        Self {
            policy: policy.name.clone(),
            copies: Share { count: shared().map(|(_, it)| it.copies).sum(), total: scripts },
            new_line: Share {
                count: shared().map(|(_, it)| it.with_new_line).sum(),
                total: scripts,
            },
            new_combination: Share {
                count: evaluated().filter(|(_, it)| it.has_new_combination).count(),
                total: evaluated().count(),
            },
        }
    }
}

impl RegretTable {
    /// `None` without a scripted agent, or a task that all of them played.
    fn new(policies: &[AgentEpisodes], scripted: &[AgentEpisodes]) -> Option<Self> {
        let mut means: Vec<TaskMeans<'_>> =
            scripted.iter().map(|agent| task_means(&agent.episodes)).collect();
        let mut common = means.first()?.clone();
        common.retain(|task, _| means.iter().all(|of| of.contains_key(task)));
        for of in &mut means {
            of.retain(|task, _| common.contains_key(task));
        }
        let estimate =
            |of: &TaskMeans<'_>| Estimate::over_tasks(&of.values().copied().collect::<Vec<_>>());
        let estimates = means.iter().map(estimate).collect::<Option<Vec<_>>>()?;
        let mut best = 0;
        for (place, of) in estimates.iter().enumerate() {
            if of.mean > estimates[best].mean {
                best = place;
            }
        }
        let mut highest = common;
        for (task, reward) in &mut highest {
            *reward = means.iter().map(|of| of[task]).fold(*reward, f64::max);
        }
        let rows = policies.iter().map(|policy| {
            let mut own = task_means(&policy.episodes);
            own.retain(|task, _| highest.contains_key(task));
            RegretRow {
                policy: policy.name.clone(),
                reward: estimate(&own),
                fixed: Estimate::over_tasks(&differences(&means[best], &own)),
                per_task: Estimate::over_tasks(&differences(&highest, &own)),
            }
        });
        Some(Self {
            best_fixed: scripted[best].name.clone(),
            best_per_task: estimate(&highest)?,
            policies: rows.collect(),
            scripted: std::iter::zip(scripted, estimates)
                .map(|(agent, reward)| ScriptedReward { agent: agent.name.clone(), reward })
                .collect(),
        })
    }
}

/// An agent's mean reward on each of its tasks.
type TaskMeans<'a> = BTreeMap<&'a TaskId, f64>;

fn task_means<'a>(episodes: impl IntoIterator<Item = &'a EpisodeFacts>) -> TaskMeans<'a> {
    let mut rewards: BTreeMap<&TaskId, Vec<f64>> = BTreeMap::new();
    for episode in episodes {
        rewards.entry(&episode.task).or_default().push(episode.reward);
    }
    rewards.into_iter().map(|(task, of)| (task, mean(of.into_iter()))).collect()
}

/// `a - b` for each task that both have, in the order of tasks.
fn differences(a: &TaskMeans<'_>, b: &TaskMeans<'_>) -> Vec<f64> {
    a.iter().filter_map(|(task, reward)| Some(reward - b.get(task)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::approach::{Approach, ApproachResult};
    use super::super::fixture::{demonstrations, engineer, imitator, rewarded};
    use super::*;

    fn learnt(demonstrations: Option<&[Trajectory]>) -> Learnt {
        let policies: [(&str, &[Trajectory]); 2] = [("sft", &imitator()), ("grpo", &engineer())];
        Learnt::from_trajectories(&policies, &[], demonstrations)
    }

    fn assert_estimate(found: Option<Estimate>, tasks: usize, mean: f64, error: Option<f64>) {
        let found = found.unwrap();
        assert_eq!((found.tasks, found.error.is_some()), (tasks, error.is_some()), "{found:?}");
        assert!((found.mean - mean).abs() < 1e-12, "{found:?}");
        assert!((found.error.unwrap_or(0.0) - error.unwrap_or(0.0)).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn approaches_are_those_of_the_last_script_that_finished() {
        let learnt = learnt(Some(&demonstrations()));
        let labels: Vec<&str> = learnt.approaches.iter().map(|row| row.label.as_str()).collect();
        let expected =
            ["Ridge: rank", "Ridge: Forest", "plumbing only", "Forest", "no script that finished"];
        assert_eq!(labels, expected);
        let counts: Vec<[usize; 3]> = learnt
            .approaches
            .iter()
            .map(|row| {
                let count = |result: &ApproachResult| result.episodes;
                [
                    count(row.demonstrations.as_ref().unwrap()),
                    count(&row.policies[0]),
                    count(&row.policies[1]),
                ]
            })
            .collect();
        assert_eq!(counts, [[1, 2, 0], [0, 0, 2], [1, 0, 0], [1, 0, 0], [0, 0, 1]]);
        let own = learnt.approaches[1].policies[1];
        assert!((own.share - 2.0 / 3.0).abs() < 1e-12);
        // Task means .8 and .1: sd .494975, error .35.
        assert_estimate(own.reward, 2, 0.45, Some(0.35));
        assert_eq!(learnt.approaches[1].policies[0].reward, None);
        assert_eq!(learnt.approaches[4].approach, Approach::Unfinished);
    }

    #[test]
    fn rare_combinations_share_a_row() {
        let scripts: Vec<String> = (0..13).map(|place| format!("part{place:02}(x)")).collect();
        let episodes: Vec<Trajectory> = scripts
            .iter()
            .map(|code| {
                super::super::fixture::Played {
                    task: "t1",
                    prompt: "p1",
                    scripts: &[(code, true)],
                    is_valid: true,
                    reward: 0.5,
                }
                .trajectory()
            })
            .collect();
        let learnt = Learnt::from_trajectories(&[("sft", &episodes)], &[], None);
        assert_eq!(learnt.approaches.len(), 11);
        let last = &learnt.approaches[10];
        assert_eq!(last.approach, Approach::Other { combinations: 3 });
        assert_eq!((last.label.as_str(), last.policies[0].episodes), ("other (3 combinations)", 3));
    }

    #[test]
    fn novelty_counts_scripts_lines_and_combinations_apart() {
        let learnt = learnt(Some(&demonstrations()));
        let counts = DemonstrationCounts { episodes: 3, scripts: 4, prompts: 2 };
        assert_eq!(learnt.demonstrations, Some(counts));
        let share = |count, total| Share { count, total };
        let row = |policy: &str, copies, new_line, new_combination| Novelty {
            policy: policy.to_owned(),
            copies,
            new_line,
            new_combination,
        };
        let expected = [
            row("sft", share(1, 2), share(0, 2), share(0, 2)),
            // Of three episodes one has a valid submission; the copy is of a script that failed.
            row("grpo", share(1, 4), share(2, 4), share(1, 1)),
        ];
        assert_eq!(learnt.novelty, expected);
        assert_eq!((share(1, 4).value(), share(0, 0).value()), (Some(0.25), None));
    }

    #[test]
    fn gains_on_seen_and_on_new_prompts_are_apart() {
        let rows = learnt(Some(&demonstrations())).prompts;
        let sets = [PromptSet::All, PromptSet::Seen, PromptSet::New];
        assert!(rows.iter().map(|row| row.prompts).eq(sets.into_iter().chain(sets)));
        assert!(rows.iter().map(|row| row.episodes).eq([2, 1, 1, 3, 1, 2]));
        assert!(rows[..3].iter().all(|row| row.gain.is_none()), "the first has no gain");
        // .4 and .2: sd .141421, error .1.
        assert_estimate(rows[0].reward, 2, 0.3, Some(0.1));
        assert_estimate(rows[1].reward, 1, 0.4, None);
        assert_estimate(rows[2].reward, 1, 0.2, None);
        // Episodes weigh the same: (.8 + .1 + .1) / 3. Task means .8 and .1.
        assert_estimate(rows[3].reward, 2, 1.0 / 3.0, Some(0.35));
        // .4 on t1 and -.1 on t3: sd .353553, error .25.
        assert_estimate(rows[3].gain, 2, 0.15, Some(0.25));
        assert_estimate(rows[4].gain, 1, 0.4, None);
        assert_estimate(rows[5].gain, 1, -0.1, None);
    }

    #[test]
    fn without_demonstrations_nothing_is_compared_with_them() {
        let learnt = learnt(None);
        assert_eq!((learnt.demonstrations, learnt.novelty.len()), (None, 0));
        assert!(learnt.prompts.iter().all(|row| row.prompts == PromptSet::All));
        assert!(learnt.approaches.iter().all(|row| row.demonstrations.is_none()));
        // Demonstrations that there are none of are something else: nothing is a copy of them.
        let nothing = self::learnt(Some(&[]));
        assert_eq!(nothing.novelty[0].copies, Share { count: 0, total: 2 });
        assert_eq!(nothing.novelty[0].new_combination, Share { count: 2, total: 2 });
    }

    #[test]
    fn regret_is_against_the_best_script_of_all_tasks_and_of_each() {
        let of = |rewards: &[(&str, f64)]| -> Vec<Trajectory> {
            rewards.iter().map(|(task, reward)| rewarded(task, *reward)).collect()
        };
        // `a` alone played t2, which is left out.
        let a = of(&[("t1", 0.5), ("t3", 0.3), ("t2", 0.9)]);
        let b = of(&[("t1", 0.2), ("t3", 0.6), ("t3", 0.8)]);
        let policy = of(&[("t1", 0.4), ("t3", 0.2), ("t2", 0.1)]);
        let absent = of(&[("t4", 1.0)]);
        let learnt = Learnt::from_trajectories(
            &[("sft", &policy), ("absent", &absent)],
            &[("a", &a), ("b", &b)],
            None,
        );
        let regret = learnt.regret.unwrap();
        assert_eq!(regret.best_fixed, "b");
        assert_estimate(Some(regret.scripted[0].reward), 2, 0.4, Some(0.1));
        assert_estimate(Some(regret.scripted[1].reward), 2, 0.45, Some(0.25));
        // .5 on t1, .7 on t3.
        assert_estimate(Some(regret.best_per_task), 2, 0.6, Some(0.1));
        let row = &regret.policies[0];
        assert_estimate(row.reward, 2, 0.3, Some(0.1));
        // -.2 on t1 and .5 on t3: sd .494975, error .35.
        assert_estimate(row.fixed, 2, 0.15, Some(0.35));
        // .1 on t1 and .5 on t3.
        assert_estimate(row.per_task, 2, 0.3, Some(0.2));
        let absent = &regret.policies[1];
        assert_eq!((absent.reward, absent.fixed, absent.per_task), (None, None, None));
        // Without a task in common, there is nothing to compare with.
        let apart = Learnt::from_trajectories(
            &[("sft", &policy)],
            &[("a", &a), ("b", &of(&[("t4", 1.0)]))],
            None,
        );
        assert_eq!(apart.regret, None);
    }
}
