//! How a page is written: register, length, form of paragraphs, order of sections.

use super::phrases::registers;
use crate::numeric::draws::Draws;
use tasks::stream::Stream;

/// A section of a page below its title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PageSection {
    Overview,
    Glance,
    Data,
    Evaluation,
    Submission,
    Files,
}

/// How much a page says beyond what solvers need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageLength {
    /// The story and the question.
    Short,
    /// Also who asks, why, and some of the columns' ranges in sentences.
    Medium,
    /// All that is known, with a section of its own for the background.
    Long,
}

/// The form of several sentences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParagraphForm {
    /// Paragraphs.
    Prose,
    /// Paragraphs below a line with a place and a date.
    Dated,
    /// A list with bullets.
    Bullets,
    /// A numbered list.
    Numbered,
    /// Questions, each with its answer.
    Questions,
}

/// The form of the sentences about columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnForm {
    /// None: the table says it all.
    Table,
    /// A paragraph.
    Prose,
    /// A list with bullets.
    Bullets,
}

/// How a page is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PageStyle {
    /// Name of the register's bank.
    pub(super) register: &'static str,
    pub(super) length: PageLength,
    pub(super) form: ParagraphForm,
    pub(super) columns: ColumnForm,
    pub(super) order: [PageSection; 6],
}

/// Orders of sections as competitions have them; the first ones more often.
const ORDERS: [[PageSection; 6]; 6] = {
    use PageSection::{Data, Evaluation, Files, Glance, Overview, Submission};
    [
        [Overview, Glance, Data, Evaluation, Submission, Files],
        [Overview, Glance, Evaluation, Submission, Data, Files],
        [Overview, Data, Glance, Evaluation, Submission, Files],
        [Overview, Evaluation, Glance, Data, Files, Submission],
        [Glance, Overview, Data, Evaluation, Submission, Files],
        [Glance, Overview, Files, Data, Evaluation, Submission],
    ]
};

impl PageStyle {
    /// Draws a style.
    pub(super) fn draw(stream: Stream) -> Self {
        let mut draws = Draws::new(stream.child("style"));
        let register = *draws.pick(&registers());
        let length = [PageLength::Short, PageLength::Medium, PageLength::Long]
            [draws.weighted(&[0.25, 0.4, 0.35])];
        let form = [
            ParagraphForm::Prose,
            ParagraphForm::Dated,
            ParagraphForm::Bullets,
            ParagraphForm::Numbered,
            ParagraphForm::Questions,
        ][draws.weighted(&[0.4, 0.2, 0.15, 0.1, 0.15])];
        let columns = match length {
            PageLength::Short => ColumnForm::Table,
            PageLength::Medium => [ColumnForm::Table, ColumnForm::Prose, ColumnForm::Bullets]
                [draws.weighted(&[0.2, 0.5, 0.3])],
            PageLength::Long => [ColumnForm::Prose, ColumnForm::Bullets][draws.whole(0, 1)],
        };
        let order = ORDERS[draws.weighted(&[0.3, 0.2, 0.15, 0.15, 0.1, 0.1])];
        Self { register, length, form, columns, order }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn styles_of_many_tasks_cover_registers_orders_and_forms() {
        let styles: Vec<PageStyle> =
            (0..400).map(|task| PageStyle::draw(Stream::root(task))).collect();
        let registers: BTreeSet<&str> = styles.iter().map(|style| style.register).collect();
        assert!(registers.len() >= 8, "{registers:?}");
        let orders: BTreeSet<[PageSection; 6]> = styles.iter().map(|style| style.order).collect();
        assert_eq!(orders.len(), ORDERS.len());
        for order in orders {
            let sections: BTreeSet<PageSection> = order.into_iter().collect();
            assert_eq!(sections.len(), order.len(), "{order:?}");
        }
    }
}
