# A third of the score for each of product, count and price.
import json
import sys

for line in sys.stdin:
    item = json.loads(line)
    text, truth = item["prediction"], item["truth"]
    try:
        found = json.loads(text[text.index("{") :])
        score = sum(found.get(key) == truth[key] for key in truth) / len(truth)
        tags = [] if score == 1 else ["wrong"]
    except (ValueError, AttributeError):
        score, tags = 0, ["format"]
    print(json.dumps({"id": item["id"], "score": score, "tags": tags}))
