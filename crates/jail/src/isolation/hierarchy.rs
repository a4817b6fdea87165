//! Where the kernel shows control groups: which hierarchy has which controller, and where in it
//! this process is.
//!
//! Two interfaces are in use. Version 1 has a hierarchy per controller or few; version 2 has one
//! for all. A host may show both, with the controllers split between them.

use camino::{Utf8Path, Utf8PathBuf};

/// What bounds a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Memory, in bytes.
    Memory,
    /// Number of processes and threads.
    Pids,
    /// Share of processor time.
    Cpu,
}

impl Controller {
    /// All that a run is bounded by.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Pids, Self::Cpu];

    /// The kernel's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
        }
    }
}

/// Which interface a hierarchy has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// A hierarchy for one or a few controllers.
    V1,
    /// The one hierarchy for all others.
    V2,
}

/// The group that this process is in, in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CgroupFolder {
    /// Version of the interface, 1 or 2.
    pub version: Version,
    /// What is used of it.
    pub controllers: Vec<Controller>,
    /// Folder of the control group.
    pub folder: Utf8PathBuf,
}

/// This process's place cannot be found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HierarchyError {
    /// No hierarchy could have the controller.
    #[error("no control groups with the controller `{controller}` are mounted")]
    NotMounted {
        /// Name of the missing controller.
        controller: &'static str,
    },
    /// It is mounted, but not the part with this process.
    #[error("the control group of this process, `{path}`, is not visible here")]
    Hidden {
        /// Its path in the hierarchy.
        path: String,
    },
}

/// The places of this process, from the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`.
/// Each controller is in exactly one of them.
///
/// # Errors
/// A [`HierarchyError`] naming the controller or the group.
pub fn places(mountinfo: &str, membership: &str) -> Result<Vec<CgroupFolder>, HierarchyError> {
    let mounts: Vec<Mount> = mountinfo.lines().filter_map(Mount::parse).collect();
    let mut places: Vec<CgroupFolder> = Vec::new();
    for controller in Controller::ALL {
        let name = controller.name();
        let has = |mount: &&Mount| mount.version == Version::V1 && mount.has(name);
        // A controller that a version 1 hierarchy has is not there for version 2.
        let version = if mounts.iter().any(|m| has(&m)) { Version::V1 } else { Version::V2 };
        let own = own_path(membership, version, name);
        let own = own.ok_or(HierarchyError::NotMounted { controller: name })?;
        let fitting: Vec<&Mount> = match version {
            Version::V1 => mounts.iter().filter(has).collect(),
            Version::V2 => mounts.iter().filter(|mount| mount.version == version).collect(),
        };
        if fitting.is_empty() {
            return Err(HierarchyError::NotMounted { controller: name });
        }
        let hidden = || HierarchyError::Hidden { path: own.to_owned() };
        let folder = fitting.iter().find_map(|mount| mount.show(own)).ok_or_else(hidden)?;
        match places.iter_mut().find(|place| place.folder == folder) {
            Some(place) => place.controllers.push(controller),
            None => places.push(CgroupFolder { version, controllers: vec![controller], folder }),
        }
    }
    Ok(places)
}

/// This process's group of version 2, whatever controllers it has there: none where that version
/// is not mounted, or not the part with this process. Every group of version 2 can be frozen, and
/// be killed as a whole, without a controller.
pub fn freezer(mountinfo: &str, membership: &str) -> Option<CgroupFolder> {
    let own = own_path(membership, Version::V2, "")?;
    let mounts = mountinfo.lines().filter_map(Mount::parse);
    let folder = mounts.filter(|mount| mount.version == Version::V2).find_map(|m| m.show(own))?;
    Some(CgroupFolder { version: Version::V2, controllers: Vec::new(), folder })
}

/// This process's group: a line is `number:controllers:path`, version 2's with number 0 and no
/// controllers.
fn own_path<'a>(membership: &'a str, version: Version, controller: &str) -> Option<&'a str> {
    membership.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let fits = match version {
            Version::V1 => controllers.split(',').any(|name| name == controller),
            Version::V2 => number == "0" && controllers.is_empty(),
        };
        fits.then_some(path)
    })
}

/// A mounted hierarchy of control groups.
struct Mount {
    version: Version,
    /// The group that is shown at `point`.
    root: String,
    point: Utf8PathBuf,
    options: String,
}

impl Mount {
    /// A line is: two numbers, device, root, mount point, options, optional fields, `-`, type,
    /// source, options of the file system.
    fn parse(line: &str) -> Option<Self> {
        let (mount, system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, point) = (unescape(mount.next()?), unescape(mount.next()?));
        let mut system = system.split(' ');
        let version = match system.next()? {
            "cgroup" => Version::V1,
            "cgroup2" => Version::V2,
            _ => return None,
        };
        let options = system.nth(1)?.to_owned();
        Some(Self { version, root, point: point.into(), options })
    }

    fn has(&self, controller: &str) -> bool {
        self.options.split(',').any(|option| option == controller)
    }

    /// The folder of the group `path`, if it is below what is shown.
    fn show(&self, path: &str) -> Option<Utf8PathBuf> {
        let below = Utf8Path::new(path).strip_prefix(&self.root).ok()?;
        // A group outside of this process's cgroup namespace has a path that begins like this.
        if below.components().any(|part| part.as_str() == "..") {
            return None;
        }
        Some(if below.as_str().is_empty() { self.point.clone() } else { self.point.join(below) })
    }
}

/// The kernel writes a blank and its like as `\` and three octal digits.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let Some(code) = digits {
            plain.push(code.into());
            plain.push_str(&part[3..]);
        } else {
            plain.push('\\');
            plain.push_str(part);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "\
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
36 31 0:33 / /sys/fs/cgroup/my\\040memory rw,relatime shared:9 - cgroup cgroup rw,memory
40 31 0:37 /box /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
42 31 0:39 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
22 27 0:21 / /proc rw,relatime - proc proc rw";

    #[test]
    fn version_1_has_a_place_per_hierarchy() {
        let membership = "8:pids:/box/inner\n4:memory:/a/b\n1:cpu,cpuacct:/\n0::/\n";
        let places = places(V1, membership).unwrap();
        let found: Vec<_> = places.iter().map(|place| place.folder.as_str()).collect();
        let expected = [
            "/sys/fs/cgroup/my memory/a/b",
            "/sys/fs/cgroup/pids/inner",
            "/sys/fs/cgroup/cpu,cpuacct",
        ];
        assert_eq!(found, expected);
        assert!(places.iter().all(|place| place.version == Version::V1));
    }

    #[test]
    fn version_2_has_one_place_for_all() {
        let mountinfo = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate";
        let places = places(mountinfo, "0::/user.slice/run.scope\n").unwrap();
        let folder = "/sys/fs/cgroup/user.slice/run.scope".into();
        let controllers = Controller::ALL.to_vec();
        assert_eq!(places, [CgroupFolder { version: Version::V2, controllers, folder }]);
    }

    #[test]
    fn groups_can_be_frozen_where_version_2_is_mounted() {
        let membership = "8:pids:/box/inner\n4:memory:/a/b\n1:cpu,cpuacct:/\n0::/x\n";
        let place = freezer(V1, membership).unwrap();
        assert_eq!(place.folder, "/sys/fs/cgroup/unified/x");
        assert_eq!((place.version, place.controllers), (Version::V2, Vec::new()));
        let (v1, _) = V1.split_once("42 31").unwrap();
        assert_eq!(freezer(v1, membership), None);
        assert_eq!(freezer(V1, "4:memory:/a/b\n"), None);
    }

    #[test]
    fn missing_controllers_are_named_in_the_error() {
        let error = places("", "0::/\n").unwrap_err();
        assert_eq!(error, HierarchyError::NotMounted { controller: "memory" });
        assert!(error.to_string().contains("`memory`"));
        // In a cgroup namespace whose root is elsewhere.
        let error = places(V1, "8:pids:/\n4:memory:/../x\n1:cpu,cpuacct:/\n").unwrap_err();
        assert_eq!(error, HierarchyError::Hidden { path: "/../x".to_owned() });
    }
}
