"""Schedules that an order and an assignment describe.

In reading order:

- ``decoding``: from an order and an assignment to start and finish times;
- ``execution``: a schedule executed with durations that differ from the plan;
- ``crossover``: the operators of the genetic algorithm on orders and assignments.
"""
