#!/usr/bin/env bash
# Restart the processes one after the other, without a failed request: each is taken out of nginx, restarted, and put
# back when it is ready. The environment says how, where it is not done as here.
set -euo pipefail

processes=${PROCESSES:-/etc/nginx/editor/processes.conf}
nginx=${NGINX_COMMAND:-nginx}  # with its options, if it has any; nginx itself reads NGINX
nginx_pid=${NGINX_PID:-/run/nginx.pid}
restart=${RESTART:-systemctl restart editor@}  # the port comes behind it

workers() {
    pgrep --parent "$(cat "$nginx_pid")" --full 'worker process$' | sort
}

# Have nginx read the file anew, and wait until no worker is left that takes requests and has read it before.
reload() {
    local old
    old=$(workers)
    $nginx -s reload
    while [[ -z $(workers) || -n $(comm -12 <(echo "$old") <(workers)) ]]; do sleep 0.1; done
}

for port in $(sed -nE 's/^server 127\.0\.0\.1:([0-9]+)\b.*/\1/p' "$processes"); do
    sed -i -E "/:$port\b/ s/( down)*;/ down;/" "$processes"
    reload
    $restart"$port"
    until curl -fsS -o /dev/null "http://127.0.0.1:$port/readyz" 2>/dev/null; do sleep 0.1; done
    sed -i -E "/:$port\b/ s/( down)+;/;/" "$processes"
    reload
done
