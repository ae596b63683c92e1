"""What is mounted, and its expected content, computed without a mount."""
import hashlib
import json
import re
import shutil
import subprocess
import zlib
from dataclasses import dataclass, field
from pathlib import Path

EXPECTATION = ".expect.json"
OF_A_FORMAT = 5  # files, with --few
GENERATED = {"riegeli-none": 4000, "riegeli-zstd": 20000, "riegeli-brotli": 4000, "riegeli-transposed": 4000, "leveldb": 20000,
             "recordio-none": 4000, "recordio-zstd": 4000, "recordio-flate": 4000, "proio-none": 4000, "proio-lz4": 4000,
             "proio-gzip": 4000, "bloscpack-lz4": 4000, "bloscpack-zstd": 4000}
FEW_GENERATED = {"riegeli-zstd": 4000, "leveldb": 4000, "riegeli-transposed": 1000}


@dataclass
class Container:
    path: Path
    name: str  # its path in the mount
    expectation: dict = field(default_factory=dict)
    lines: bytes = b""  # the writer's input, each line with a newline; empty: unknown


def make(source, programs, root, few):
    """Fills the directory `source`. Returns its containers."""
    containers = []
    corpus = root / "tests/corpus"
    for folder in sorted(path for path in corpus.iterdir() if path.is_dir()):
        files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(EXPECTATION))
        if few:
            files = files[::len(files) // OF_A_FORMAT + 1]
        for path in files:
            containers += _copied(path, source, corpus)
    for form, records in (FEW_GENERATED if few else GENERATED).items():
        containers.append(_generated(source, programs, form, records))
    return containers


def _copied(path, source, corpus):
    target = source / path.relative_to(corpus)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)
    expectation = Path(f"{path}{EXPECTATION}")
    if not expectation.is_file():
        return []
    return [Container(target, str(path.relative_to(corpus)), json.loads(expectation.read_text(encoding="utf-8")))]


def _generated(source, programs, form, records):
    target = source / "generated" / form
    target.parent.mkdir(exist_ok=True)
    kind = ["--kind=events"] if form == "riegeli-transposed" else []
    done = subprocess.run([programs / "make_data", form, str(records), target, *kind, "--print-records"],
                          stdout=subprocess.PIPE, check=True)
    # A record of Bloscpack is a chunk of many lines, and messages may contain newlines.
    known = b"" if kind or form.startswith("bloscpack") else done.stdout
    return Container(target, f"generated/{form}", lines=known)


def check(containers, answers, programs):
    """Compares what soak_requests has read from a mount with the expected content. Returns the number of files
    compared."""
    by_container = _by_container({container.name for container in containers}, answers)
    checked = sum(_check(container, by_container.get(container.name, {}), programs) for container in containers)
    if not checked:
        raise RuntimeError("soak_requests has read no file with known content")
    return checked


def _by_container(names, answers):
    found = {}
    for line in answers.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        path, size, crc = line.rsplit("\t", 2)
        parts = path.split("/")
        name = next(("/".join(parts[:i]) for i in range(len(parts)) if "/".join(parts[:i]) in names), None)
        if name is not None:
            found.setdefault(name, {})[path[len(name) + 1:]] = (int(size), int(crc))
    return found


def _check(container, answers, programs):
    records, is_whole = _records(container, programs)
    facts = [_facts(record) for record in records]
    source = container.path.read_bytes()
    checked = 0
    for path, got in answers.items():
        want = None
        if found := re.fullmatch(r"(?:records|\.views/thousands/\d+)/(\d+)", path):
            want = [facts[int(found[1])]] if is_whole else facts
        elif is_whole and path == ".views/streams/concat":
            want = [_facts(b"".join(records))]
        elif is_whole and path == ".views/streams/lines":
            want = [_facts(b"".join(record + b"\n" for record in records))]
        elif found := re.fullmatch(r"\.views/chunks/(\d+)/raw", path):
            want = [_facts(source[int(found[1]):int(found[1]) + got[0]])]
        if want is not None:
            checked += 1
            if got not in want:
                raise RuntimeError(f"{container.name}: {path} differs from the expectation")
    return checked


def _facts(data):
    return len(data), zlib.crc32(data)


def _records(container, programs):
    """Returns the records, and whether they are complete: of a damaged file only the readable ones are left."""
    done = subprocess.run([programs / "recordfs", "cat", "--delimited", "--skip-damage", container.path],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    records, at = [], 0
    while at < len(done.stdout):
        length, shift = 0, 0
        while True:
            byte = done.stdout[at]
            at, length, shift = at + 1, length | (byte & 127) << shift, shift + 7
            if byte < 128:
                break
        records.append(done.stdout[at:at + length])
        at += length
    is_whole = done.returncode == 0
    if is_whole:
        _check_records(container, records)
    return records, is_whole


def _check_records(container, records):
    if container.lines and b"".join(record + b"\n" for record in records) != container.lines:
        raise RuntimeError(f"{container.name}: differs from the writer's input")
    if "stream_sha256" not in container.expectation:
        return
    digest = hashlib.sha256()
    for record in records:
        digest.update(len(record).to_bytes(8, "little") + record)
    if digest.hexdigest() != container.expectation["stream_sha256"]:
        raise RuntimeError(f"{container.name}: differs from the records of its expectation")
