"""The types of generated packages accept what JSON Schema accepts: scored by its own test suite."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from packages import Packages, same
from pydantic import ValidationError
from suite import DIALECTS, Group, groups

#: Least share of right verdicts, in percent.
BARS = {"A": 100.0, "B": 99.0, "C": 90.0}


def accepts(params: Any, value: Any) -> bool:
    """The verdict, which has to be the same for a value and for its text."""
    verdicts = []
    for validate, given in ((params.model_validate, value), (params.model_validate_json, json.dumps(value))):
        try:
            validate(given)
            verdicts.append(True)
        except ValidationError:
            verdicts.append(False)
    assert verdicts[0] == verdicts[1], f"as a value {verdicts[0]}, as text {verdicts[1]}"
    return verdicts[0]


class Score:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def judge(self, group: Group, packages: Packages, name: str) -> None:
        before = len(self.wrong)
        try:
            params = packages.module(name).Params
        except Exception as error:
            self.counts["not imported"] += 1
            self.wrong += [f"{group.name}: {type(error).__name__}: {error}"] * len(group.cases)
            self.counts["cases"] += len(group.cases)
            self.counts["groups"] += 1
            return
        for case in group.cases:
            kind = "valid" if case.valid else "invalid"
            self.counts["cases"] += 1
            self.counts[kind] += 1
            try:
                right = accepts(params, case.value) == case.valid
            except Exception as error:
                right, kind = False, f"{kind}, {type(error).__name__}: {error}"
            if not right:
                self.wrong.append(f"{group.name}: {case.description} ({kind})")
                continue
            self.counts[f"{kind} right"] += 1
            if case.valid:
                back = params.model_validate(case.value).to_arguments()
                self.counts["round trips"] += same(back, case.value)
                if not same(back, case.value):
                    self.wrong.append(f"{group.name}: {case.description}: comes back as {back}")
        self.counts["groups"] += 1
        self.counts["groups right"] += len(self.wrong) == before

    def line(self) -> str:
        c = self.counts
        right = c["valid right"] + c["invalid right"]
        return (
            f"{right} of {c['cases']} verdicts right ({100 * right / c['cases']:.2f} %), "
            f"valid {c['valid right']}/{c['valid']}, invalid {c['invalid right']}/{c['invalid']}, "
            f"groups {c['groups right']}/{c['groups']}, round trips {c['round trips']}/{c['valid right']}, "
            f"not imported {c['not imported']}"
        )


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Score]:
    packages = Packages(tmp_path_factory.mktemp("suite"))
    by_name: dict[str, Group] = {}
    requests = []
    for dialect in DIALECTS:
        server = dialect.replace("-", "_")
        tools = []
        for number, group in enumerate(groups(dialect)):
            by_name[f"{server}.g{number}"] = group
            tools.append({"name": f"g{number}", "description": group.name, "inputSchema": group.schema})
        requests.append({"server": server, "tools": tools})
    answers = packages.generate(*requests)
    assert sum(len(answer["modules"]) for answer in answers) == len(by_name)
    scores = {tier: Score() for tier in "ABCX"}
    for name, group in by_name.items():
        scores[group.tier].judge(group, packages, name)
    return scores


@pytest.mark.parametrize("tier", list(BARS))
def test_verdicts(tier: str, scores: dict[str, Score], record_testsuite_property: Any) -> None:
    score = scores[tier]
    print(f"\nscore: JSON Schema Test Suite, tier {tier}: {score.line()}")
    for sentence in score.wrong[:40]:
        print("  wrong:", sentence)
    right = score.counts["valid right"] + score.counts["invalid right"]
    assert 100 * right / score.counts["cases"] >= BARS[tier]
    assert score.counts["not imported"] == 0
    assert score.counts["round trips"] == score.counts["valid right"]


def test_that_it_is_the_whole_suite(scores: dict[str, Score]) -> None:
    """A suite that shrank would be easier to pass."""
    cases = {tier: score.counts["cases"] for tier, score in scores.items()}
    print(f"\nscore: JSON Schema Test Suite: cases by tier {cases}")
    assert cases["A"] >= 2200
    assert cases["B"] >= 400
    assert cases["C"] >= 30
    assert cases["X"] <= 120
    assert scores["X"].counts["not imported"] == 0
