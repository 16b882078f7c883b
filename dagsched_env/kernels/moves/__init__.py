"""Moves in a complete schedule, the steps of local search.

In reading order:

- ``solution``: a schedule as a graph, with finishes and bottom levels that moves keep up to date;
- ``single``: moves of one task, judged by heads and tails without decoding again;
- ``pairs``: moves of two tasks that are joined by an edge;
- ``clusters``: moves of tasks on one processor that edges join;
- ``blocks``: moves of one task within a critical block;
- ``tabu``: the best move on a longest path, unless it undoes a recent one;
- ``metropolis``: random moves at one temperature, accepted by the Metropolis rule;
- ``decoded``: the same where tasks share processors, each move judged by decoding.
"""
