"""Locks files of its own, as databases do."""
import fcntl
import os
import sqlite3

with open("mine", "w") as file:
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if os.fork() == 0:
        try:
            fcntl.lockf(open("mine", "w"), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os._exit(0)
        os._exit(1)
    assert os.wait()[1] == 0
for _ in range(2):
    with sqlite3.connect("base.db") as base:
        base.execute("create table if not exists t (x)")
        base.executemany("insert into t values (?)", [(n,) for n in range(100)])
assert sqlite3.connect("base.db").execute("select count(*) from t").fetchone() == (200,)
