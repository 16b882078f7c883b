"""Schedulers against each other.

In reading order:

- ``compare``: makespans of any schedulers on any instances, with tables and tests of significance
- ``runs``: dispatchers on the same runs, with noise, arrivals and outages
- ``page``: a comparison as one HTML page
- ``adversarial``: instances on which one scheduler does badly and another well
"""
