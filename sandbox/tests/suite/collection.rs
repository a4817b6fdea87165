//! What a run leaves is fetched without trust.

use crate::fixture::{SandboxFixture, assert_finished, policy, script};
use tasks::collect::CollectError;

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
