"""Lifts its own resource limits."""
import resource

for name in ("DATA", "NPROC", "FSIZE", "NOFILE", "CORE", "MEMLOCK", "MSGQUEUE", "RTPRIO"):
    which = getattr(resource, f"RLIMIT_{name}", None)
    if which is None:
        continue
    soft, hard = resource.getrlimit(which)
    assert hard != resource.RLIM_INFINITY, name
    for wanted in (hard + 1, resource.RLIM_INFINITY):
        try:
            resource.setrlimit(which, (wanted, wanted))
        except (ValueError, OSError):
            continue
        raise AssertionError(name)
