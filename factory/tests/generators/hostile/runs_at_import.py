"""Does its work when it is imported."""
# base: table
# must: bad_form
for number in range(3):
    print(number)
