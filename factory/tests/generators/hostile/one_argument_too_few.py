"""Has a function that cannot be called as agreed."""
# base: table
# must: bad_form
def columns(n):
    return {}
