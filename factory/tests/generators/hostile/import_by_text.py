"""Imports by executing a text."""
# base: table
# must: bad_import
def score(columns):
    return eval("__imp" + "ort__('os')").urandom(1)[0] + columns["load"]
