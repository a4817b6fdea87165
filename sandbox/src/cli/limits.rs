//! The limits of runs: flags over a policy file over defaults, resolved once.

use super::failure::UsageError;
use super::policy_file;
use camino::Utf8PathBuf;
use clap::Args;
use jail::exec::{SandboxOptions, WorkDirStorage};
use jail::limits::range::{self, OutOfRange, Range};
use jail::limits::{Gpus, Keep, RunLimits};
use std::fmt::Display;
use std::num::NonZeroU32;
use std::str::FromStr;
use tasks::units::{ByteSize, Span};

/// A flag for every limit but time, which each command calls by a name of its own.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitFlags {
    /// Take limits from this file, TOML or JSON by its ending; flags go over it.
    #[arg(long, value_name = "FILE")]
    policy: Option<Utf8PathBuf>,
    /// Memory of each process, and of all together [default: 2GiB].
    #[arg(long, value_name = "SIZE", value_parser = within(range::MEMORY))]
    memory: Option<ByteSize>,
    /// Processes and threads together [default: 64].
    #[arg(long, value_name = "COUNT", value_parser = within(range::PROCESSES))]
    processes: Option<u64>,
    /// Processors' worth of time; needs tier t1 [default: a fair share].
    #[arg(long, value_name = "COUNT", value_parser = within(range::CPUS))]
    cpus: Option<u64>,
    /// GPUs that it may use: `none`, `all`, or indices such as `0,2` [default: none].
    #[arg(long)]
    gpus: Option<Gpus>,
    /// Open files of each process [default: 256].
    #[arg(long, value_name = "COUNT", value_parser = within(range::OPEN_FILES))]
    open_files: Option<u64>,
    /// Size of one file [default: 256MiB].
    #[arg(long, value_name = "SIZE", value_parser = within(range::FILE_SIZE))]
    file_size: Option<ByteSize>,
    /// Size of `/tmp`, and of `/dev/shm` [default: 64MiB].
    #[arg(long, value_name = "SIZE", value_parser = within(range::SCRATCH))]
    scratch: Option<ByteSize>,
    /// What is kept of the beginning of each of the two streams [default: 16KiB].
    #[arg(long, value_name = "SIZE", value_parser = within(range::KEEP))]
    keep_head: Option<ByteSize>,
    /// What is kept of the end of each [default: 16KiB].
    #[arg(long, value_name = "SIZE", value_parser = within(range::KEEP))]
    keep_tail: Option<ByteSize>,
    /// What is kept of the beginning of standard output [default: as `--keep-head`].
    #[arg(long, value_name = "SIZE", value_parser = within(range::KEEP))]
    stdout_head: Option<ByteSize>,
    /// What is kept of its end [default: as `--keep-tail`].
    #[arg(long, value_name = "SIZE", value_parser = within(range::KEEP))]
    stdout_tail: Option<ByteSize>,
    /// What is kept of the beginning of standard error [default: as `--keep-head`].
    #[arg(long, value_name = "SIZE", value_parser = within(range::KEEP))]
    stderr_head: Option<ByteSize>,
    /// What is kept of its end [default: as `--keep-tail`].
    #[arg(long, value_name = "SIZE", value_parser = within(range::KEEP))]
    stderr_tail: Option<ByteSize>,
    /// Bytes printed to both streams after which a script is killed [default: 16MiB].
    #[arg(long, value_name = "SIZE", value_parser = within(range::OUTPUT_LIMIT))]
    output_limit: Option<ByteSize>,
    /// Size of the work dir [default: 256MiB].
    #[arg(long, value_name = "SIZE", value_parser = within(range::WORK_DIR))]
    work_dir: Option<ByteSize>,
    /// Files and folders in the work dir [default: 10000].
    #[arg(long, value_name = "COUNT", value_parser = within(range::WORK_FILES))]
    work_files: Option<u64>,
    /// Where the files of work dirs are kept, `memory` or `disk`, in the folder for temporary files;
    /// in tier t3 always on disk [default: memory].
    #[arg(long, value_name = "PLACE")]
    work_dir_on: Option<WorkDirStorage>,
}

/// Parses a flag's value and makes sure that it is accepted.
pub(crate) fn within<T>(
    range: Range<T>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr<Err: Display> + PartialOrd + Display + Clone + Send + Sync + 'static,
    Range<T>: Display,
{
    move |given| {
        let value: T = given.parse().map_err(|error: T::Err| error.to_string())?;
        if range.contains(&value) { Ok(value) } else { Err(format!("it must be {range}")) }
    }
}

/// Limits as one source gives them: unchecked, and nothing where it is silent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RawLimits {
    pub(crate) time_limit: Option<Span>,
    pub(crate) memory: Option<ByteSize>,
    pub(crate) processes: Option<u64>,
    pub(crate) cpus: Option<u64>,
    pub(crate) gpus: Option<Gpus>,
    pub(crate) open_files: Option<u64>,
    pub(crate) file_size: Option<ByteSize>,
    pub(crate) scratch: Option<ByteSize>,
    pub(crate) stdout: RawKeep,
    pub(crate) stderr: RawKeep,
    pub(crate) output_limit: Option<ByteSize>,
    pub(crate) work_dir: Option<ByteSize>,
    pub(crate) work_files: Option<u64>,
    pub(crate) work_dir_on: Option<WorkDirStorage>,
}

/// [`Keep`] in the same way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RawKeep {
    pub(crate) head: Option<ByteSize>,
    pub(crate) tail: Option<ByteSize>,
}

/// Limits that make sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckedLimits {
    /// The limits of each run.
    pub(crate) policy: RunLimits,
    /// The size of a work dir.
    pub(crate) work_dir: ByteSize,
    /// Files and folders in it.
    pub(crate) work_files: u64,
    /// Where its files are kept.
    pub(crate) work_dir_on: WorkDirStorage,
}

impl RawLimits {
    /// These, and those of `lower` where these are silent.
    fn over(self, lower: Self) -> Self {
        Self {
            time_limit: self.time_limit.or(lower.time_limit),
            memory: self.memory.or(lower.memory),
            processes: self.processes.or(lower.processes),
            cpus: self.cpus.or(lower.cpus),
            gpus: self.gpus.or(lower.gpus),
            open_files: self.open_files.or(lower.open_files),
            file_size: self.file_size.or(lower.file_size),
            scratch: self.scratch.or(lower.scratch),
            stdout: self.stdout.over(lower.stdout),
            stderr: self.stderr.over(lower.stderr),
            output_limit: self.output_limit.or(lower.output_limit),
            work_dir: self.work_dir.or(lower.work_dir),
            work_files: self.work_files.or(lower.work_files),
            work_dir_on: self.work_dir_on.or(lower.work_dir_on),
        }
    }
}

impl RawKeep {
    fn over(self, lower: Self) -> Self {
        Self { head: self.head.or(lower.head), tail: self.tail.or(lower.tail) }
    }

    fn or(self, default: Keep) -> Keep {
        Keep { head: self.head.unwrap_or(default.head), tail: self.tail.unwrap_or(default.tail) }
    }
}

impl TryFrom<RawLimits> for CheckedLimits {
    type Error = OutOfRange;

    /// Defaults where nothing is given; a limit that makes no sense is refused.
    fn try_from(raw: RawLimits) -> Result<Self, OutOfRange> {
        let (default, options) = (RunLimits::default(), SandboxOptions::default());
        let cpus = raw.cpus.map(|cpus| {
            range::CPUS.check("cpus", &cpus)?;
            Ok(u32::try_from(cpus).ok().and_then(NonZeroU32::new).expect("in range"))
        });
        let policy = RunLimits {
            time_limit: raw.time_limit.unwrap_or(default.time_limit),
            memory: raw.memory.unwrap_or(default.memory),
            processes: raw.processes.unwrap_or(default.processes),
            cpus: cpus.transpose()?.or(default.cpus),
            gpus: raw.gpus.unwrap_or(default.gpus),
            open_files: raw.open_files.unwrap_or(default.open_files),
            file_size: raw.file_size.unwrap_or(default.file_size),
            scratch: raw.scratch.unwrap_or(default.scratch),
            stdout: raw.stdout.or(default.stdout),
            stderr: raw.stderr.or(default.stderr),
            output_limit: raw.output_limit.unwrap_or(default.output_limit),
        };
        policy.check()?;
        let work_dir = raw.work_dir.unwrap_or(options.work_dir);
        range::WORK_DIR.check("work_dir", &work_dir)?;
        let work_files = raw.work_files.unwrap_or(options.work_files);
        range::WORK_FILES.check("work_files", &work_files)?;
        let work_dir_on = raw.work_dir_on.unwrap_or(options.work_dir_on);
        Ok(Self { policy, work_dir, work_files, work_dir_on })
    }
}

impl LimitFlags {
    /// What the flags say, with the time limit, which is the command's own.
    fn raw(&self, time_limit: Option<Span>) -> RawLimits {
        let keep = RawKeep { head: self.keep_head, tail: self.keep_tail };
        RawLimits {
            time_limit,
            memory: self.memory,
            processes: self.processes,
            cpus: self.cpus,
            gpus: self.gpus.clone(),
            open_files: self.open_files,
            file_size: self.file_size,
            scratch: self.scratch,
            stdout: RawKeep { head: self.stdout_head, tail: self.stdout_tail }.over(keep),
            stderr: RawKeep { head: self.stderr_head, tail: self.stderr_tail }.over(keep),
            output_limit: self.output_limit,
            work_dir: self.work_dir,
            work_files: self.work_files,
            work_dir_on: self.work_dir_on,
        }
    }

    /// The limits in force: flags over the policy file over `time_default` and the other defaults.
    ///
    /// # Errors
    /// [`UsageError`]: a file that cannot be read, or what is wrong in it, with the line and the key.
    pub(crate) fn resolve(
        &self,
        time_limit: Option<Span>,
        time_default: Span,
    ) -> Result<CheckedLimits, UsageError> {
        let file = match &self.policy {
            Some(path) => policy_file::read(path)?,
            None => RawLimits::default(),
        };
        let lowest = RawLimits { time_limit: Some(time_default), ..RawLimits::default() };
        let resolved = self.raw(time_limit).over(file).over(lowest);
        CheckedLimits::try_from(resolved).map_err(|error| UsageError::new(error.to_string()))
    }
}

impl CheckedLimits {
    /// The options of a sandbox that keeps to them.
    pub(crate) fn bound(&self, options: SandboxOptions) -> SandboxOptions {
        let Self { work_dir, work_files, work_dir_on, .. } = *self;
        SandboxOptions { work_dir, work_files, work_dir_on, ..options }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory as _, Parser};

    #[derive(Debug, Parser)]
    struct FlagsUnderTest {
        #[arg(long)]
        time_limit: Option<Span>,
        #[command(flatten)]
        limits: LimitFlags,
    }

    fn resolve(arguments: &[&str]) -> Result<CheckedLimits, String> {
        let program = FlagsUnderTest::try_parse_from([&["program"], arguments].concat())
            .map_err(|error| error.to_string())?;
        let FlagsUnderTest { time_limit, limits } = program;
        limits.resolve(time_limit, Span::seconds(30)).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_override_the_file_and_the_file_overrides_defaults() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("policy.toml");
        let text = "time_limit = '5s'\nmemory = '1GiB'\nwork_files = 50\n[stdout]\nhead = '1KiB'\n";
        fs_err::write(&file, text).unwrap();
        let file = ["--policy", file.to_str().unwrap()];
        let flags = ["--memory", "512MiB", "--keep-tail", "2KiB", "--stderr-tail", "3KiB"];
        let CheckedLimits { policy, work_dir, work_files, .. } =
            resolve(&[&file[..], &flags[..2]].concat()).unwrap();
        assert_eq!((policy.time_limit, policy.memory), (Span::seconds(5), ByteSize::mib(512)));
        assert_eq!((work_dir, work_files), (ByteSize::mib(256), 50));
        let CheckedLimits { policy, .. } = resolve(&[&file[..], &flags].concat()).unwrap();
        assert_eq!(policy.stdout, Keep { head: ByteSize::kib(1), tail: ByteSize::kib(2) });
        assert_eq!(policy.stderr, Keep { head: ByteSize::kib(16), tail: ByteSize::kib(3) });
        assert_eq!(resolve(&[]).unwrap().policy.time_limit, Span::seconds(30));
    }

    #[test]
    fn out_of_range_limits_are_refused_with_flag_and_range() {
        for (flag, value, accepted) in [
            ("--memory", "0", "1MiB to 16384GiB"),
            ("--processes", "0", "1 to 32768"),
            ("--cpus", "0", "1 to 4096"),
            ("--open-files", "2", "64 to 1048576"),
            ("--file-size", "0", "1KiB to 16384GiB"),
            ("--scratch", "4095", "4KiB to 1024GiB"),
            ("--keep-head", "1GiB", "0 to 256MiB"),
            ("--output-limit", "0", "1KiB to 1024GiB"),
            ("--work-dir", "0", "4KiB to 1024GiB"),
            ("--work-files", "0", "16 to"),
            ("--gpus", "some", "`none`, `all`"),
            ("--work-dir-on", "ssd", "`memory` or `disk`"),
        ] {
            let said = resolve(&[flag, value]).unwrap_err();
            assert!(said.contains(flag) && said.contains(accepted), "{said}");
        }
    }

    #[test]
    fn help_shows_the_actual_defaults() {
        let CheckedLimits { policy, work_dir, work_files, work_dir_on } = resolve(&[]).unwrap();
        let help = FlagsUnderTest::command().render_long_help().to_string();
        for (flag, value) in [
            ("memory", policy.memory.to_string()),
            ("processes", policy.processes.to_string()),
            ("gpus", policy.gpus.to_string()),
            ("open-files", policy.open_files.to_string()),
            ("file-size", policy.file_size.to_string()),
            ("scratch", policy.scratch.to_string()),
            ("keep-head", policy.stdout.head.to_string()),
            ("keep-tail", policy.stderr.tail.to_string()),
            ("output-limit", policy.output_limit.to_string()),
            ("work-dir", work_dir.to_string()),
            ("work-files", work_files.to_string()),
            ("work-dir-on", work_dir_on.to_string()),
        ] {
            let about = help.split(&format!("--{flag} ")).nth(1).unwrap();
            assert!(
                about.lines().nth(1).unwrap().contains(&format!("[default: {value}]")),
                "{about}"
            );
        }
    }

    #[test]
    fn the_documentation_names_defaults_and_ranges() {
        let page = include_str!("../../../docs/SANDBOX.md");
        let CheckedLimits { policy, work_dir, work_files, work_dir_on } = resolve(&[]).unwrap();
        for (limit, default, accepted) in [
            (
                "time_limit",
                RunLimits::default().time_limit.to_string(),
                range::TIME_LIMIT.to_string(),
            ),
            ("memory", policy.memory.to_string(), range::MEMORY.to_string()),
            ("processes", policy.processes.to_string(), range::PROCESSES.to_string()),
            ("cpus", "a fair share".to_owned(), range::CPUS.to_string()),
            ("open_files", policy.open_files.to_string(), range::OPEN_FILES.to_string()),
            ("file_size", policy.file_size.to_string(), range::FILE_SIZE.to_string()),
            ("scratch", policy.scratch.to_string(), range::SCRATCH.to_string()),
            ("stdout.head", policy.stdout.head.to_string(), range::KEEP.to_string()),
            ("output_limit", policy.output_limit.to_string(), range::OUTPUT_LIMIT.to_string()),
            ("work_dir", work_dir.to_string(), range::WORK_DIR.to_string()),
            ("work_files", work_files.to_string(), range::WORK_FILES.to_string()),
            ("work_dir_on", work_dir_on.to_string(), "`memory`, `disk`".to_owned()),
        ] {
            let row = page.lines().find(|line| line.starts_with(&format!("| `{limit}`"))).unwrap();
            let cells: Vec<_> = row.split('|').map(str::trim).collect();
            assert!(cells[3].starts_with(&default) && cells[4] == accepted, "{row}");
        }
    }
}
