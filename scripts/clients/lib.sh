# What smoke.sh and matrix.sh share: a broker for trials.py. Sourced, not run.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
KAASD_CACHE=$cache "$root/scripts/clients/build.sh" || exit 1
export root cache work CLIENT_PASSWORD=pencil
export java="${java_options[*]}" # for clients.tsv

# clients_broker: one with a user for each client, who may log in with PLAIN and
# SCRAM-SHA-512, and as NAME-256 with SCRAM-SHA-256.
clients_broker() {
  cut -f1 "$root/scripts/clients/clients.tsv" | python3 -c '
import base64, hashlib, hmac, json, os, sys
password, b64 = os.environ["CLIENT_PASSWORD"].encode(), lambda b: base64.b64encode(b).decode()
def user(name, algorithm, **more):
    salted = hashlib.pbkdf2_hmac(algorithm, password, name.encode(), 4096)
    key = lambda label: hmac.digest(salted, label, algorithm)
    return {"username": name, "authType": "scram-sha-" + algorithm[3:], "scram": {"salt": b64(name.encode()), "iterations": 4096,
            "storedKey": b64(hashlib.new(algorithm, key(b"Client Key")).digest()), "serverKey": b64(key(b"Server Key"))}, **more}
names = sys.stdin.read().split()
print(json.dumps({"version": 1, "users": [u for n in names for u in (user(n, "sha512", plainPassword=password.decode()), user(n + "-256", "sha256"))]}))
' >"$work/credentials.json"
  start_broker --credentials-file "$work/credentials.json" --quota-model kafka --quota-window-num 2 --group-initial-rebalance-delay-ms 0
}

# trials ARGS...: trials.py against that broker; what it passes and fails is counted.
trials() {
  PLAIN=$plain SASL=$sasl HTTP=$http DATA=$data KAASD=$kaasd "$cache/venv/bin/python" "$root/scripts/clients/trials.py" "$@" | tee "$work/trials"
  local code=${PIPESTATUS[0]}
  passed=$((passed + $(grep -c '^PASS' "$work/trials"))) failed=$((failed + $(grep -c '^FAIL' "$work/trials")))
  if [ "$code" != 0 ]; then fail "trials.py ended with $code"
  elif ! grep -qE '^(PASS|FAIL)' "$work/trials"; then fail "nothing was tried"; fi
}
