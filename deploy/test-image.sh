#!/usr/bin/env bash
# Builds the image without an engine and without a registry of images, and runs it: as a user without rights, on a
# read-only root. It needs root, and Debian's buildah and mmdebstrap.
set -euo pipefail
cd "$(dirname "$0")/.."

export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
work=$(mktemp -d) image=
trap '[[ -z $image ]] || buildah rm "$image" >/dev/null; rm -rf "$work"' EXIT
base=docker.io/library/debian:bookworm-slim

if ! buildah inspect --type image "$base" >/dev/null 2>&1; then
    # From the packages of this machine's own mirrors, tagged as what the file names.
    shopt -s nullglob
    sources=(/etc/apt/sources.list.d/*.{list,sources})
    [[ ! -s /etc/apt/sources.list ]] || sources+=(/etc/apt/sources.list)
    mmdebstrap --quiet --variant=minbase bookworm "$work/base.tar" "${sources[@]}"
    made=$(buildah from scratch)
    buildah add --quiet "$made" "$work/base.tar" / >/dev/null
    buildah commit --quiet --rm "$made" "$base" >/dev/null
fi

python=3.11 # of Debian bookworm
.venv/bin/python -m pip download --quiet --no-deps --require-hashes --python-version "$python" --only-binary :all: \
    --dest "$work/wheels" -r requirements.txt
buildah build --quiet --format docker --pull=never --volume "$work/wheels:/wheels:ro" --build-arg PIP_NO_INDEX=1 \
    --build-arg PIP_FIND_LINKS=/wheels --tag editor-test . >/dev/null
image=$(buildah from --pull=never editor-test)
buildah images --format '{{.Name}}: {{.Size}}' editor-test

inside() {
    buildah run --user 10001:10001 --env SECRET_KEY=test --env DATABASE_URL=sqlite:////tmp/editor.sqlite3 "$image" -- "$@"
}
inside dpkg-query --show | sort >"$work/packages"
inside python -c 'from importlib.metadata import distributions as d; print(*sorted({f"{o.name} {o.version}" for o in d()}), sep="\n")' >"$work/distributions"
echo "$(wc -l <"$work/packages") packages of Debian, $(wc -l <"$work/distributions") of Python"

# From here on as compose.yaml and the manifests have it: the root cannot be written, only /tmp can.
mapfile -t environment < <(inside env)
mkdir --mode=1777 "$work/tmp"
root=$(buildah mount "$image")
inside() {
    unshare --mount --pid --fork --kill-child sh -euc '
        root=$1 tmp=$2; shift 2
        mount --bind "$root" "$root"
        mount --options remount,bind,ro "$root"
        mount --types proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        mount --bind "$tmp" "$root/tmp"
        exec chroot --userspec=10001:10001 "$root" "$@"' sh "$root" "$work/tmp" \
        env --ignore-environment --chdir=/opt/editor "${environment[@]}" "$@"
}
if inside touch /opt/editor/here 2>/dev/null || inside touch /var/tmp/here 2>/dev/null; then
    echo "the root can be written" >&2
    exit 1
fi
inside python manage.py migrate --verbosity 0
inside python manage.py check
inside sh -ec '
    python manage.py serve --bind 127.0.0.1:18099 >/tmp/log 2>&1 &
    trap "kill $!; wait $! || true" EXIT
    for attempt in $(seq 60); do
        python -c "import urllib.request; print(urllib.request.urlopen(\"http://127.0.0.1:18099/readyz\", timeout=4).read().decode())" 2>/dev/null && exit 0
        sleep 1
    done
    cat /tmp/log
    exit 1'
inside python manage.py backup /tmp/backup
