#!/usr/bin/env bash
# Makes the image of Debian that Containerfile begins with, from the mirrors of this machine, unless it is there.
# This machine may have an older Debian: its mirrors have the newer one, too.
# It needs root, and Debian's buildah and mmdebstrap.
set -euo pipefail
release=trixie
base=docker.io/library/debian:$release-slim
image='' work=$(mktemp -d)
trap '[[ -z $image ]] || buildah rm "$image" >/dev/null; rm -rf "$work"' EXIT
export BUILDAH_ISOLATION=chroot

! buildah inspect --type image "$base" >/dev/null 2>&1 || exit 0
own=$(. /etc/os-release && echo "$VERSION_CODENAME")
mapfile -t sources < <(grep -rlsE '^(URIs:|deb ).*/debian' /etc/apt/sources.list /etc/apt/sources.list.d)
for position in "${!sources[@]}"; do
    copy=$work/$position-$(basename "${sources[$position]}")
    sed -E "s/\\b$own\\b/$release/g" "${sources[$position]}" >"$copy"
    sources[position]=$copy
done
image=$(buildah from scratch)
# As the image of this name is made: without manuals, which dpkg is told only at the end, for mmdebstrap would
# filter each package with a program of its own; without waiting for the disk; with directories, not usrmerge.
lean=$(printf 'path-exclude=/usr/share/%s/*\n' man locale doc && echo 'path-include=/usr/share/doc/*/copyright')
mmdebstrap --quiet --variant=minbase --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --dpkgopt=force-unsafe-io \
    --customize-hook="echo '$lean' >\"\$1/etc/dpkg/dpkg.cfg.d/lean\"" \
    --customize-hook='cd "$1/usr/share"; rm -rf man/* locale/*; find doc ! -type d ! -name copyright -delete' \
    "$release" "$(buildah mount "$image")" "${sources[@]}"
buildah commit --quiet "$image" "$base" >/dev/null
