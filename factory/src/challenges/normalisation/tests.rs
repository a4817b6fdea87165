//! What text normalisation promises: rungs in order, rows that are not alike, and Python that reads
//! as we do.

use super::*;
use crate::challenges::python;
use crate::challenges::trial::Trial;
use tasks::stream::Stream;

fn wording() -> Wording {
    let phrases = |text: &str| text.split(", ").map(str::to_owned).collect();
    Wording {
        subjects: phrases(
            "the night ferry, the old tugboat, the car deck, the outer quay, the pilot boat, \
             the ticket hall, the island bus, the lower landing",
        ),
        settings: phrases(
            "since the storm of last winter, before the crowds arrive here, because the tide came \
             late, while the crane is broken, after the crew changed over, in spite of thick fog, \
             until the landing is ready, for all without any luggage",
        ),
    }
}

fn drawn(seed: u64, slips: f64) -> (Normalisation, Vec<DrawnRow>) {
    let mut draws = Draws::new(Stream::root(seed));
    let rule = Normalisation::plan(&mut draws);
    let strengths = Strengths::from([(SLIPS.name.to_owned(), slips)]);
    let rows = RowCounts { train: 180, test: 300 };
    let drawn = rule.draw(&wording(), &strengths, rows, &mut draws);
    (rule, drawn)
}

#[test]
fn rungs_rise_and_the_own_style_is_found() {
    let mut recovered = 0.0;
    for seed in 0..4 {
        let (rule, rows) = drawn(seed, 0.03);
        let Trial { scores, .. } = Trial::new(&rule, Metric::ExactMatch, &rows, 180);
        assert!(scores.is_sorted() && scores[0] < scores[1] && scores[2] < scores[3], "{scores:?}");
        recovered += (scores[3] - scores[0]) / (scores[4] - scores[0]) / 4.0;
    }
    assert!(recovered > 0.9, "{recovered}");
}

#[test]
fn slips_change_answers_and_no_cell() {
    let (_, clean) = drawn(7, 0.0);
    let (_, slipped) = drawn(7, 0.3);
    let same = |(a, b): &(&DrawnRow, &DrawnRow)| a.cells == b.cells && a.ideal == b.ideal;
    assert!(clean.iter().zip(&slipped).all(|pair| same(&pair)));
    assert!(clean.iter().all(|row| row.truth == row.ideal));
    let wrong = slipped.iter().filter(|row| row.truth != row.ideal).count();
    assert!((60..240).contains(&wrong), "{wrong}");
}

#[test]
fn the_recorded_code_reads_as_the_rule_does() {
    for seed in [11, 12, 13] {
        let (rule, rows) = drawn(seed, 0.0);
        let answers = python::answers(&rule.oracle(), 180, &rows);
        let missed: Vec<(&DrawnRow, &String)> = rows[180..]
            .iter()
            .zip(&answers)
            .filter(|(row, answer)| row.ideal != Answer::Text((*answer).clone()))
            .collect();
        // Tokens of two meanings between words that were never seen may be read wrongly.
        assert!(missed.len() < 12, "{missed:?}");
    }
}
