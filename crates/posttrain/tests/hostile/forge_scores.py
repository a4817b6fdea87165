"""Asks the server to set a score, a baseline, the time, the end; with the token, without, and with others."""

from common import OWN, ask, model, submit

honest = model("honest", 0.5)
without = {"Content-Type": "application/json"}
guessed = {**OWN, "Authorization": "Bearer 0123456789abcdef"}
routes = ["/set_baseline", "/v1/score", "/v1/baseline", "/v1/submissions/1/score", "/state", "/end", "/pause"]
for headers in [OWN, without, guessed]:
    for path in routes:
        for method in ["POST", "PUT"]:
            status, answer = ask(path, {"score": 1.0, "baseline": 0.0}, headers, method)
            assert status in (404, 405), (path, status, answer)
    for body in [
        {"model_path": honest, "score": 1.0},
        {"model_path": honest, "baseline_score": 0.0},
        {"model_path": [honest]},
        {"submission_id": 1},
    ]:
        status, answer = ask("/v1/submit", body, headers)
        assert status == 400, (body, status, answer)
    status, answer = ask("/v1/submissions/1", {"score": 1.0}, headers, "PUT")
    assert status == 405, (status, answer)
# A page in a browser would send this.
assert ask("/v1/time", headers={**OWN, "Origin": "http://127.0.0.1:5000"})[0] == 403
# Requests within requests: what a relay and a server could take for two different things.
smuggled = {**OWN, "Transfer-Encoding": "chunked", "Content-Length": "5"}
assert ask("/v1/submit", {"model_path": honest}, smuggled)[0] in (400, 413)
# The door is the token: who knows of none is let in, and scored like anybody else.
status, entry = submit(honest, without)
assert (status, entry["score"]) == (200, 0.5), entry
