"""Starts processes and threads in all the ways that libraries have."""
import asyncio
import concurrent.futures
import multiprocessing
import os
import subprocess
import threading

assert subprocess.run(["echo", "x"], capture_output=True).stdout == b"x\n"
assert subprocess.run("exit 3", shell=True).returncode == 3
assert os.system("true") == 0
assert os.popen("echo y").read() == "y\n"
assert os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)[1] == 0
assert os.spawnv(os.P_WAIT, "/bin/true", ["true"]) == 0
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    assert sum(pool.map(int, "1234")) == 10
thread = threading.Thread(target=lambda: None)
thread.start()
thread.join()
if "@TIER@" != "t3":
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert sum(pool.map(int, "1234")) == 10
    left, right = multiprocessing.Pipe()
    left.send([1, 2])
    assert right.recv() == [1, 2]

    async def echo():
        process = await asyncio.create_subprocess_exec("echo", "z", stdout=subprocess.PIPE)
        return (await process.communicate())[0]

    assert asyncio.run(echo()) == b"z\n"
