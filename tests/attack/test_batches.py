"""Files of batches of every damage, and answers of endpoints with numbers that are none."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from figlang.errors import FiglangError
from figlang.models.served import batch, chatting, cost, spans
from figlang.models.served.chatting import unspoken
from figlang.models.served.store import Call, Store
from tests.attack import damage
from tests.attack.attacker import MODULES
from tests.processes import forks, preload

CALLS = [
    Call("chat/completions", {"model": "m", "messages": [{"role": "user", "content": str(number)}]})
    for number in range(3)
]
GOOD = {"choices": [{"message": {"content": "A"}}]}
HUGE = 10**400  # JSON has it, a float does not


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    preload(*MODULES)


def result(call: Call, body: Any = GOOD, status: Any = 200, **more: Any) -> str:
    row = {"custom_id": call.key, "response": {"status_code": status, "body": body}, **more}
    return f"{json.dumps(row, ensure_ascii=False)}\n"


def read(folder: Path) -> tuple[int, list[str]]:
    with Store(folder / "store" / "answers.jsonl") as store:
        return batch.read(folder, CALLS, store, unspoken)


# Bodies that are no replies. None of them may be stored, for a stored answer is not asked for again.
USELESS: dict[str, Any] = {
    "choices a word": {"choices": "x"},
    "choices of numbers": {"choices": [1]},
    "choices empty": {"choices": []},
    "a choice without a message": {"choices": [{}]},
    "a message a list": {"choices": [{"message": [1]}]},
    "content a number": {"choices": [{"message": {"content": 7}}]},
    "a page": {"error": "<!DOCTYPE html>"},
}


@pytest.mark.parametrize("name", USELESS)
def test_what_is_no_reply_is_told_and_not_stored(tmp_path: Path, name: str) -> None:
    (tmp_path / "results.jsonl").write_text(result(CALLS[0], USELESS[name]) + result(CALLS[1]))
    stored, failed = read(tmp_path)
    assert (stored, len(failed)) == (1, 1)
    assert failed[0].startswith("results.jsonl line 1: ")


def test_other_ids_are_left_and_of_two_results_the_first_answer_counts(tmp_path: Path) -> None:
    other = {"choices": [{"message": {"content": "B"}}]}
    strange = Call("chat/completions", {"messages": []})
    lines = [result(strange), result(CALLS[0]), result(CALLS[0], other), result(CALLS[1], {}, 500)]
    (tmp_path / "results.jsonl").write_text("".join([*lines, result(CALLS[1], other)]))
    stored, failed = read(tmp_path)
    assert (stored, failed) == (2, []), "the request that failed was answered later"
    with Store(tmp_path / "store" / "answers.jsonl") as store:
        assert store[CALLS[0]] == GOOD
        assert store[CALLS[1]] == other
        assert CALLS[2] not in store


def test_separators_within_a_text_end_no_line(tmp_path: Path) -> None:
    body = {"choices": [{"message": {"content": "A\u2028B\x85C\x0cD"}}]}
    (tmp_path / "results.jsonl").write_text(result(CALLS[0], body), encoding="utf-8")
    assert read(tmp_path) == (1, [])


@pytest.mark.parametrize("kind", [kind for kind in damage.ANY | damage.JSON if kind != "missing"])
def test_a_damaged_file_is_named(tmp_path: Path, kind: str) -> None:
    (tmp_path / "results.jsonl").write_text(result(CALLS[0]) * 3)
    (damage.ANY | damage.JSON)[kind]("results.jsonl")(tmp_path)
    if kind == "empty":
        assert read(tmp_path) == (0, [])
    else:
        with pytest.raises(FiglangError, match=r"results\.jsonl"):
            read(tmp_path)


@pytest.mark.parametrize("status", ["200", 200.0, [200], None])
def test_an_odd_status_is_no_success(tmp_path: Path, status: Any) -> None:
    (tmp_path / "results.jsonl").write_text(result(CALLS[0], GOOD, status))
    if status is None:
        assert read(tmp_path)[0] == 0
    else:
        with pytest.raises(FiglangError, match="line 1 is not a result"):
            read(tmp_path)


def test_results_are_never_deleted_whatever_their_name_is(tmp_path: Path) -> None:
    (tmp_path / "requests-1-done.jsonl").write_text(result(CALLS[0]))
    (tmp_path / "requests-mine.jsonl").write_text("mine\n")
    batch.write(tmp_path, CALLS)
    batch.write(tmp_path, CALLS[1:])
    assert len((tmp_path / "requests-1.jsonl").read_text().splitlines()) == 2
    assert (tmp_path / "requests-mine.jsonl").read_text() == "mine\n"
    (tmp_path / "requests-mine.jsonl").unlink()
    assert read(tmp_path) == (1, [])
    (tmp_path / "requests-1.jsonl").write_text(result(CALLS[1]))
    with pytest.raises(FiglangError, match=r"requests-1\.jsonl is not a file of requests"):
        batch.write(tmp_path, CALLS)
    assert (tmp_path / "requests-1.jsonl").read_text() == result(CALLS[1])


def test_a_secret_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", 'se"cret-value-1')
    told = Call("chat/completions", {"messages": [{"role": "user", "content": 'say se"cret-value-1'}]})
    with pytest.raises(FiglangError, match="request 2 of 2 holds a key") as error:
        batch.write(tmp_path / "batch", [CALLS[0], told])
    assert "cret-value" not in str(error.value)
    assert not (tmp_path / "batch").exists()


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "batch").symlink_to(tmp_path / "outside")
    with pytest.raises(FiglangError, match="is a link"):
        batch.write(tmp_path / "batch", CALLS)
    assert not list((tmp_path / "outside").iterdir())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), HUGE, "x", None, [1], {}])
def test_a_log_probability_that_is_no_number_is_not_believed(value: Any) -> None:
    shown = [{"token": "A", "logprob": -1.0}, {"token": "B", "logprob": value}]
    chat = {"choices": [{"message": {"content": "A"}, "logprobs": {"content": [{"top_logprobs": shown}]}}]}
    assert chatting.first_tokens(chat) == []
    assert chatting.untold(CALLS[0], chat)
    top = {"choices": [{"logprobs": {"top_logprobs": [{"A": -1.0, "B": value}]}}]}
    assert spans.likeliest(top) == []
    prompt = {"choices": [{"logprobs": {"tokens": ["a", " b"], "token_logprobs": [None, value]}}]}
    with pytest.raises(FiglangError, match="no log-probabilities"):
        spans.tokens_of(prompt, "a b")


def test_a_token_of_probability_0_is_left_out() -> None:
    shown = [{"token": "A", "logprob": -1.0}, {"token": "B", "logprob": float("-inf")}]
    chat = {"choices": [{"logprobs": {"content": [{"top_logprobs": shown}]}}]}
    assert chatting.first_tokens(chat) == [("A", -1.0)]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), HUGE, -5, True, "7", [7], None])
def test_odd_counts_of_tokens_are_not_counted(value: Any) -> None:
    answer = {"usage": {"prompt_tokens": value, "completion_tokens": 3, "cost": value}}
    assert cost.usage(answer) == {"tokens_out": 3}


OTHER = [Call("chat/completions", {"model": "n", "messages": [{"role": "user", "content": "other"}]})]


def test_requests_of_another_command_wait_for_their_results(tmp_path: Path) -> None:
    (first,) = batch.write(tmp_path, CALLS)
    before = first.read_bytes()
    with pytest.raises(FiglangError, match="3 requests of another command without results"):
        batch.write(tmp_path, OTHER)
    assert [path.read_bytes() for path in tmp_path.glob("requests-*")] == [before]
    (tmp_path / "results.jsonl").write_text(result(CALLS[0]) + result(CALLS[1], {}, 500))
    with pytest.raises(FiglangError, match="1 request of another command without results"):
        batch.write(tmp_path, OTHER)
    (tmp_path / "results.jsonl").write_text("".join(map(result, CALLS)))
    (path,) = batch.write(tmp_path, OTHER)
    assert [json.loads(text)["custom_id"] for text in path.read_text().splitlines()] == [OTHER[0].key]


def test_a_command_replaces_its_own_requests_and_those_that_are_answered(tmp_path: Path) -> None:
    batch.write(tmp_path, CALLS)
    (path,) = batch.write(tmp_path, CALLS[1:], {call.key for call in CALLS})
    assert len(path.read_text().splitlines()) == 2
    answered = {call.key for call in CALLS}  # their file of results was moved away
    batch.write(tmp_path, OTHER, answered)
    assert len(path.read_text().splitlines()) == 1


@pytest.mark.faults
def test_two_commands_at_once(tmp_path: Path) -> None:
    whole = [Call("chat/completions", {"model": "m", "n": number}) for number in range(3000)]
    parts = [whole[:1500], whole[1500:]]
    writers = [forks.Process(target=_writing, args=(tmp_path / "batch", part)) for part in parts]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(int(writer.exitcode or 0) for writer in writers) == [0, 3]
    (path,) = (tmp_path / "batch").glob("requests-*.jsonl")
    keys = [json.loads(text)["custom_id"] for text in path.read_text().splitlines()]
    assert keys in [[call.key for call in part] for part in parts]


def _writing(folder: Path, calls: list[Call]) -> None:
    try:
        batch.write(folder, calls)
    except FiglangError as error:
        raise SystemExit(3 if "another" in str(error) else 4) from error


class Killed(BaseException):
    """The end of a process, after which it changes no file."""


def dying(monkeypatch: pytest.MonkeyPatch, steps: int) -> list[str]:
    """Let so many changes of files happen, and none after them. Returns what is done, as it grows."""
    done: list[str] = []

    def counted(name: str) -> Callable[..., Any]:
        whole = getattr(os, name)

        def act(*arguments: Any, **more: Any) -> Any:
            if len(done) == steps:
                raise Killed
            found = whole(*arguments, **more)
            done.append(name)
            return found

        return act

    for name in ("write", "rename", "replace", "unlink"):
        monkeypatch.setattr(os, name, counted(name))
    return done


def test_a_kill_at_any_step_between_results_and_requests_loses_nothing(tmp_path: Path) -> None:
    paid = result(CALLS[0]) + result(CALLS[1])
    most = 100
    for steps in range(most):
        folder = tmp_path / str(steps)
        batch.write(folder, CALLS)
        (folder / "results.jsonl").write_text(paid)
        with pytest.MonkeyPatch.context() as patch, suppress(Killed):
            done = dying(patch, steps)
            go_on(folder)
        ended = len(done) < steps
        for again in (False, True):
            if again:
                go_on(folder)
            assert (folder / "results.jsonl").read_text() == paid
            asked = {
                json.loads(text)["custom_id"]
                for path in folder.glob("requests-*.jsonl")
                for text in path.read_text().splitlines()
            }
            with Store(folder / "store" / "answers.jsonl") as store:
                assert not [call for call in CALLS if call.key not in asked and call not in store]
                assert store.damaged == 0
        assert asked == {CALLS[2].key}
        if ended:
            break
    assert 3 < steps < most, "two answers and the requests at least"


def go_on(folder: Path) -> None:
    """A command that reads results and writes the requests that are left."""
    with Store(folder / "store" / "answers.jsonl") as store:
        batch.read(folder, CALLS, store, unspoken)
        left = [call for call in CALLS if call not in store]
        batch.write(folder, left, {call.key for call in CALLS})
