#!/bin/sh
# Make sure that tmux and git are here: installed where root with apt allows it, else named with the command to type.
set -eu

for program in tmux git; do
    command -v "$program" >/dev/null 2>&1 && continue
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "installing $program"
        apt-get install -y -qq "$program" >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq "$program"; } >/dev/null
    elif command -v apt-get >/dev/null 2>&1; then
        echo "herdr needs $program. Type: sudo apt-get install $program" >&2
        exit 1
    elif command -v brew >/dev/null 2>&1; then
        echo "herdr needs $program. Type: brew install $program" >&2
        exit 1
    else
        echo "herdr needs $program: install it with your system's package manager" >&2
        exit 1
    fi
done
