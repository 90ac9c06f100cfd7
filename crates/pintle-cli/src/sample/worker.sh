#!/bin/sh
# A worker: one process for many events. A line of JSON comes in with an id, a line goes out with the same id. What
# `result` may say is what a hook may say on stdout; `null` allows.
while IFS= read -r event; do
  id=$(printf '%s' "$event" | sed 's/^{"id":\([0-9]*\).*/\1/')
  # What the tool gets, without the names of the folder and the session.
  case "${event#*'"toolInput":'}" in
    *production*) result='{"continue": false, "reason": "production is off limits"}' ;;
    *) result=null ;;
  esac
  printf '{"id": %s, "result": %s}\n' "$id" "$result"
done
