#!/bin/sh
# Files are moved to trash/, not deleted. Exit 2 blocks the call, with the words on stderr as the reason.
case "$(cat)" in
  *'"command":"rm '*) echo "move it to trash/ instead" >&2; exit 2 ;;
esac
