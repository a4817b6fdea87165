//! What all requests share.

use super::book::Book;
use super::models::OfferedModels;
use llm::Recording;
use tokio::sync::Semaphore;
use web::token::Token;

/// Requests that are parsed at a time.
const PARSED: usize = 4;

/// What all requests share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) token: Token,
    pub(super) models: OfferedModels,
    pub(super) is_capped: bool,
    pub(super) book: Book,
    pub(super) recording: Option<Recording>,
    /// JSON in memory is many times as large as its bytes.
    pub(super) parsing: Semaphore,
}

impl Shared {
    pub(super) fn new(
        token: Token,
        models: OfferedModels,
        is_capped: bool,
        book: Book,
        recording: Option<Recording>,
    ) -> Self {
        let parsing = Semaphore::new(PARSED);
        Self { token, models, is_capped, book, recording, parsing }
    }
}
