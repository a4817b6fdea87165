//! Namespaces: separate views of users, processes, mounts, network, IPC and host name.

use crate::isolation::Layer;
use fs_err as fs;
use rustix::io::Errno;
use rustix::thread::UnshareFlags;

/// A namespace could not be had.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// The kernel refused to make the namespace.
    #[error("the kernel refused a new one ({source}){}", hint(*.layer, *.source))]
    Unshare {
        /// The layer that the namespace belongs to.
        layer: Layer,
        /// The error of `unshare`.
        source: Errno,
    },
    /// The identity map could not be written.
    #[error("could not map user and group ids ({0})")]
    Map(std::io::Error),
    /// The host name of the new namespace could not be set.
    #[error("could not set the host name ({0})")]
    HostName(Errno),
}

impl NamespaceError {
    /// The layer that is missing for it.
    pub fn layer(&self) -> Layer {
        match self {
            Self::Unshare { layer, .. } => *layer,
            Self::Map(_) => Layer::UserNamespace,
            Self::HostName(_) => Layer::UtsNamespace,
        }
    }
}

/// What an operator can do where user namespaces are switched off.
fn hint(layer: Layer, source: Errno) -> &'static str {
    match (layer, source) {
        (Layer::UserNamespace, Errno::PERM | Errno::NOSPC | Errno::INVAL) => {
            "; user namespaces may be off on this host: see kernel.unprivileged_userns_clone, \
             user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns, or run as root"
        }
        _ => "",
    }
}

/// Gives the calling process a namespace of its own for `layer`.
///
/// # Errors
/// [`NamespaceError::Unshare`] with the kernel's answer.
pub fn unshare(layer: Layer) -> Result<(), NamespaceError> {
    let flags = match layer {
        Layer::UserNamespace => UnshareFlags::NEWUSER,
        Layer::MountNamespace => UnshareFlags::NEWNS,
        Layer::PidNamespace => UnshareFlags::NEWPID,
        Layer::NetworkNamespace => UnshareFlags::NEWNET,
        Layer::IpcNamespace => UnshareFlags::NEWIPC,
        Layer::UtsNamespace => UnshareFlags::NEWUTS,
        other => unreachable!("{other} is not a namespace"),
    };
    unshare_flags(flags).map_err(|source| NamespaceError::Unshare { layer, source })
}

/// New user and mount namespaces in one call, so that the second is owned by the first.
///
/// # Errors
/// [`NamespaceError::Unshare`] with the kernel's answer.
pub fn unshare_user_and_mounts() -> Result<(), NamespaceError> {
    unshare_flags(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)
        .map_err(|source| NamespaceError::Unshare { layer: Layer::UserNamespace, source })
}

#[expect(unsafe_code, reason = "rustix marks unshare as unsafe for the sake of CLONE_FILES")]
fn unshare_flags(flags: UnshareFlags) -> Result<(), Errno> {
    // SAFETY: no flag used here touches the descriptor table, which is the hazard that the
    // wrapper's contract names.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// Maps one identity of the new user namespace to the one outside that entered it.
///
/// # Errors
/// [`NamespaceError::Map`] if one of the three files refuses.
pub fn map_identity(
    inside: u32,
    outside_user: u32,
    outside_group: u32,
) -> Result<(), NamespaceError> {
    // An unprivileged process may map groups only after it has given up setgroups.
    fs::write("/proc/self/setgroups", "deny").map_err(NamespaceError::Map)?;
    fs::write("/proc/self/uid_map", format!("{inside} {outside_user} 1\n"))
        .map_err(NamespaceError::Map)?;
    fs::write("/proc/self/gid_map", format!("{inside} {outside_group} 1\n"))
        .map_err(NamespaceError::Map)
}

/// Whether user and group `id` exist in the calling process's user namespace and groups may be
/// dropped there.
pub fn can_become(id: u32) -> bool {
    let read = |name: &str| fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
    let mapped = |name: &str| read(name).lines().any(|line| map_line_covers(line, id));
    mapped("uid_map") && mapped("gid_map") && read("setgroups").trim() != "deny"
}

/// A line of a map: first id inside, first id outside, how many.
fn map_line_covers(line: &str, id: u32) -> bool {
    let fields: Vec<u64> = line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    matches!(fields[..], [inside, _, count] if (inside..inside + count).contains(&u64::from(id)))
}

/// Names the host inside, so that the real name is no information for a script.
///
/// # Errors
/// [`NamespaceError::HostName`] with the kernel's answer.
pub fn set_host_name() -> Result<(), NamespaceError> {
    rustix::system::sethostname(b"sandbox").map_err(NamespaceError::HostName)
}

#[cfg(test)]
mod tests {
    use super::map_line_covers;

    #[test]
    fn maps_are_read_as_the_kernel_writes_them() {
        assert!(map_line_covers("         0          0 4294967295", 61_000));
        assert!(map_line_covers("0 100000 65536", 61_000));
        assert!(!map_line_covers("         0       1000          1", 61_000));
        assert!(!map_line_covers("nonsense", 0));
    }
}
