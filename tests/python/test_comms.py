"""Comms, both ways, with buffers."""

from __future__ import annotations

from harness import Kernel

TARGET = """
from comm import get_comm_manager
seen = []
def opened(comm, message):
    seen.append(('open', message['content']['data'], [bytes(b) for b in message['buffers']]))
    @comm.on_msg
    def received(message):
        seen.append(('msg', message['content']['data'], [bytes(b) for b in message['buffers']]))
        print('got it')
        comm.send({'echo': message['content']['data']}, buffers=message['buffers'])
    comm.on_close(lambda message: seen.append(('close', message['content']['data'])))
get_comm_manager().register_target('test', opened)
"""


def test_the_host_opens(any_kernel: Kernel) -> None:
    any_kernel.run(TARGET)
    any_kernel.send("comm_open", {"comm_id": "c1", "target_name": "test", "data": {"a": 1}}, buffers=[b"\x00\xff"])
    message = any_kernel.send("comm_msg", {"comm_id": "c1", "data": {"b": 2}}, buffers=[b"x" * 100_000, b""])
    assert any_kernel.ask("comm_info_request")["comms"] == {"c1": {"target_name": "test"}}
    any_kernel.send("comm_close", {"comm_id": "c1", "data": {}})
    result = any_kernel.run("print([kind for kind, *_ in seen], seen[0][2], len(seen[1][2][0]))")
    assert result.text().endswith("['open', 'msg', 'close'] [b'\\x00\\xff'] 100000\n")
    assert message


def test_answers_belong_to_the_message(any_kernel: Kernel) -> None:
    any_kernel.run(TARGET)
    any_kernel.send("comm_open", {"comm_id": "c1", "target_name": "test", "data": {}})
    sent = any_kernel.send("comm_msg", {"comm_id": "c1", "data": {"b": 2}}, buffers=[b"x" * 100_000, b""])
    result = any_kernel.run("pass")
    echo = result.of("comm_msg")[0]
    assert echo.content == {"comm_id": "c1", "data": {"echo": {"b": 2}}} and echo.buffers == [b"x" * 100_000, b""]
    assert echo.parent["msg_id"] == sent and result.text() == "got it\n"


def test_unknown_targets_are_closed(any_kernel: Kernel) -> None:
    any_kernel.send("comm_open", {"comm_id": "c1", "target_name": "nobody", "data": {}})
    assert any_kernel.run("pass").of("comm_close")[0].content["comm_id"] == "c1"


def test_the_kernel_opens(any_kernel: Kernel) -> None:
    code = "from comm import create_comm\nc = create_comm(target_name='t', data={'x': [1]}, buffers=[memoryview(b'abc')])\nc.close()"
    opened, closed = (m for m in any_kernel.run(code).messages if m.type.startswith("comm_"))
    assert (opened.type, opened.content["target_name"], opened.content["data"]) == ("comm_open", "t", {"x": [1]})
    assert opened.buffers == [b"abc"] and closed.type == "comm_close"


def test_failing_callbacks_do_no_harm(any_kernel: Kernel) -> None:
    any_kernel.run(TARGET + "\nget_comm_manager().register_target('bad', lambda comm, message: 1/0)")
    any_kernel.send("comm_open", {"comm_id": "c1", "target_name": "bad", "data": {}})
    any_kernel.send("comm_msg", {"comm_id": "unknown", "data": {}})
    any_kernel.send("comm_msg", {})
    assert any_kernel.run("print(1)").text() == "1\n"


def test_more_buffers_than_a_message_holds(any_kernel: Kernel) -> None:
    code = "from comm import create_comm\ncreate_comm(target_name='t', buffers=[b'x'] * 300)"
    assert any_kernel.run(code).error == "ValueError"
    assert any_kernel.run("1").value == "1"


def test_ipywidgets(any_kernel: Kernel) -> None:
    assert not any_kernel.run("import ipywidgets as w").error
    result = any_kernel.run("s = w.IntSlider(value=3)\nseen = []\ns.observe(lambda c: seen.append(c.new), 'value')\ns")
    comm_id = any_kernel.run("print(s.comm.comm_id)").text().strip()
    assert comm_id in [message.content["comm_id"] for message in result.of("comm_open")]
    assert (
        result.of("execute_result")[0].content["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]
        == comm_id
    )
    any_kernel.send(
        "comm_msg", {"comm_id": comm_id, "data": {"method": "update", "state": {"value": 7}, "buffer_paths": []}}
    )
    assert any_kernel.run("print(s.value, seen)").text() == "7 [7]\n"
    output = any_kernel.run("o = w.Output()\nwith o: print('into the widget')\nprint('after')")
    assert output.text().endswith("after\n")
