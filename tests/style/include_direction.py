#!/usr/bin/env python3
"""Includes follow one direction: include_direction.py ROOT prints each violation, and fails on one.

    base <- hash <- remote <- fetch
    base <- hash <- remote <- codec <- formats' contract <- formats/<x> <- formats.cc <- decoding <- store <- columns <- search
         <- database <- dataset <- output <- export <- verify <- recover <- report <- api <- python
         report <- fusefs/follow <- fusefs/tree <- fusefs/glue <- fusefs/confinement <- fusefs (options)
         <- fusefs/commands <- fusefs/install <- main
"""
import sys
from pathlib import Path

import sources

# The only file that may include all others.
MAIN = "fusefs/main.cc"

# A folder may include itself and earlier layers.
LAYERS = ["core/base", "core/hash", "core/remote", "core/fetch", "core/codec", "core/formats", "core/formats/*", "core/decoding",
          "core/store", "core/columns", "core/search", "core/database", "core/dataset", "core/output", "core/export",
          "core/verify", "core/recover", "core/report", "core/api", "core/python", "fusefs/follow",
          "fusefs/tree", "fusefs/glue", "fusefs/confinement", "fusefs", "fusefs/commands", "fusefs/install", MAIN]

# The lists of formats, and of those that can be written: the only files that name them all.
REGISTRY = ["core/formats/formats.cc", "core/formats/writers.cc"]

# {format: the format that its files contain, or whose structures it shares}; such a format includes the other's headers.
BUILT_ON = {"array_record": "riegeli", "leveldb_log": "leveldb_table", "rocksdb_blob": "leveldb_table", "wandb": "leveldb_log"}

# {folder: the formats whose files it reads by key and by record, which their containers cannot do}: a database directory is
# made of such files. It includes their headers directly.
READS = {"core/database": ["leveldb_log", "leveldb_table", "rocksdb_blob"]}

# {prefix of a header: the only places that may include it}: folders (with / at the end), and files without suffix.
PLACES = {
    "fuse": ["fusefs/glue/"],
    "CLI/": ["fusefs/options", "fusefs/commands/"],
    "Python.h": ["core/python/"],
    "pybind11/": ["core/python/"],
    "google/protobuf/": ["core/decoding/protobuf/"],
    "dlfcn.h": ["core/decoding/", "core/base/own_files", "fusefs/confinement/"],
    "linux/seccomp.h": ["core/base/call_filter"],
    "linux/landlock.h": ["core/base/landlock"],
    "nlohmann/": ["core/fetch/json_objects"],
    "expat.h": ["core/fetch/xml"],
    "curl/": ["core/fetch/"],
    "re2/": ["core/search/record_matcher"],
    "zstd": ["core/codec/zstd", "core/codec/zstd_compressor"],
    "brotli/": ["core/codec/brotli", "core/codec/brotli_compressor"],
    "snappy": ["core/codec/snappy", "core/codec/snappy_compressor"],
    "lz4": ["core/codec/lz4", "core/codec/lz4_compressor"],
    "lzma.h": ["core/codec/lzma"],
    "bzlib.h": ["core/codec/bzip2"],
    "zlib.h": ["core/codec/deflate", "core/codec/deflate_compressor"],
    "nettle/": ["core/hash/digest", "core/decoding/json_writer", "core/fetch/"],
    "libdeflate.h": ["core/codec/deflate_whole", "core/hash/adler32"],
    "blosc": ["core/codec/blosc"],
    "highwayhash/": ["core/hash/highway_engine"],
    "xxhash.h": ["core/hash/xxhash"],
    "isa-l": ["core/hash/crc"],
    "crc.h": ["core/hash/crc"],
}

# The core prints nothing.
NOT_IN_CORE = ["iostream", "cstdio", "stdio.h", "print"]


def layer_of(path):
    """Returns the layer of a file of core/ or fusefs/, or None."""
    if path.as_posix() == MAIN:
        return MAIN
    folder = path.parent.as_posix()
    if folder in LAYERS:
        return folder
    if folder.startswith("core/formats/"):
        return "core/formats/*"
    for layer in reversed(LAYERS):
        if layer.count("/") == 1 and folder.startswith(layer + "/"):
            return layer
    return None


def format_of(path):
    """Returns the format whose folder contains `path`, or None."""
    parts = path.parts
    return parts[2] if parts[:2] == ("core", "formats") and len(parts) > 3 else None


def own_include_error(path, target):
    own, other = layer_of(path), layer_of(target)
    if other is None:
        return "is in no layer"
    if format_of(target) and format_of(path) != format_of(target):
        if format_of(target) in READS.get(path.parent.as_posix(), []):
            return None
        if path.as_posix() in REGISTRY or BUILT_ON.get(format_of(path)) == format_of(target):
            return None
        return f"only the format itself and {REGISTRY[0]} may include it"
    if LAYERS.index(other) > LAYERS.index(own):
        return f"{own} is a lower layer than {other}"
    return None


def foreign_include_error(path, header):
    if path.parts[0] == "core" and header in NOT_IN_CORE:
        return "the core does not print"
    name = path.with_suffix("").as_posix()
    for prefix, places in PLACES.items():
        if not header.startswith(prefix):
            continue
        if not any(name == place or (place.endswith("/") and name.startswith(place)) for place in places):
            return "may only be included in " + ", ".join(places)
    return None


def errors(root):
    for path in sources.files(root, "core", "fusefs", suffixes=sources.CXX):
        if layer_of(path) is None:
            yield f"{path}: is in no layer"
            continue
        for line, is_system, header in sources.includes(sources.text(root, path)):
            if is_system:
                why = foreign_include_error(path, header)
            elif not header.startswith(("core/", "fusefs/")):
                why = "is not spelled from the top of the project"
            else:
                why = own_include_error(path, Path(header))
            if why:
                yield f"{path}:{line}: {header}: {why}"


if __name__ == "__main__":
    sys.exit(sources.report(errors, "includes follow one direction"))
