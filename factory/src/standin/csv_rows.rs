//! CSV tables as pandas writes them: cells are quoted where they must be, lines end in a line feed.

/// A table under construction.
#[derive(Debug)]
pub(super) struct CsvRows(csv::Writer<Vec<u8>>);

impl CsvRows {
    /// A table with its header alone.
    pub(super) fn new<I>(header: I) -> Self
    where
        I: IntoIterator<Item: AsRef<[u8]>>,
    {
        let mut rows = Self(csv::Writer::from_writer(Vec::new()));
        rows.row(header);
        rows
    }

    /// Adds a row, which must be as long as the header.
    pub(super) fn row<I>(&mut self, cells: I)
    where
        I: IntoIterator<Item: AsRef<[u8]>>,
    {
        self.0.write_record(cells).expect("all rows are as long as the header");
    }

    /// The file's bytes.
    pub(super) fn bytes(self) -> Vec<u8> {
        self.0.into_inner().expect("writing to memory does not fail")
    }
}

/// A submission that says the same in every row: `id`, then `values` in the columns `names`.
pub(super) fn constant_rows<'a>(
    header: &[&str],
    ids: impl IntoIterator<Item = &'a String>,
    values: &[&str],
) -> Vec<u8> {
    let mut rows = CsvRows::new(header);
    for id in ids {
        rows.row([id.as_str()].iter().chain(values));
    }
    rows.bytes()
}

/// Answers or labels of one column: a row per id.
pub(super) fn labelled_rows<'a, T: ToString>(
    header: [&str; 2],
    rows: impl IntoIterator<Item = (&'a String, T)>,
) -> Vec<u8> {
    let mut table = CsvRows::new(header);
    for (id, label) in rows {
        table.row([id, &label.to_string()]);
    }
    table.bytes()
}

/// Answers with a column per class, which holds 1 in the rows of that class and 0 in others.
pub(super) fn one_hot_rows<'a>(
    id: &str,
    classes: &[impl AsRef<str>],
    rows: impl IntoIterator<Item = (&'a String, usize)>,
) -> Vec<u8> {
    let header = std::iter::once(id).chain(classes.iter().map(AsRef::as_ref));
    let mut table = CsvRows::new(header);
    for (id, class) in rows {
        let cells = (0..classes.len()).map(|place| if place == class { "1" } else { "0" });
        table.row(std::iter::once(id.as_str()).chain(cells));
    }
    table.bytes()
}

/// A submission that gives each class the same probability.
pub(super) fn even_rows(id: &str, classes: &[String], ids: &[String]) -> Vec<u8> {
    let even = (1.0 / classes.len() as f64).to_string();
    let mut rows = CsvRows::new(std::iter::once(id).chain(classes.iter().map(String::as_str)));
    for id in ids {
        let cells = std::iter::repeat_n(even.as_str(), classes.len());
        rows.row(std::iter::once(id.as_str()).chain(cells));
    }
    rows.bytes()
}

/// A number with at most `digits` digits behind the point, without zeros at its end.
pub(super) fn decimal(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    let text = match text.split_once('.') {
        Some(_) => text.trim_end_matches('0').trim_end_matches('.'),
        None => &text,
    };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let mut rows = CsvRows::new(["a", "b"]);
        rows.row(["1,5", "say \"hi\"\nagain"]);
        rows.row(["", "plain"]);
        assert_eq!(
            String::from_utf8(rows.bytes()).unwrap(),
            "a,b\n\"1,5\",\"say \"\"hi\"\"\nagain\"\n,plain\n"
        );
    }

    #[test]
    fn one_hot_rows_hold_one_one() {
        let ids = ["x".to_owned(), "y".to_owned()];
        let bytes = one_hot_rows("id", &["p", "q"], ids.iter().zip([1, 0]));
        assert_eq!(String::from_utf8(bytes).unwrap(), "id,p,q\nx,0,1\ny,1,0\n");
    }

    #[test]
    fn decimals_have_no_zeros_at_their_end() {
        let texts = [1.0, 0.25, -0.001, 10.0, 3.146].map(|value| decimal(value, 2));
        assert_eq!(texts, ["1", "0.25", "0", "10", "3.15"]);
    }
}
