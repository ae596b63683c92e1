"""Mounts with privileges, and serves the mount without them.

    python3 fuse_descriptor.py give SOCKET MOUNTPOINT UID     as root: mounts for UID, and passes /dev/fuse to one taker
    python3 fuse_descriptor.py take SOCKET COMMAND...         waits for it, and runs COMMAND with {} as /dev/fd/N

`give` runs until SIGTERM, and then unmounts. It replaces SOCKET, which only UID can connect to.
"""
import ctypes
import os
import signal
import socket
import sys
import time

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MNT_DETACH = 2
libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def give(path, mountpoint, uid):
    os.makedirs(mountpoint, exist_ok=True)
    device = os.open("/dev/fuse", os.O_RDWR)
    data = f"fd={device},rootmode=40000,user_id={uid},group_id={uid},default_permissions,allow_other"
    flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC
    check(libc.mount(b"recordfs", os.fsencode(mountpoint), b"fuse.recordfs", flags, data.encode()), mountpoint)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        if os.path.lexists(path):
            os.unlink(path)
        with socket.socket(socket.AF_UNIX) as listening:
            os.umask(0o077)
            listening.bind(path)
            os.chown(path, uid, uid)
            listening.listen(1)
            taker, _ = listening.accept()
        with taker:
            socket.send_fds(taker, [b"fuse"], [device])
        os.close(device)  # the mount ends with the server
        while True:
            signal.pause()
    finally:
        check(libc.umount2(os.fsencode(mountpoint), MNT_DETACH), mountpoint)


def connect(path):
    for _ in range(600):
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            return connection
        except (FileNotFoundError, ConnectionRefusedError, PermissionError):
            connection.close()
            time.sleep(0.1)
    sys.exit(f"{path}: nobody passes a descriptor")


def take(path, command):
    with connect(path) as connection:
        _, descriptors, _, _ = socket.recv_fds(connection, 16, 1)
    if len(descriptors) != 1:
        sys.exit(f"{path}: no descriptor was passed")
    os.set_inheritable(descriptors[0], True)
    words = [word.replace("{}", f"/dev/fd/{descriptors[0]}") for word in command]
    os.execvp(words[0], words)


if len(sys.argv) == 5 and sys.argv[1] == "give":
    give(sys.argv[2], sys.argv[3], int(sys.argv[4]))
elif len(sys.argv) >= 4 and sys.argv[1] == "take":
    take(sys.argv[2], sys.argv[3:])
else:
    sys.exit(__doc__)
