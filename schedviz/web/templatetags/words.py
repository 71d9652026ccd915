"""Template tags and filters: spans, quantities and the plain words of `schedviz.web.words`."""

from __future__ import annotations

import datetime
import time
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlencode

from django import template
from django.utils.html import format_html

from schedviz.web import permissions, words

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.utils.safestring import SafeString

register = template.Library()
register.filter("span", words.seconds)
register.filter("ms", words.milliseconds)
register.filter("cpu", words.cpu)
register.filter("memory", words.memory)
register.filter("lane_title", words.lane_title)
register.filter("cause_words", words.cause)


@register.filter
def point_words(point: str) -> str:
    return words.POINTS.get(point, "")


@register.filter
def said(place: dict[str, Any]) -> list[tuple[str, str]]:
    """What an audit row holds, as names with words; what is empty is left out."""
    words_of = [
        (name.replace("_", " "), ", ".join(map(str, value)) if isinstance(value, list) else value)
        for name, value in place.items()
    ]
    return [(name, str(value)) for name, value in words_of if value not in ("", None, {})]


Moment: TypeAlias = "float | datetime.datetime | None"


@register.filter
def moment(at: Moment, shape: str = "%H:%M:%S") -> SafeString | str:
    """A moment in UTC, told in the visitor's own time zone by the page's script."""
    return _time(at, "moment", lambda when: when.strftime(shape))


@register.filter
def ago(at: Moment) -> SafeString | str:
    """How long ago, kept up to date by the page's script."""
    return _time(at, "since", lambda when: words.seconds(time.time() - when.timestamp()))


def _time(
    at: Moment, attribute: str, shown: Callable[[datetime.datetime], str]
) -> SafeString | str:
    """attribute: the data- one by which the page's script knows what to do with it."""
    if not at:
        return "–"
    seconds = at.timestamp() if isinstance(at, datetime.datetime) else at
    when = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return format_html(
        '<time datetime="{}" data-{}="{}" title="{} UTC">{}</time>',
        when.isoformat(),
        attribute,
        f"{seconds:.3f}",
        when.strftime("%Y-%m-%d %H:%M:%S"),
        shown(when),
    )


@register.simple_tag(takes_context=True)
def may(context: template.Context, action: str) -> bool:
    """Whether the visitor may do this: `{% may "pod.retry" as may_retry %}`."""
    request = context.get("request")
    return request is not None and permissions.may(request.user, action, context.get("session"))


@register.simple_tag(takes_context=True)
def role_name(context: template.Context) -> str:
    return permissions.role(context["request"].user).name.lower()


@register.simple_tag
def query(**parts: Any) -> str:
    """?a=1&b=2 of those that are not empty."""
    return "?" + urlencode(
        {name: value for name, value in parts.items() if value not in ("", None)}
    )


@register.simple_tag
def demand(plugin: str, reason: str) -> str:
    return words.demand(plugin, reason)
