"""Stderr while a runtime builds: kept clean, given back, whoever builds meanwhile."""

from __future__ import annotations

import os
import threading

import pytest

from clarray._engine.runtime.silence_build_output import silence_build_output


def test_chatter_goes_and_the_rest_stays(capfd: pytest.CaptureFixture[str]) -> None:
    with silence_build_output():
        os.write(2, b"1 warning generated.\nsomething else\n")
        assert capfd.readouterr().err == ""
    assert capfd.readouterr().err == "something else\n"


def test_builds_of_two_threads_that_overlap_give_it_back(capfd: pytest.CaptureFixture[str]) -> None:
    began, end = threading.Event(), threading.Event()

    def build() -> None:
        with silence_build_output():
            began.set()
            end.wait(10)

    thread = threading.Thread(target=build)
    with silence_build_output():
        thread.start()
        began.wait(10)
        os.write(2, b"2 errors generated.\nearly\n")
    end.set()
    thread.join()
    os.write(2, b"late\n")
    assert capfd.readouterr().err == "early\nlate\n"
