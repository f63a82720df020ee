"""Make the process read and write UTF-8, whatever the locale and the variables of the environment say.

The names of files in `.nexus` are UTF-8, and so are the words of a client. Python takes the encoding of names and of
the command line from the locale when it starts, and cannot change it later: with LC_ALL=POSIX and PYTHONUTF8=0 it is
ASCII, and no file of another name can be made. So the program starts itself once more, in UTF-8 mode.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress


def prepare(*, is_program: bool) -> None:
    """Start the program again in UTF-8 mode where it has another encoding, and let no output fail for its encoding.

    Only where it `is_program`: a process of somebody else's is not replaced. Returns where it need not, or cannot.
    """
    if is_program and sys.getfilesystemencoding() != "utf-8" and "utf8" not in sys._xoptions and sys.executable:
        # The words are given back as the bytes that they were; standard input was not read yet. Where the system does
        # not let us, the process goes on as it is: only names that it cannot write are refused.
        with suppress(OSError, ValueError):
            os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A path or a rule that the terminal's encoding lacks is shown escaped; it is no reason to fail.
        sys.stdout.reconfigure(errors="backslashreplace")
