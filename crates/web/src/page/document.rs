//! A whole page, and the parts that several pages have.

use super::palette::variables;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

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
        self.write(&html! {}, &html! {})
    }

    /// The same with a script of ours, and a policy under which the browser fetches nothing and
    /// runs nothing else. Under it, attributes `style` and `on…` have no effect. The script must
    /// not contain `</script`, nor characters that [`Self::html`] replaces.
    pub fn html_with_script(&self, script: &'static str) -> String {
        let policy = format!(
            "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
            source(&self.rules()),
            source(script)
        );
        let policy = html! { meta http-equiv="Content-Security-Policy" content=(policy); };
        self.write(&policy, &html! { script { (PreEscaped(script)) } })
    }

    fn rules(&self) -> String {
        format!("{}{}", style_sheet(), self.style)
    }

    /// `policy` comes before everything that it restricts, `script` after everything it works on.
    fn write(&self, policy: &Markup, script: &Markup) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    (policy)
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (self.title) }
                    style { (PreEscaped(self.rules())) }
                }
                body { main { (self.body) } (script) }
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

/// The style sheet of all pages, for servers whose pages come in several files.
pub fn style_sheet() -> String {
    format!("{}{STYLE}", variables())
}

/// How a policy names an inline text that it allows.
fn source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)))
}

/// A box that scrolls sideways when `wide` does not fit, so that the page never does. It can be
/// reached and scrolled with the keyboard; `label` names it for screen readers.
pub fn scroll(label: &str, wide: &Markup) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label=(label) { (wide) } }
}

/// A text in which what stands between backticks is set as code.
pub fn prose(text: &str) -> Markup {
    html! {
        @for (place, part) in text.split('`').enumerate() {
            @if place % 2 == 0 { (part) } @else { code { (part) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_between_backticks_are_code() {
        let html = prose("The best is `a<b`, then `c`.").into_string();
        assert_eq!(html, "The best is <code>a&lt;b</code>, then <code>c</code>.");
    }

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
    fn document_with_a_script_allows_that_and_nothing_else() {
        let document = Document { title: "", style: "b {}", body: html! {} };
        let html = document.html_with_script("alert(1)");
        // printf 'alert(1)' | openssl dgst -sha256 -binary | base64
        let hash = "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='";
        assert!(
            html.contains(&format!("script-src {}", hash.replace('\'', "&#39;")))
                || html.contains(&format!("script-src {hash}")),
            "{html}"
        );
        assert!(html.contains("default-src 'none'") && html.contains("<script>alert(1)</script>"));
        let (policy, style) = (html.find("http-equiv"), html.find("<style>"));
        assert!(policy.is_some() && policy < style);
    }

    #[test]
    fn document_fetches_nothing() {
        let html = page("", &html! {});
        for word in ["http", "url(", "@import", "<script", "src=", "href="] {
            assert!(!html.contains(word), "{word}");
        }
    }
}
