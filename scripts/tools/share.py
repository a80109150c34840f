"""How much of a thread a user was charged, and how much of a core the broker's
process used, in percent, over so many seconds:

    share.py HTTP-ADDRESS PID USER SECONDS
"""
import os
import sys
import time
import urllib.request


def sample(http, pid, user):
    began = time.time()
    page = urllib.request.urlopen(f"http://{http}/metrics").read().decode()
    at = (began + time.time()) / 2
    charged = sum(float(line.split()[-1]) for line in page.splitlines()
                  if line.startswith("kaasd_quota_entity_request_seconds_total{") and f'user="{user}"' in line)
    with open(f"/proc/{pid}/stat") as f:
        spent = f.read().rsplit(")", 1)[1].split()[11:13]
    return at, charged, sum(map(int, spent)) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    *who, seconds = sys.argv[1:]
    first = sample(*who)
    time.sleep(float(seconds))
    last = sample(*who)
    print("%.2f %.2f" % tuple(100 * (b - a) / (last[0] - first[0]) for a, b in zip(first[1:], last[1:])))
