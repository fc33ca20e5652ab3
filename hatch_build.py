"""Compiles the kernels when Raterlens is installed.

They become a plain shared library beside their Python wrappers, with nothing of Python in it, so one library serves
every Python. The compiler is `CC` or the system's; where there is none, the package `ziglang` brings one for the time
of the build. If compiling fails, Raterlens is installed without: it works, slowly on large data, and says so.
"""

import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = Path("src/raterlens/kernels/c")
LIBRARY = Path("src/raterlens/kernels") / {"win32": "kernels.dll", "darwin": "kernels.dylib"}.get(
    sys.platform, "kernels.so"
)
OPTIMISED = ["-O3", "-std=gnu11", "-fPIC", "-fvisibility=hidden", "-Wno-psabi"]
OPTIMISED += ["-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math"]
# Leave to rearrange sums, so that they fill the processor's vectors.
REARRANGED = ["-fno-signed-zeros", "-fassociative-math", "-freciprocal-math"]
AS_WRITTEN = ("exponential.c", "level.c")
X86 = platform.machine().lower() in ("x86_64", "amd64")
# Instructions that every processor of a kind has, and those that nearly all x86 processors since 2015 have; the names
# that Zig has for them.
LEVELS = {"v1": [], "v3": ["-march=x86-64-v3"]}
ZIG_LEVELS = {"v1": ["-mcpu=baseline"], "v3": ["-mcpu=x86_64_v3"]}


class Kernels(BuildHookInterface[Any]):
    """Called by hatchling when it builds."""

    def dependencies(self) -> list[str]:
        return [] if system_compiler() else ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        try:
            compile_kernels(root / SOURCES, root / LIBRARY)
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"Kernels could not be compiled, so large data will be slow: {error}")
            return
        build_data["pure_python"] = False
        build_data["artifacts"].append(LIBRARY.as_posix())
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def system_compiler() -> list[str]:
    """The command that compiles C here; nothing where there is none."""
    if named := os.environ.get("CC"):
        return shlex.split(named)
    if sys.platform == "win32":  # its own compiler takes other options
        return []
    return next(([name] for name in ("cc", "gcc", "clang") if shutil.which(name)), [])


def compile_kernels(sources: Path, library: Path) -> None:
    """Every file for every level, side by side, then one library that appears when it is whole."""
    compiler, levels = system_compiler(), LEVELS
    if not compiler:
        compiler, levels = [sys.executable, "-m", "ziglang", "cc"], ZIG_LEVELS
    with tempfile.TemporaryDirectory() as folder:
        commands, objects = [], []
        for source in sorted(sources.glob("*.c")):
            flags = OPTIMISED if source.name in AS_WRITTEN else OPTIMISED + REARRANGED
            for level in ["v1"] if source.name == "level.c" or not X86 else levels:
                objects.append(f"{folder}/{source.stem}-{level}.o")
                known = [*flags, *levels[level], f"-DLEVEL={level}"]
                commands.append([*compiler, *known, "-c", str(source), "-o", objects[-1]])
        running = [subprocess.Popen(command) for command in commands]
        for command, failed in zip(commands, [process.wait() for process in running], strict=True):
            if failed:
                raise subprocess.CalledProcessError(failed, command)
        whole = Path(folder) / library.name
        subprocess.run([*compiler, "-shared", "-o", str(whole), *objects, "-lm"], check=True)
        draft = library.with_name(f".{library.name}.draft")
        shutil.copyfile(whole, draft)
        draft.replace(library)
