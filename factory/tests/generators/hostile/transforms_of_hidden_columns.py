"""Uses hidden columns as transforms, which solvers do not get."""
# base: picture
# must: raised
def transforms(columns, items):
    return terms(columns["load"], columns["item.stripes"], columns["item.light"])
