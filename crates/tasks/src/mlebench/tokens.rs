//! From the bytes of a CSV file to lines of words, as the C tokenizer of pandas 2 cuts them.
//!
//! Its oddities decide which submissions are refused, so that they are all kept: the line that
//! starts a batch may be longer than the others, a line that begins with a blank is read again
//! from the last line feed (which never ends where a lone carriage return lies between), and a
//! word ends at its first zero byte. The default options are the only ones: comma, double quote,
//! blank lines skipped, too long lines an error.

use super::frame::{FrameError, FrameLimits};

/// Characters that pandas asks of a file at a time.
const BATCH: usize = 1 << 18;
/// Where the tokenizer's buffers start to grow from.
const FIRST_STREAM_ROOM: usize = 32;
const FIRST_WORD_ROOM: usize = FIRST_STREAM_ROOM / 10;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

#[derive(Debug, Clone, Copy, PartialEq)]
enum TokenizerState {
    StartOfLine,
    /// Only blanks so far.
    BlankLine,
    StartOfField,
    Field,
    Quoted,
    /// A quote within quotes: the first half of two, or the closing one.
    QuoteInQuoted,
    /// A carriage return that ends a line, perhaps the first half of two.
    Return,
    /// The same on a line that is skipped.
    SkippedReturn,
    Finished,
}

/// The lines read and not yet taken. What it reads grows line by line, on request.
#[derive(Debug)]
pub(super) struct CsvTokenizer<'a> {
    text: &'a str,
    /// Offset of the next byte to read.
    position: usize,
    /// End of the part of `text` that was asked for.
    loaded: usize,
    state: TokenizerState,
    /// Words, each ended by a zero byte.
    stream: Vec<u8>,
    /// Where in `stream` the finished words start.
    words: Vec<usize>,
    /// Where in `stream` the word at hand starts.
    word: usize,
    /// The index of the first word of each finished line, and of the line at hand.
    lines: Vec<usize>,
    /// Lines of the file, skipped ones too.
    file_lines: usize,
    /// How large the original's buffers would be: a file that outgrows them is refused.
    stream_room: usize,
    word_room: usize,
    /// Bytes that were gone back over.
    reread: usize,
    limits: FrameLimits,
}

impl<'a> CsvTokenizer<'a> {
    pub(super) fn new(text: &'a str, limits: FrameLimits) -> Self {
        Self {
            text,
            position: 0,
            loaded: 0,
            state: TokenizerState::StartOfLine,
            stream: Vec::new(),
            words: Vec::new(),
            word: 0,
            lines: vec![0],
            file_lines: 0,
            stream_room: FIRST_STREAM_ROOM,
            word_room: FIRST_WORD_ROOM,
            reread: 0,
            limits,
        }
    }

    /// Lines that are wholly read.
    pub(super) fn line_count(&self) -> usize {
        self.lines.len() - 1
    }

    /// Fields of a line.
    pub(super) fn field_count(&self, line: usize) -> usize {
        self.lines[line + 1] - self.lines[line]
    }

    /// The word in a column of a line, empty where the line is too short, without what follows
    /// a zero byte.
    pub(super) fn word(&self, line: usize, column: usize) -> &[u8] {
        let index = self.lines[line] + column;
        if index >= self.lines[line + 1] {
            return &[];
        }
        let word = &self.stream[self.words[index]..];
        &word[..word.iter().position(|byte| *byte == 0).unwrap_or(word.len())]
    }

    /// Forgets the first `count` lines.
    pub(super) fn forget(&mut self, count: usize) {
        let words = self.lines[count];
        // A zero byte within the last word leaves its rest behind, which no word points to.
        let bytes = words.checked_sub(1).map_or(0, |last| {
            let word = &self.stream[self.words[last]..];
            self.words[last] + word.iter().position(|byte| *byte == 0).unwrap_or(word.len()) + 1
        });
        self.stream.drain(..bytes);
        self.words.drain(..words);
        self.lines.drain(..count);
        self.words.iter_mut().for_each(|word| *word -= bytes);
        self.lines.iter_mut().for_each(|line| *line -= words);
        self.word -= bytes;
    }

    /// Reads `count` more lines, fewer at the end of the file.
    pub(super) fn read(&mut self, count: usize) -> Result<(), FrameError> {
        let target = self.line_count() + count;
        while self.state != TokenizerState::Finished && self.line_count() < target {
            if self.position == self.loaded && !self.load() {
                self.finish()?;
                self.state = TokenizerState::Finished;
                break;
            }
            self.scan(target)?;
        }
        Ok(())
    }

    /// Asks for more of the file; false at its end.
    fn load(&mut self) -> bool {
        let rest = &self.text[self.loaded..];
        // Most batches are plain ASCII, where characters need no counting.
        let batch = match rest.as_bytes().get(..BATCH) {
            Some(bytes) if bytes.is_ascii() => BATCH,
            _ => rest.char_indices().nth(BATCH).map_or(rest.len(), |(end, _)| end),
        };
        self.loaded += batch;
        batch > 0
    }

    /// Reads on until `target` lines are there or what was loaded is used up.
    fn scan(&mut self, target: usize) -> Result<(), FrameError> {
        let bytes = &self.text.as_bytes()[..self.loaded];
        self.make_room(bytes.len() - self.position);
        if self.file_lines == 0 && bytes[self.position..].starts_with(BYTE_ORDER_MARK) {
            self.position += BYTE_ORDER_MARK.len();
        }
        let floor = self.position;
        while self.position < bytes.len() {
            let byte = bytes[self.position];
            self.position += 1;
            let lines = self.line_count();
            match self.state {
                TokenizerState::StartOfLine => match byte {
                    b'\n' => self.file_lines += 1,
                    b'\r' => {
                        self.file_lines += 1;
                        self.state = TokenizerState::SkippedReturn;
                    }
                    b' ' | b'\t' => self.state = TokenizerState::BlankLine,
                    _ => self.start_field(byte)?,
                },
                TokenizerState::BlankLine => match byte {
                    b'\n' => {
                        self.file_lines += 1;
                        self.state = TokenizerState::StartOfLine;
                    }
                    b'\r' => {
                        self.file_lines += 1;
                        self.state = TokenizerState::SkippedReturn;
                    }
                    b' ' | b'\t' => {}
                    _ => {
                        // The blanks belong to the first field after all.
                        let before = &bytes[floor..self.position - 1];
                        let feed = before.iter().rposition(|byte| *byte == b'\n');
                        let start = feed.map_or(floor, |feed| floor + feed + 1);
                        self.reread += self.position - start;
                        if self.reread > self.limits.bytes {
                            let limit = self.limits.bytes;
                            return Err(FrameError::TooLarge { what: "bytes to go back", limit });
                        }
                        self.position = start;
                        self.state = TokenizerState::StartOfField;
                    }
                },
                TokenizerState::StartOfField => self.start_field(byte)?,
                TokenizerState::Quoted if byte == b'"' => {
                    self.state = TokenizerState::QuoteInQuoted;
                }
                TokenizerState::Quoted => self.push(byte)?,
                TokenizerState::QuoteInQuoted if byte == b'"' => {
                    self.push(byte)?;
                    self.state = TokenizerState::Quoted;
                }
                TokenizerState::Field | TokenizerState::QuoteInQuoted => {
                    self.continue_field(byte)?;
                }
                TokenizerState::Return => {
                    self.end_line()?;
                    self.state = TokenizerState::StartOfLine;
                    match byte {
                        b'\n' => {}
                        b',' => {
                            self.end_field()?;
                            self.state = TokenizerState::StartOfField;
                        }
                        _ => self.position -= 1,
                    }
                }
                TokenizerState::SkippedReturn => {
                    self.state = TokenizerState::StartOfLine;
                    // A comma here is swallowed, as the original does.
                    if byte != b'\n' && byte != b',' {
                        self.position -= 1;
                    }
                }
                TokenizerState::Finished => break,
            }
            if self.line_count() > lines && self.line_count() == target {
                break;
            }
        }
        Ok(())
    }

    fn start_field(&mut self, byte: u8) -> Result<(), FrameError> {
        if byte == b'"' {
            self.state = TokenizerState::Quoted;
            return Ok(());
        }
        self.continue_field(byte)
    }

    /// A byte outside quotes.
    fn continue_field(&mut self, byte: u8) -> Result<(), FrameError> {
        match byte {
            b'\n' => {
                self.end_field()?;
                self.end_line()?;
                self.state = TokenizerState::StartOfLine;
            }
            b'\r' => {
                self.end_field()?;
                self.state = TokenizerState::Return;
            }
            b',' => {
                self.end_field()?;
                self.state = TokenizerState::StartOfField;
            }
            _ => {
                self.push(byte)?;
                self.state = TokenizerState::Field;
            }
        }
        Ok(())
    }

    /// The end of the file.
    fn finish(&mut self) -> Result<(), FrameError> {
        match self.state {
            TokenizerState::StartOfLine
            | TokenizerState::BlankLine
            | TokenizerState::SkippedReturn
            | TokenizerState::Finished => {
                return Ok(());
            }
            TokenizerState::Quoted => {
                return Err(FrameError::OpenQuote { line: self.file_lines + 1 });
            }
            TokenizerState::Field
            | TokenizerState::StartOfField
            | TokenizerState::QuoteInQuoted => self.end_field()?,
            TokenizerState::Return => {}
        }
        self.end_line()
    }

    fn push(&mut self, byte: u8) -> Result<(), FrameError> {
        if self.stream.len() >= self.stream_room {
            return Err(FrameError::Runaway);
        }
        self.keep(byte);
        Ok(())
    }

    /// Keeps a byte, in a buffer that grows by no more than what is left to read can fill.
    fn keep(&mut self, byte: u8) {
        if self.stream.len() == self.stream.capacity() {
            let left = self.text.len() - self.position;
            self.stream.reserve_exact(self.stream.len().min(left).max(1 << 10));
        }
        self.stream.push(byte);
    }

    fn end_field(&mut self) -> Result<(), FrameError> {
        if self.words.len() >= self.word_room {
            return Err(FrameError::Runaway);
        }
        self.keep(0);
        self.words.push(self.word);
        self.word = self.stream.len();
        let fields = self.words.len() - self.lines[self.line_count()];
        let limit = self.limits.columns;
        if fields > limit {
            return Err(FrameError::TooLarge { what: "columns", limit });
        }
        Ok(())
    }

    /// Ends a line: too many fields are an error, missing ones are filled in. What is expected
    /// is what the line before had, but for the first line of a batch, which may have more.
    fn end_line(&mut self) -> Result<(), FrameError> {
        let line = self.line_count();
        let found = self.words.len() - self.lines[line];
        if line > 0 {
            let expected = self.field_count(line - 1);
            if line > 1 && found > expected {
                return Err(FrameError::TooManyFields {
                    line: self.file_lines + 1,
                    found,
                    expected,
                });
            }
            if found < expected {
                self.make_room(expected - found);
                for _ in found..expected {
                    self.end_field()?;
                }
            }
        }
        self.file_lines += 1;
        self.lines.push(self.words.len());
        if self.line_count() > self.limits.rows.saturating_add(2) {
            return Err(FrameError::TooLarge { what: "rows", limit: self.limits.rows });
        }
        if self.words.len() > self.limits.cells.saturating_add(self.limits.columns) {
            return Err(FrameError::TooLarge { what: "cells", limit: self.limits.cells });
        }
        Ok(())
    }

    /// Grows the original's buffers, by doubling, to hold what `count` bytes can become.
    fn make_room(&mut self, count: usize) {
        while self.stream.len() + 2 * count >= self.stream_room {
            self.stream_room *= 2;
        }
        while self.words.len() + count >= self.word_room {
            self.word_room *= 2;
        }
    }
}
