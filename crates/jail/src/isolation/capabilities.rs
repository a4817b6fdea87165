//! Capabilities: the single rights of root. A run has none and can gain none.

use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

/// A right could not be given up.
#[derive(Debug, thiserror::Error)]
pub enum CapabilityError {
    /// One capability stayed in the bounding set.
    #[error("could not drop capability {number} from the bounding set ({source})")]
    Bounding {
        /// Its number in `linux/capability.h`.
        number: u32,
        /// The error of the system call.
        source: Errno,
    },
    /// The ambient set could not be cleared.
    #[error("could not clear the ambient set ({0})")]
    Ambient(Errno),
    /// The thread's own sets could not be cleared.
    #[error("could not clear the effective, permitted and inheritable sets ({0})")]
    Own(Errno),
    /// The flag against gaining rights could not be set.
    #[error("could not set no_new_privs ({0})")]
    NoNewPrivileges(Errno),
}

/// Empties every capability set of the calling process.
///
/// # Errors
/// A [`CapabilityError`] naming the set.
pub fn drop_all() -> Result<(), CapabilityError> {
    // The bounding set first: dropping from it takes a capability that the last step gives up.
    for number in 0..64 {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // Past the last capability that this kernel knows.
            Err(Errno::INVAL) => break,
            Err(source) => return Err(CapabilityError::Bounding { number, source }),
        }
    }
    drop_own()
}

/// Empties the sets that an ordinary user may empty. The bounding set is left; without new
/// privileges it has no effect.
///
/// # Errors
/// A [`CapabilityError`] naming the set.
pub fn drop_own() -> Result<(), CapabilityError> {
    clear_ambient_capability_set().map_err(CapabilityError::Ambient)?;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, sets).map_err(CapabilityError::Own)
}

/// From here on, starting a set-user-id program gains nothing. Landlock and seccomp need it.
///
/// # Errors
/// [`CapabilityError::NoNewPrivileges`].
pub fn forbid_new_privileges() -> Result<(), CapabilityError> {
    set_no_new_privs(true).map_err(CapabilityError::NoNewPrivileges)
}
