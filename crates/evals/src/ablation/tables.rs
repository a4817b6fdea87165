//! The tables of an ablation, for the terminal and for its page.

use super::cell::CellMeasure;
use super::coding::{HARD, OnePassBand};
use super::pair::{Estimate, PairEstimate};
use super::summary::{Ablation, ArmSummary};
use crate::report::{Report, ReportSection, ReportTable};

/// What tables show of the measures: shares as numbers, the others in percent.
fn shown(measure: CellMeasure, value: f64, signed: bool) -> String {
    let is_share = matches!(measure, CellMeasure::Way | CellMeasure::Reward);
    let (value, places) = if is_share { (value, 3) } else { (100.0 * value, 1) };
    if signed { format!("{value:+.places$}") } else { format!("{value:.places$}") }
}

fn between(measure: CellMeasure, (low, high): (f64, f64), signed: bool) -> String {
    format!("[{}, {}]", shown(measure, low, signed), shown(measure, high, signed))
}

/// Interval and standard error; of one task nothing is known of either.
fn errors(measure: CellMeasure, found: &Estimate, signed: bool) -> [String; 2] {
    if found.tasks < 2 {
        return ["–".to_owned(), "–".to_owned()];
    }
    [between(measure, found.interval, signed), shown(measure, found.error, false)]
}

fn cells<const N: usize>(row: [&str; N]) -> Vec<String> {
    row.map(str::to_owned).to_vec()
}

fn unit(measure: CellMeasure) -> &'static str {
    match measure {
        CellMeasure::Way | CellMeasure::Reward => "",
        _ => " %",
    }
}

impl Ablation {
    /// Its tables, with a heading each.
    pub fn sections(&self) -> Vec<ReportSection> {
        let arms = ReportSection {
            title: "Arms".to_owned(),
            note: self.conditions(),
            tables: vec![self.arm_table(), self.cost_table()],
        };
        let pairs = ReportSection {
            title: "Differences".to_owned(),
            note: "Each is over the tasks and seeds that both arms have grades on. Intervals hold \
                   95 %, from drawing tasks and seeds again together (10,000 draws), as is the standard \
                   error SE; p is two-sided, from flipping the signs of tasks."
                .to_owned(),
            tables: self.pair_tables(),
        };
        let coding = self.coding_tables();
        let coding = (!coding.is_empty()).then(|| ReportSection {
            title: "Coding".to_owned(),
            note: "What scripts came to by their plans.".to_owned(),
            tables: coding,
        });
        [arms, pairs].into_iter().chain(coding).filter(|part| !part.tables.is_empty()).collect()
    }

    fn conditions(&self) -> String {
        let cut = match self.calls {
            None => "Runs count as they ended".to_owned(),
            Some(calls) => format!("Runs count as they were after {calls} questions"),
        };
        format!(
            "{} on {}. {cut}. Reward is that of an episode whose turns are in their form: .1, .3 with a \
             valid submission, then .4, .8, .9 and 1 at the median, bronze, silver and gold. Good \
             scripts are the share of steps whose script ran to its end with a valid submission.",
            self.model, self.bench
        )
    }

    /// The table in the terminal.
    pub fn text(&self) -> String {
        self.sections().iter().map(ReportSection::markdown).collect::<Vec<_>>().join("\n")
    }

    /// The page; nothing in it is fetched from anywhere.
    pub fn html(&self, facts: Vec<(String, String)>) -> String {
        let report = Report {
            title: format!("Ablation on {}", self.bench),
            facts,
            evaluation: None,
            sections: self.sections(),
            charts: Vec::new(),
            funnel: Vec::new(),
            tasks: Vec::new(),
            trajectories: Vec::new(),
            settings: Vec::new(),
        };
        report.html()
    }

    fn measures(&self) -> Vec<CellMeasure> {
        let has =
            |measure: &CellMeasure| self.arms.iter().any(|arm| arm.estimates.contains_key(measure));
        CellMeasure::ALL.into_iter().filter(has).collect()
    }

    fn arm_table(&self) -> ReportTable {
        let measures = self.measures();
        let name = |measure: &CellMeasure| format!("{}{}", measure.name(), unit(*measure));
        let columns = ["arm", "runs", "faults"].map(str::to_owned);
        let estimate = |arm: &ArmSummary, measure: &CellMeasure| match arm.estimates.get(measure) {
            None => "–".to_owned(),
            Some(found) => {
                let [interval, _] = errors(*measure, found, false);
                format!("{} {interval}", shown(*measure, found.mean, false))
            }
        };
        let row = |arm: &ArmSummary| {
            let head = [arm.name.clone(), arm.runs.to_string(), arm.faults.to_string()];
            head.into_iter().chain(measures.iter().map(|measure| estimate(arm, measure))).collect()
        };
        ReportTable {
            title: "What they reach".to_owned(),
            note: "Means over tasks and seeds, with intervals of 95 %.".to_owned(),
            columns: columns.into_iter().chain(measures.iter().map(name)).collect(),
            rows: self.arms.iter().map(row).collect(),
        }
    }

    fn cost_table(&self) -> ReportTable {
        let row = |arm: &ArmSummary| {
            let costs = &arm.costs;
            let of = match &arm.of {
                None => String::new(),
                Some((of, steps)) => format!(" ({of} after {steps} steps)"),
            };
            vec![
                format!("{}{of}", arm.name),
                format!("{:.1}", costs.steps),
                format!("{:.1}", costs.calls),
                format!("{:.0}", costs.tokens),
                format!("{:.1}", costs.script_seconds),
                format!("{:.1}", costs.seconds),
            ]
        };
        ReportTable {
            title: "What a run takes".to_owned(),
            note: "Means over runs. Compare arms at equal calls, not at equal seconds.".to_owned(),
            columns: cells(["arm", "steps", "calls", "tokens", "script s", "seconds"]),
            rows: self.arms.iter().map(row).collect(),
        }
    }

    fn pair_tables(&self) -> Vec<ReportTable> {
        let table = |measure: CellMeasure| {
            let rows: Vec<Vec<String>> = self
                .pairs
                .iter()
                .filter(|pair| pair.measure == measure)
                .map(|pair| pair_row(pair, measure))
                .collect();
            let title = match unit(measure) {
                "" => measure.name().to_owned(),
                _ => format!("{}, in points", measure.name()),
            };
            pair_table(&title, rows)
        };
        self.measures().into_iter().map(table).filter(|table| !table.rows.is_empty()).collect()
    }

    fn coding_tables(&self) -> Vec<ReportTable> {
        let mut tables = Vec::new();
        let bands: Vec<Vec<String>> = self
            .arms
            .iter()
            .flat_map(|arm| arm.one_pass.iter().map(|band| band_row(&arm.name, band)))
            .collect();
        if let (Some(slip), false) = (self.slip, bands.is_empty()) {
            tables.push(ReportTable {
                title: "Scripts written anew in one pass".to_owned(),
                note: format!(
                    "A line is broken with probability {slip}, so theory expects the share (1 - \
                     {slip})^lines to be whole. SE is theory's standard error of the share; the last \
                     row of an arm is of all its scripts."
                ),
                columns: cells(["arm", "lines", "scripts", "good %", "theory %", "SE", "off by SE", "agree"]),
                rows: bands,
            });
        }
        let hard: Vec<Vec<String>> = self
            .arms
            .iter()
            .filter_map(|arm| {
                let found = arm.hard?;
                let percent = |share: f64| format!("{:.1}", 100.0 * share);
                Some(vec![
                    arm.name.clone(),
                    found.scripts.to_string(),
                    found.good.to_string(),
                    percent(found.good as f64 / found.scripts as f64),
                    format!("[{}, {}]", percent(found.interval.0), percent(found.interval.1)),
                ])
            })
            .collect();
        if !hard.is_empty() {
            tables.push(ReportTable {
                title: format!("Scripts for plans of complexity above {HARD}"),
                note:
                    "All steps with such a plan, repairs among them. The interval takes scripts as \
                       independent."
                        .to_owned(),
                columns: cells(["arm", "scripts", "good", "good %", "95 %"]),
                rows: hard,
            });
        }
        let rows: Vec<Vec<String>> =
            self.hard_pairs.iter().map(|pair| pair_row(pair, CellMeasure::Scripts)).collect();
        if !rows.is_empty() {
            tables.push(pair_table("good scripts for hard plans, in points, run by run", rows));
        }
        tables
    }
}

fn pair_table(title: &str, rows: Vec<Vec<String>>) -> ReportTable {
    ReportTable {
        title: format!("Difference of {title}"),
        note: "The first arm less the second.".to_owned(),
        columns: cells(["arms", "tasks", "mean", "95 %", "SE", "won, lost", "p", "by seed"]),
        rows,
    }
}

fn pair_row(pair: &PairEstimate, measure: CellMeasure) -> Vec<String> {
    let found = &pair.difference;
    let [interval, error] = errors(measure, found, true);
    let seeds: Vec<String> =
        pair.by_seed.iter().map(|seed| shown(measure, seed.mean, true)).collect();
    vec![
        format!("{} − {}", pair.arm, pair.base),
        format!("{} × {}", found.tasks, found.seeds),
        shown(measure, found.mean, true),
        interval,
        error,
        format!("{}, {}", pair.won, pair.lost),
        format!("{:.3}", pair.p),
        seeds.join(" "),
    ]
}

fn band_row(arm: &str, band: &OnePassBand) -> Vec<String> {
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let (least, most) = band.lines;
    vec![
        arm.to_owned(),
        format!("{least} to {most}"),
        band.scripts.to_string(),
        percent(band.share()),
        percent(band.theory),
        percent(band.error),
        format!("{:+.1}", band.deviation()),
        if band.agrees() { "yes" } else { "no" }.to_owned(),
    ]
}
