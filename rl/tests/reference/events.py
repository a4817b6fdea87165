"""The reference side of the event files' test: TensorBoard itself.

events.py FOLDER    all scalars of a folder of event files, as JSON: tag -> [[step, value, time]]
"""

import json
import sys

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError as error:
    sys.exit(f"the reference environment is incomplete: {error}")

events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
events.Reload()
tags = events.Tags()["scalars"]
print(json.dumps({tag: [[e.step, e.value, e.wall_time] for e in events.Scalars(tag)] for tag in tags}))
