//! Steps of several series, of which the last ones are forecast.

use super::TaskKind;
use crate::data::assets::{self, Assets, Attachments};
use crate::data::series;
use crate::media::MediumError;
use crate::numeric::draws::Draws;
use crate::spec::blueprint::Blueprint;
use crate::spec::layout::SeriesSpec;
use crate::spec::scenario::Story;

impl TaskKind for SeriesSpec {
    fn render(&self, blueprint: &Blueprint) -> Result<Assets, MediumError> {
        let stream = blueprint.origin.stream("assets");
        let rows = series::draw(blueprint, self, stream);
        Ok(assets::labelled(blueprint, rows, Attachments::default(), stream))
    }

    fn goal(&self, _blueprint: &Blueprint, story: &Story, draws: &mut Draws) -> String {
        let Story::Series(story) = story else { return String::new() };
        let (target, means, series) = (&story.target.name, &story.target.means, &story.series.name);
        match draws.whole(0, 1) {
            0 => format!(
                "Forecast `{target}` ({means}) for the steps that follow the training data, for \
                 each `{series}`."
            ),
            _ => format!(
                "For each `{series}`, the history of `{target}` ({means}) ends at some step; \
                 predict the steps after it."
            ),
        }
    }

    fn opening(&self, _blueprint: &Blueprint, story: &Story, _draws: &mut Draws) -> String {
        let Story::Series(story) = story else { return String::new() };
        format!(
            "The data is in long form: one row per `{}` and `{}`. The test rows continue each \
             series where its training rows end, and all other columns are known ahead. `{}` is \
             the position within a cycle of {} steps.",
            story.series.name, story.step, story.season, story.period
        )
    }

    fn made_of(&self, _blueprint: &Blueprint) -> String {
        "series".to_owned()
    }
}
