//! What a run leaves is fetched without trust, and what it gets is written without trust.

use crate::fixture::{SandboxFixture, assert_finished, policy, quick, script};
use crate::hostile::offered;
use crate::tiers::{as_ordinary_user, is_open_to_others, tried};
use jail::exec::{PlaceError, SandboxOptions};
use jail::isolation::IsolationLevel;
use tasks::collect::CollectError;
use tasks::units::ByteSize;

#[test]
fn submission_is_collected_and_special_files_are_refused() {
    let place = SandboxFixture::quick();
    let workspace = place.workspace();
    let code = &script(
        r"
        import os, socket
        open('submission.csv', 'w').write('id,y\n')
        os.symlink('/etc/passwd', 'link')
        os.symlink('input', 'folder')
        os.mkfifo('pipe')
        os.mkdir('directory')
        socket.socket(socket.AF_UNIX).bind('socket')
        open('sparse', 'w').truncate(200 << 20)
        open('twin', 'w').close(); os.link('twin', 'twin2')
        open('locked', 'w').close(); os.chmod('locked', 0)
        ",
    );
    assert_finished("leave", &workspace.run(code, &policy()).unwrap());
    let collect = |name| workspace.collect(name, 1 << 20);
    assert_eq!(collect("submission.csv").unwrap(), b"id,y\n");
    assert!(matches!(collect("link"), Err(CollectError::Link { .. })));
    assert!(matches!(collect("folder/train.csv"), Err(CollectError::Link { .. })));
    assert!(matches!(collect("pipe"), Err(CollectError::NotAFile { .. })));
    assert!(matches!(collect("directory"), Err(CollectError::NotAFile { .. })));
    assert!(matches!(collect("socket"), Err(CollectError::NotAFile { .. })));
    assert!(matches!(collect("sparse"), Err(CollectError::TooLarge { .. })));
    assert!(matches!(collect("twin"), Err(CollectError::HardLinked { .. })));
    assert!(matches!(collect("../0/submission.csv"), Err(CollectError::Outside { .. })));
    assert!(matches!(collect("/etc/passwd"), Err(CollectError::Outside { .. })));
    // Root may read it all the same; an ordinary user may not. Neither may wait or crash.
    assert!(matches!(collect("locked"), Ok(_) | Err(CollectError::Unreadable { .. })));
    let message = collect("missing.csv").unwrap_err().to_string();
    assert_eq!(message, "there is no file `missing.csv` in the work dir");
}

/// Files are placed for the next run, and never where a run has left something.
fn placed_files_in(tier: IsolationLevel) {
    let options = SandboxOptions { best_tier: tier, allow_tier: tier, ..quick() };
    let Some(place) = offered(options) else { return };
    tried(&format!("placing files in {tier}"));
    let workspace = place.workspace();
    let bytes: Vec<u8> = (0..100_000_u32).flat_map(u32::to_le_bytes).collect();
    workspace.place("data.bin", &bytes).unwrap();
    let code = &script(
        r"
        import os
        with open('data.bin', 'rb') as file:
            data = file.read()
        assert data == b''.join(number.to_bytes(4, 'little') for number in range(100_000))
        os.symlink('/etc/passwd', 'link')
        os.symlink('nowhere', 'dangling')
        os.mkdir('directory')
        ",
    );
    assert_finished("read", &workspace.run(code, &policy()).unwrap());
    for taken in ["data.bin", "link", "dangling", "directory", "input"] {
        let error = workspace.place(taken, b"x").unwrap_err();
        assert!(matches!(error, PlaceError::Exists { .. }), "{tier} {taken}: {error}");
    }
    for path in ["directory/a", "..", "../a", "/tmp/a"] {
        let error = workspace.place(path, b"x").unwrap_err();
        assert!(matches!(error, PlaceError::Name { .. }), "{tier} {path}: {error}");
    }
    let error = workspace.place("huge", &vec![0; 64 << 20 | 1]).unwrap_err();
    assert!(matches!(error, PlaceError::TooLarge { .. }), "{error}");
    assert!(matches!(workspace.collect("nowhere", 1), Err(CollectError::Missing { .. })));
    assert_eq!(workspace.collect("data.bin", 1 << 20).unwrap(), bytes);
}

#[test]
fn placed_file_in_tier_1() {
    placed_files_in(IsolationLevel::T1);
}

#[test]
fn placed_file_in_tier_2() {
    placed_files_in(IsolationLevel::T2);
}

#[test]
fn placed_file_in_tier_2_from_an_ordinary_user() {
    as_ordinary_user("collection::placed_file_in_tier_2");
}

#[test]
fn placed_file_in_tier_3() {
    if is_open_to_others("collection::placed_file_in_tier_3") {
        placed_files_in(IsolationLevel::T3);
    }
}

#[test]
fn file_that_a_full_work_dir_does_not_take_is_refused() {
    let place = SandboxFixture::with(SandboxOptions { work_dir: ByteSize::kib(64), ..quick() });
    let workspace = place.workspace();
    let error = workspace.place("large", &vec![1; 1 << 20]).unwrap_err();
    assert!(matches!(error, PlaceError::Refused { .. }), "{error}");
    place.workspace().place("small", &[1; 1 << 10]).unwrap();
}
