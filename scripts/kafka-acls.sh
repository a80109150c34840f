#!/bin/bash
# Apache Kafka's own kafka-acls, and the SCRAM part of kafka-configs, against a
# running kaasd: rules are added, listed, felt and removed, users get and lose
# passwords. One line PASS or FAIL a scenario, and a total.
#
#   scripts/kafka-acls.sh       the scenarios with each version of the tools
#   VERSIONS="4.0.0 4.4.0"      versions of Apache Kafka's tools
. "$(dirname "$0")/lib.sh"

cat >"$work/credentials.json" <<'X'
{"version":1,"users":[
 {"username":"admin","authType":"plain","plainPassword":"admin-secret"},
 {"username":"alice","authType":"plain","plainPassword":"alice-secret"}]}
X
client() { # client USER [MECHANISM PASSWORD]: writes the client's properties and prints their path
  local mechanism=${2:-PLAIN} module=plain.Plain
  [ "$mechanism" = PLAIN ] || module=scram.Scram
  cat >"$work/$1.properties" <<X
security.protocol=SASL_PLAINTEXT
sasl.mechanism=$mechanism
sasl.jaas.config=org.apache.kafka.common.security.${module}LoginModule required username="$1" password="${3:-$1-secret}";
X
  echo "$work/$1.properties"
}
as() { # as USER TOOL ARGS...
  local user=$1 tool=$2
  shift 2
  quick "$tool" --bootstrap-server "$sasl" --command-config "$(client "$user")" "$@" 2>&1
}
denied() { # denied NAME PATTERN OUTPUT
  if grep -qE "$2" <<<"$3"; then pass "$1 is refused"; else fail "$1 is refused" "$(head -c 600 <<<"$3")"; fi
}
# rules: what kafka-acls prints, one rule a line: TOPIC orders LITERAL User:alice * READ ALLOW
rules() {
  sed -nE 's/.*resourceType=([A-Z_]+), name=([^,]*), patternType=([A-Z]+).*/R \1 \2 \3/p
    s/.*\(principal=([^,]*), host=([^,]*), operation=([A-Z_]+), permissionType=([A-Z]+)\).*/\1 \2 \3 \4/p' <<<"$1" |
    awk '$1 == "R" { r = $2 " " $3 " " $4; next } { print r " " $0 }' | sort -u
}

acls() {
  local version=$1 out producer="TOPIC orders LITERAL User:alice * CREATE ALLOW
TOPIC orders LITERAL User:alice * DESCRIBE ALLOW
TOPIC orders LITERAL User:alice * WRITE ALLOW"
  data=$work/acls-$version
  start_broker --credentials-file "$work/credentials.json" --authorizer-class-name acl --super-users User:admin
  same "$version: there are no rules" "" "$(rules "$(as admin acls --list)")"
  as admin topics --create --topic orders >/dev/null
  same "$version: without a rule a topic is not there" "" "$(as alice topics --list)"
  denied "$version: a list by somebody else" 'ClusterAuthorizationException' "$(as alice acls --list)"
  denied "$version: a rule by somebody else" 'ClusterAuthorizationException' \
    "$(as alice acls --add --allow-principal User:alice --operation All --topic orders)"
  same "$version: a producer's rules" "$producer" "$(rules "$(as admin acls --add --allow-principal User:alice --producer --topic orders)")"
  same "$version: the topic is there for her" "orders" "$(as alice topics --list)"
  out=$(echo 'a record' | tool "$version" console-producer --bootstrap-server "$sasl" --topic orders --producer.config "$(client alice)" 2>&1)
  same "$version: she may write" "" "$(grep -vi 'deprecated' <<<"$out")"
  consume() {
    quick console-consumer --bootstrap-server "$sasl" --topic orders --partition 0 --offset earliest --max-messages 1 \
      --timeout-ms 20000 --consumer.config "$(client alice)" 2>&1
  }
  denied "$version: reading, not allowed yet," 'total of 0 messages' "$(consume)"
  as admin acls --add --allow-principal User:alice --operation Read --topic ord --resource-pattern-type prefixed >/dev/null
  has "$version: she may read by a prefix" "$(consume)" '^a record$'
  as admin acls --add --deny-principal 'User:*' --deny-host 127.0.0.1 --operation Read --topic '*' >/dev/null
  denied "$version: reading from a denied host" 'total of 0 messages' "$(consume)"
  out=$(as admin acls --list --topic orders --resource-pattern-type match)
  same "$version: all that apply to a topic" "TOPIC * LITERAL User:* 127.0.0.1 READ DENY
TOPIC ord PREFIXED User:alice * READ ALLOW
$producer" "$(rules "$out")"
  same "$version: those of one user and topic" "$producer" "$(rules "$(as admin acls --list --principal User:alice --topic orders)")"
  as admin acls --remove --force --deny-principal 'User:*' --deny-host 127.0.0.1 --operation Read --topic '*' >/dev/null
  has "$version: without the denial she may read again" "$(consume)" '^a record$'
  as admin acls --add --allow-principal User:alice --operation Describe --operation AlterConfigs --cluster >/dev/null
  has "$version: she may set quotas now" "$(as alice configs --alter --user bob --add-config producer_byte_rate=1000)" '^Completed'
  as admin acls --add --allow-principal User:alice --operation Read --group '*' >/dev/null
  start_broker --credentials-file "$work/credentials.json" --authorizer-class-name acl --super-users User:admin
  same "$version: rules outlive a restart" "CLUSTER kafka-cluster LITERAL User:alice * ALTER_CONFIGS ALLOW
CLUSTER kafka-cluster LITERAL User:alice * DESCRIBE ALLOW
GROUP * LITERAL User:alice * READ ALLOW
TOPIC ord PREFIXED User:alice * READ ALLOW
$producer" "$(rules "$(as admin acls --list)")"
  as admin acls --remove --force --topic ord --resource-pattern-type any >/dev/null
  as admin acls --remove --force --topic orders >/dev/null
  as admin acls --remove --force --cluster --group '*' >/dev/null
  same "$version: all rules are removed" "" "$(rules "$(as admin acls --list)")"
  start_broker --credentials-file "$work/credentials.json"
  denied "$version: a list without an authorizer" 'SecurityDisabledException' "$(as alice acls --list)"
}

scram() {
  local version=$1 out both
  data=$work/scram-$version
  start_broker
  configs() { quick configs --bootstrap-server "$plain" "$@" 2>&1; }
  out=$(configs --alter --entity-type users --entity-name alice --add-config 'SCRAM-SHA-256=[iterations=8192,password=alice-secret]')
  same "$version: a SCRAM credential" "Completed updating config for user alice." "$out"
  out=$(configs --alter --user alice --add-config 'SCRAM-SHA-512=[password=alice-secret]')
  same "$version: the other mechanism" "Completed updating config for user alice." "$out"
  both="SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-512=iterations=4096, SCRAM-SHA-256=iterations=8192"
  same "$version: described by name" "$both" "$(configs --describe --entity-type users --entity-name alice)"
  same "$version: described with all" "$both" "$(configs --describe --entity-type users)"
  out=$(configs --alter --user bob --add-config 'SCRAM-SHA-256=[password=x],SCRAM-SHA-512=[password=x]')
  same "$version: both mechanisms in one command" "Completed updating config for user bob." "$out"
  denied "$version: too many iterations" 'UnacceptableCredentialException' \
    "$(configs --alter --user bob --add-config 'SCRAM-SHA-256=[iterations=20000,password=x]')"
  denied "$version: a password of the default user" 'not allowed' "$(configs --alter --user-defaults --add-config 'SCRAM-SHA-256=[password=x]')"
  login() { quick topics --bootstrap-server "$sasl" --command-config "$(client alice "$1" "${2:-alice-secret}")" --list 2>&1; }
  same "$version: a log-in with SCRAM-SHA-256" "" "$(login SCRAM-SHA-256)"
  same "$version: a log-in with SCRAM-SHA-512" "" "$(login SCRAM-SHA-512)"
  denied "$version: a wrong password" 'authentication failed' "$(login SCRAM-SHA-256 wrong)"
  out=$(configs --alter --user alice --delete-config SCRAM-SHA-256)
  same "$version: one mechanism is removed" "Completed updating config for user alice." "$out"
  denied "$version: a log-in by a removed mechanism" 'authentication failed' "$(login SCRAM-SHA-256)"
  start_broker
  same "$version: the other mechanism outlives a restart" "SCRAM credential configs for user-principal 'alice' are SCRAM-SHA-512=iterations=4096" \
    "$(configs --describe --entity-type users --entity-name alice)"
  same "$version: and is good for a log-in" "" "$(login SCRAM-SHA-512)"
  same "$version: it is removed too" "Completed updating config for user alice." "$(configs --alter --user alice --delete-config SCRAM-SHA-512)"
  denied "$version: a log-in after that" 'authentication failed' "$(login SCRAM-SHA-512)"
}

for version in $kafka_versions; do
  one_jvm "$version"
  acls "$version"
  scram "$version"
done
total
