#!/bin/sh
# Makes plugin.wasm, in an environment with requirements.txt. WASI is replaced by stubs: a plugin has no files, network or clock.
exec componentize-py --quiet --wit-path plugin.wit --world plugin componentize --stub-wasi main --output plugin.wasm
