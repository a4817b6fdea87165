//! Requests for a pizza, as JSON.

use super::archive::stored;
use super::csv_rows::{constant_rows, labelled_rows};
use super::files::PreparedFiles;
use super::names::{distinct, flags, sentence, text};
use super::source::StandInSource;
use crate::numeric::draws::Draws;
use serde::Serialize;
use serde_json::{Map, Value, json};
use tasks::json::sorted;
use tasks::stream::Stream;

/// Does the request succeed?
pub(super) const PIZZA: StandInSource = StandInSource {
    id: "random-acts-of-pizza",
    task: "Each row is an invented request for a free pizza: a title, a text, and what is known of \
           who asks. Predict the probability that somebody gave one. Reasons, thanks and old \
           accounts help.",
    evaluation: "Area under the ROC curve.",
    files: &[
        (
            "train.json",
            "a list of requests, with `requester_received_pizza` and what was known later",
        ),
        ("test.json", "a list of requests with the fields that are known when they are made"),
        ("train.zip", "`train.json` once more"),
        ("test.zip", "`test.json` once more"),
        ("sampleSubmission.csv", "`request_id` and `requester_received_pizza`, a probability"),
    ],
    differences: &[
        "the giver is never known, so that the field which gives some answers away does not",
        "texts are put together from a short list of sentences",
    ],
    make: pizza,
};

const GOOD: [&str; 8] = [
    "i lost my job last week and rent is due",
    "my two children would love a warm dinner",
    "payday is on friday and the fridge is empty",
    "thank you so much for reading this",
    "i will give a pizza back as soon as i can",
    "my shift at the hospital ended late",
    "here is a photo of our empty kitchen",
    "we are students in the middle of exams",
];
const FLAT: [&str; 8] = [
    "i want a pizza",
    "just hungry tonight",
    "somebody send one please",
    "pepperoni would be nice",
    "it is raining and i am bored",
    "never tried this before",
    "a friend told me of this page",
    "any size is fine",
];
const TOPICS: [&str; 8] =
    ["books", "music", "cooking", "running", "science", "movies", "gardening", "chess"];
/// What is known only later; these fields end in `_at_retrieval` or have a name of their own.
const LATER: [&str; 5] = [
    "number_of_downvotes_of_request_at_retrieval",
    "number_of_upvotes_of_request_at_retrieval",
    "post_was_edited",
    "request_number_of_comments_at_retrieval",
    "request_text",
];

fn is_later(field: &str) -> bool {
    LATER.contains(&field)
        || field.ends_with("_at_retrieval")
        || ["requester_received_pizza", "requester_user_flair"].contains(&field)
}

/// A request with all its fields.
fn request(draws: &mut Draws, id: &str, name: &str, succeeds: bool) -> Map<String, Value> {
    let warm = if succeeds { 0.62 } else { 0.38 };
    let sentences = (0..draws.whole(3, 6)).map(|_| {
        let bank = if draws.chance(warm) { &GOOD } else { &FLAT };
        sentence(&[*draws.pick(bank)])
    });
    let body = sentences.collect::<Vec<_>>().join(" ");
    let age = draws.between(0.0, 500.0) + if succeeds { 250.0 } else { 0.0 };
    let later = draws.between(300.0, 900.0);
    let [comments, posts, few] = [300, 60, 4].map(|most| draws.whole(0, most));
    let mut topics = TOPICS.to_vec();
    draws.shuffle(&mut topics);
    topics.truncate(draws.whole(0, 5));
    let votes = draws.whole(0, 2000);
    let moment = draws.whole(1_900_000_000, 1_950_000_000);
    let fields = json!({
        "giver_username_if_known": "N/A",
        "number_of_downvotes_of_request_at_retrieval": draws.whole(0, 5),
        "number_of_upvotes_of_request_at_retrieval": draws.whole(0, 9),
        "post_was_edited": draws.chance(0.1),
        "request_id": id,
        "request_number_of_comments_at_retrieval": draws.whole(0, 12),
        "request_text": body,
        "request_text_edit_aware": body,
        "request_title": format!("[Request] {}", sentence(&[*draws.pick(&FLAT)])),
        "requester_account_age_in_days_at_request": age,
        "requester_account_age_in_days_at_retrieval": age + later,
        "requester_days_since_first_post_on_raop_at_request": 0.0,
        "requester_days_since_first_post_on_raop_at_retrieval": later,
        "requester_number_of_comments_at_request": comments,
        "requester_number_of_comments_at_retrieval": comments + draws.whole(0, 90),
        "requester_number_of_comments_in_raop_at_request": few,
        "requester_number_of_comments_in_raop_at_retrieval": few + draws.whole(0, 4),
        "requester_number_of_posts_at_request": posts,
        "requester_number_of_posts_at_retrieval": posts + draws.whole(0, 20),
        "requester_number_of_posts_on_raop_at_request": 0,
        "requester_number_of_posts_on_raop_at_retrieval": 1,
        "requester_number_of_subreddits_at_request": topics.len(),
        "requester_received_pizza": succeeds,
        "requester_subreddits_at_request": topics,
        "requester_upvotes_minus_downvotes_at_request": votes / 2,
        "requester_upvotes_minus_downvotes_at_retrieval": votes / 2 + draws.whole(0, 99),
        "requester_upvotes_plus_downvotes_at_request": votes,
        "requester_upvotes_plus_downvotes_at_retrieval": votes + draws.whole(99, 300),
        "requester_user_flair": if succeeds { json!("shroom") } else { Value::Null },
        "requester_username": name,
        "unix_timestamp_of_request": moment,
        "unix_timestamp_of_request_utc": moment,
    });
    let Value::Object(fields) = sorted(fields) else { unreachable!("braces make an object") };
    fields
}

/// JSON indented by four blanks, with a line feed at its end.
fn indented(requests: &[Map<String, Value>]) -> Vec<u8> {
    let mut file = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut writer = serde_json::Serializer::with_formatter(&mut file, format);
    requests.serialize(&mut writer).expect("plain values are written to memory");
    file.push(b'\n');
    file
}

fn pizza(stream: Stream) -> PreparedFiles {
    let mut draws = Draws::new(stream);
    let (train, test) = (240, 120);
    let letters = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let ids = distinct(&mut draws, train + test, |draws| format!("t3_{}", text(draws, letters, 5)));
    let names =
        distinct(&mut draws, train + test, |draws| format!("user_{}", text(draws, letters, 7)));
    let mut labels = flags(&mut draws, train, 0.25);
    labels.extend(flags(&mut draws, test, 0.25));
    let mut requests: Vec<Map<String, Value>> = Vec::new();
    for ((id, name), succeeds) in ids.iter().zip(&names).zip(&labels) {
        requests.push(request(&mut draws, id, name, *succeeds));
    }
    let mut later = requests.split_off(train);
    for request in &mut later {
        request.retain(|field, _| !is_later(field));
    }
    let header = ["request_id", "requester_received_pizza"];
    let mut files = PreparedFiles::default();
    for (half, requests) in [("train", requests), ("test", later)] {
        let (file, path) = (indented(&requests), format!("{half}.json"));
        files.public(format!("{half}.zip"), stored([(path.as_str(), file.as_slice())]));
        files.public(path, file);
    }
    files.public("sampleSubmission.csv", constant_rows(&header, &ids[train..], &["0"]));
    let truth = labels[train..].iter().map(|label| u8::from(*label));
    files.private("test.csv", labelled_rows(header, ids[train..].iter().zip(truth)));
    files
}
