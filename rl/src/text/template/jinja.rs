//! Chat templates, rendered to the letter as transformers renders them.
//!
//! What transformers adds to Jinja (`transformers/utils/chat_template_utils.py`, 5.23): blocks
//! take their line's blanks with them, loops can `break`, `tojson` is Python's `json.dumps`,
//! `raise_exception` refuses a conversation, `strftime_now` tells the date.

use jiff::Zoned;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Kwargs;
use minijinja::{Environment, Error, ErrorKind, Value};
use minijinja_contrib::pycompat::unknown_method_callback;
use serde::Serialize;
use serde_json::ser::Formatter;
use std::io::{self, Write};

const NAME: &str = "chat_template";

/// A template that is ready to be rendered.
#[derive(Debug)]
pub(super) struct Jinja(Environment<'static>);

impl Jinja {
    /// Reads a template.
    pub(super) fn new(source: String) -> Result<Self, Error> {
        let mut environment = Environment::new();
        environment
            .set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
        environment.set_unknown_method_callback(unknown_method_callback);
        environment.add_filter("tojson", tojson);
        environment.add_function("raise_exception", raise_exception);
        environment.add_function("strftime_now", strftime_now);
        environment.add_template_owned(NAME, source)?;
        Ok(Self(environment))
    }

    /// Renders it with these variables.
    pub(super) fn render(&self, variables: Value) -> Result<String, Error> {
        self.0.get_template(NAME)?.render(variables)
    }
}

fn raise_exception(message: &str) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message.to_owned()))
}

fn strftime_now(format: &str) -> Result<String, Error> {
    jiff::fmt::strtime::format(format, &Zoned::now()).map_err(|error| {
        Error::new(ErrorKind::InvalidOperation, "bad date format").with_source(error)
    })
}

/// `json.dumps(value, ensure_ascii=False, indent=indent)`.
#[expect(clippy::needless_pass_by_value, reason = "the form of a filter's arguments")]
fn tojson(value: &Value, options: Kwargs) -> Result<Value, Error> {
    let indent: Option<usize> = options.get("indent")?;
    if options.get::<Option<bool>>("ensure_ascii")? == Some(true) {
        return Err(Error::new(ErrorKind::InvalidOperation, "`ensure_ascii` is not supported"));
    }
    options.assert_all_used()?;
    let mut text = Vec::new();
    let dumps = Dumps { indent, depth: 0, filled: false };
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, dumps);
    value.serialize(&mut serializer).map_err(|error| {
        Error::new(ErrorKind::BadSerialization, "a value is not JSON").with_source(error)
    })?;
    Ok(String::from_utf8(text).expect("JSON of text is text").into())
}

/// The blanks and numbers of Python's `json` module.
struct Dumps {
    indent: Option<usize>,
    depth: usize,
    /// Whether the list or map that is closed next has items.
    filled: bool,
}

impl Dumps {
    fn open(&mut self, out: &mut (impl Write + ?Sized), bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.filled = false;
        out.write_all(bracket)
    }

    fn item(&mut self, out: &mut (impl Write + ?Sized), first: bool) -> io::Result<()> {
        if !first {
            out.write_all(if self.indent.is_some() { b"," } else { b", " })?;
        }
        self.line(out)
    }

    fn close(&mut self, out: &mut (impl Write + ?Sized), bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.filled {
            self.line(out)?;
        }
        self.filled = true;
        out.write_all(bracket)
    }

    fn line(&self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        match self.indent {
            Some(width) => write!(out, "\n{:1$}", "", width * self.depth),
            None => Ok(()),
        }
    }
}

impl Formatter for Dumps {
    fn write_f64<W: Write + ?Sized>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        out.write_all(repr(value).as_bytes())
    }

    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.item(out, first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        self.close(out, b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.item(out, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }
}

/// A finite number as Python writes it: the fewest digits that tell it apart, with an exponent of
/// two digits or more below 1e-4 and from 1e16 on.
fn repr(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 || (1e-4..1e16).contains(&size) {
        let digits = value.to_string();
        return if digits.contains('.') { digits } else { digits + ".0" };
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = match exponent.strip_prefix('-') {
                Some(exponent) => ('-', exponent),
                None => ('+', exponent),
            };
            format!("{digits}e{sign}{exponent:0>2}")
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str, variables: &str) -> String {
        let variables: Value = serde_json::from_str(variables).unwrap();
        Jinja::new(source.into()).unwrap().render(variables).unwrap()
    }

    /// Expected: Python 3.11, `json.dumps(json.loads(text), ensure_ascii=False, indent=indent)`.
    #[test]
    fn tojson_equals_pythons() {
        let value = r#"{"x": {"b": 1, "a": [1.0, 2.5, 1e-6, -1.5e20, 1e16, 123456789012345680.0, 0.0001, 1e100], "ü<&'": "\u001f\t\"\\\u007f", "e": [], "o": {}, "n": null, "t": true}}"#;
        assert_eq!(
            render("{{ x | tojson }}", value),
            r#"{"b": 1, "a": [1.0, 2.5, 1e-06, -1.5e+20, 1e+16, 1.2345678901234568e+17, 0.0001, 1e+100], "ü<&'": "\u001f\t\"\\"#.to_owned()
                + "\u{7f}"
                + r#"", "e": [], "o": {}, "n": null, "t": true}"#
        );
        assert_eq!(
            render("{{ x | tojson(indent=2) }}", r#"{"x": {"a": [1, []], "b": {}}}"#),
            "{\n  \"a\": [\n    1,\n    []\n  ],\n  \"b\": {}\n}"
        );
    }

    #[test]
    fn python_methods_in_templates_are_supported() {
        let source = "{%- set ns = namespace(found=false) %}
{%- for m in messages[::-1] %}
    {%- if m.role == 'user' and not (m.content.startswith('<a>') and m.content.endswith('</a>')) %}
        {%- set ns.found = m.content.split('|')[-1].lstrip('\\n').rstrip('x') %}
        {%- break %}
    {%- endif %}
{%- endfor %}
{{- ns.found }}{{ 'y' if '|' in messages[0].content }}";
        let messages = r#"{"messages": [
            {"role": "user", "content": "a|\n\nbxx"}, {"role": "user", "content": "<a>1</a>"}]}"#;
        assert_eq!(render(source, messages), "by");
        assert_eq!(render("{{ strftime_now('%Y')|length }}", "{}"), "4");
    }

    #[test]
    fn template_can_raise_an_exception() {
        let jinja = Jinja::new("{{ raise_exception('no tools here') }}".into()).unwrap();
        let error = jinja.render(Value::UNDEFINED).unwrap_err().to_string();
        assert!(error.contains("no tools here"), "{error}");
        assert!(Jinja::new("{% if %}".into()).is_err());
    }
}
