#!/bin/bash
# TURNS: turns at most; without it, what `posttrain react` takes by default.
# TOKENS: tokens read and written, at most; without it, what the gateway allows.
exec posttrain react ${TURNS:+--turns "$TURNS"} ${TOKENS:+--tokens "$TOKENS"}
