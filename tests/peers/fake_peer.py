#!/usr/bin/env python3
"""Answers as bench/peers/contender.py does, without a library: fake_peer.py HOW LOG THREADS. HOW: what it does wrong, or how many seconds its calls take."""
import json
import os
import signal
import struct
import sys
import time

how, log, threads = sys.argv[1:4]
open(log, "a").write(f"{how} starts with {threads}\n")
say = lambda **what: print(json.dumps(what), flush=True)
if how == "absent":
    say(ok=False, absent=True, error="ImportError: no such library")
    sys.exit(0)
if how == "mute":
    time.sleep(60)
say(ok=True, version="1.0")
for line in sys.stdin:
    ask = json.loads(line)
    open(log, "a").write(f"{how} {ask['do']}\n")
    if ask["do"] == "prepare":
        if how == "refuses":
            say(ok=False, error="ValueError: such sizes")
        elif how == "offers nothing":
            say(ok=False, absent=True, error="no such operator")
        else:
            say(ok=True, load=0.0, first_call=0.5)
    elif ask["do"] == "result":
        values = [1.0, 2.0, 3.0 + (0.5 if how == "wrong" else 0.0)]
        with open(ask["file"], "wb") as f:
            f.write(struct.pack("<q3f", 3, *values) if how != "cut" else b"123")
        say(ok=True)
    elif ask["do"] == "run":
        if how == "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        if how == "hangs":
            time.sleep(60)
        if how == "babbles":
            print("warning: nothing", flush=True)
            continue
        say(ok=True, seconds=float(how) if how[0].isdigit() else 0.001, calls=3)
    elif ask["do"] == "memory":
        say(ok=True, peak_bytes=100 if how[0].isdigit() else 200)
    elif ask["do"] == "quit":
        break
if os.environ.get("REPRISE_PROFILE"):
    print("REPRISE_PROFILE: what launches took, in all\n        ms      %  launch\n" + "".join(f"    {9 - i}.000   10.0  step{i}\n" for i in range(10)), file=sys.stderr)
