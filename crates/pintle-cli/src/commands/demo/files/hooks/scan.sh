#!/bin/sh
# Looks through a deploy before it runs. It has two bugs: that is what the demo shows.
case "$(cat)" in
  *'"./deploy.sh --again"'*) while [ ! -e scan.done ]; do sleep 0.1; done ;; # it waits for ever
  *'"./deploy.sh"'*) patterns=$(cat patterns.txt) || exit 1 ;;               # there is no such file
esac
