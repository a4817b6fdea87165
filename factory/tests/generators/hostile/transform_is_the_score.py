"""Returns the score as a transform."""
# base: table
# must: transform_is_score
def transforms(columns, items):
    return np.column_stack([np.tanh(score(columns)), parts(columns)])
