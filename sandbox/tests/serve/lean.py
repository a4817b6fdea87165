"""OpenEnv's client without OpenEnv's server: `lean.py PROGRAM [ARGUMENT ...]` runs a program so.

The package imports, along with its client, what only its own server needs. The test environment
leaves that out; a user who installs `openenv-core` has it.
"""

import runpy
import sys
import types


class Unused(types.ModuleType):
    """In the place of a module that is imported and not used."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


for name in ("fastapi", "fastmcp", "fastmcp.client", "fastmcp.client.client", "mcp", "mcp.types", "requests"):
    sys.modules.setdefault(name, Unused(name))

if __name__ == "__main__":
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
