"""Describes the machine of a run: processor, kernel, versions of the libraries."""
import os
import re
import shutil
import subprocess
from pathlib import Path

PACKAGES = {"libzstd": "libzstd1", "brotli": "libbrotli1", "zlib": "zlib1g", "lz4": "liblz4-1", "blosc": "libblosc1",
            "isa-l": "libisal2", "highwayhash": "libhighwayhash0"}


def described(recordfs):
    return {"processor": _processor(), "kernel": os.uname().release, **_recordfs(recordfs), **_packages()}


def _processor():
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    name = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    return f"{os.cpu_count()} x {name.group(1) if name else os.uname().machine}"


def _recordfs(recordfs):
    said = subprocess.run([recordfs, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return dict(re.findall(r"(recordfs|libfuse) (\S+)", said))


def _packages():
    if shutil.which("dpkg-query") is None:
        return {}
    said = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", *PACKAGES.values()],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    versions = dict(line.split(" ", 1) for line in said.splitlines())
    return {name: versions[package] for name, package in PACKAGES.items() if versions.get(package)}
