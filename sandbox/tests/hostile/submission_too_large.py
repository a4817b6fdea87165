"""Submits more than anybody reads."""
# submission: at most 1MiB are read
open("submission.csv", "wb").write(bytes(2 << 20))
