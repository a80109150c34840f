#!/bin/bash
# Unmodified clients and tools over TLS, with a certificate of their own, and
# with SCRAM over TLS; and the certificates of a running broker replaced. All
# keys are made here and go with the folder.
. "$(dirname "$0")/lib.sh"
python=$cache/venv/bin/python
pki=$work/pki
mkdir "$pki"

# authority NAME, certificate NAME AUTHORITY SUBJECT, and dated NAME AUTHORITY
# FROM UNTIL (YYYYMMDD): PEM files in $pki.
authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=$1" \
    -keyout "$pki/$1.key" -out "$pki/$1.crt" 2>/dev/null
}
certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -utf8 -subj "$3" -keyout "$pki/$1.key" -out "$pki/$1.csr" 2>/dev/null
  openssl x509 -req -in "$pki/$1.csr" -CA "$pki/$2.crt" -CAkey "$pki/$2.key" -days 30 -out "$pki/$1.crt" \
    -extfile <(echo subjectAltName=DNS:localhost,DNS:kafka.example,IP:127.0.0.1) 2>/dev/null
  cat "$pki/$1.key" "$pki/$1.crt" >"$pki/$1.pem" # as Java wants it
}
dated() {
  certificate "$1" "$2" "/CN=$1"
  printf '%s\n' '[ca]' default_ca=d '[d]' "new_certs_dir=$pki" "database=$pki/index" rand_serial=yes default_md=sha256 policy=p x509_extensions=x \
    '[p]' commonName=supplied '[x]' subjectAltName=DNS:localhost,IP:127.0.0.1 >"$pki/ca.cnf"
  : >"$pki/index"
  openssl ca -config "$pki/ca.cnf" -batch -notext -cert "$pki/$2.crt" -keyfile "$pki/$2.key" -in "$pki/$1.csr" -out "$pki/$1.crt" \
    -startdate "${3}000000Z" -enddate "${4}000000Z" 2>"$work/stderr" || fail "openssl ca makes $1" "$(cat "$work/stderr")"
}
authority ca
authority stranger
certificate broker ca /CN=broker
certificate alice ca '/O=example/OU=dev/CN=alice'
certificate robot ca '/O=example/CN=robot-7'
certificate intruder stranger '/O=example/OU=dev/CN=alice'
dated ended ca 20200101 20210101
dated early ca 20980101 20990101
odd=$'alice\n{"level":"error"}\e[31m\u202e' # and NUL is for Go tests: no argument holds one
certificate odd ca "/CN=$odd"
keytool -importcert -noprompt -alias ca -file "$pki/ca.crt" -keystore "$pki/trust.p12" -storetype PKCS12 -storepass changeit 2>/dev/null
cp "$pki/broker.crt" "$work/tls.crt"
cp "$pki/broker.key" "$work/tls.key"
printf %s scram-secret | "$kaasd" user add bob --password-stdin --file "$work/credentials.json" >/dev/null || fail "kaasd user add bob"
"$kaasd" user add carol --tls-cn robot-7 --produce 100MB --file "$work/credentials.json" >/dev/null || fail "kaasd user add carol"

# One listener of each kind: SSL on $ssl, SSL that wants certificates on $mtls,
# and SASL_SSL on $scram.
ssl=127.0.0.1:$(free_port) mtls=127.0.0.1:$(free_port) scram=127.0.0.1:$(free_port)
more_listeners="SSL://$ssl,MTLS://$mtls,SASL_SSL://$scram"
export KAFKA_LISTENER_NAME_MTLS_SSL_CLIENT_AUTH=required
export KAFKA_SSL_PRINCIPAL_MAPPING_RULES='RULE:^CN=(robot-[0-9]+),.*$/$1/,DEFAULT'
serve() {
  start_broker --listener-security-protocol-map MTLS:SSL --tls-cert-file "$work/tls.crt" --tls-key-file "$work/tls.key" \
    --tls-client-ca-file "$pki/ca.crt" --credentials-file "$work/credentials.json" --log-format json "$@"
}
serve

# properties NAME LINES...: client properties, whose path is printed.
properties() { printf '%s\n' "${@:2}" >"$work/$1.properties" && echo "$work/$1.properties"; }
pem_trust=(ssl.truststore.type=PEM "ssl.truststore.location=$pki/ca.crt")
keystore() { echo "ssl.keystore.type=PEM ssl.keystore.location=$pki/$1.pem"; }
ssl_client=$(properties ssl security.protocol=SSL "${pem_trust[@]}")
ssl12_client=$(properties ssl12 security.protocol=SSL ssl.enabled.protocols=TLSv1.2 "${pem_trust[@]}")
mtls_client=$(properties mtls security.protocol=SSL "${pem_trust[@]}" $(keystore alice))
intruder_client=$(properties intruder security.protocol=SSL "${pem_trust[@]}" $(keystore intruder))
misled_client=$(properties misled security.protocol=SSL ssl.truststore.type=PEM "ssl.truststore.location=$pki/stranger.crt")
scram_client=$(properties scram security.protocol=SASL_SSL ssl.truststore.location="$pki/trust.p12" ssl.truststore.type=PKCS12 ssl.truststore.password=changeit \
  sasl.mechanism=SCRAM-SHA-512 'sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="bob" password="scram-secret";')

read_back() { timeout 30 kcat -b "$plain" -C -t "$1" -p 0 -o beginning -e -q 2>/dev/null; }
seq 200 | sed 's/^/a line over TLS /' >"$work/lines"
# changed PRINCIPAL: who the audit log says has changed the last quota.
changed() { grep '"quota changed"' "$broker_log" | tail -1 | python3 -c 'import json,sys; print(json.loads(sys.stdin.readline() or "{}").get("principal"))'; }

java_tools() {
  local v=$1 kind address client out want
  one_jvm "$v"
  while read -r kind address client want; do
    out=$(quick configs --bootstrap-server "$address" --command-config "$client" --alter --entity-type users --entity-name "$kind-$v" --add-config producer_byte_rate=10000000 2>&1)
    has "$v: kafka-configs --command-config over $kind" "$out" 'Completed updating config for user'
    same "$v: kafka-configs over $kind is $want" "$want" "$(changed)"
    has "$v: kafka-configs over $kind reads it back" \
      "$(quick configs --bootstrap-server "$address" --command-config "$client" --describe --entity-type users --entity-name "$kind-$v" 2>&1)" 'producer_byte_rate=1'
    quick topics --bootstrap-server "$address" --command-config "$client" --create --topic "java-$kind-$v" >/dev/null 2>&1
    tool "$v" console-producer --bootstrap-server "$address" --topic "java-$kind-$v" --producer.config "$client" <"$work/lines" >/dev/null 2>"$work/stderr" ||
      fail "$v: console producer over $kind" "$(head -c 400 "$work/stderr")"
    out=$(quick console-consumer --bootstrap-server "$address" --topic "java-$kind-$v" --consumer.config "$client" --partition 0 --offset earliest \
      --max-messages 200 --timeout-ms 20000 2>/dev/null | grep -v '^Option ') # which newer tools say of --consumer.config
    [ "$out" = "$(cat "$work/lines")" ] && pass "$v: console producer to console consumer over $kind" ||
      fail "$v: console producer to console consumer over $kind" "$(head -3 <<<"$out")"
  done <<X
SSL $ssl $ssl_client User:ANONYMOUS
TLS1.2 $ssl $ssl12_client User:ANONYMOUS
mTLS $mtls $mtls_client User:CN=alice,OU=dev,O=example
SASL_SSL $scram $scram_client User:bob
X
  while read -r address client kind; do
    out=$(quick topics --list --bootstrap-server "$address" --command-config "$client" 2>&1)
    has "$v: $kind is told of TLS, not of a time that is over" "$out" 'SslAuthenticationException|SSL handshake failed|Failed to process post-handshake messages'
  done <<X
$ssl $misled_client a client that trusts another authority
$mtls $ssl_client a client without a certificate that is wanted
$mtls $intruder_client a client with a certificate of another authority
X
}

kcat_client() {
  local kind address
  local trust=(-X security.protocol=ssl -X ssl.ca.location="$pki/ca.crt")
  local shown=("${trust[@]}" -X ssl.certificate.location="$pki/robot.crt" -X ssl.key.location="$pki/robot.key")
  local log_in=(-X security.protocol=sasl_ssl -X ssl.ca.location="$pki/ca.crt" -X sasl.mechanism=SCRAM-SHA-512 -X sasl.username=bob -X sasl.password=scram-secret)
  both_ways() { # both_ways NAME ADDRESS FLAGS...
    local topic=kcat-${1// /-} name=$1 address=$2
    shift 2
    timeout 30 kcat -b "$address" -P -t "$topic" "$@" <"$work/lines" 2>"$work/stderr" || fail "kcat over $name" "$(cat "$work/stderr")"
    same "kcat over $name" "$(cat "$work/lines")" "$(timeout 30 kcat -b "$address" -C -t "$topic" -p 0 -o beginning -e -q "$@" 2>/dev/null)"
  }
  both_ways SSL "$ssl" "${trust[@]}"
  both_ways mTLS "$mtls" "${shown[@]}"
  both_ways SASL_SSL "$scram" "${log_in[@]}"
  has "who shows the certificate of a user is that user" "$(curl -s "http://$http/metrics")" '^kaasd_quota_entity_bytes_total\{client_id="",quota="produce",user="carol"\} [1-9]'
  has "kcat refuses a broker of another authority" "$(timeout 10 kcat -b "$ssl" -L -m 5 -X security.protocol=ssl -X ssl.ca.location="$pki/stranger.crt" 2>&1)" 'certificate verify failed'
  has "kcat without TLS on a port with TLS goes nowhere" "[$(timeout 10 kcat -b "$ssl" -L -m 3 2>&1)]" 'Failed to acquire metadata|Disconnected|timed out|Transport'
  has "and the log says why" "$(cat "$broker_log")" 'a client without TLS on a port with TLS'
  timeout 10 kcat -b "$plain" -L -m 3 "${trust[@]}" >/dev/null 2>&1
  has "TLS on a port without it is named in the log" "$(cat "$broker_log")" 'TLS on a port without TLS'
}

python_clients() {
  cat >"$work/clients.py" <<'X'
import sys
kind, pki, ssl, mtls, scram = sys.argv[1:]
lines = [b"a line over TLS %d" % i for i in range(200)]
ways = {"SSL": ssl, "mTLS": mtls, "SASL_SSL": scram}
def told(version, way, got):
    print(f"PASS  {kind} {version} over {way}" if got == lines else f"FAIL  {kind} {version} over {way}: {len(got)} records, {got[:1]}")
if kind == "librdkafka":
    from confluent_kafka import Producer, Consumer, TopicPartition, libversion
    for way, address in ways.items():
        conf = {"bootstrap.servers": address, "ssl.ca.location": pki + "/ca.crt", "security.protocol": "SSL"}
        if way == "mTLS": conf.update({"ssl.certificate.location": pki + "/alice.crt", "ssl.key.location": pki + "/alice.key"})
        if way == "SASL_SSL": conf.update({"security.protocol": way, "sasl.mechanism": "SCRAM-SHA-512", "sasl.username": "bob", "sasl.password": "scram-secret"})
        topic = f"{kind}-{way}"
        p = Producer({**conf, "linger.ms": 20})
        for l in lines: p.produce(topic, value=l, partition=0)
        p.flush(20)
        c = Consumer({**conf, "group.id": topic, "auto.offset.reset": "earliest"})
        c.subscribe([topic])
        got = []
        while len(got) < len(lines) and (m := c.poll(20)): got.append(m.value() if not m.error() else str(m.error()))
        c.close()
        told(libversion()[0], way, got)
else:
    from kafka import KafkaProducer, KafkaConsumer, __version__
    for way, address in ways.items():
        conf = {"bootstrap_servers": address, "security_protocol": "SSL", "ssl_cafile": pki + "/ca.crt"}
        if way == "mTLS": conf.update(ssl_certfile=pki + "/alice.crt", ssl_keyfile=pki + "/alice.key")
        if way == "SASL_SSL": conf.update(security_protocol=way, sasl_mechanism="SCRAM-SHA-512", sasl_plain_username="bob", sasl_plain_password="scram-secret")
        topic = f"{kind}-{__version__}-{way}"
        p = KafkaProducer(**conf)
        for l in lines: p.send(topic, l, partition=0)
        p.flush(20); p.close()
        c = KafkaConsumer(topic, group_id=topic, auto_offset_reset="earliest", consumer_timeout_ms=20000, **conf)
        got = []
        for m in c:
            got.append(m.value)
            if len(got) == len(lines): break
        c.close()
        told(__version__, way, got)
X
  timeout 120 "$python" "$work/clients.py" librdkafka "$pki" "$ssl" "$mtls" "$scram" >"$work/out" 2>&1
  count "$work/out"
  timeout 120 "$python" "$work/clients.py" kafka-python "$pki" "$ssl" "$mtls" "$scram" >"$work/out" 2>&1
  count "$work/out"
}

franz_go() {
  go build -C "$root" -o "$work/kgoproduce" ./scripts/kgoproduce || { fail "kgoproduce does not build"; return; }
  local name address flags
  while read -r name address flags; do
    "$work/kgoproduce" --bootstrap-server "$address" --topic "kgo-$name" --tls-ca "$pki/ca.crt" $flags >/dev/null 2>"$work/stderr" || fail "franz-go over $name" "$(cat "$work/stderr")"
    same "franz-go over $name" 200 "$(read_back "kgo-$name" | wc -l)"
  done <<X
SSL $ssl
mTLS $mtls --tls-cert $pki/alice.crt --tls-key $pki/alice.key
SASL_SSL $scram --user bob --password scram-secret --mechanism SCRAM-SHA-512
X
}

kafkajs() {
  [ -d "$cache/node/node_modules/kafkajs" ] || return
  cat >"$work/client.js" <<'X'
const [pki, ssl, mtls, scram] = process.argv.slice(2)
const { Kafka, logLevel } = require('kafkajs'), fs = require('fs')
const ca = [fs.readFileSync(pki + '/ca.crt')], cert = fs.readFileSync(pki + '/alice.crt'), key = fs.readFileSync(pki + '/alice.key')
const ways = { SSL: [ssl, { ca }], mTLS: [mtls, { ca, cert, key }], SASL_SSL: [scram, { ca }, { mechanism: 'scram-sha-512', username: 'bob', password: 'scram-secret' }] }
const run = async (way) => {
  const [address, ssl, sasl] = ways[way], topic = 'kafkajs-' + way
  const kafka = new Kafka({ brokers: [address], ssl, sasl, logLevel: logLevel.NOTHING })
  const p = kafka.producer(), c = kafka.consumer({ groupId: topic }), got = []
  await p.connect()
  await p.send({ topic, messages: Array.from({ length: 200 }, (_, i) => ({ value: 'line ' + i })) })
  await p.disconnect()
  await c.connect()
  await c.subscribe({ topic, fromBeginning: true })
  const late = new Promise(r => setTimeout(r, 20000).unref())
  const all = new Promise(r => c.run({ eachMessage: async ({ message }) => { if (got.push(String(message.value)) == 200) r() } }))
  await Promise.race([all, late])
  console.log((got.length == 200 && got[199] == 'line 199' ? 'PASS' : 'FAIL') + '  kafkajs over ' + way)
  await c.disconnect()
}
(async () => { for (const way in ways) await run(way).catch(e => console.log('FAIL  kafkajs over ' + way + ': ' + e.message)); process.exit() })()
X
  NODE_PATH=$cache/node/node_modules timeout 90 node "$work/client.js" "$pki" "$ssl" "$mtls" "$scram" >"$work/out" 2>&1
  count "$work/out"
}

# hello FLAGS...: what openssl makes of the broker.
hello() { timeout 10 openssl s_client -connect "$ssl" -CAfile "$pki/ca.crt" "$@" </dev/null 2>&1; }
serial() { hello | openssl x509 -noout -serial 2>/dev/null; }
protocol() {
  has "TLS 1.3" "$(hello -tls1_3)" 'Verify return code: 0 \(ok\)'
  has "TLS 1.2" "$(hello -tls1_2)" 'Verify return code: 0 \(ok\)'
  has "TLS 1.1 is not spoken" "$(hello -tls1_1 -cipher 'ALL:@SECLEVEL=0')" 'alert protocol version|unsupported protocol|no protocols available'
  has "renegotiation is refused" "$(timeout 10 openssl s_client -connect "$ssl" -tls1_2 -CAfile "$pki/ca.crt" 2>&1 < <(sleep 1; echo R; sleep 9))" 'RENEGOTIATING(.|\s)*(error|alert|closed)|no renegotiation|unexpected message'
  has "a session is resumed" "$(hello -tls1_2 -sess_out "$work/session" >/dev/null; hello -tls1_2 -sess_in "$work/session")" '^Reused'
}

# told PATTERN: waits until the log has such a line, and prints the last.
told() {
  for _ in $(seq 100); do grep -qE -- "$1" "$broker_log" && break; sleep 0.1; done
  grep -E -- "$1" "$broker_log" | tail -1
}
# Each client comes from an address of its own, since what an address repeats is
# counted in the log, not written.
refused_clients() {
  local name alert reason host number=0
  while read -r name alert reason; do
    host=127.0.1.$((number += 1))
    has "a client whose certificate is $name is told" \
      "$(timeout 10 openssl s_client -connect "$mtls" -bind "$host:0" -CAfile "$pki/ca.crt" -cert "$pki/$name.crt" -key "$pki/$name.key" 2>&1 < <(sleep 10))" "alert ${alert//-/ }"
    has "and the log says why" "$(told "TLS handshake failed.*$host:")" "$reason"
  done <<X
ended certificate-expired certificate has expired or is not yet valid: current time .* is after 2021-01-01
early certificate-expired certificate has expired or is not yet valid: current time .* is before 2098-01-01
intruder unknown-ca certificate signed by unknown authority
X
}
# controls: a name with them in it is one value of one line.
controls() {
  local client
  client=$(properties odd security.protocol=SSL "${pem_trust[@]}" $(keystore odd))
  "$kaasd" quota set --bootstrap-server "$mtls" --command-config "$client" --user odd produce=1MiB >/dev/null 2>"$work/stderr" || fail "kaasd quota set with controls in the name" "$(cat "$work/stderr")"
  python3 - "$broker_log" "$odd" <<'X' >"$work/out" 2>&1
import json, sys
raw = open(sys.argv[1], encoding="utf-8").read()
changed = [l for l in map(json.loads, raw.splitlines()) if l["msg"] == "quota changed" and "odd" in l["entity"]]
want = "User:CN=" + sys.argv[2].replace('"', '\\"')
got = changed[-1]["principal"] if changed else None
print("PASS  a name with controls in it is one value" if got == want else f"FAIL  a name with controls in it is one value: {got!r}")
bad = sorted({c for c in raw if c != "\n" and not c.isprintable()})
print("PASS  no controls are in the log" if not bad else f"FAIL  no controls are in the log: {bad}")
X
  count "$work/out"
}

# replaced NAME: the pair NAME is shown within 10 s.
replaced() {
  local want
  want=$(openssl x509 -noout -serial -in "$pki/$2.crt")
  for _ in $(seq 100); do [ "$(serial)" = "$want" ] && break; sleep 0.1; done
  same "$1" "$want" "$(serial)"
}
live() {
  certificate second ca /CN=broker
  certificate third ca /CN=broker
  timeout 60 kcat -b "$ssl" -C -t kcat-SSL -q -u -X security.protocol=ssl -X ssl.ca.location="$pki/ca.crt" >"$work/consumed" 2>"$work/stderr" &
  local consumer=$!
  for _ in $(seq 100); do [ "$(wc -l <"$work/consumed")" = 200 ] && break; sleep 0.1; done
  cp "$pki/second.crt" "$work/next.crt" && mv "$work/next.crt" "$work/tls.crt"
  kill -HUP "$broker_pid"
  for _ in $(seq 100); do grep -q 'certificates not reloaded' "$broker_log" && break; sleep 0.1; done
  has "half a pair is refused" "$(grep 'certificates not reloaded' "$broker_log")" 'the key is not that of the certificate'
  same "the old pair is shown meanwhile" "$(openssl x509 -noout -serial -in "$pki/broker.crt")" "$(serial)"
  cp "$pki/second.key" "$work/next.key" && mv "$work/next.key" "$work/tls.key"
  replaced "the other half makes it a pair" second
  cat "$pki/third.crt" >"$work/tls.crt"
  cat "$pki/third.key" >"$work/tls.key"
  replaced "a pair written in place is taken" third
  echo "a line after the change" | timeout 20 kcat -b "$plain" -P -t kcat-SSL -p 0
  for _ in $(seq 100); do grep -q 'after the change' "$work/consumed" && break; sleep 0.1; done
  has "a consumer that was there before goes on" "$(tail -1 "$work/consumed")" 'a line after the change'
  kill "$consumer" && wait "$consumer" 2>/dev/null
  has "the metric tells when it ends" "$(curl -s "http://$http/metrics")" '^kaasd_tls_certificate_not_after_timestamp_seconds\{file=".*tls.crt"\} 1'
}

# misfits: what cannot be shown does not replace what is; at the start it is shown,
# for the sake of the other listeners.
misfits() {
  local name reason before
  before=$(serial)
  while read -r name reason; do
    cp "$pki/$name.crt" "$work/tls.crt"
    cp "$pki/$name.key" "$work/tls.key"
    kill -HUP "$broker_pid"
    has "a pair that is $name is not taken" "$(told "certificates not reloaded.*$reason")" '"level":"error"'
    same "and the last good one is shown" "$before" "$(serial)"
    has "as the metric says" "$(curl -s "http://$http/metrics")" '^kaasd_tls_last_reload_successful 0$'
  done <<X
ended a certificate in it has expired at 2021-01-01
early the certificate is not valid before 2098-01-01
X
  cp "$pki/ended.crt" "$work/tls.crt"
  cp "$pki/ended.key" "$work/tls.key"
  serve
  has "at the start an ended pair is told of" "$(told 'a certificate is shown that clients refuse')" '"level":"error".*has expired at 2021-01-01'
  has "as the metric says" "$(curl -s "http://$http/metrics")" '^kaasd_tls_certificate_not_after_timestamp_seconds\{file=".*tls.crt"\} 1\.609'
  has "clients refuse it" "$(timeout 10 kcat -b "$ssl" -L -m 5 -X security.protocol=ssl -X ssl.ca.location="$pki/ca.crt" 2>&1)" 'certificate (verify failed|has expired)'
  has "who comes without TLS is served" "$(timeout 10 kcat -b "$plain" -L -m 5 2>&1)" 'broker 1 at'
  cp "$pki/third.crt" "$work/tls.crt"
  cp "$pki/third.key" "$work/tls.key"
  replaced "a good pair is taken without a restart" third
}

own_tools() {
  has "kaasd quota set over TLS" "$("$kaasd" quota set --bootstrap-server "$ssl" --tls-ca "$pki/ca.crt" --user own produce=1MiB 2>&1)" 'producer_byte_rate +none +-> 1 MiB/s'
  has "kaasd quota describe over SASL_SSL" \
    "$("$kaasd" quota describe --bootstrap-server "$scram" --tls-ca "$pki/ca.crt" --sasl-user bob --sasl-password-file <(printf %s scram-secret) --user own 2>&1)" 'user own +1 MiB/s'
}

for v in $kafka_versions; do java_tools "$v"; done
end_jvm
kcat_client
python_clients
franz_go
kafkajs
own_tools
protocol
refused_clients
controls
live
handshakes=$(curl -s "http://$http/metrics" | grep '^kaasd_tls_handshakes_total')
has "handshakes are counted" "$handshakes" 'listener="MTLS",result="failure"\} [1-9]'
grep -qE 'BEGIN|scram-secret' "$broker_log" && fail "a secret is in the log" || pass "no key and no password is in the log"
misfits
stop_broker || fail "the broker did not stop cleanly"
total
