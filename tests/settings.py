"""The product's settings for tests: a data folder of the run's own, and nothing of the developer's environment."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

folder = tempfile.mkdtemp(prefix="schedviz-tests-")
atexit.register(shutil.rmtree, folder, ignore_errors=True)
for name in [name for name in os.environ if name.startswith("SCHEDVIZ_")]:
    if name != "SCHEDVIZ_SCREENSHOTS":
        del os.environ[name]
os.environ["SCHEDVIZ_DATA"] = folder

from schedviz.settings import *  # noqa: E402, F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# A file, as in production: threads and processes meet in it with the same locks.
if "sqlite" in DATABASES["default"]["ENGINE"]:  # noqa: F405
    DATABASES["default"]["TEST"] = {"NAME": f"{folder}/test.sqlite3"}  # noqa: F405
