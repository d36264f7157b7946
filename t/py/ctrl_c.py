"""Runs a pipeline in the foreground of a terminal, waits until a command succeeds, and presses Ctrl-C.

usage: ctrl_c.py UNTIL PIPELINE
Prints how the shell ended, and "nothing left" if no process of its session is there any more; else exits 1."""
import os
import pty
import subprocess
import sys
import threading
import time

until, pipeline = sys.argv[1:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("bash", ["bash", "-c", pipeline])

said = []


def read():
    try:
        while True:
            data = os.read(terminal, 4096)
            if not data:
                return
            said.append(data)
    except OSError:  # how a terminal without anybody behind it ends
        pass


threading.Thread(target=read, daemon=True).start()


def members():
    """Processes of the session that are no zombies."""
    found = []
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % p) as f:
                fields = f.read().rsplit(")", 1)
            if int(fields[1].split()[3]) == pid and fields[1].split()[0] != "Z":
                found.append(p + fields[0][fields[0].index("("):])
        except (OSError, IndexError):
            pass
    return found


def wait(what, seconds, done):
    end = time.time() + seconds
    while not done():
        if time.time() > end:
            print("%s: not within %d s; running: %s; said: %s" % (what, seconds, members(), b"".join(said).decode(errors="replace")))
            os.killpg(pid, 9)
            sys.exit(1)
        time.sleep(0.05)


wait(until, 60, lambda: subprocess.run(["bash", "-c", until], stderr=subprocess.DEVNULL).returncode == 0)
before = members()
os.write(terminal, b"\x03")
wait("the end of all", 30, lambda: not members())
_, status = os.waitpid(pid, 0)
print("%d were running; the shell ended with %d; nothing left" % (len(before), os.waitstatus_to_exitcode(status)))
print(b"".join(said).decode(errors="replace"))
sys.exit(len(before) < 3)
