"""Takes programs out of texts as the released evaluation does: a text as JSON a line in and out."""

import json
import re
import sys

for line in sys.stdin:
    text = json.loads(line)
    fenced = re.search(r"```\w*\n(.*?)```", text, re.DOTALL)
    print(json.dumps((fenced.group(1) if fenced else text).lstrip()))
