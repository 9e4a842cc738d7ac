"""
Physics: aiming at a planet
===========================

A probe flies past a star and a planet that circles it. The flight is a ``scan`` of leapfrog steps, and the gradient
of where it ends with respect to how it started finds the start that hits a given point.
"""

import matplotlib.pyplot as plt
import numpy as np

import theano
import theano.tensor as T

steps, dt = 400, 0.01
start = np.array([-2.0, 0.0])
goal = np.array([1.5, 1.2])


def planet(time):
    """Its place at a time, on a circle of radius 1."""
    return T.stack([T.cos(time), T.sin(time)])


def pull(place, time):
    """The acceleration by both bodies, softened near them."""
    force = -place / (T.sqr(place).sum() + 0.05) ** 1.5
    offset = place - planet(time)
    return force - 0.3 * offset / (T.sqr(offset).sum() + 0.05) ** 1.5


def leapfrog(time, place, speed):
    """One step."""
    speed = speed + 0.5 * dt * pull(place, time)
    place = place + dt * speed
    return place, speed + 0.5 * dt * pull(place, time + dt)


v0, times = T.dvector("v0"), T.arange(steps) * dt
(places, _), _ = theano.scan(leapfrog, sequences=times, outputs_info=[T.constant(start), v0])
miss = places[-1] - T.constant(goal)
shoot = theano.function([v0], [places, miss, T.jacobian(miss, v0)])

speed, flights = np.array([0.8, 0.9]), []
for _ in range(30):
    path, error, slope = shoot(speed)
    flights.append(path)
    if abs(error).max() < 1e-10:
        break
    change = -np.linalg.solve(slope, error)
    speed = speed + change * min(1, 0.3 / np.linalg.norm(change))
print(f"{len(flights)} flights, the last misses by {np.linalg.norm(error):.1e}")
assert np.linalg.norm(error) < 1e-6

# %%
# All flights, the last one dark.

fig, axis = plt.subplots(figsize=(4.5, 4))
for path in flights[:-1]:
    axis.plot(*path.T, color="0.8", lw=0.8)
axis.plot(*flights[-1].T, color="k")
angle = np.linspace(0, steps * dt, 100)
axis.plot(np.cos(angle), np.sin(angle), ":")
axis.plot(0, 0, "o", ms=10)
axis.plot(*goal, "r*")
axis.set_aspect("equal")
