"""Lets programs of another processor run here, under qemu-user, in a root whose compilers are those of this machine."""
import os
import shutil
import subprocess
from pathlib import Path

import bare_system

# Debian's name: (the kernel's name, the compilers' prefix)
PROCESSORS = {"arm64": ("aarch64", "aarch64-linux-gnu"), "s390x": ("s390x", "s390x-linux-gnu")}
HOST = "host"  # in the root: this machine's files
LIBRARIES = "x86_64-linux-gnu"
REGISTERED = Path("/proc/sys/fs/binfmt_misc")
LENT = ("ccache", "ninja")
# Programs that do the same on every processor. Emulated, autoconf and make take ten minutes with them for a small library.
LENT_IN_PLACE = ("bash", "dash", "expr", "m4", "make", "perl", "sed", "xz")


def register(arch):
    """Registers qemu with the kernel for programs of this processor, until the next boot. Raises bare_system.Impossible."""
    name = f"qemu-{PROCESSORS[arch][0]}"
    if not (REGISTERED / "register").exists():
        subprocess.run(["mount", "-t", "binfmt_misc", "none", REGISTERED], check=False, stderr=subprocess.DEVNULL)
    if (REGISTERED / name).exists():
        return
    rule = Path(f"/usr/lib/binfmt.d/{name}.conf")
    try:
        (REGISTERED / "register").write_text(rule.read_text(encoding="ascii").strip(), encoding="ascii")
    except OSError as failed:
        raise bare_system.Impossible(f"qemu cannot be registered for {arch}: {failed}") from failed


def why_not(arch):
    if os.uname().machine != "x86_64":
        return f"the compilers for {arch} are lent by x86-64 alone"
    compiler = f"{PROCESSORS[arch][1]}-g++"
    return "" if shutil.which(compiler) else f"{compiler} is not installed"


def lend_compilers(root, arch):
    """Puts this machine's cross compilers into the root, by the names of its own ones, and its shells and other programs that do
    the same on every processor in their places. Everything else there is emulated.

    They are programs of this machine, and find their loader, their libraries and the C library by links to it. Bind / to HOST
    before use.
    """
    prefix = PROCESSORS[arch][1]
    (root / HOST).mkdir(exist_ok=True)
    for link in ("lib64", f"usr/lib/{LIBRARIES}", f"usr/{prefix}"):
        if not (root / link).is_symlink():
            (root / link).symlink_to(f"/{HOST}/{link}")
    programs = {name: name for name in LENT}
    programs.update({name: f"{prefix}-{name}" for name in ("g++", "gcc", "ar", "ranlib", "ld", "nm", "objcopy", "strip")})
    programs.update({"c++": f"{prefix}-g++", "cc": f"{prefix}-gcc"})
    wrappers = {root / "usr/local/bin" / name: program for name, program in programs.items()}
    wrappers.update({root / "usr/bin" / name: name for name in LENT_IN_PLACE})
    for wrapper, program in wrappers.items():
        wrapper.unlink(missing_ok=True)
        wrapper.write_text(f'#!/{HOST}/usr/bin/dash\nexec /{HOST}/usr/bin/{program} "$@"\n', encoding="ascii")
        wrapper.chmod(0o755)
        # ccache tells compilers apart by size and time, and has to find later what it keeps now.
        changed = os.stat(shutil.which(program)).st_mtime_ns
        os.utime(wrapper, ns=(changed, changed))
