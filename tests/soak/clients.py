"""Runs soak_requests, whose processes send the requests."""
import subprocess


class Clients:
    """A running soak_requests. It first reads everything from the mount `first`, and writes paths, sizes and CRCs to the file
    `expected`."""

    def __init__(self, programs, first, point, expected, names, seed):
        words = [programs / "soak_requests", first, point, names, seed, 2, 6, expected]
        self._running = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.paths, self.bytes = map(int, self._answer()[1:])

    def _answer(self):
        line = self._running.stdout.readline()
        if not line:
            raise RuntimeError(f"soak_requests ended with {self._running.wait()}")
        return line.split()

    def send(self, word):
        """Sends a command. Returns how many answers were compared so far, and how many were wrong."""
        self._running.stdin.write(word + "\n")
        self._running.stdin.flush()
        return tuple(map(int, self._answer()))

    def end(self):
        self._running.stdin.close()
        if self._running.wait() != 0:
            raise RuntimeError(f"soak_requests ended with {self._running.returncode}")
