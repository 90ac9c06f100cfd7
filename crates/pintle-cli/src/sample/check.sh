#!/bin/sh
# A hook: it gets the call as one JSON object on stdin. Exit 0 allows; anything else blocks, and stderr is the reason.
# JSON on stdout can say more: {"continue": false, "reason": "..."} or {"additionalContext": "..."}.
call=$(cat)
# What the tool gets, without the names of the folder and the session.
input=${call#*'"toolInput":'}
case "$input" in
  *production*) echo "production is off limits" >&2; exit 1 ;;
esac
exit 0
