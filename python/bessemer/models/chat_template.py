"""Chat templates: a conversation as the text that a model was trained on.

A model file carries its template as Jinja2 source (``tokenizer.chat_template``). It comes from
whoever made the file, so it runs in Jinja2's immutable sandbox: it sees the conversation and a few
functions, changes nothing, cannot reach the interpreter, and writes a bounded text. (It may still
waste time: a template that loops for long is not stopped.) What templates expect to find is what
Hugging Face's ``apply_chat_template`` gives them:
https://huggingface.co/docs/transformers/chat_templating_writing
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from bessemer.errors import InvalidArgumentError, ParseError, UnsupportedError
from bessemer.frontends.gguf import GgufFile

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.nodes import Node
    from jinja2.parser import Parser

Message = Mapping[str, Any]

# A sequence that a template repeats may not grow beyond this many elements: `"a" * 10**12` in a
# hostile file must be an error, not the end of the machine's memory.
_MAX_REPEATED = 1 << 20
_MAX_TEXT = 1 << 26  # characters that a rendered conversation may have


class _TemplateRaised(Exception):
    """What a template refused by `raise_exception`."""


class ChatTemplate:
    """A compiled template. Immutable; safe to use from any thread.

    Args:
        source: Jinja2 text.
        bos_token, eos_token: what the template's variables of these names hold.
        origin: names the template in errors.

    Raises:
        ParseError: the source is not Jinja2.
    """

    def __init__(
        self,
        source: str,
        *,
        bos_token: str = "",
        eos_token: str = "",
        origin: str = "the chat template",
    ) -> None:
        self.source = source
        self._origin = origin
        self._variables = {"bos_token": bos_token, "eos_token": eos_token}
        self._template = _compile(source, origin)

    @classmethod
    def from_gguf(cls, file: GgufFile, *, bos_token: str = "", eos_token: str = "") -> ChatTemplate:
        """The default template of a model file.

        Raises:
            UnsupportedError: the file has none; the model is no chat model.
            ParseError: it is not Jinja2.
        """
        source = file.metadata.text("tokenizer.chat_template", None)
        if source is None:
            raise UnsupportedError(
                "the model has no chat template (`tokenizer.chat_template`): use a plain prompt",
                [f"in `{file.path}`"],
            )
        return cls(
            source,
            bos_token=bos_token,
            eos_token=eos_token,
            origin=f"the chat template of `{file.path}`",
        )

    def render(
        self,
        messages: Sequence[Message],
        *,
        add_generation_prompt: bool = True,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **variables: Any,
    ) -> str:
        """The text of a conversation, to be encoded with ``special=True``.

        The text usually begins with the beginning-of-sequence token where the model has one: encode
        it without adding another.

        Args:
            messages: each with a ``role`` (non-empty ``str``) and a ``content``: a ``str``, a list
                of parts (mappings with a ``type``), or ``None`` where there are ``tool_calls``.
                Other keys are handed to the template.
            add_generation_prompt: end with the words that make the model answer.
            tools, variables: handed to the template.

        Raises:
            InvalidArgumentError: a message of another form; or the template refuses the
                conversation (the message says why), uses a variable that is not there, or fails.
            UnsupportedError: the template does what the sandbox forbids.
        """
        checked = _checked(messages)
        from jinja2.exceptions import SecurityError, TemplateError

        given = {**self._variables, **variables}
        try:
            pieces = self._template.generate(
                messages=checked, add_generation_prompt=add_generation_prompt, tools=tools, **given
            )
            return self._joined(pieces)
        except _TemplateRaised as refusal:
            raise InvalidArgumentError(f"{self._origin} refuses: {refusal}") from None
        except SecurityError as error:
            raise UnsupportedError(f"{self._origin} does what is not allowed: {error}") from error
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise InvalidArgumentError(
                f"{self._origin} fails on this conversation: {error}"
            ) from error
        except (RecursionError, MemoryError) as error:
            raise UnsupportedError(
                f"{self._origin} needs too much: {type(error).__name__}"
            ) from error

    def _joined(self, pieces: Iterable[str]) -> str:
        parts: list[str] = []
        length = 0
        for piece in pieces:
            parts.append(piece)
            length += len(piece)
            if length > _MAX_TEXT:
                raise UnsupportedError(f"{self._origin} writes more than {_MAX_TEXT} characters")
        return "".join(parts)


def _checked(messages: Sequence[Message]) -> list[dict[str, Any]]:
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Sequence):
        raise InvalidArgumentError(
            f"messages is {type(messages).__name__}, expected a list of messages"
        )
    if not messages:
        raise InvalidArgumentError("messages is empty, expected at least one message")
    checked = []
    for i, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise InvalidArgumentError(
                f"message {i} is {type(message).__name__}, expected a mapping with `role` and "
                "`content`"
            )
        role = message.get("role")
        if not isinstance(role, str) or not role:
            raise InvalidArgumentError(f"message {i} has the role {role!r}, expected a string")
        _check_content(i, message)
        checked.append(dict(message))
    return checked


def _check_content(i: int, message: Message) -> None:
    content = message.get("content")
    if isinstance(content, str):
        return
    if content is None and message.get("tool_calls"):
        return
    if isinstance(content, Sequence) and not isinstance(content, bytes):
        for part in content:
            if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
                raise InvalidArgumentError(
                    f"message {i} has the content part {part!r:.60}, expected a mapping with a "
                    "`type`"
                )
        return
    given = f"is {type(content).__name__}" if "content" in message else "is missing"
    raise InvalidArgumentError(
        f"the content of message {i} {given}, expected a string or a list of parts"
    )


def _raise_exception(message: object) -> NoReturn:
    raise _TemplateRaised(str(message))


def _strftime_now(form: str) -> str:
    return datetime.datetime.now().strftime(form)


def _tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    # Jinja2's own filter escapes for HTML, which no model was trained on.
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _compile(source: str, origin: str) -> Template:
    # Imported here: who brings a plain prompt needs no templates.
    from jinja2 import TemplateSyntaxError
    from jinja2.exceptions import SecurityError
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """`{% generation %}` marks the assistant's words for training; here it is transparent."""

        tags = {"generation"}  # noqa: RUF012 - Jinja2 declares it so

        def parse(self, parser: Parser) -> list[Node]:
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    class Sandbox(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset(["*", "**"])

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if operator == "**":
                raise SecurityError("`**` in a chat template")
            for repeated, times in ((left, right), (right, left)):
                sized = isinstance(repeated, (str, list, tuple)) and isinstance(times, int)
                if sized and len(repeated) * times > _MAX_REPEATED:
                    raise SecurityError(f"a sequence repeated to over {_MAX_REPEATED}")
            return super().call_binop(context, operator, left, right)

    environment = Sandbox(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols, Generation]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _strftime_now
    try:
        return environment.from_string(source)
    except TemplateSyntaxError as error:
        raise ParseError(
            f"{origin} is not a Jinja2 template: {error.message} in line {error.lineno}"
        ) from error
    except RecursionError as error:
        raise ParseError(f"{origin} is nested too deeply") from error
