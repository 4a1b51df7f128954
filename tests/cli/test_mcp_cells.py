"""Long cells of `ipybox mcp`: progress, cancellation, cells that go on after their call."""

from __future__ import annotations

import time

from mcp_client import Client
from program import Program, wait_for

LONG = "import time\nfor i in range(1000):\n    print('step', i)\n    time.sleep(0.1)"


def test_progress_has_the_output_and_grows(program: Program, era: str) -> None:
    client = Client(program, version=era)
    pending = client.begin_call("execute_ipython_cell", {"code": LONG.replace("1000", "20")}, progress=True)
    answer = client.finish_call(pending, "execute_ipython_cell")
    assert answer.text.endswith("step 19")
    reports = []
    while not client.notifications.empty():
        message = client.notifications.get()
        if message["method"] == "notifications/progress":
            reports.append(message["params"])
    assert reports
    assert all(report["progressToken"] == pending.id for report in reports)
    assert [r["progress"] for r in reports] == sorted({r["progress"] for r in reports})
    assert "step 0" in "".join(report["message"] for report in reports)
    assert client.close() == 0


def test_without_a_token_there_is_no_progress(program: Program, era: str) -> None:
    client = Client(program, version=era)
    client.run("import time\nfor i in range(3): print(i); time.sleep(0.6)")
    assert client.notifications.empty()
    assert client.close() == 0


def test_a_cancelled_call_ends_its_cell_and_keeps_its_output(program: Program, era: str) -> None:
    client = Client(program, version=era)
    client.run("x = 1")
    pending = client.begin_call("execute_ipython_cell", {"code": LONG}, progress=True)
    wait_for(lambda: "step 0" in client.notifications.get()["params"]["message"])
    client.cancel(pending)
    after = client.run("x")  # waits its turn
    assert after.text.startswith("1\n")
    assert 'cell "2" was cancelled by the client' in after.text
    output = client.call("cell_output", id="2")
    assert output.text.startswith("step 0\n")
    assert output.value["status"] == "cancelled"
    assert not output.failed
    assert pending.answers.empty()
    assert "cancelled by the client" not in client.run("x").text  # told once
    assert client.close() == 0


def test_a_call_returns_early_and_the_cell_goes_on(program: Program, era: str) -> None:
    client = Client(program, version=era)
    begun = time.monotonic()
    answer = client.run(LONG.replace("1000", "20"), wait_seconds=0.5)
    assert time.monotonic() - begun < 15
    assert not answer.failed
    assert answer.value["status"] in ("waiting", "running")
    assert 'wait_for_cell(id="1")' in answer.text
    ended = client.call("wait_for_cell", id="1", wait_seconds=60)
    assert ended.text.endswith("step 19")
    assert ended.value["status"] == "ok"
    assert client.call("wait_for_cell").value == ended.value
    assert client.close() == 0


def test_output_is_read_while_the_cell_runs(program: Program) -> None:
    client = Client(program)
    client.run(LONG, wait_seconds=0)
    wait_for(lambda: "step 3" in client.call("cell_output", id="1").text)
    first = client.call("cell_output", id="1", max_output_chars=100_000)
    wait_for(lambda: client.call("cell_output", id="1").value["to"] > first.value["to"])
    more = client.call("cell_output", id="1", **{"from": first.value["to"]})
    assert more.text.startswith("step ")
    assert first.text.count("step 0\n") == 1
    assert "step 0\n" not in more.text
    assert client.call("interrupt_cell", id="1").value["status"] == "error"
    assert client.close() == 0


def test_an_interrupted_cell_keeps_state_and_output(program: Program, era: str) -> None:
    client = Client(program, version=era)
    client.run("x = 7\n" + LONG, wait_seconds=0)
    wait_for(lambda: "step 0" in client.call("cell_output").text)
    answer = client.call("interrupt_cell", id="1")
    assert "KeyboardInterrupt" in answer.text
    assert answer.text.startswith("step 0")
    assert client.run("x").text == "7"
    assert client.close() == 0


def test_a_waiting_cell_is_taken_out_of_the_queue(program: Program) -> None:
    client = Client(program)
    client.run(LONG, wait_seconds=0)
    wait_for(lambda: "step 0" in client.call("cell_output").text)
    second = client.run("print('never')", wait_seconds=0)
    assert second.value["status"] == "waiting"
    assert "waits for its turn" in second.text
    assert client.call("interrupt_cell", id="2").value["status"] == "cancelled"
    assert "KeyboardInterrupt" in client.call("interrupt_cell", id="1").text
    assert "never" not in client.call("cell_output", id="2").text
    assert client.close() == 0


def test_calls_beside_a_running_cell_are_answered(program: Program, era: str) -> None:
    client = Client(program, version=era)
    pending = client.begin_call("execute_ipython_cell", {"code": "import time; time.sleep(1000)"})
    assert len(client.request("tools/list")["tools"]) == 7
    wait_for(lambda: client.call("cell_output").value["status"] == "running")
    client.call("interrupt_cell")
    assert "KeyboardInterrupt" in client.finish_call(pending, "execute_ipython_cell").text
    assert client.close() == 0


def test_the_latest_cells_are_kept_and_older_ones_forgotten(program: Program) -> None:
    client = Client(program)
    for i in range(1, 18):
        client.run(f"print('cell', {i})")
    assert client.call("cell_output", id="2").text == "cell 2\n"
    forgotten = client.call("cell_output", id="1")
    assert forgotten.failed
    assert "no cell of this id is kept" in forgotten.text
    assert "17" in forgotten.text
    assert client.close() == 0


def test_cells_that_have_not_ended_are_bounded(program: Program) -> None:
    client = Client(program)
    client.run("import time; time.sleep(1000)", wait_seconds=0)
    for _ in range(31):
        assert not client.run("pass", wait_seconds=0).failed
    refused = client.run("pass", wait_seconds=0)
    assert refused.failed
    assert "32 cells run or wait already" in refused.text
    client.call("reset")
    assert client.run("1").text == "1"
    assert client.close() == 0


def test_without_a_cell_there_is_nothing_to_read(program: Program) -> None:
    client = Client(program)
    for tool in ("cell_output", "wait_for_cell", "interrupt_cell"):
        answer = client.call(tool)
        assert answer.failed
        assert "no cell was executed yet" in answer.text
    assert client.close() == 0


def test_a_reset_ends_what_runs(program: Program, era: str) -> None:
    client = Client(program, version=era)
    pending = client.begin_call("execute_ipython_cell", {"code": "print('begun')\nimport time; time.sleep(1000)"})
    wait_for(lambda: "begun" in client.call("cell_output").text)
    assert not client.call("reset").failed
    ended = client.finish_call(pending, "execute_ipython_cell")
    assert ended.failed
    assert ended.text.startswith("begun")
    assert client.close() == 0


def test_the_server_can_answer_early_by_itself(program: Program) -> None:
    client = Client(program, "--wait-seconds", "0.5")
    answer = client.run(LONG)
    assert answer.value["status"] in ("waiting", "running")
    client.call("interrupt_cell")
    assert client.run("1", wait_seconds=60).text == "1"
    assert client.close() == 0
