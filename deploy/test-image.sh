#!/usr/bin/env bash
# Builds the image without an engine and without a registry of images, and runs it: as a user without rights, who
# can write nothing but /tmp. It needs root, and Debian's buildah and mmdebstrap.
set -euo pipefail
cd "$(dirname "$0")/.."

export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
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
inside python manage.py migrate --verbosity 0
inside python manage.py check
for place in /opt/editor /etc /root; do
    if inside touch "$place/written" 2>/dev/null; then
        echo "$place can be written" >&2
        exit 1
    fi
done
inside sh -c '
    python manage.py serve --bind 127.0.0.1:18099 >/tmp/log 2>&1 &
    for attempt in $(seq 60); do
        python -c "import urllib.request; print(urllib.request.urlopen(\"http://127.0.0.1:18099/readyz\", timeout=4).read().decode())" 2>/dev/null && found=1 && break
        sleep 1
    done
    kill $!
    wait $! || true
    test -n "$found" || { cat /tmp/log; exit 1; }'
buildah rm "$image" >/dev/null
