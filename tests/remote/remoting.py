"""Shared by the tests of remote files: servers that end with their case, and an environment that leads nowhere else.

    x_test.py --bin FOLDER --root CHECKOUT [unittest's options]     FOLDER: the build folder
"""
import concurrent.futures
import contextlib
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import built
import bucket
import server
import signatures

ACCESS_KEY, SECRET, TOKEN = "AKIAFAKEFORTESTS0001", "fakeSecret/For+Tests=0123456789abcdefABCD", "fakeToken//For+Tests=="
DEADLINE = 2     # seconds that a program may try to get an answer, in tests of answers that never come
HANGS = 60       # seconds after which a program counts as hanging
AT_ONCE = 20     # programs that tests run in parallel: most of them wait
OTHERS = ("AWS_", "HF_", "GS_", "GOOGLE_", "STORAGE_EMULATOR", "http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY",
          "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "SSL_CERT", "CURL_")


def environment(folder, s3=None, **more):
    """Returns the environment of a program with its home and caches in `folder`, and S3 at a Bucket."""
    found = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
    (Path(folder) / "home").mkdir(exist_ok=True)
    found.update(HOME=f"{folder}/home", XDG_CACHE_HOME=f"{folder}/caches", LC_ALL="C.UTF-8", TERM="xterm",
                 AWS_EC2_METADATA_DISABLED="true", RECORDFS_FETCH=built.program("recordfs-fetch"))
    if s3:
        found.update(AWS_ENDPOINT_URL_S3=s3.origin, AWS_REGION=s3.region)
        if s3.keys:
            access_key = next(iter(s3.keys))
            secret, token = s3.keys[access_key]
            found.update(AWS_ACCESS_KEY_ID=access_key, AWS_SECRET_ACCESS_KEY=secret)
            found.update({"AWS_SESSION_TOKEN": token} if token else {})
    return found | more


class Done(NamedTuple):
    """A finished command: exit status, or minus the signal's number, and its output."""

    status: int
    out: bytes
    err: str


def run(words, given, cwd=None, timeout=HANGS):
    """Runs recordfs with the environment `given`. Raises TimeoutExpired if it hangs."""
    ran = subprocess.run([built.program("recordfs"), *map(os.fsencode, words)], stdin=subprocess.DEVNULL, capture_output=True, env=given,
                         cwd=cwd, check=False, timeout=timeout)
    return Done(ran.returncode, ran.stdout, ran.stderr.decode(errors="backslashreplace"))


def in_parallel(function, items):
    """Calls a function with each item, some at a time. Returns the results in order; raises what a call has raised."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(function, items))


class Served:
    """Of a case: starts servers that end with it. Before Case in the list of bases."""

    s3 = None

    def environment(self, *_):
        return environment(self.folder, self.s3)

    def serve(self, root, kind=server.Server, **more):
        """Starts a server of a folder that ends with the case, which fails if the server has had a problem."""
        started = kind(root, **more)

        def end():
            started.stop()
            self.assertEqual(started.problems, [])
        self.addCleanup(end)
        return started

    def serve_s3(self, root, **more):
        """Starts a bucket for each folder below `root`. Its requests must be signed if botocore is there to check that."""
        more.setdefault("keys", {ACCESS_KEY: (SECRET, TOKEN)} if signatures.is_available() else None)
        self.s3 = self.serve(root, bucket.Bucket, **more)
        return self.s3


def make(form, records, path, *options):
    """Writes a container with make_data, which is old enough to be cached. Returns its path."""
    subprocess.run([built.program("make_data"), form, str(records), str(path), *options], check=True, stdout=subprocess.DEVNULL,
                   timeout=10 * built.PATIENCE)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return Path(path)


def fetchers(owner=None):
    """Returns the ids of the running programs recordfs-fetch; with `owner`: of those that this process has started."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parent = int((entry / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[1])
            if words[0].endswith(b"recordfs-fetch") and owner in (None, parent):
                found.append(int(entry.name))
    return found


def is_running(process):
    """Returns whether a process exists, and is no zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


main = built.main
