//! What was learnt, as tables to read.

use super::approach::{ApproachResult, ApproachRow};
use super::learnt::{Estimate, Learnt, Novelty, PromptRow, PromptSet, RegretTable, Share};
use evals::report::ReportTable;

/// What stands where there is no number.
const NONE: &str = "–";

impl Learnt {
    /// The tables, those without a row left out.
    pub fn tables(&self) -> Vec<ReportTable> {
        let mut tables = vec![self.approach_table(), self.novelty_table(), self.prompt_table()];
        tables.extend(self.regret.as_ref().map(regret_table));
        tables.retain(|table| !table.rows.is_empty());
        tables
    }

    fn approach_table(&self) -> ReportTable {
        let has_demonstrations = self.demonstrations.is_some();
        let mut columns = vec!["approach".to_owned()];
        columns.extend(has_demonstrations.then(|| "demonstrations".to_owned()));
        columns.extend(self.policies.iter().cloned());
        let row = |row: &ApproachRow| {
            let results = row.demonstrations.iter().chain(&row.policies);
            std::iter::once(row.label.clone()).chain(results.map(result)).collect()
        };
        ReportTable {
            title: "Episodes by approach".to_owned(),
            note: "The approach of an episode is the combination of estimators, transforms and \
                   functions that its last finished script calls. Cells are the share of the \
                   column's episodes and their mean reward ± its standard error over tasks."
                .to_owned(),
            columns,
            rows: self.approaches.iter().map(row).collect(),
        }
    }

    fn novelty_table(&self) -> ReportTable {
        let counts = self.demonstrations.map_or_else(String::new, |counts| {
            format!(
                "The {} demonstrations have {} different scripts and {} different prompts. ",
                counts.episodes, counts.scripts, counts.prompts
            )
        });
        let row = |row: &Novelty| {
            let shares = [row.copies, row.new_line, row.new_combination].map(share);
            std::iter::once(row.policy.clone()).chain(shares).collect()
        };
        ReportTable {
            title: "What is in no demonstration".to_owned(),
            note: format!(
                "{counts}Copies are scripts that a demonstration has byte for byte; a new line is \
                 one that no demonstration has, without the blanks around it. A new combination \
                 is an approach that no demonstration has, counted among the episodes with a \
                 valid submission."
            ),
            columns: ["policy", "copies", "with a new line", "new combination"]
                .map(str::to_owned)
                .to_vec(),
            rows: self.novelty.iter().map(row).collect(),
        }
    }

    fn prompt_table(&self) -> ReportTable {
        let has_sets = self.demonstrations.is_some();
        // A single policy has nothing to be compared with.
        let has_gain = self.policies.len() > 1;
        let mut columns = vec!["policy".to_owned()];
        columns.extend(has_sets.then(|| "prompts".to_owned()));
        columns.extend(["tasks", "reward"].map(str::to_owned));
        let first = self.policies.first().filter(|_| has_gain);
        columns.extend(first.map(|first| format!("gain over {first}")));
        let row = |row: &PromptRow| {
            let prompts = match row.prompts {
                PromptSet::All => "all",
                PromptSet::Seen => "seen",
                PromptSet::New => "new",
            };
            let tasks = row.reward.map_or(0, |reward| reward.tasks);
            let mut cells = vec![row.policy.clone()];
            cells.extend(has_sets.then(|| prompts.to_owned()));
            cells.extend([tasks.to_string(), mean(row.reward)]);
            cells.extend(has_gain.then(|| difference(row.gain)));
            cells
        };
        let (title, meaning) = if has_sets {
            let meaning = "A prompt is seen if a demonstration has it word for word. ";
            ("Reward on seen and on new prompts", meaning)
        } else {
            ("Reward", "")
        };
        ReportTable {
            title: title.to_owned(),
            note: format!(
                "{meaning}Rewards are means over episodes; a gain is the mean over tasks of the \
                 difference. ± is the standard error over tasks."
            ),
            columns,
            rows: self.prompts.iter().map(row).collect(),
        }
    }
}

fn regret_table(regret: &RegretTable) -> ReportTable {
    let scripted = regret.scripted.iter().map(|row| {
        vec![row.agent.clone(), mean(Some(row.reward)), NONE.to_owned(), NONE.to_owned()]
    });
    let best = vec![
        "best script per task".to_owned(),
        mean(Some(regret.best_per_task)),
        NONE.to_owned(),
        NONE.to_owned(),
    ];
    let policies = regret.policies.iter().map(|row| {
        let regrets = [row.fixed, row.per_task].map(difference);
        [row.policy.clone(), mean(row.reward)].into_iter().chain(regrets).collect()
    });
    ReportTable {
        title: "Regret against scripted agents".to_owned(),
        note: format!(
            "Regret is the reward of a script minus that of the policy, so above 0 where the \
             script is better. The best fixed script is `{}`, which has the best mean over these \
             {} tasks; the best script per task is chosen anew for each task, by its mean there, \
             which favours it. Rewards are means over tasks. Agents that know the hidden rule take no part. ± is the standard \
             error over tasks.",
            regret.best_fixed, regret.best_per_task.tasks
        ),
        columns: ["agent", "reward", "regret, best fixed script", "regret, best script per task"]
            .map(str::to_owned)
            .to_vec(),
        rows: scripted.chain([best]).chain(policies).collect(),
    }
}

fn result(result: &ApproachResult) -> String {
    match result.reward {
        Some(_) => format!("{} at {}", percent(result.share), mean(result.reward)),
        None => NONE.to_owned(),
    }
}

fn share(share: Share) -> String {
    let Some(value) = share.value() else { return NONE.to_owned() };
    format!("{} ({} of {})", percent(value), share.count, share.total)
}

fn mean(estimate: Option<Estimate>) -> String {
    estimate.map_or_else(|| NONE.to_owned(), |it| format!("{:.3}{}", it.mean, error(it)))
}

fn difference(estimate: Option<Estimate>) -> String {
    // Adding 0 makes 0 of -0, which a sum of differences may round to.
    let rounded = |mean: f64| (1000.0 * mean).round() / 1000.0 + 0.0;
    estimate.map_or_else(|| NONE.to_owned(), |it| format!("{:+.3}{}", rounded(it.mean), error(it)))
}

fn error(estimate: Estimate) -> String {
    estimate.error.map_or_else(String::new, |error| format!(" ± {error:.3}"))
}

fn percent(share: f64) -> String {
    format!("{:.1}%", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{demonstrations, engineer, imitator, rewarded};
    use super::*;
    use agents::trajectory::Trajectory;

    fn markdown(learnt: &Learnt) -> String {
        let tables: Vec<String> = learnt.tables().iter().map(ReportTable::markdown).collect();
        tables.join("\n")
    }

    #[test]
    fn tables_show_what_was_learnt() {
        let policies: [(&str, &[Trajectory]); 2] = [("sft", &imitator()), ("grpo", &engineer())];
        let scripted = |rewards: [f64; 2]| [rewarded("t1", rewards[0]), rewarded("t3", rewards[1])];
        let learnt = Learnt::from_trajectories(
            &policies,
            &[
                ("scripted/linear", &scripted([0.5, 0.3])),
                ("scripted/forest", &scripted([0.2, 0.7])),
            ],
            Some(&demonstrations()),
        );
        insta::assert_snapshot!(markdown(&learnt));
    }

    #[test]
    fn tables_without_demonstrations_leave_out_what_depends_on_them() {
        let learnt = Learnt::from_trajectories(&[("sft", &imitator())], &[], None);
        let text = markdown(&learnt);
        for part in ["demonstration", "copies", "seen", "new", "gain over", "Regret"] {
            assert!(!text.contains(part), "{part}: {text}");
        }
        assert!(text.contains("| Ridge: rank | 100.0% at 0.300 ± 0.100 |"), "{text}");
        assert_eq!(learnt.tables().len(), 2);
    }
}
