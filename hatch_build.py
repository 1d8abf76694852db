"""Put kernels that were compiled beforehand into a wheel of one platform: LUTHIER_PACK names their file."""

import os
import platform
import sys
import sysconfig
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsHook(BuildHookInterface):
    """Without a pack the wheel is pure; with one it is of this Python and platform."""

    def initialize(self, version, build_data):
        """Add the pack and the tag."""
        pack = os.environ.get("LUTHIER_PACK")
        if not pack or version == "editable":
            return
        python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
        place = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        if sys.platform == "linux":  # it links to nothing but what Numba brings, whose wheels want no newer glibc
            place = f"manylinux_2_17_{platform.machine()}"
        build_data["force_include"][pack] = f"luthier/kernels/{Path(pack).name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}-{place}"
