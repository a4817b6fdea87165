//! The table of a rating for the terminal.

use super::summary::{Pair, RatingSummary, SolverSummary};
use std::fmt;
use tasks::rating::Solver;

impl fmt::Display for RatingSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tasks = if self.tasks == 1 { "task" } else { "tasks" };
        writeln!(f, "{} {tasks}\n", self.tasks)?;
        writeln!(
            f,
            "{:<11} {:>5} {:>5} {:>5} {:>6} {:>6} {:>6} {:>6} {:>7} {:>13} {:>6} {:>13} {:>7}",
            "solver",
            "tasks",
            "valid",
            "fell",
            "median",
            "bronze",
            "silver",
            "gold",
            "medal %",
            "95 %",
            "way",
            "95 %",
            "cpu p50",
        )?;
        self.solvers.iter().try_for_each(|one| line(f, one))?;
        write!(f, "\nany medal, % (mean way)\n{:<20} {:>5}", "", "tasks")?;
        self.solvers.iter().try_for_each(|one| write!(f, " {:>14}", one.solver))?;
        writeln!(f)?;
        for (name, solvers) in &self.groups {
            let tasks = solvers.iter().map(|one| one.tasks).max().unwrap_or(0);
            write!(f, "{name:<20} {tasks:>5}")?;
            for one in solvers {
                write!(f, "  {:>5.1} ({:.3})", 100.0 * one.medal_share(), one.mean_way())?;
            }
            writeln!(f)?;
        }
        let names: Vec<Solver> = self.solvers.iter().map(|one| one.solver).collect();
        writeln!(f, "\nrow above column, % of tasks")?;
        matrix(f, &names, &self.pairs)?;
        writeln!(f, "\nthe same on tasks of pictures, sounds and texts")?;
        matrix(f, &names, &self.media_pairs)?;
        levels(f, "level by solvers", &self.levels)?;
        levels(f, "level by ladder", &self.ladder_levels)?;
        for gate in &self.gates {
            let verdict = match gate.holds {
                Some(true) => "holds",
                Some(false) => "fails",
                None => "open",
            };
            write!(f, "\n{verdict:<6} {}: {}", gate.name, gate.found)?;
        }
        Ok(())
    }
}

fn line(f: &mut fmt::Formatter<'_>, one: &SolverSummary) -> fmt::Result {
    let [median, bronze, silver, gold] = one.milestones;
    let (low, high) = one.medal_interval;
    write!(
        f,
        "{:<11} {:>5} {:>5} {:>5} {median:>6} {bronze:>6} {silver:>6} {gold:>6} {:>7.1} {:>6.1}-{:<6.1}",
        one.solver,
        one.tasks,
        one.valid,
        one.fell_back,
        100.0 * one.medal_share(),
        100.0 * low,
        100.0 * high,
    )?;
    let (way, low, high) = one.way.unwrap_or_default();
    writeln!(f, " {way:>6.3} {low:>6.3}-{high:<6.3} {:>7.2}", one.processor_seconds)
}

fn matrix(f: &mut fmt::Formatter<'_>, names: &[Solver], pairs: &[Pair]) -> fmt::Result {
    write!(f, "{:<11}", "")?;
    names.iter().try_for_each(|name| write!(f, " {name:>10}"))?;
    writeln!(f)?;
    for &row in names {
        write!(f, "{row:<11}")?;
        for &column in names {
            match pairs.iter().find(|pair| (pair.solver, pair.other) == (row, column)) {
                Some(pair) if pair.tasks > 0 => write!(f, " {:>10.1}", 100.0 * pair.above)?,
                _ => write!(f, " {:>10}", "")?,
            }
        }
        writeln!(f)?;
    }
    Ok(())
}

fn levels(f: &mut fmt::Formatter<'_>, name: &str, counts: &[usize; 5]) -> fmt::Result {
    if counts.iter().sum::<usize>() == 0 {
        return Ok(());
    }
    write!(f, "\n{name}:")?;
    for (level, count) in (1..).zip(counts) {
        write!(f, " {level}: {count}{}", if level < 5 { "," } else { "\n" })?;
    }
    Ok(())
}
