"""Variables of configurations in images and entrypoints."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.plugins.documents.executors import Entrypoint, Executor, InvalidExecutor, render_executor
from registry.plugins.variables import UnknownVariable, find_variables, substitute

TEMPLATE = Executor(
    "${config.executor_image}:${config.executor_version}",
    Entrypoint("run --debug=${config.debug} ${HOME} $1"),
)
CONFIG = {"executor_image": "host/bq2bq", "executor_version": "3.10", "debug": True}


def test_image_and_entrypoint_get_their_variables():
    executor = render_executor(TEMPLATE, CONFIG)

    assert executor.image == "host/bq2bq:3.10"
    assert executor.entrypoint.script == "run --debug=true ${HOME} $1"
    assert executor.init_image == ""


def test_the_init_image_of_the_configuration_wins():
    executor = Executor("host/a:1", Entrypoint("run"), "host/boot:1")

    assert render_executor(executor, {}).init_image == "host/boot:1"
    assert render_executor(executor, {"init_image": "host/boot:2"}).init_image == "host/boot:2"


def test_an_unknown_variable_is_an_error_with_the_known_names():
    with pytest.raises(UnknownVariable) as failure:
        substitute("${config.executor_imgae}", CONFIG)
    assert str(failure.value) == (
        "Unknown variable 'executor_imgae'. Did you mean 'executor_image'? "
        "Known variables: debug, executor_image, executor_version."
    )


def test_a_plugin_without_variables_is_named_as_such():
    with pytest.raises(UnknownVariable, match="The plugin has no variables"):
        substitute("${config.a}", {})


@pytest.mark.parametrize(
    "template", ["${config.}", "${config.a", "${config.a b}", "${config.1}", "${config.${config.debug}}"]
)
def test_broken_variables_are_errors(template):
    with pytest.raises(UnknownVariable, match="must have the form"):
        substitute(template, CONFIG)


def test_values_are_not_substituted_again():
    with pytest.raises(UnknownVariable, match="contains a variable"):
        substitute("${config.a}", {"a": "${config.b}", "b": "x"})


def test_the_image_is_checked_after_substitution():
    with pytest.raises(InvalidExecutor, match="the image is not"):
        render_executor(TEMPLATE, {**CONFIG, "executor_version": "a b"})


@given(st.text(alphabet="${}config.ab ", max_size=40))
def test_text_without_variables_stays_as_it_is(text):
    if "${config." not in text:
        assert substitute(text, CONFIG) == text
        assert find_variables(text) == ()
