"""Plans a system with the CP-SAT solver of OR-tools.

    python3 -m pip install ortools
    python3 cp_sat.py < question.json

The question has `pcpus`, `vcpus` (of each VM), `period_ns` (of all VCPUs), and `vms`: for each VM the
WCET and the period of each task, the highest priority first. The answer has `vcpus` (null if no plan was
found with this effort) and `time_ns`, the processor time of model and solver.

The model is what a textbook leads to: budgets are a number of equal parts of the period; a task is in
time if, at one of some times up to its deadline, what it and the tasks above on its VCPU request is at
most what the VCPU has been supplied in the worst case (a periodic resource); budgets of a PCPU add up to
at most its period. The sum of all budgets is the least that is found.
"""

import json
import sys
import time

from ortools.sat.python import cp_model

# Budgets are multiples of a part of the period.
PARTS = 40
# Most times at which the requests of a task are compared with the supply.
TIMES = 24
# Effort of the solver, in its deterministic time: the answer is the same on each machine, however busy.
EFFORT = 20.0
# Times in the model are multiples of this.
UNIT_NS = 1_000


def supply(budget, period, window):
    """Least supply of a periodic resource in a window (Shin and Lee, RTSS 2003)."""
    gap = period - budget
    after = window - gap
    if after < 0:
        return 0
    return after // period * budget + max(0, after % period - gap)


def times(tasks, index):
    """Times up to the deadline at which requests of tasks above change."""
    deadline = tasks[index][1]
    points = {deadline}
    for _, period in tasks[:index]:
        points.update(range(period, deadline + 1, period))
    points = sorted(points)
    # The last ones have the most supply.
    return points[-TIMES:]


def model_of(question):
    period = question["period_ns"] // UNIT_NS
    model = cp_model.CpModel()
    vcpus, on_pcpu = [], [[] for _ in range(question["pcpus"])]
    for vm, tasks in enumerate(question["vms"]):
        tasks = [(-(-wcet // UNIT_NS), length // UNIT_NS) for wcet, length in tasks]
        count = question["vcpus"]
        has = [[model.new_bool_var("") for _ in range(count)] for _ in tasks]
        for row in has:
            model.add_exactly_one(row)
        for vcpu in range(count):
            level = model.new_int_var(0, PARTS, "")
            own = [row[vcpu] for row in has]
            supplied = {}
            for index in range(len(tasks)):
                points = times(tasks, index)
                met = [model.new_bool_var("") for _ in points]
                model.add_bool_or(met).only_enforce_if(own[index])
                for point, is_met in zip(points, met):
                    if point not in supplied:
                        values = [supply(part * period // PARTS, period, point) for part in range(PARTS + 1)]
                        supplied[point] = model.new_int_var(0, max(values), "")
                        model.add_element(level, values, supplied[point])
                    requests = tasks[index][0] + sum(
                        -(-point // length) * wcet * own[above]
                        for above, (wcet, length) in enumerate(tasks[:index])
                    )
                    model.add(requests <= supplied[point]).only_enforce_if(is_met)
            # No less than the utilisation.
            load = sum(wcet * 1_000_000 // length * own[task] for task, (wcet, length) in enumerate(tasks))
            model.add(load * PARTS <= 1_000_000 * level)
            places = [model.new_bool_var("") for _ in on_pcpu]
            model.add_exactly_one(places)
            for place, members in zip(places, on_pcpu):
                part = model.new_int_var(0, PARTS, "")
                model.add(part == level).only_enforce_if(place)
                model.add(part == 0).only_enforce_if(~place)
                members.append(part)
            vcpus.append((vm, level, own, places))
    for members in on_pcpu:
        model.add(sum(members) <= PARTS)
    model.minimize(sum(level for _, level, _, _ in vcpus))
    return model, vcpus


def main():
    question = json.load(sys.stdin)
    start = time.process_time_ns()
    model, vcpus = model_of(question)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = EFFORT
    found = solver.solve(model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    answer = None
    if found:
        answer = []
        for vm, level, own, places in vcpus:
            tasks = [task for task, has in enumerate(own) if solver.value(has)]
            if tasks:
                budget = solver.value(level) * question["period_ns"] // PARTS
                pcpu = [solver.value(place) for place in places].index(1)
                answer.append({"vm": vm, "tasks": tasks, "budget_ns": budget, "pcpu": pcpu})
    json.dump({"vcpus": answer, "time_ns": time.process_time_ns() - start}, sys.stdout)


if __name__ == "__main__":
    main()
