//! The Python environment of scripts, and the program that keeps an interpreter warm.

mod env;
pub(crate) mod imports;

pub use env::{PythonEnv, PythonError, VARIABLE};

/// The zygote's program; see its own comments.
pub(crate) const ZYGOTE: &str = concat!(
    include_str!("../../python/worker.py"),
    "\n\n",
    include_str!("../../python/bare.py"),
    "\n\n",
    include_str!("../../python/warm.py"),
    "\n\n",
    include_str!("../../python/run.py"),
    "\n\n",
    include_str!("../../python/zygote.py"),
);

/// The plain fork server that the jail is compared with; see its own comments.
pub(crate) const FORK: &str = include_str!("../../python/fork.py");

#[cfg(test)]
mod tests {
    use super::VARIABLE;
    use std::process::Command;

    /// The kernel's answers about one mapping at a time, where it gives them, and the file that it
    /// prints, which is far slower.
    #[test]
    fn shared_memory_is_the_same_by_query_and_as_printed() {
        const CHECK: &str = r#"
import tempfile
PAGE = mmap.PAGESIZE
kept = [mmap.mmap(-1, 5 * PAGE) for _ in range(3)]
kept.append(mmap.mmap(-1, 2 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
memory = os.memfd_create("x" * 200)
os.ftruncate(memory, 9 * PAGE)
kept += [mmap.mmap(memory, 2 * PAGE, offset=at * PAGE) for at in (0, 7)]
# A file, whose name is longer than what a question has room for.
folder = tempfile.TemporaryDirectory()
os.chdir(folder.name)
for _ in range(25):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
with open("file", "wb+") as file:
    file.truncate(3 * PAGE)
    kept.append(mmap.mmap(file.fileno(), 3 * PAGE))
with open("/proc/self/maps", "rb", buffering=0) as file:
    printed = sorted(printed_mappings(file.read()))
    assert len(printed) == 5, printed
    assert sorted(shared_mappings(os.getpid())) == printed
    try:
        assert sorted(queried_mappings(file)) == printed
        print("queried")
    except OSError as error:
        assert error.errno == errno.ENOTTY, error
assert shared_mappings(2**22 + 1) == []
os.chdir("/")
folder.cleanup()
"#;
        let program = format!("{}{CHECK}", include_str!("../../python/run.py"));
        let python = std::env::var(VARIABLE).unwrap_or_else(|_| "python3".to_owned());
        let output = Command::new(python).args(["-c", &program]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
