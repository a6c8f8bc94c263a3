"""A contender's process, asked line by line. What it does wrong (it dies, hangs, answers nonsense) is a Failure that names it; it is dead afterwards."""
import ctypes
import json
import os
import select
import signal
import subprocess
import time


_libc = ctypes.CDLL(None, use_errno=True)


class Failure(Exception):
    """The process is gone: it crashed, or was ended because it did not answer in time."""


class Absent(Exception):
    """It says that it does not offer this; the process goes on."""


class Refused(Exception):
    """It says that this failed; the process goes on."""


class Process:
    def __init__(self, name, command, env=None, cores=None, log=None):
        """cores: those that it may use. log: a file that takes what it prints. It is ready behind greeted()."""
        self.name, self.buffer, self.stopped = name, b"", False
        self.started = time.perf_counter()
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log or subprocess.DEVNULL, env={**os.environ, **(env or {})}, start_new_session=True,
                                      preexec_fn=lambda: self._before(cores))

    @staticmethod
    def _before(cores):
        """In the child: it goes with the driver, however that ends; one that rests would never see that nobody asks any more."""
        _libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if cores:
            os.sched_setaffinity(0, cores)

    def greeted(self, limit):
        try:
            self.version = self._checked(self._answer(limit)).get("version", "")
        except BaseException:
            self.end()
            raise
        return self

    def ask(self, limit, **what):
        if self.child.poll() is not None:
            raise Failure(f"{self.name} has ended ({self._how()})")
        self.go()
        try:
            self.child.stdin.write(json.dumps(what).encode() + b"\n")
            self.child.stdin.flush()
        except OSError:
            self.end()
            raise Failure(f"{self.name} has ended ({self._how()})") from None
        return self._checked(self._answer(limit))

    def cpu_seconds(self):
        """That it has used so far, all its threads."""
        try:
            with open(f"/proc/{self.child.pid}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError, ValueError):
            return 0.0

    def rest(self):
        """It does nothing until it is asked again: threads that spin are no load for others."""
        if self.child.poll() is None and not self.stopped:
            os.killpg(self.child.pid, signal.SIGSTOP)
            self.stopped = True

    def go(self):
        if self.stopped:
            os.killpg(self.child.pid, signal.SIGCONT)
            self.stopped = False

    def quit(self, limit):
        """It ends by itself, with what a process has to say in the end; or, after so many seconds, is ended."""
        self.go()
        try:
            self.child.stdin.write(b'{"do": "quit"}\n')
            self.child.stdin.flush()
            self.child.wait(limit)
        except (OSError, subprocess.TimeoutExpired):
            pass
        self.end()

    def end(self):
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            try:
                pipe.close()
            except OSError:  # what was not yet written
                pass

    def _how(self):
        code = self.child.wait()
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

    def _answer(self, limit):
        until = time.perf_counter() + limit
        while b"\n" not in self.buffer:
            left = until - time.perf_counter()
            if left <= 0:
                self.end()
                raise Failure(f"{self.name} did not answer within {limit:g} s")
            if select.select([self.child.stdout], [], [], min(left, 1.0))[0]:
                more = os.read(self.child.stdout.fileno(), 65536)
                if not more:
                    how = self._how()
                    self.end()
                    raise Failure(f"{self.name} has ended ({how})")
                self.buffer += more
        line, self.buffer = self.buffer.split(b"\n", 1)
        try:
            answer = json.loads(line)
            if not isinstance(answer, dict) or "ok" not in answer:
                raise ValueError
            return answer
        except ValueError:
            self.end()
            raise Failure(f"{self.name} answers '{line[:80].decode(errors='replace')}', which is no answer") from None

    def _checked(self, answer):
        if not answer["ok"]:
            raise (Absent if answer.get("absent") else Refused)(str(answer.get("error", "no reason given")))
        return answer
