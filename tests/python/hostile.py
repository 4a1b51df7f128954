"""Cells that do to a kernel what a cell can do: to its loop, its modules, its tasks and contexts, its process.

Each may fail. Behind it a session goes on: a variable is there, code runs, values and output arrive.
"""

from __future__ import annotations

LOOP = {
    "nest": "import nest_asyncio2, asyncio; nest_asyncio2.apply()",
    "nest_and_run": (
        "import nest_asyncio2, asyncio; nest_asyncio2.apply()\n"
        "async def f(): await asyncio.sleep(0.01)\n"
        "for _ in range(3): asyncio.get_event_loop().run_until_complete(f())"
    ),
    "nested_in_await": (
        "import nest_asyncio2, asyncio; nest_asyncio2.apply()\n"
        "async def f(): await asyncio.sleep(0.01)\n"
        "await f(); asyncio.run(f()); await f()"
    ),
    "stop": "import asyncio; asyncio.get_running_loop().stop()",
    "stop_later": "import asyncio; asyncio.get_running_loop().call_later(0.01, asyncio.get_running_loop().stop)",
    "stop_forever": (
        "import asyncio\nloop = asyncio.get_running_loop()\n"
        "def again(): loop.stop(); loop.call_later(0.01, again)\nagain()"
    ),
    "close": "import asyncio; asyncio.get_running_loop().close()",
    "close_later": "import asyncio; asyncio.get_running_loop().call_later(0.01, asyncio.get_running_loop().close)",
    "marked_closed": "import asyncio; asyncio.get_running_loop()._closed = True",
    "selector_closed": "import asyncio; asyncio.get_running_loop()._selector.close()",
    "no_ready": "import asyncio; asyncio.get_running_loop()._ready.clear()",
    "no_ready_list": "import asyncio; asyncio.get_running_loop()._ready = None",
    "run_once": "import asyncio; asyncio.get_running_loop()._run_once = None",
    "run_forever": "import asyncio; asyncio.BaseEventLoop.run_forever = None",
    "no_stop": "import asyncio; asyncio.BaseEventLoop.stop = lambda self: None",
    "no_loop_set": "import asyncio; asyncio.set_event_loop(None)",
    "other_loop_set": "import asyncio; asyncio.set_event_loop(asyncio.new_event_loop())",
    "no_running_loop": "import asyncio; asyncio._set_running_loop(None)",
    "policy": "import asyncio; asyncio.set_event_loop_policy(None)",
    "remove_readers": (
        "import asyncio\nloop = asyncio.get_running_loop()\n"
        "def rob():\n for fd in range(3, 60):\n  try: loop.remove_reader(fd)\n  except Exception: pass\n"
        "loop.call_soon(rob)"
    ),
    "exception_handler": (
        "import asyncio\nloop = asyncio.get_running_loop()\n"
        "def handle(*_): raise SystemExit(3)\nloop.set_exception_handler(handle); loop.call_soon(lambda: 1 / 0)"
    ),
    "factory": "import asyncio; asyncio.get_running_loop().set_task_factory(lambda *_, **__: None)",
    "eager": (
        "import asyncio\nfactory = getattr(asyncio, 'eager_task_factory', None)\n"
        "asyncio.get_running_loop().set_task_factory(factory)"
    ),
    "debug": "import asyncio; asyncio.get_running_loop().set_debug(True)",
}

TASKS = {
    "cancel_all": "import asyncio\nfor task in asyncio.all_tasks(): task.cancel()",
    "cancel_all_in_await": "import asyncio\nfor task in asyncio.all_tasks(): task.cancel()\nawait asyncio.sleep(1)",
    "cancel_all_later": (
        "import asyncio\nloop = asyncio.get_running_loop()\n"
        "loop.call_later(0.01, lambda: [task.cancel() for task in asyncio.all_tasks(loop)])\n"
        "import time; time.sleep(0.02)"
    ),
    "exit_in_a_task": "import asyncio\nasync def f(): raise SystemExit(3)\ntask = asyncio.create_task(f())",
    "interrupt_in_a_callback": (
        "import asyncio\ndef f(): raise KeyboardInterrupt\nasyncio.get_running_loop().call_soon(f)"
    ),
    "base_exception": (
        "import asyncio\nclass Odd(BaseException): pass\ndef f(): raise Odd\nasyncio.get_running_loop().call_soon(f)"
    ),
    "current_task": "import asyncio; asyncio.tasks._current_tasks.clear()",
    "leave_task": "import asyncio; asyncio.tasks._leave_task(asyncio.get_running_loop(), asyncio.current_task())",
    "task_class": "import asyncio; asyncio.Task = asyncio.tasks.Task = asyncio.Future = None",
    "generator_exit": "raise GeneratorExit",
    "stop_iteration": "raise StopIteration",
    "cancelled": "import asyncio; raise asyncio.CancelledError",
    "thread_exit": "import _thread; _thread.interrupt_main()",
    "context": "import contextvars; contextvars.copy_context = None; contextvars.Context = None",
}

MODULES = {
    "json": "import json; json.loads = json.dumps = None",
    "json_mocks": (
        "from unittest import mock\n"
        "mock.patch('json.loads', return_value={}).start(); mock.patch('json.dumps', return_value='{}').start()"
    ),
    "json_decoder": "import json; json._default_decoder = json._default_encoder = None",
    "json_classes": "import json; json.JSONEncoder.encode = json.JSONDecoder.decode = None",
    "time": "import time; time.time = time.monotonic = time.sleep = time.perf_counter = None",
    "frozen_time": "import time; time.time = time.monotonic = time.perf_counter = lambda: 0.0",
    "os": "import os; os.getcwd = os.read = os.write = os.close = os.getpid = os._exit = os.stat = None",
    "environment": "import os; os.environ = {}",
    "select": "import select, selectors; select.poll = select.epoll = selectors.DefaultSelector = None",
    "threading": (
        "import threading\nthreading.Thread = threading.RLock = threading.Lock = threading.current_thread = None\n"
        "threading.get_ident = threading.main_thread = None"
    ),
    "signal": "import signal; signal.signal = signal.pthread_kill = None",
    "socket": "import socket; socket.socket = socket.socketpair = None",
    "struct": "import struct; struct.pack = struct.unpack = struct.unpack_from = None",
    "re": "import re; re.compile = re.match = re.sub = re.search = re.split = None",
    "logging": "import logging; logging.getLogger = logging.Logger.info = logging.root = None",
    "traceback": "import traceback; traceback.format_exception = traceback.extract_tb = traceback.walk_tb = None\n1/0",
    "inspect": "import inspect; inspect.isawaitable = inspect.iscoroutine = inspect.getcoroutinestate = None",
    "ast": "import ast; ast.parse = ast.Module = ast.Interactive = None",
    "uuid": "import uuid; uuid.uuid4 = None",
    "warnings": "import warnings; warnings.warn = warnings.catch_warnings = None; warnings.simplefilter('error')",
    "sys_functions": "import sys; sys.exc_info = sys._getframe = sys.getrecursionlimit = sys.intern = None",
    "sys_modules": "import sys; sys.modules.clear()",
    "sys_finders": "import sys; sys.meta_path.clear(); sys.path_hooks.clear(); sys.path.clear()",
    "streams": "import sys; sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = None",
    "closed_streams": "import sys; sys.stdout.close(); sys.stderr.close()",
    "hooks": "import sys; sys.excepthook = sys.displayhook = sys.unraisablehook = None",
    "recursion": "import sys; sys.setrecursionlimit(90)",
    "traced": "import sys; sys.settrace(lambda *_: 1 / 0); sys.setprofile(None)",
    "profiled": "import sys\ndef profile(*_): raise ValueError\nsys.setprofile(profile)",
    "switch_interval": "import sys; sys.setswitchinterval(1000)",
}

BUILTINS = {
    "print": "import builtins; builtins.print = None",
    "open": "import builtins; builtins.open = builtins.input = None",
    "len": "import builtins; builtins.len = builtins.isinstance = None",
    "str": "import builtins; builtins.str = builtins.list = builtins.dict = builtins.type = None",
    "import": "import builtins; builtins.__import__ = None",
    "compile": "import builtins; builtins.compile = builtins.exec = builtins.eval = None",
    "exceptions": "import builtins; builtins.Exception = builtins.BaseException = builtins.KeyboardInterrupt = None",
    "hasattr": "import builtins; del builtins.hasattr, builtins.getattr, builtins.callable, builtins.super",
    "no_exec": "import builtins; del builtins.exec",
    "no_eval": "import builtins; builtins.eval = None",
    "failing_exec": "import builtins\ndef fail(*_): raise RuntimeError\nbuiltins.exec = builtins.eval = fail",
    "no_setattr": "import builtins; del builtins.setattr",
    "no_repr": "import builtins; del builtins.repr, builtins.id",
    "no_set": "import builtins; del builtins.set, builtins.issubclass",
    "no_key_error": "import builtins; del builtins.KeyError, builtins.SystemExit",
    "no_int": "import builtins; builtins.int = None",
    "shadowed": "str = list = dict = len = print = open = id = type = None",
    "all_of_them": (
        "import builtins\n"
        "for name in list(vars(builtins)):\n"
        "    if not name.startswith('__') and name not in ('setattr', 'vars'): vars(builtins)[name] = None"
    ),
}

#: Takes from a module all that cannot be called.
ROB = """
import {0} as module
for name, value in list(vars(module).items()):
    if not callable(value) and not name.startswith("__") and type(value).__name__ != "module":
        vars(module)[name] = None
"""
ROBBED = (
    "ast",
    "asyncio.base_events",
    "codeop",
    "inspect",
    "IPython.core.compilerop",
    "IPython.core.inputtransformer2",
)
ROBBED += ("linecache", "re", "signal", "socket", "sys", "textwrap", "tokenize")
EMPTIED = ("_weakrefset", "asyncio.events", "codeop", "inspect", "IPython.core.async_helpers", "ipykernel.zmqshell")
EMPTIED += ("json", "linecache", "sys", "tokenize", "traitlets.traitlets")
LOST = ("bdb", "inspect", "json", "linecache", "tokenize")
CONSTANTS = {
    **{f"robbed_{name}": ROB.format(name) for name in ROBBED},
    **{f"emptied_{name}": f"import {name} as module; vars(module).clear()" for name in EMPTIED},
    **{f"lost_{name}": f"import sys, {name}; sys.modules[{name!r}] = None" for name in LOST},
    "deleted": "import signal, json, sys; del signal.SIGINT, sys.modules['json']",
    "address_family": "import socket; socket.AF_UNIX = None",
    "errno": "import errno; vars(errno).clear()",
    "separator": "import os; os.sep = os.curdir = os.linesep = os.path.sep = None",
    "environment_object": "import os; os.environ = None",
    "other_pattern": "import tokenize; tokenize.PseudoToken = '('",
    "version": "import sys; sys.version_info = sys.flags = sys.platform = None",
    "other_modules": "import sys; sys.modules = {}",
}

SET = "import resource; _, hard = resource.getrlimit(resource.RLIMIT_{0}); resource.setrlimit(resource.RLIMIT_{0}, {1})"
LIMITS = {
    f"{name.lower()}_{bound}": SET.format(name, values)
    for name in ("NOFILE", "NPROC", "FSIZE", "DATA", "STACK", "MEMLOCK")
    for bound, values in (("soft", "(0, hard)"), ("hard", "(0, 0)"))
}

DISPLAYS = {
    "huge_integer": "display({'application/json': 10**400, 'text/plain': 'p'}, raw=True)",
    "huge_in_metadata": "display({'text/plain': 'p'}, metadata={'n': 10**400}, raw=True)",
    "deep": "a = 1\nfor _ in range(600): a = [a]\ndisplay({'application/json': a, 'text/plain': 'p'}, raw=True)",
    "deeper": "a = 1\nfor _ in range(900): a = {'a': a}\ndisplay({'text/plain': 'p'}, metadata=a, raw=True)",
    "circular": "a = []; a.append(a); display({'application/json': a}, raw=True)",
    "odd_keys": "display({'application/json': {1: 2, None: 3}, 5: 'x'}, raw=True)",
    "odd_repr": "class Odd:\n    def __repr__(self): raise SystemExit(3)\nOdd()",
    "odd_text": "class Odd(Exception):\n    def __str__(self): raise SystemExit(3)\nraise Odd",
    "surrogates": "display({'text/plain': '\\ud800'}, raw=True); print('\\ud800')",
    "bytes": "display({'text/plain': b'\\xff', 'application/json': b'\\xff'}, raw=True)",
}

SHELL = {
    "callbacks": "get_ipython().events.callbacks = None",
    "failing_callback": "def f(*_): raise SystemExit(3)\nget_ipython().events.register('post_run_cell', f)",
    "transformers": "get_ipython().input_transformers_cleanup.append(lambda lines: 1 / 0)",
    "ast_transformers": "get_ipython().ast_transformers.append(None)",
    "no_namespace": "get_ipython().user_ns.clear()",
    "no_display_hook": "get_ipython().displayhook = None",
    "no_run_cell": "get_ipython().run_cell_async = get_ipython().run_code = None",
    "kernel_gone": "get_ipython().kernel = None",
    "collect": "import gc\nfor found in gc.get_objects():\n    if type(found).__name__ == 'Task': found.cancel()",
}

CELLS = {**LOOP, **TASKS, **MODULES, **BUILTINS, **CONSTANTS, **LIMITS, **DISPLAYS, **SHELL}
PROBES = ("print(state)", "import asyncio; await asyncio.sleep(0); print('awaited')", "6 * 7", "1 / 0", "print(state)")
