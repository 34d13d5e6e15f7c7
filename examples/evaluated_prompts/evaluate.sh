#!/bin/sh
# Compare the prompts of this branch with the live ones; the exit code is that of `editor evaluate`.
#
#     ./evaluate.sh            for a pull request: save them as drafts, and evaluate the drafts
#     ./evaluate.sh publish    once it is merged: publish them
#
# EDITOR_URL and EDITOR_API_KEY name the server and a key of an editor; EDITOR_DATASET another dataset.
set -eu
dataset=${EDITOR_DATASET:-Questions about orders}

editor() { python -m editor_client "$@"; }

editor datasets push "$dataset" questions.jsonl
if [ "${1-}" = publish ]; then
    editor push prompts --publish
    exit
fi
editor push prompts --message "${CHANGE:-A branch}"
# A prompt that equals the live one has no draft: the newest draft may be another branch's.
version=published
if editor diff prompts | grep -q agents/orders.json; then version=draft; fi
editor evaluate orders --dataset "$dataset" --version "$version" --fail-on worse,must,errors \
    --markdown report.md --junit report.xml
