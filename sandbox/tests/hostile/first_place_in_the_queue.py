"""Asks for processor time before everybody else."""
import os

for attempt in (
    lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10)),
    lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1)),
    lambda: os.sched_setparam(0, os.sched_param(1)),
    lambda: os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) - 1),
):
    try:
        attempt()
    except OSError:
        continue
    raise AssertionError("it got ahead")
