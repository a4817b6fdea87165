//! The hand-written files that travel inside the binary, as `(file name, contents)`.

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
