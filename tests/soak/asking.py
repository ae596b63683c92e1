"""Runs the crowd of soak_requests."""
import subprocess


class Crowd:
    """The running soak_requests, which first reads everything that the mount `first` shows."""

    def __init__(self, programs, first, point, learnt, names, seed):
        words = [programs / "soak_requests", first, point, names, seed, 2, 6, learnt]
        self._running = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.paths, self.bytes = map(int, self._answer()[1:])

    def _answer(self):
        line = self._running.stdout.readline()
        if not line:
            raise RuntimeError(f"soak_requests ended with {self._running.wait()}")
        return line.split()

    def ask(self, word):
        """Sends a command. Returns how many answers were compared so far, and how many were wrong."""
        self._running.stdin.write(word + "\n")
        self._running.stdin.flush()
        return tuple(map(int, self._answer()))

    def end(self):
        self._running.stdin.close()
        if self._running.wait() != 0:
            raise RuntimeError(f"soak_requests ended with {self._running.returncode}")
