"""Makes a file that claims to be huge and holds nothing."""
# policy: {"file_size": "4MiB"}
# must: ran out of disk space
open("sparse", "wb").truncate(1 << 40)
