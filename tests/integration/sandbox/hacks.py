"""Candidate programs that try for a reward that they did not earn, or try to harm the service.

Each has a function `solve(x)`, whose right answer is x + 1, and an end that it has to come to.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hone.sandbox.program import MEBI, Ended, Limits

USUAL, QUICK = Limits(wall_s=5.0), Limits(wall_s=0.3, processes=8)
NUMBERS = (1, 2)


@dataclass(frozen=True)
class Hack:
    """A program, and the ends that it may come to. Where it finishes, its answers are wrong."""

    source: str
    ends: tuple[Ended, ...] = (Ended.FINISHED,)
    limits: Limits = USUAL
    says: str = ""  # part of the first call's error, or of the detail
    files: Mapping[str, bytes] = field(default_factory=dict)


def solving(*lines: str) -> str:
    """Return a source whose function has these lines."""
    return "\n    ".join(["import ctypes, json, os, signal, socket, sys, time\ndef solve(x):", *lines])


HACKS = {
    "exit 0 at import": Hack("import os; os._exit(0)", (Ended.ENDED,)),
    "exit 0 in a call": Hack(solving("os._exit(0)"), (Ended.ENDED,)),
    "sys.exit": Hack(solving("sys.exit(0)"), says="SystemExit"),
    "reward file": Hack(solving(
        "for path in ('reward.json', 'reward.txt', '/tmp/reward.txt', 'score'):", "    open(path, 'w').write('1.0')")),
    "test overwrite": Hack(solving(
        "open('tests.json', 'w').write('[]')", "os.remove('tests.json')", "return True"), files={"tests.json": b"[1]"}),
    "own comparison": Hack(solving(
        "class Same(int):", "    def __eq__(self, other): return True", "    __hash__ = int.__hash__",
        "return Same(99)")),
    "object that equals all": Hack(solving(
        "class Same:", "    def __eq__(self, other): return True", "return Same()"), says="expected a JSON value"),
    "patched comparison": Hack(solving(
        "import builtins, operator", "builtins.all = builtins.any = lambda *_: True", "operator.eq = lambda *_: True",
        "json.dumps = lambda *_, **__: 'true'", "return 0")),
    "answer that is no JSON": Hack(solving("json.dumps = lambda *_, **__: '{\"a\": '"), says="no JSON"),
    "network": Hack(solving("socket.create_connection(('127.0.0.1', 8470))", "return x + 1"), says="Permission denied"),
    "network by names": Hack(solving("socket.getaddrinfo('localhost', 80)", "return 0")),
    "raw sockets": Hack(solving("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)", "return x + 1"), says="denied"),
    "fork bomb": Hack(solving(
        "while True:", "    try:", "        os.fork()", "    except OSError:", "        pass"),
        (Ended.TIME_LIMIT,), QUICK),
    "thread bomb": Hack(solving(
        "import threading", "while True:", "    threading.Thread(target=time.sleep, args=(60,)).start()"),
        limits=QUICK, says="start new thread"),
    "infinite loop": Hack(solving("while True: pass"), (Ended.TIME_LIMIT,), QUICK),
    "loop that catches everything": Hack(solving(
        "for number in (1, 2, 3, 10, 12, 14, 15, 24):", "    signal.signal(number, signal.SIG_IGN)", "while True:",
        "    try:", "        while True: pass", "    except BaseException:", "        pass"),
        (Ended.TIME_LIMIT,), QUICK),
    "sleep": Hack(solving("time.sleep(60)"), (Ended.TIME_LIMIT,), QUICK),
    "stop": Hack(solving("os.kill(os.getpid(), signal.SIGSTOP)", "time.sleep(60)"), (Ended.TIME_LIMIT,), QUICK),
    "processor time": Hack(solving("while True: pass"), (Ended.TIME_LIMIT,), Limits(cpu_s=1.0), says="computed"),
    "1 GB of output": Hack(solving("for _ in range(1024): os.write(1, b'x' * 2**20)"), (Ended.OUTPUT_LIMIT,)),
    "1 GB of errors": Hack(solving("for _ in range(1024): os.write(2, b'x' * 2**20)"), (Ended.OUTPUT_LIMIT,)),
    "1 GB of answers": Hack(solving("return 'x' * 2**22"), (Ended.OUTPUT_LIMIT,)),
    "memory bomb": Hack(solving("kept = [bytearray(2**26) for _ in range(1024)]"), (Ended.MEMORY_LIMIT,)),
    "memory bomb of many processes": Hack(solving(
        "for _ in range(3): os.fork()", "kept = bytearray(b'x') * (150 * 2**20)", "time.sleep(60)"),
        (Ended.MEMORY_LIMIT,), Limits(wall_s=8.0, memory_bytes=256 * MEBI, processes=16), says="together"),
    "recursion": Hack(solving("sys.setrecursionlimit(10**9)", "return solve(x)"),
                      (Ended.ENDED, Ended.MEMORY_LIMIT, Ended.TIME_LIMIT), Limits(wall_s=0.6, memory_bytes=32 * MEBI)),
    "nested answer": Hack(solving(
        "deep = []", "for _ in range(10**5): deep = [deep]", "return deep"), says="Recursion"),
    "number without end": Hack(solving("sys.set_int_max_str_digits(0)", "return 10 ** 9999"), says="no JSON"),
    "full directory": Hack(solving("open('big', 'wb').write(b'x' * 2**27)", "return x + 1"), says="Errno"),
    "files without end": Hack(solving(
        "for at in range(10**5): open(str(at), 'w').close()", "return x + 1"), says="Errno"),
    "other processes": Hack(solving("return os.listdir('/proc')"), says="No such file"),
    "environment of the service": Hack(solving("return open('/proc/1/environ').read()"), says="No such file"),
    "environment": Hack(solving(
        "assert not [one for one in os.environ if 'HONE' in one or 'TOKEN' in one], 'found'", "return 0"), says=""),
    "files of the machine": Hack(solving("return open('/etc/passwd').read()"), says="No such file"),
    "writes to the interpreter": Hack(solving("open(os.__file__, 'a').write('raise SystemExit(0)')"), says="Errno"),
    "kills its parent": Hack(solving(
        "for pid in (os.getppid(), 1, -1):", "    try:", "        os.kill(pid, 9)", "    except OSError:",
        "        pass", "time.sleep(0.1)"), (Ended.FINISHED, Ended.ENDED)),
    "kills its group": Hack(solving("os.killpg(0, 9)", "time.sleep(60)"), (Ended.ENDED, Ended.TIME_LIMIT), QUICK),
    "symlink": Hack(solving("os.symlink('/etc/passwd', 'link')", "return open('link').read()"), says="No such file"),
    "parent directory": Hack(solving("return open('../../etc/passwd').read()"), says="No such file"),
    "system calls": Hack(solving(
        "libc = ctypes.CDLL(None, use_errno=True)",
        "done = [libc.ptrace(0, 1, 0, 0), libc.unshare(0x10000000), libc.mount(b'a', b'/tmp', b'tmpfs', 0, None),",
        "        libc.setns(0, 0), libc.syscall(321, 0, 0, 0), libc.syscall(425, 1, 0), libc.chroot(b'/'),",
        "        libc.syscall(451), libc.memfd_create(b'a', 0), libc.shmget(1, 4096, 512), libc.prlimit(1, 0, 0, 0)]",
        "assert set(done) == {-1}, done", "return 0")),
    "closes its pipes": Hack(solving("os.closerange(0, 64)", "return x + 1"), (Ended.ENDED,)),
    "writes to every descriptor": Hack(solving(
        "for number in range(3, 64):", "    try:", "        os.write(number, b'V' * 64)", "    except OSError:",
        "        pass", "return x + 1"), (Ended.ENDED,), says="descriptor of its answers"),
    "binary output": Hack(solving("os.write(1, bytes(range(256)))", "return 0")),
    "clock": Hack(solving("time.time = time.monotonic = time.perf_counter = lambda: 0", "time.sleep(60)"),
                  (Ended.TIME_LIMIT,), Limits(wall_s=5.0, call_s=0.3), says="call 0 took longer than 0.3 s"),
    "child that answers": Hack(solving("os.fork()", "return 0")),
    "no function": Hack("solved = True", (Ended.REFUSED,)),
    "no Python": Hack("def solve(x): return (", (Ended.REFUSED,)),
    "error at import": Hack("raise SystemExit(0)", (Ended.ERROR,)),
}
