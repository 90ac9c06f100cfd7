#!/bin/sh
# Blocks every command that names production. The call comes as JSON on stdin; stderr is the reason of a block.
if grep -q '"toolInput":.*prod'; then
  echo "production is off limits; use staging" >&2
  exit 2
fi
