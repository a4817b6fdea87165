//! Description pages: the part of Markdown that they use, as HTML.
//!
//! Headings, paragraphs, lists, tables, fenced code, and inline code, strong and emphasised
//! words. Links become their text: a page leads nowhere. Raw HTML is text like any other.

use super::html::escaped;
use std::fmt::Write as _;

/// A page's top heading has this level, below the gallery's own.
const TOP: usize = 4;

/// The HTML of a page.
pub(super) fn render(page: &str) -> String {
    let lines: Vec<&str> = page.lines().collect();
    let mut html = String::new();
    let mut at = 0;
    while at < lines.len() {
        let line = lines[at];
        let block = if line.trim_start().starts_with("```") {
            fence
        } else if heading_level(line) > 0 {
            heading
        } else if is_table(&lines[at..]) {
            table
        } else if item(line).is_some() {
            list
        } else if line.trim().is_empty() {
            at += 1;
            continue;
        } else {
            paragraph
        };
        at += block(&lines[at..], &mut html);
    }
    html
}

fn fence(lines: &[&str], html: &mut String) -> usize {
    let inner: Vec<&str> = lines[1..]
        .iter()
        .take_while(|line| !line.trim_start().starts_with("```"))
        .copied()
        .collect();
    let _ = writeln!(html, "<pre><code>{}</code></pre>", escaped(&inner.join("\n")));
    // The closing fence may be missing at the end of a page.
    (inner.len() + 2).min(lines.len())
}

fn heading_level(line: &str) -> usize {
    let level = line.chars().take_while(|c| *c == '#').count();
    if level <= 6 && line[level..].starts_with(' ') { level } else { 0 }
}

fn heading(lines: &[&str], html: &mut String) -> usize {
    let level = heading_level(lines[0]);
    let shown = (level - 1 + TOP).min(6);
    let _ = writeln!(html, "<h{shown}>{}</h{shown}>", inline(lines[0][level..].trim()));
    1
}

/// A row of cells with a row of dashes below it.
fn is_table(lines: &[&str]) -> bool {
    let rule =
        |line: &str| line.contains('-') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '));
    lines.len() > 1 && lines[0].trim_start().starts_with('|') && rule(lines[1])
}

fn table(lines: &[&str], html: &mut String) -> usize {
    let rows = lines.iter().take_while(|line| line.trim_start().starts_with('|')).count();
    html.push_str("<div class=\"scroll\"><table>\n");
    for (index, line) in lines[..rows].iter().enumerate().filter(|(index, _)| *index != 1) {
        let tag = if index == 0 { "th" } else { "td" };
        html.push_str("<tr>");
        for cell in cells(line) {
            let _ = write!(html, "<{tag}>{}</{tag}>", inline(&cell));
        }
        html.push_str("</tr>\n");
    }
    html.push_str("</table></div>\n");
    rows
}

/// The cells between bars; `\|` is a bar within a cell.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|');
    let line = line.strip_suffix('|').unwrap_or(line).replace("\\|", "\u{1}");
    line.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

/// Whether a list item is numbered, and its text.
fn item(line: &str) -> Option<(bool, &str)> {
    let text = line.trim_start();
    if let Some(rest) = text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")) {
        return Some((false, rest));
    }
    let (number, rest) = text.split_once(". ")?;
    let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    numbered.then_some((true, rest))
}

fn list(lines: &[&str], html: &mut String) -> usize {
    let numbered = item(lines[0]).is_some_and(|(numbered, _)| numbered);
    let tag = if numbered { "ol" } else { "ul" };
    let _ = writeln!(html, "<{tag}>");
    let mut used = 0;
    while let Some((_, text)) = lines.get(used).and_then(|line| item(line)) {
        let mut text = text.to_owned();
        used += 1;
        // Indented lines continue an item.
        while let Some(more) = lines.get(used).filter(|line| {
            line.starts_with("  ") && !line.trim().is_empty() && item(line).is_none()
        }) {
            text = text + " " + more.trim();
            used += 1;
        }
        let _ = writeln!(html, "<li>{}</li>", inline(&text));
    }
    let _ = writeln!(html, "</{tag}>");
    used
}

fn paragraph(lines: &[&str], html: &mut String) -> usize {
    let ends =
        |line: &str| line.trim().is_empty() || line.starts_with("```") || heading_level(line) > 0;
    let used = 1 + lines[1..]
        .iter()
        .enumerate()
        .take_while(|(index, line)| {
            !ends(line) && item(line).is_none() && !is_table(&lines[index + 1..])
        })
        .count();
    let _ = writeln!(html, "<p>{}</p>", inline(&lines[..used].join("\n")));
    used
}

/// Marks within a line.
pub(super) fn inline(text: &str) -> String {
    let mut html = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*', '[']) {
        html.push_str(&escaped(&rest[..at]));
        rest = &rest[at..];
        let (mark, tag) = match rest {
            _ if rest.starts_with("**") => ("**", "strong"),
            _ if rest.starts_with('*') => ("*", "em"),
            _ if rest.starts_with('`') => ("`", "code"),
            _ => ("[", ""),
        };
        let inner = rest[mark.len()..].to_owned();
        let taken = if tag.is_empty() {
            link(&inner).map(|(label, length)| (inline(label), length))
        } else {
            let end = inner.find(mark).filter(|end| *end > 0 && !inner.starts_with(' '));
            end.map(|end| {
                let held = &inner[..end];
                let held = if tag == "code" { escaped(held) } else { inline(held) };
                (format!("<{tag}>{held}</{tag}>"), end + mark.len())
            })
        };
        if let Some((shown, length)) = taken {
            html.push_str(&shown);
            rest = &rest[mark.len() + length..];
        } else {
            html.push_str(mark);
            rest = &rest[mark.len()..];
        }
    }
    html + &escaped(rest)
}

/// The label of `label](address)` and how long all of it is.
fn link(inner: &str) -> Option<(&str, usize)> {
    let (label, after) = inner.split_once("](")?;
    let end = after.find(')')?;
    Some((label, label.len() + 2 + end + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_its_element() {
        let page = "# A <b>\n\nOne\ntwo `x < y` **b** *e* 2 * 3 * 4 [text](away).\n\n- a\n- b\n  c\n\n\
                    1. x\n2. y\n\n| k | v |\n| --- | --- |\n| `a` | 1 \\| 2 |\n\n```\n<p> **\n```\nend\n";
        insta::assert_snapshot!(render(page), @r#"
        <h4>A &lt;b&gt;</h4>
        <p>One
        two <code>x &lt; y</code> <strong>b</strong> <em>e</em> 2 * 3 * 4 text.</p>
        <ul>
        <li>a</li>
        <li>b c</li>
        </ul>
        <ol>
        <li>x</li>
        <li>y</li>
        </ol>
        <div class="scroll"><table>
        <tr><th>k</th><th>v</th></tr>
        <tr><td><code>a</code></td><td>1 | 2</td></tr>
        </table></div>
        <pre><code>&lt;p&gt; **</code></pre>
        <p>end</p>
        "#);
    }

    proptest::proptest! {
        #[test]
        fn any_text_renders_and_lets_no_element_through(page in "([#`*|<>\\[\\]()\n -]|[a-c1.]){0,60}") {
            let html = render(&page);
            let known = ["<h", "</", "<p", "<ul", "<ol", "<li", "<tr", "<t", "<div", "<code", "<strong", "<em"];
            for at in html.match_indices('<').map(|(at, _)| at) {
                proptest::prop_assert!(known.iter().any(|tag| html[at..].starts_with(tag)), "{}", html);
            }
        }
    }
}
