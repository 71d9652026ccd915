"""Runs a program that must not outlive the process that asked for it, even when that one is killed with -9.

`python -I -S leash.py PARENT PROGRAM ARGUMENT...` asks the kernel to kill this process when its parent ends,
then becomes PROGRAM. Started by the supervisor for each child, as a file: an exec'd file is safe in a parent that
has threads, where a hook between fork and exec is not. On Linux only: elsewhere it just becomes PROGRAM.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, argv: list[str]) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before we asked
            sys.exit(1)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        sys.exit(f"cannot run {argv[0]}: {error.strerror}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
