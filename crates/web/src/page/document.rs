//! A whole page, and the parts that several pages have.

use super::palette::variables;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// A page that fetches nothing: its styles, pictures and sounds are inside it.
#[derive(Debug)]
pub struct Document<'a> {
    /// Title in the browser's tab.
    pub title: &'a str,
    /// Rules that only this page has, after those that all pages have.
    pub style: &'static str,
    /// What is on the page.
    pub body: Markup,
}

impl Document<'_> {
    /// The whole file. Control characters other than line feed and tab, which HTML forbids, become
    /// U+FFFD.
    pub fn html(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (self.title) }
                    style { (PreEscaped(variables())) (PreEscaped(STYLE)) (PreEscaped(self.style)) }
                }
                body { main { (self.body) } }
            }
        };
        let mut text = page.into_string();
        let forbidden = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        if text.contains(forbidden) {
            text = text.replace(forbidden, "\u{fffd}");
        }
        text.push('\n');
        text
    }
}

/// A box that scrolls sideways when `wide` does not fit, so that the page never does. It can be
/// reached and scrolled with the keyboard; `label` names it for screen readers.
pub fn scroll(label: &str, wide: &Markup) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label=(label) { (wide) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(title: &str, body: &Markup) -> String {
        Document { title, style: "", body: body.clone() }.html()
    }

    #[test]
    fn document_escapes_its_title_and_replaces_control_characters() {
        let html = page("</title><script>", &html! { p { "a\u{7}\r<b>\n\tc" } });
        assert!(html.starts_with("<!DOCTYPE html><html lang=\"en\">"), "{html}");
        assert!(html.contains("<title>&lt;/title&gt;&lt;script&gt;</title>"));
        assert!(html.contains("<p>a\u{fffd}\u{fffd}&lt;b&gt;\n\tc</p>"));
    }

    #[test]
    fn document_fetches_nothing() {
        let html = page("", &html! {});
        for word in ["http", "url(", "@import", "<script", "src=", "href="] {
            assert!(!html.contains(word), "{word}");
        }
    }
}
