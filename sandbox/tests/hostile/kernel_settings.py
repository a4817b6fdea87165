"""Changes settings of the kernel and of itself through /proc."""
for path, value in {
    "/proc/sys/kernel/core_pattern": "|/work/run", "/proc/sys/kernel/modprobe": "/work/run",
    "/proc/sys/vm/overcommit_memory": "1", "/proc/sys/user/max_user_namespaces": "100",
    "/proc/sysrq-trigger": "b", "/proc/self/oom_score_adj": "-1000", "/proc/self/uid_map": "0 0 1",
    "/proc/self/setgroups": "allow", "/proc/self/coredump_filter": "ff", "/proc/self/mem": "x",
}.items():
    try:
        with open(path, "w") as file:
            file.write(value)
    except OSError:
        continue
    raise AssertionError(path)
assert open("/proc/self/oom_score_adj").read().strip() == "1000"
