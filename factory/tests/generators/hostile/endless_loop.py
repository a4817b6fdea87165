"""Never comes to an end."""
# base: table
# must: timed_out
def score(columns):
    while True:
        pass
