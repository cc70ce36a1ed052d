"""Chat templates: what they see, what they may not do, and what is said about bad ones."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
from bessemer.errors import Error, InvalidArgumentError, ParseError, UnsupportedError
from bessemer.frontends.gguf import GgufFile
from bessemer.models.chat_template import ChatTemplate
from bessemer.models.tokenizer import Tokenizer
from oracles.gguf_writer import write_gguf
from oracles.models import SMOLLM2, model_path

USER = [{"role": "user", "content": "Hi"}]


def render(source: str, messages: Any = USER, **variables: Any) -> str:
    return ChatTemplate(source, bos_token="<s>", eos_token="</s>").render(messages, **variables)


def test_smollm2_conversation() -> None:
    path = model_path(SMOLLM2)
    if path is None:
        pytest.skip("the package of smollm2 is not installed")
    template = Tokenizer.from_gguf(GgufFile(path)).chat_template()
    system = (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
        "<|im_end|>\n"
    )
    asked = system + "<|im_start|>user\nHi<|im_end|>\n"
    assert template.render(USER) == asked + "<|im_start|>assistant\n"
    assert template.render(USER, add_generation_prompt=False) == asked
    told = [{"role": "system", "content": "Be brief."}, *USER]
    assert template.render(told).startswith("<|im_start|>system\nBe brief.<|im_end|>\n")


def test_what_templates_expect_to_find() -> None:
    assert render("{{ bos_token }}{{ eos_token }}") == "<s></s>"
    assert render("{{ strftime_now('%Y') }}") == str(datetime.datetime.now().year)
    assert render("{{ tools | tojson }}", tools=[{"a": "é<&'"}]) == '[{"a": "é<&\'"}]'
    assert render("{{ {'a': 1} | tojson(indent=2) }}") == '{\n  "a": 1\n}'
    assert render("{% for m in messages %}{% break %}x{% endfor %}") == ""
    assert render("{% generation %}a{% endgeneration %}b") == "ab"
    assert render("{{ thinking }}", thinking=True) == "True"
    assert render("{% if true %}\n  a\n  {% endif %}\nb") == "  a\nb"  # blocks leave no lines
    assert render("{{ '-' * 3 }}{{ 2 * 3 }}{{ [0] * 2 }}") == "---6[0, 0]"
    assert render("{{ messages[0].content }}{{ messages[0]['role'] }}") == "Hiuser"


def test_contents_other_than_text() -> None:
    parts = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    assert render("{{ messages[0].content[0].text }}", parts) == "Hi"
    call = [{"role": "assistant", "content": None, "tool_calls": [{"name": "f"}]}]
    assert render("{{ messages[0].tool_calls[0].name }}", call) == "f"


def test_the_conversation_is_not_changed() -> None:
    messages = [{"role": "user", "content": "Hi"}]
    with pytest.raises(UnsupportedError):
        render("{% set _ = messages.append(1) %}", messages)
    with pytest.raises(UnsupportedError):
        render("{% set _ = messages[0].update({'role': 'x'}) %}", messages)
    assert messages == USER


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ raise_exception.__globals__.os }}",
        "{{ (messages | first).__init__() }}",
        "{{ cycler.__init__.__globals__.os }}",
        "{{ 2 ** 100000000 }}",
        "{{ 'a' * 100000000000 }}",
        "{{ 100000000000 * [0] }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    ],
)
def test_what_templates_may_not_do(source: str) -> None:
    with pytest.raises(Error):
        render(source)


def test_a_template_cannot_write_without_end() -> None:
    line = "{{ 'a' * 1000000 }}"
    loop = f"{{% for i in range(99999) %}}{line}{{% endfor %}}"
    with pytest.raises(UnsupportedError, match="writes more than"):
        render(loop)


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("{% if %}", ParseError, "not a Jinja2 template: .* in line 1"),
        ("\n{{ nope( }}", ParseError, "in line 2"),
        ("{% generation %}", ParseError, "not a Jinja2 template"),
        ("{{ 'a' | nofilter }}", ParseError, "nofilter"),
        ("{{ raise_exception('roles must alternate') }}", InvalidArgumentError, "roles must alt"),
        ("{{ nothing.here }}", InvalidArgumentError, "'nothing' is undefined"),
        ("{{ messages[0].content + 1 }}", InvalidArgumentError, "fails on this conversation"),
        ("{{ 1 / 0 }}", InvalidArgumentError, "division by zero"),
        ("(" * 3 + "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", ParseError, "nested too deeply"),
    ],
)
def test_bad_templates(source: str, error: type[Error], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        render(source)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ("Hi", "messages is str, expected a list"),
        ({"role": "user"}, "messages is dict"),
        (None, "messages is NoneType"),
        ([], "messages is empty"),
        (["Hi"], "message 0 is str, expected a mapping"),
        ([{"content": "Hi"}], "message 0 has the role None"),
        ([{"role": "", "content": "Hi"}], "message 0 has the role ''"),
        ([*USER, {"role": "user"}], "the content of message 1 is missing"),
        ([{"role": "user", "content": None}], "the content of message 0 is NoneType"),
        ([{"role": "user", "content": b"Hi"}], "the content of message 0 is bytes"),
        ([{"role": "user", "content": ["Hi"]}], "message 0 has the content part 'Hi'"),
    ],
)
def test_bad_messages(messages: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        render("x", messages)


def test_a_model_without_a_template(tmp_path: Path) -> None:
    file = GgufFile(write_gguf(tmp_path / "plain.gguf", {"general.architecture": "llama"}))
    with pytest.raises(UnsupportedError, match="no chat template"):
        ChatTemplate.from_gguf(file)
