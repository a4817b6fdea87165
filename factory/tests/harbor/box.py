"""A Harbor environment without Docker: each box is a folder, entered in namespaces of its own.

A box has no network. It follows the lines COPY and WORKDIR of its Dockerfile, finds its packages in
the Python that MLE_PYTHON names, and sees the host's other files: it is for scripts of ours, and no
barrier. Needs `unshare`, and a host that lets users have user namespaces.
"""

import asyncio
import os
import pathlib
import shutil
import tempfile

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

# Arguments: the box, the folder to run in, the command.
ENTER = """
set -eu
mount -t tmpfs box "$1/root"
for path in /*; do
  name=${path#/}
  if [ -L "$path" ]; then cp -P "$path" "$1/root/"
  elif [ -d "$path" ] && [ ! -d "$1/files/$name" ]; then
    mkdir "$1/root/$name"
    mount --rbind "$path" "$1/root/$name"
  fi
done
for path in "$1"/files/*; do
  mkdir "$1/root/${path##*/}"
  mount --bind "$path" "$1/root/${path##*/}"
done
exec chroot "$1/root" /bin/sh -c 'cd "$1" && exec /bin/sh -c "$2"' sh "$2" "$3"
"""


class Box(BaseEnvironment):
    @staticmethod
    def type():
        return "box"

    @property
    def capabilities(self):
        return EnvironmentCapabilities(disable_internet=True)

    def _validate_definition(self):
        (self.environment_dir / "Dockerfile").read_text()

    def inside(self, path):
        return self.box / "files" / str(path).lstrip("/")

    async def start(self, force_build):
        self.box = pathlib.Path(tempfile.mkdtemp(prefix="box-"))
        self.workdir = "/"
        (self.box / "root").mkdir()
        for path in ("/app", "/solution", "/tests", "/tmp", *self._mount_targets()):
            self.inside(path).mkdir(parents=True)
        for line in (self.environment_dir / "Dockerfile").read_text().splitlines():
            words = line.split()
            if words[:1] == ["COPY"] and not words[2].startswith("/opt"):
                await self.upload_dir(self.environment_dir / words[1], words[2])
            elif words[:1] == ["WORKDIR"]:
                self.workdir = words[1]

    async def stop(self, delete):
        shutil.rmtree(self.box)

    async def upload_file(self, source_path, target_path):
        target = self.inside(target_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source_path, target, follow_symlinks=False)

    async def upload_dir(self, source_dir, target_dir):
        shutil.copytree(source_dir, self.inside(target_dir), symlinks=True, dirs_exist_ok=True)

    async def download_file(self, source_path, target_path):
        shutil.copy2(self.inside(source_path), target_path, follow_symlinks=False)

    async def download_dir(self, source_dir, target_dir):
        shutil.copytree(self.inside(source_dir), target_dir, symlinks=True, dirs_exist_ok=True)

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None):
        python = pathlib.Path(os.environ["MLE_PYTHON"]).parent
        inside = {"PATH": f"{python}:/usr/bin:/bin:/usr/sbin", "LANG": "C.UTF-8"}
        inside.update(self._merge_env(env) or {})
        space = ["unshare", "--user", "--map-root-user", "--mount", "--net"]
        process = await asyncio.create_subprocess_exec(
            *space,
            *["/bin/sh", "-c", ENTER, "box", self.box, cwd or self.workdir, command],
            env=inside,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        except TimeoutError:
            process.kill()
            raise
        return ExecResult(stdout=out.decode(), stderr=err.decode(), return_code=process.returncode)
