//! Checkouts of benchmarks, which hold what the folders of their competitions do not.

use camino::Utf8PathBuf;
use clap::Args;
use tasks::task::Opening;

/// Where a command finds what the folder of a competition does not hold.
#[derive(Debug, Args)]
pub(super) struct CheckoutFlags {
    /// Take the leaderboards of competitions from this checkout of mle-bench.
    #[arg(long, value_name = "DIR")]
    mlebench: Option<Utf8PathBuf>,
    /// Take metrics and leaderboards of competitions of MLE-Dojo from this checkout of it.
    #[arg(long, value_name = "DIR")]
    mledojo: Option<Utf8PathBuf>,
}

impl CheckoutFlags {
    pub(super) fn opening(&self) -> Opening {
        Opening { checkout: self.mlebench.clone(), mledojo: self.mledojo.clone() }
    }
}
