"""Makes a bare Debian in a folder with debootstrap, and downloads packages to be installed there.

For another processor, all packages are there, unpacked by mmdebstrap: its emulated dpkg and scripts would take most of an hour.
"""
import hashlib
import os
import shutil
import subprocess
import time
from pathlib import Path

ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C",
               "DEBIAN_FRONTEND": "noninteractive"}
ENVIRONMENT.update({name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")})
SCRIPTS = Path("/usr/share/debootstrap/scripts")
UNRELEASED = ("forky", "sid")  # have no updates, or expired ones
KEPT_SECONDS = 24 * 3600
DOWNLOADING = 1800  # seconds until a download counts as stuck; unpacking is part of it
MERGED = Path("/usr/share/mmdebstrap/hooks/merged-usr")
ALTERNATIVES = {"awk": "mawk", "aclocal": "aclocal-1.*", "automake": "automake-1.*"}
ALTERNATIVE_LIBRARIES = ("blas", "lapack")  # numpy needs them
DEVICES = [("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0),
           ("fuse", 10, 229)]


class Impossible(Exception):
    """A reason why no bare system can be made here."""


def find_or_make(keep, wanted, release=None, is_new=False, arch=None):
    """Returns the folder of a bare system in which apt-get can install `wanted` without a network. It is kept in `keep`.

    `wanted`: names of packages, and paths of .debs. `release`: default is the release of this system. `arch`: Debian's name of
    another processor, whose programs can run here; `wanted`, which are names then, are installed already.
    """
    if reason := why_not():
        raise Impossible(reason)
    sources, codename = sources_of(release)
    key = hashlib.sha256("\n".join([codename, *sources, *key_of(wanted)]).encode()).hexdigest()[:12]
    system = keep / f"{codename}-{key}"
    if system.is_dir() and not is_new and time.time() - system.stat().st_mtime < KEPT_SECONDS:
        return system
    keep.mkdir(parents=True, exist_ok=True)
    for old in keep.iterdir():
        if os.path.ismount(old / "proc"):  # by a debootstrap that was killed
            subprocess.run(["umount", old / "proc"], check=True)
        shutil.rmtree(old)
    if arch:
        make_unpacked(keep / "unfinished", sources, codename, wanted, arch)
    else:
        make(keep / "unfinished", sources, codename, wanted)
    os.utime(keep / "unfinished")
    return (keep / "unfinished").rename(system)


def is_file(wanted):
    return isinstance(wanted, Path)


def key_of(wanted):
    """Returns, as lines, what determines the downloads."""
    return sorted(output("dpkg-deb", "-f", one, "Depends") if is_file(one) else one for one in wanted)


def why_not():
    if os.geteuid() != 0:
        return "needs root"
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "cannot open /dev/fuse"
    if shutil.which("debootstrap", path=ENVIRONMENT["PATH"]) is None:
        return "debootstrap is not installed"
    unshare = ["unshare", "--mount", "--pid", "--fork", "true"]
    if subprocess.run(unshare, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        return "namespaces cannot be created"
    return ""


def sources_of(release=None):
    """Returns (["URI suite component..."], codename): the places from which this system's apt fetches Debian or Ubuntu.

    Other releases of Debian are fetched from the same places, without updates if they are not released yet.
    """
    asked = "$(IDENTIFIER) $(ORIGIN) $(CODENAME) $(REPO_URI) $(RELEASE) $(COMPONENT)"
    described = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    own = described.get("VERSION_CODENAME", "")
    origins = ("Debian", "Ubuntu") if release in (None, own) else ("Debian",)
    components = {}
    for line in output("apt-get", "indextargets", "--format", asked).splitlines():
        words = line.split()
        is_own = len(words) == 6 and words[1] in origins and words[2].startswith(own)
        if is_own and words[0] == "Packages":
            suite = words[4].replace(own, release or own, 1)
            if suite == release or release not in UNRELEASED:
                components.setdefault((words[3], suite), []).append(words[5])
    sources = [" ".join([uri, suite, *sorted(set(names))]) for (uri, suite), names in components.items()]
    codename = release or own
    if not any(source.split()[1] == codename for source in sources):
        raise Impossible(f"apt has no source for the release {codename!r} (try: apt-get update)")
    return sorted(sources, key=lambda source: source.split()[1] != codename), codename


def apt_options(folder, kind, release=None):
    """Returns options of apt-get and apt-cache for packages of a release, whatever is installed here. Call `update` first.

    `folder` keeps the lists. `kind`: deb or deb-src. `release`: default is the release of this system.
    """
    sources, _ = sources_of(release)
    (folder / "lists/partial").mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text("".join(f"{kind} {source}\n" for source in sources), encoding="utf-8")
    settings = {"Dir::Etc::sourcelist": folder / "sources.list", "Dir::Etc::sourceparts": "-", "Dir::State::lists": folder / "lists",
                "Dir::State::status": "/dev/null", "Dir::Cache": folder, "APT::Sandbox::User": "root"}
    return ["-qq", *(word for name, value in settings.items() for word in ("-o", f"{name}={value}"))]


def make(system, sources, codename, wanted):
    mirror = sources[0].split()[0]
    script = SCRIPTS / codename
    needs_network("debootstrap", "--variant=minbase", codename, system, mirror,
                  script if script.exists() else SCRIPTS / "sid")  # a new release has no script in this debootstrap
    (system / "etc/apt/sources.list").write_text("".join(f"deb {source}\n" for source in sources), encoding="utf-8")
    if codename in UNRELEASED:  # a mirror that is late is good enough
        (system / "etc/apt/apt.conf.d/valid").write_text('Acquire::Check-Valid-Until "false";\n', encoding="utf-8")
    (system / "etc/mtab").symlink_to("../proc/self/mounts")  # a system's first boot makes this link
    shutil.copy("/etc/resolv.conf", system / "etc/resolv.conf")
    names = [f"/tmp/{one.name}" if is_file(one) else one for one in wanted]
    for file in filter(is_file, wanted):
        shutil.copy(file, system / "tmp")
    inside = ["chroot", system, "apt-get", "-qq"]
    needs_network(*inside, "-o", "APT::Update::Error-Mode=any", "update")
    install = ["install", "--no-install-recommends", *names]
    output(*inside, "--simulate", *install)  # an unsatisfiable dependency is not a network failure
    needs_network(*inside, "--download-only", "--yes", *install)


# What dpkg would write about the packages, for dpkg-query.
DESCRIBED = r"""for deb in "$1"/var/cache/apt/archives/*.deb; do
  dpkg-deb -f "$deb"
  printf "Status: install ok installed\n\n"
  name=$(dpkg-deb -f "$deb" Package)
  if [ "$(dpkg-deb -f "$deb" Multi-Arch)" = same ]; then name=$name:$(dpkg-deb -f "$deb" Architecture); fi
  dpkg-deb --fsys-tarfile "$deb" | tar -t | sed "s,^\./$,/.,; s,^\./,/,; s,/$,," >"$1/var/lib/dpkg/info/$name.list"
done >"$1/var/lib/dpkg/status"
"""


def make_unpacked(system, sources, codename, wanted, arch):
    needs_network("mmdebstrap", "--variant=extract", f"--arch={arch}", "--include=?essential",
                  f"--include={','.join(['apt', *wanted])}", f"--hook-dir={MERGED}",
                  f"--extract-hook={DESCRIBED}", codename, system, *[f"deb {source}" for source in sources])
    # What the packages' scripts would have done, as far as programs that are run here need it.
    for name in ("passwd", "group"):
        shutil.copy(system / f"usr/share/base-passwd/{name}.master", system / "etc" / name)
    for folder in ("proc", "sys", "root", "usr/local/bin"):
        (system / folder).mkdir(parents=True, exist_ok=True)
    for name, pattern in ALTERNATIVES.items():
        for target in list((system / "usr/bin").glob(pattern))[:1]:
            (system / "usr/bin" / name).symlink_to(target.name)
    for name in ALTERNATIVE_LIBRARIES:
        for library in system.glob(f"usr/lib/*/{name}/lib{name}.so.3"):
            (library.parent.parent / library.name).symlink_to(f"{name}/{library.name}")
    (system / "etc/mtab").symlink_to("../proc/self/mounts")
    shutil.copy("/etc/resolv.conf", system / "etc/resolv.conf")
    output("chroot", system, "ldconfig")


def needs_network(*words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=ENVIRONMENT, timeout=DOWNLOADING, check=False)
    if done.returncode != 0:
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        raise Impossible(f"{' '.join(map(str, words))}: {lines[-1] if lines else done.returncode}")


def output(*words):
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, env=ENVIRONMENT,
                          check=True).stdout


def mount_devices(system):
    """Mounts /proc and a /dev in which every user can open /dev/fuse. Call it in a new mount namespace."""
    subprocess.run(["mount", "-t", "proc", "none", system / "proc"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "none", system / "dev"], check=True)
    for name, major, minor in DEVICES:
        os.mknod(system / "dev" / name, 0o20666, os.makedev(major, minor))
        os.chmod(system / "dev" / name, 0o666)
    (system / "dev/fd").symlink_to("/proc/self/fd")
    (system / "dev/ptmx").symlink_to("pts/ptmx")
    (system / "dev/pts").mkdir()
    subprocess.run(["mount", "-t", "devpts", "-o", "newinstance,ptmxmode=666", "none", system / "dev/pts"], check=True)
