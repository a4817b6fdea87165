"""What `datasets` reads from an export: the rows of each split, as JSON."""

import json
import sys

import datasets

data = datasets.load_dataset(sys.argv[1])
print(json.dumps({name: list(split) for name, split in data.items()}))
