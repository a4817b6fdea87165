"""Opens files until there are no descriptors left."""
# policy: {"open_files": 64}
import errno

held = []
try:
    while True:
        held.append(open("/dev/null"))
except OSError as error:
    assert error.errno == errno.EMFILE, error
assert 50 <= len(held) < 64, len(held)
