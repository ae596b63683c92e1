#!/usr/bin/env python3
"""Runs the recipe for Slurm on a cluster of one node, by hand: slurm_by_hand.py --build FOLDER --root CHECKOUT

Starts munged, slurmctld and slurmd in a temporary folder, and ends them afterwards. Runs two array jobs over a damaged
data set: one whose tasks are complete at once, and one with a task that ends with status 75 at the first attempt and is
requeued. Checks that each record comes once. Needs root and Debian's slurmctld, slurmd, slurm-client and munge.
"""
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import support

COUNT = 6
NEEDED = ("munged", "slurmctld", "slurmd", "sbatch")
DAMAGED = "riegeli/dmg_flip_header.riegeli"
GOOD = "riegeli/multiblock_zstd.riegeli"
CONFIGURATION = """
ClusterName=recordfs
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
SlurmctldPort={port}
SlurmdPort={node_port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
SchedulerParameters=batch_sched_delay=0,sched_interval=1,requeue_setup_env_fail
ReturnToService=2
MailProg=/bin/true
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_port():
    with socket.socket() as probing:
        probing.bind(("127.0.0.1", 0))
        return probing.getsockname()[1]


def wait_for(condition, what, seconds=120):
    for _ in range(seconds * 5):
        if condition():
            return
        time.sleep(0.2)
    raise TimeoutError(what)


class Cluster:
    """Daemons in the foreground, which end with it."""

    def __init__(self, folder):
        self.folder = folder
        self.running = []
        host = socket.gethostname().split(".")[0]
        for name in ("state", "spool"):
            (folder / name).mkdir()
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o400)
        self.configuration = folder / "slurm.conf"
        self.configuration.write_text(CONFIGURATION.format(
            folder=folder, host=host, cpus=os.cpu_count(), port=free_port(), node_port=free_port()), encoding="utf-8")
        self.environment = dict(os.environ, SLURM_CONF=str(self.configuration))

    def start(self):
        socket_name = self.folder / "munge.socket"
        self.daemon("munged", "--foreground", "--force", f"--key-file={self.folder / 'munge.key'}", f"--socket={socket_name}",
                    f"--pid-file={self.folder / 'munged.pid'}", f"--log-file={self.folder / 'munged.log'}",
                    f"--seed-file={self.folder / 'munged.seed'}")
        wait_for(socket_name.exists, "munged")
        self.daemon("slurmctld", "-D", "-f", self.configuration)
        self.daemon("slurmd", "-D", "-f", self.configuration)
        wait_for(lambda: "idle" in self.run("sinfo", "--noheader", "--format=%T"), "an idle node")

    def daemon(self, *words):
        log = (self.folder / f"{words[0]}.out").open("wb")
        self.running.append(subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=log,
                                             stderr=subprocess.STDOUT, env=self.environment))
        log.close()

    def run(self, *words):
        return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=self.environment, check=False).stdout

    def stop(self):
        for process in reversed(self.running):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()


@unittest.skipIf(os.getuid() != 0, "root only")
class Slurm(unittest.TestCase):
    def setUp(self):
        missing = [name for name in NEEDED if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None]
        if missing:
            self.skipTest(f"not installed: {', '.join(missing)}")
        self.folder = Path(tempfile.mkdtemp(prefix="recordfs-slurm-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.folder.chmod(0o755)
        self.files = [self.folder / "good.riegeli", self.folder / "damaged.riegeli"]
        for path, name in zip(self.files, (GOOD, DAMAGED)):
            shutil.copyfile(support.sample(name), path)
        self.out = self.folder / "out"
        self.cluster = Cluster(self.folder)
        self.addCleanup(self.cluster.stop)
        self.cluster.start()

    def run_job(self, task):
        environment = dict(self.cluster.environment, RECORDFS_TASK=str(task),
                           PATH=f"{support.place.build}:{os.environ['PATH']}")
        done = subprocess.run(["sbatch", "--parsable", f"--array=0-{COUNT - 1}", f"--output={self.folder}/job-%a.log",
                               support.ENGINES / "slurm.sh", str(COUNT), self.out, "cat", "--delimited", *self.files],
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        job = done.stdout.strip()
        self.assertTrue(job.isdigit(), job)
        # A job that is requeued waits some time before it begins again.
        wait_for(lambda: not self.cluster.run("squeue", "--noheader", f"--job={job}").strip(), "the end of the job", 600)
        shown = self.cluster.run("scontrol", "--oneliner", "show", "job", job)
        return shown

    def assert_complete(self, shown):
        logs = "".join(path.read_text(encoding="utf-8") for path in sorted(self.folder.glob("job-*.log")))
        self.assertEqual(shown.count("JobState=COMPLETED"), COUNT, logs)
        parts = b"".join((self.out / f"part-{i}-of-{COUNT}").read_bytes() for i in range(COUNT))
        whole = subprocess.run([support.place.build / "recordfs", "cat", "--skip-damage", "--delimited", *self.files],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
        self.assertEqual(parts, whole)
        skipped = "".join((self.out / f"part-{i}-of-{COUNT}.skipped").read_text(encoding="utf-8") for i in range(COUNT))
        self.assertEqual(skipped.count("\n"), 1)

    def test_array_job_reads_each_record_once(self):
        self.assert_complete(self.run_job(support.ENGINES / "task.sh"))

    def test_task_that_fails_for_now_is_requeued(self):
        task = self.folder / "failing.sh"
        task.write_text(f'#!/bin/bash\nif [ "$SLURM_ARRAY_TASK_ID" = 2 ] && [ "${{SLURM_RESTART_COUNT:-0}}" = 0 ]; then exit 75; fi\n'
                        f'exec {support.ENGINES / "task.sh"} "$@"\n', encoding="utf-8")
        task.chmod(0o755)
        shown = self.run_job(task)
        self.assert_complete(shown)
        self.assertEqual(shown.count("Restarts=1"), 1, shown)


if __name__ == "__main__":
    support.main()
