#!/bin/bash
# The image, built from the Dockerfile and run as an operator would, with
# podman. Where no registry can be reached, stand-ins with the names of the
# base images carry the machine's own Go and CA bundle: they prove the steps
# of the Dockerfile, its paths, user and entry point, and are never published.
. "$(dirname "$0")/lib.sh"

limit=$(ulimit -Hn)
[ "$limit" = unlimited ] && limit=20000
[ "$limit" -gt 20000 ] && limit=20000
printf '%s\n' '[containers]' "default_ulimits = [\"nofile=$limit:$limit\", \"nproc=4096:4096\"]" \
  '[engine]' 'cgroup_manager = "cgroupfs"' 'runtime = "runc"' 'events_logger = "file"' >"$work/containers.conf"
printf '%s\n' '[storage]' 'driver = "overlay"' "graphroot = \"$work/graph\"" "runroot = \"$work/run\"" >"$work/storage.conf"
export CONTAINERS_CONF=$work/containers.conf CONTAINERS_STORAGE_CONF=$work/storage.conf
clean() { podman rm -fa -t 1 >/dev/null 2>&1; umount "$work/graph/overlay" 2>/dev/null; leave; }
trap clean EXIT

stand_ins() {
  local go c r=$work/root s=$work/static applet
  go=$(go env GOROOT)
  mkdir -p "$r"/{bin,tmp,root,go,etc/ssl/certs,usr/local/go} "$s"/{tmp,etc/ssl/certs,home/nonroot}
  cp "$(command -v busybox)" "$r/bin/busybox"
  for applet in $("$r/bin/busybox" --list); do [ "$applet" = busybox ] || ln -sf busybox "$r/bin/$applet"; done
  cp /etc/ssl/certs/ca-certificates.crt "$r/etc/ssl/certs/"
  cp /etc/ssl/certs/ca-certificates.crt "$s/etc/ssl/certs/"
  echo 'root:x:0:0:root:/root:/bin/sh' >"$r/etc/passwd"
  echo 'root:x:0:' >"$r/etc/group"
  echo 'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin' >"$s/etc/passwd"
  chmod 1777 "$s/tmp"
  chown 65532:65532 "$s/home/nonroot"
  c=$(buildah from scratch) && buildah copy -q "$c" "$r" / >/dev/null
  buildah config --env PATH=/usr/local/go/bin:/go/bin:/bin --env GOPATH=/go --env GOTOOLCHAIN=local --workingdir /go --cmd /bin/sh "$c"
  for v in GOPROXY GOFLAGS GOSUMDB GONOSUMDB GONOSUMCHECK; do
    [ -z "$(go env $v)" ] || buildah config --env "$v=$(go env $v)" "$c"
  done
  buildah commit -q "$c" docker.io/library/golang:1.26 >/dev/null && buildah rm "$c" >/dev/null
  c=$(buildah from scratch) && buildah copy -q "$c" "$s" / >/dev/null
  buildah config --user 65532 --workingdir /home/nonroot "$c"
  buildah commit -q "$c" gcr.io/distroless/static-debian12:nonroot >/dev/null && buildah rm "$c" >/dev/null
  mount_go=(-v "$go:/usr/local/go:ro")
}

stand_ins
if podman build --isolation chroot --pull=never --format docker --platform linux/amd64 --build-arg VERSION=e2e \
  --build-arg REVISION=e2e-revision "${mount_go[@]}" -v "$(go env GOMODCACHE):/go/pkg/mod" -v "$(go env GOCACHE):/root/.cache/go-build" -t localhost/kaasd:e2e "$root" >"$work/build.log" 2>&1; then
  pass "the Dockerfile builds"
else
  fail "the Dockerfile builds" "$(tail -5 "$work/build.log")"; total; exit 1
fi
inspect() { podman image inspect localhost/kaasd:e2e --format "$1"; }
size=$(inspect '{{.Size}}')
[ "$size" -le $((25 * 1024 * 1024)) ] && pass "image of $size bytes is at most 25 MiB" || fail "image of $size bytes is at most 25 MiB"
same "the user is not root" "65532:65532" "$(inspect '{{.Config.User}}')"
same "the entry point is the binary" "[/usr/bin/kaasd] [start]" "$(inspect '{{.Config.Entrypoint}} {{.Config.Cmd}}')"
has "the image has a health check" "$(inspect '{{json .HealthCheck}}')" '"/usr/bin/kaasd","health"'
has "the labels tell version, revision and licence" "$(inspect '{{json .Labels}}')" 'licenses":"Apache-2.0","org.opencontainers.image.revision":"e2e-revision".*version":"e2e"'

mkdir -p "$work/volume" && chown 65532:65532 "$work/volume"
# podman says on stderr that no systemd is there to run the health check by itself.
run() { podman run -d --name "$1" --network host --read-only --cap-drop all --security-opt no-new-privileges "${@:2}" >/dev/null 2>&1; }
kport=$(free_port) hport=$(free_port)
run k -v "$work/volume:/var/lib/kaasd" localhost/kaasd:e2e start --listeners "PLAINTEXT://127.0.0.1:$kport" --http-listen "127.0.0.1:$hport"
for _ in $(seq 100); do [ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$hport/readyz")" = 200 ] && break; sleep 0.1; done
has "it gets ready with a read-only root and no capabilities" "$(podman logs k 2>&1)" 'kaasd ready'
pid=$(podman inspect k --format '{{.State.Pid}}')
status() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$pid/status"; }
same "it runs as 65532, user and group" "65532 65532" "$(status Uid) $(status Gid)"
same "it has no capability, and can get none" "0000000000000000 0000000000000000 0000000000000000 0000000000000000" "$(status CapEff) $(status CapPrm) $(status CapInh) $(status CapBnd)"
same "it can gain no privileges" "1" "$(status NoNewPrivs)"
has "its root is read-only" "$(awk '$5 == "/" { print $6 }' "/proc/$pid/mountinfo")" '^ro(,|$)'
printf 'hello\n' | timeout 20 kcat -b "127.0.0.1:$kport" -P -t image && pass "kcat produces into the container" || fail "kcat produces into the container"
same "the container serves it back" "hello" "$(timeout 20 kcat -b "127.0.0.1:$kport" -C -t image -p 0 -o beginning -e -q 2>/dev/null)"
podman exec k /usr/bin/kaasd health --http "http://127.0.0.1:$hport" >"$work/health" 2>&1 && pass "kaasd health inside says ready" || fail "kaasd health inside says ready" "$(cat "$work/health")"
same "its settings come from the image's file" "/var/lib/kaasd" "$(podman exec k /usr/bin/kaasd config show -o json | python3 -c 'import json,sys
d=json.load(sys.stdin); d=d.get("settings",d)
print(next(s["value"] for s in d if s["key"]=="data.dir"))')"
podman stop -t 35 k >/dev/null 2>&1
same "SIGTERM stops it with 0" "0" "$(podman inspect k --format '{{.State.ExitCode}}')"
[ -f "$work/volume/clean" ] && pass "and the data folder is clean" || fail "and the data folder is clean"

# As it comes: a network of its own, a published port, the data in a volume.
podman run -d --name d -p "127.0.0.1:$hport:9404" localhost/kaasd:e2e >/dev/null 2>"$work/stderr" || fail "it runs without any setting" "$(cat "$work/stderr")"
for _ in $(seq 100); do podman healthcheck run d >"$work/health" 2>&1 && break; sleep 0.1; done
podman healthcheck run d >"$work/health" 2>&1 && pass "its health check passes without any setting" || fail "its health check passes without any setting" "$(cat "$work/health")"
has "the published port answers" "$(curl -s -m 5 "http://127.0.0.1:$hport/metrics")" '^kaasd_ready 1'
total
