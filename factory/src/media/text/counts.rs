//! What solvers count in any text without knowing what it is about.

use std::collections::BTreeMap;

/// Groups that words are counted in, by a hash of their letters.
const BUCKETS: u32 = 16;
/// Marks that end a sentence.
const ENDS: [char; 3] = ['.', '!', '?'];
/// Numbers of a larger size count as this large.
const MOST_NUMBER: f64 = 1e9;

/// The words of a text, with what is counted of them.
#[derive(Debug, Default)]
struct Words {
    /// How often each word occurs, in lower case and without marks around it.
    counts: BTreeMap<String, u32>,
    /// Words of each sentence that has any.
    sentences: Vec<u32>,
}

impl Words {
    fn of(text: &str) -> Self {
        let mut words = Self::default();
        let mut begun = 0;
        for part in text.split_ascii_whitespace() {
            let core = part.trim_matches(|c: char| !c.is_ascii_alphanumeric());
            if !core.is_empty() {
                *words.counts.entry(core.to_ascii_lowercase()).or_default() += 1;
                begun += 1;
            }
            if part.ends_with(ENDS) {
                words.sentences.push(begun);
                begun = 0;
            }
        }
        words.sentences.push(begun);
        words.sentences.retain(|length| *length > 0);
        words
    }

    fn total(&self) -> u32 {
        self.counts.values().sum()
    }
}

/// Characters, words, sentences, lines, digits, capitals, marks, and distinct words.
pub(super) fn plain(text: &str) -> Vec<f64> {
    lengths(text, &Words::of(text))
}

fn lengths(text: &str, words: &Words) -> Vec<f64> {
    let bytes = |is: fn(&u8) -> bool| text.bytes().filter(is).count() as f64;
    vec![
        text.len() as f64,
        f64::from(words.total()),
        words.sentences.len() as f64,
        text.lines().filter(|line| !line.trim().is_empty()).count() as f64,
        bytes(u8::is_ascii_digit),
        bytes(u8::is_ascii_uppercase),
        bytes(u8::is_ascii_punctuation),
        words.counts.len() as f64,
    ]
}

/// The same; mean length of a word, words of the longest sentence, uses of the commonest word; how
/// many numbers there are, the smallest, the largest, the mean and the first; and how many words
/// are in each of 16 groups.
pub(super) fn generic(text: &str) -> Vec<f64> {
    let words = Words::of(text);
    let numbers = numbers(text);
    let mut features = lengths(text, &words);
    let letters: f64 =
        words.counts.iter().map(|(word, count)| word.len() as f64 * f64::from(*count)).sum();
    features.extend([
        letters / f64::from(words.total().max(1)),
        f64::from(words.sentences.iter().copied().max().unwrap_or(0)),
        f64::from(words.counts.values().copied().max().unwrap_or(0)),
        numbers.len() as f64,
        numbers.iter().copied().reduce(f64::min).unwrap_or(0.0),
        numbers.iter().copied().reduce(f64::max).unwrap_or(0.0),
        numbers.iter().sum::<f64>() / numbers.len().max(1) as f64,
        numbers.first().copied().unwrap_or(0.0),
    ]);
    let mut buckets = [0; BUCKETS as usize];
    for (word, count) in &words.counts {
        buckets[(crc32(word) % BUCKETS) as usize] += count;
    }
    features.extend(buckets.map(f64::from));
    features
}

/// The numbers in digits, with a point or not. A minus belongs to a number if it begins a word.
fn numbers(text: &str) -> Vec<f64> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let mut numbers = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let whole = digits(start);
        if whole == 0 {
            start += 1;
            continue;
        }
        let mut end = start + whole;
        if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        let minus = match &bytes[..start] {
            [.., before, b'-'] => before.is_ascii_whitespace(),
            before => before == b"-",
        };
        let size: f64 = text[start..end].parse().expect("digits with at most one point among them");
        let size = size.min(MOST_NUMBER);
        numbers.push(if minus { -size } else { size });
        start = end;
    }
    numbers
}

/// The checksum of zlib and PNG (CRC-32, reflected polynomial 0xEDB88320), which Python has in its
/// standard library.
fn crc32(word: &str) -> u32 {
    let mut sum = u32::MAX;
    for byte in word.bytes() {
        sum ^= u32::from(byte);
        for _ in 0..8 {
            let carry = if sum & 1 == 1 { 0xEDB8_8320 } else { 0 };
            sum = sum >> 1 ^ carry;
        }
    }
    !sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksum_is_that_of_the_standard() {
        // The check value that catalogues of checksums give for CRC-32.
        assert_eq!(crc32("123456789"), 0xCBF4_3926);
    }

    #[test]
    fn numbers_are_found_with_points_and_minus_signs() {
        let text = "-3 of 12.5kg, 7-9 or 1.2.3 at 10:20. No. 4.";
        assert_eq!(numbers(text), [-3.0, 12.5, 7.0, 9.0, 1.2, 3.0, 10.0, 20.0, 4.0]);
        assert_eq!(numbers(&"9".repeat(4000)), [MOST_NUMBER]);
        assert_eq!(numbers("a-1 --1 none"), [1.0, 1.0]);
    }

    #[test]
    fn counts_of_a_text_are_what_it_has() {
        let text = "The cat, the Dog.\n\nIt ran 3 m! -- a dog";
        assert_eq!(plain(text), [39.0, 10.0, 3.0, 2.0, 1.0, 3.0, 5.0, 8.0]);
        let generic = generic(text);
        // 23 letters and digits in 10 words; 4 words in a sentence; `the` and `dog` twice; one number.
        assert_eq!(generic[8..16], [2.3, 4.0, 2.0, 1.0, 3.0, 3.0, 3.0, 3.0]);
        assert_eq!(generic[16..].iter().sum::<f64>(), 10.0);
        assert_eq!(generic.len(), 32);
    }
}
