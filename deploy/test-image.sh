#!/usr/bin/env bash
# Builds the image without an engine and without a registry of images, and runs from it what deploy/kubernetes
# describes. It needs root, and Debian's buildah and mmdebstrap.
set -euo pipefail
cd "$(dirname "$0")/.."

step='The image is built by root'
work=$(mktemp -d) image='' built=''
trap 'echo "$step, and that failed: the image is not tested." >&2' ERR
trap '[[ -z $image ]] || buildah rm "$image" >/dev/null; [[ -z $built ]] || buildah rmi "$built" >/dev/null; rm -rf "$work"' EXIT
((EUID == 0))
export BUILDAH_ISOLATION=chroot

step="Debian's packages are fetched from the mirrors of this machine"
deploy/base-image.sh
step='Wheels are fetched as pip is configured on this machine'
python=3.13 # of Debian trixie
# A newer pip than Debian's takes a third of the processor time. Where uv cannot have it, Debian's does.
.venv/bin/uv pip install --quiet --python .venv/bin/python --target "$work/pip" pip 2>/dev/null || true
PYTHONPATH="$work/pip" .venv/bin/python -m pip download -qq --no-deps --require-hashes --python-version "$python" \
    --only-binary :all: --dest "$work/wheels" -r requirements.txt
step='The image is built'
buildah build --quiet --format docker --pull=never --volume "$work/wheels:/wheels:ro" --build-arg PIP_NO_INDEX=1 \
    --build-arg PIP_FIND_LINKS=/wheels --tag editor-test . >/dev/null
built=editor-test
image=$(buildah from --pull=never "$built")
root=$(buildah mount "$image")
buildah inspect --type image editor-test >"$work/image.json"
! compgen -G "$root/opt/editor/.git*" >/dev/null # it comes from what .dockerignore lets in
packages=$(chroot "$root" dpkg-query --show | wc -l)
distributions=$(printf '%s\n' "$root"/opt/editor/.venv/lib/python*/site-packages/*.dist-info | wc -l)
step='What deploy/kubernetes describes is run from the image'
.venv/bin/python -m tests.support.manifests "$root" "$work/image.json"
echo "The image has $(buildah images --format '{{.Size}}' editor-test), $packages packages of Debian and $distributions of Python."
