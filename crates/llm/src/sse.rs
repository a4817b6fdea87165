//! Server-sent events from the pieces of a stream.
//!
//! The reader bounds the length of an event and tells a stream that ends between two events from one
//! that ends within an event. Pieces may end anywhere, also within a character or a line break.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name, empty for an ordinary message.
    pub name: String,
    /// Its data lines, joined by line feeds.
    pub data: String,
}

/// What is wrong with a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event is longer than the reader allows.
    #[error("an event of the stream has more than {0} bytes")]
    TooLong(usize),
    /// A line is not UTF-8.
    #[error("a line of the stream is not UTF-8")]
    NotUtf8,
    /// The stream ended within an event.
    #[error("the stream ended within an event")]
    Cut,
}

/// Reads events from pieces of bytes.
#[derive(Debug)]
pub struct SseReader {
    most_bytes: usize,
    line: Vec<u8>,
    event: SseEvent,
    has_data: bool,
    after_carriage_return: bool,
    at_start: bool,
}

impl SseReader {
    /// A reader that refuses events of more than `most_bytes` bytes.
    pub fn new(most_bytes: usize) -> Self {
        Self {
            most_bytes,
            line: Vec::new(),
            event: SseEvent::default(),
            has_data: false,
            after_carriage_return: false,
            at_start: true,
        }
    }

    /// Takes the next piece and returns the events that it completes.
    ///
    /// # Errors
    /// [`SseError::TooLong`] and [`SseError::NotUtf8`]; the reader is of no use afterwards.
    pub fn push(&mut self, piece: &[u8]) -> Result<Vec<SseEvent>, SseError> {
        let mut events = Vec::new();
        for &byte in piece {
            // A line ends with CR, LF, or both.
            let second_half = byte == b'\n' && self.after_carriage_return;
            self.after_carriage_return = byte == b'\r';
            if second_half {
                continue;
            }
            if byte == b'\r' || byte == b'\n' {
                let line = std::mem::take(&mut self.line);
                events.extend(self.end_line(&line)?);
            } else {
                self.line.push(byte);
                if self.line.len() + self.event.data.len() > self.most_bytes {
                    return Err(SseError::TooLong(self.most_bytes));
                }
            }
        }
        Ok(events)
    }

    fn end_line(&mut self, line: &[u8]) -> Result<Option<SseEvent>, SseError> {
        let line = std::str::from_utf8(line).map_err(|_| SseError::NotUtf8)?;
        let was_at_start = std::mem::replace(&mut self.at_start, false);
        let line = if was_at_start { line.trim_start_matches('\u{feff}') } else { line };
        if line.is_empty() {
            // An event without data is none.
            let event = std::mem::take(&mut self.event);
            return Ok(std::mem::take(&mut self.has_data).then_some(event));
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
            }
            "event" => value.clone_into(&mut self.event.name),
            // Comments have an empty field; `id` and `retry` are for clients that reconnect.
            _ => {}
        }
        Ok(None)
    }

    /// Checks that the stream ended between two events.
    ///
    /// # Errors
    /// [`SseError::Cut`].
    pub fn finish(self) -> Result<(), SseError> {
        if self.line.is_empty() && !self.has_data && self.event.name.is_empty() {
            Ok(())
        } else {
            Err(SseError::Cut)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(pieces: &[&[u8]]) -> Result<Vec<SseEvent>, SseError> {
        let mut reader = SseReader::new(1000);
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(reader.push(piece)?);
        }
        reader.finish()?;
        Ok(events)
    }

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent { name: name.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn every_form_of_line_is_read() {
        let text = "\u{feff}: comment\ndata:a\ndata: b\ndata\r\nid: 7\n\r\nevent: x\rdata:  c\r\r\n\n\nevent: empty\n\n";
        let events = read(&[text.as_bytes()]).unwrap();
        assert_eq!(events, [event("", "a\nb\n"), event("x", " c")]);
    }

    #[test]
    fn event_too_long_is_refused() {
        let line = format!("data: {}\n", "x".repeat(990));
        assert_eq!(read(&[line.as_bytes(), b"\n"]).unwrap().len(), 1);
        assert_eq!(read(&[line.as_bytes(), line.as_bytes()]), Err(SseError::TooLong(1000)));
        assert_eq!(read(&[&[b'x'; 1001]]), Err(SseError::TooLong(1000)));
    }

    #[test]
    fn stream_cut_within_an_event_is_reported() {
        let text = b"data: a\n\ndata: b\n\n";
        for end in 0..text.len() {
            let whole = matches!(end, 0 | 9);
            assert_eq!(read(&[&text[..end]]).is_ok(), whole, "cut at {end}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused() {
        assert_eq!(read(&[b"data: \xff\n\n"]), Err(SseError::NotUtf8));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_events(
            lines in prop::collection::vec("(data|event|:|id)?:? ?[aä☃ ]{0,5}(\r|\n|\r\n)", 0..20),
            ends in prop::collection::vec(0usize..200, 0..10),
        ) {
            let text = format!("{}\n\n", lines.concat());
            let whole = read(&[text.as_bytes()]);
            let mut ends: Vec<usize> = ends.into_iter().map(|end| end.min(text.len())).collect();
            ends.extend([0, text.len()]);
            ends.sort_unstable();
            let pieces: Vec<&[u8]> =
                ends.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&pieces), whole.clone());
            let single: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            prop_assert_eq!(read(&single), whole);
        }

        #[test]
        fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&[&bytes]);
        }
    }
}
