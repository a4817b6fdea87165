"""Solver `constant`: the best constant for the metric that the page names."""


def best_constant():
    load()
    constant()


solve_by(best_constant)
