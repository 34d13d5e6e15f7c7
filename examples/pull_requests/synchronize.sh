#!/bin/sh
# Commit the changes published in the studio, and pull the commits of others.
#
#     ./synchronize.sh [FOLDER OF THE OVERRIDES] [BRANCH OF THE REMOTE]
#
# The service continues to serve from this checkout. Changes of both sides are merged only if git can merge them;
# otherwise the served files stay unchanged, a branch has the commit, and the exit code is 1.
set -eu
folder=${1:-service/editor}
branch=${2:-main}
published=published-in-the-studio

git() { command git -c user.name='The studio' -c user.email=studio@localhost "$@"; }

mkdir -p "$folder"
git add --all -- "$folder"
git diff --cached --quiet -- "$folder" || git commit --quiet --message 'Published in the studio' -- "$folder"

git fetch --quiet origin "$branch"
if ! git merge-tree --write-tree HEAD FETCH_HEAD >/dev/null; then
    git push --quiet --force origin "HEAD:refs/heads/$published"
    echo "Others changed what was published here, too: merge the branch $published into $branch." >&2
    exit 1
fi
git merge --quiet --no-edit FETCH_HEAD
git push --quiet origin "HEAD:refs/heads/$branch"
