//! Description pages as HTML.
//!
//! Links become their text, because a page leads nowhere. Raw HTML is text like any other.

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// Levels by which headings are lowered: a page's top heading stands below the gallery's own.
const LOWERED: usize = 3;
/// A box that scrolls sideways, as [`web::page::scroll`] makes it.
const BOX: &str = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"table\">";
const BOX_END: &str = "</div>\n";

/// The HTML of a page.
pub(super) fn render(page: &str) -> Markup {
    let mut text = String::new();
    html::push_html(&mut text, events(page).flat_map(in_a_box));
    PreEscaped(text)
}

/// The HTML of one line: without the paragraph around it.
pub(super) fn inline(line: &str) -> Markup {
    let mut text = String::new();
    let is_paragraph = |event: &Event<'_>| {
        matches!(event, Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph))
    };
    html::push_html(&mut text, events(line).filter(|event| !is_paragraph(event)));
    PreEscaped(text)
}

/// An event; those around a table come with a box in which wide tables scroll.
fn in_a_box(event: Event<'_>) -> impl Iterator<Item = Event<'_>> {
    let (before, after) = match event {
        Event::Start(Tag::Table(_)) => (Some(BOX), None),
        Event::End(TagEnd::Table) => (None, Some(BOX_END)),
        _ => (None, None),
    };
    let html = |text| Event::Html(CowStr::Borrowed(text));
    before.map(html).into_iter().chain([event]).chain(after.map(html))
}

/// The events of a page that may be shown.
fn events(page: &str) -> impl Iterator<Item = Event<'_>> {
    Parser::new_ext(page, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::Start(Tag::Heading { level, .. }) => {
            let (level, id, classes, attrs) = (lowered(level), None, Vec::new(), Vec::new());
            Some(Event::Start(Tag::Heading { level, id, classes, attrs }))
        }
        Event::End(TagEnd::Heading(level)) => Some(Event::End(TagEnd::Heading(lowered(level)))),
        // The language of a fence is of no use here, and would be an attribute.
        Event::Start(Tag::CodeBlock(_)) => Some(Event::Start(Tag::CodeBlock(
            pulldown_cmark::CodeBlockKind::Fenced(CowStr::Borrowed("")),
        ))),
        Event::Start(Tag::Link { .. } | Tag::Image { .. } | Tag::HtmlBlock)
        | Event::End(TagEnd::Link | TagEnd::Image | TagEnd::HtmlBlock) => None,
        other => Some(other),
    })
}

fn lowered(level: HeadingLevel) -> HeadingLevel {
    HeadingLevel::try_from(level as usize + LOWERED).unwrap_or(HeadingLevel::H6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_its_element() {
        let page = "# A <b>\n\nOne\ntwo `x < y` **b** *e* 2 * 3 * 4 [text](away).\n\n- a\n- b\n  c\n\n\
                    1. x\n2. y\n\n| k | v |\n| --- | --- |\n| `a` | 1 \\| 2 |\n\n```\n<p> **\n```\nend\n";
        insta::assert_snapshot!(render(page).into_string());
    }

    #[test]
    fn inline_text_has_no_paragraph_around_it() {
        assert_eq!(inline("a `b` <i>").into_string(), "a <code>b</code> &lt;i&gt;");
    }

    proptest::proptest! {
        #[test]
        fn any_text_renders_and_lets_no_element_through(page in "([#`*|<>\\[\\]()\n -]|[a-c1.]){0,60}") {
            let html = render(&page).into_string();
            let known = ["<h", "</", "<p", "<ul", "<ol", "<li", "<t", "<div", "<code", "<strong", "<em", "<br", "<blockquote"];
            for at in html.match_indices('<').map(|(at, _)| at) {
                proptest::prop_assert!(known.iter().any(|tag| html[at..].starts_with(tag)), "{}", html);
            }
            proptest::prop_assert!(!html.contains("href") && !html.contains("src="), "{}", html);
        }
    }
}
